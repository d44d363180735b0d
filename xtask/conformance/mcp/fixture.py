"""An MCP server on stdio with everything that the official conformance suite asks for, in either era of the protocol.

    python3 fixture.py --era legacy     shakes hands (2025-11-25)
    python3 fixture.py --era modern     every request stands for itself (2026-07-28)

Tools are written once: `ask` puts a question to the client in the manner of the era. Standard library only.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import queue
import sys
import threading
import time
import zlib

from fixture_offers import PROMPTS, RESOURCES, TEMPLATES, TOOLS

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
KEY = os.urandom(32)
INFO = {"name": "conformance-fixture", "version": "1.0.0"}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
}


def png():
    """One red pixel."""

    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    header = (1).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")


PNG = base64.b64encode(png()).decode()
WAV = base64.b64encode(
    b"RIFF" + (38).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little") + bytes([1, 0, 1, 0])
    + (8000).to_bytes(4, "little") + (8000).to_bytes(4, "little") + bytes([1, 0, 8, 0]) + b"data"
    + (2).to_bytes(4, "little") + b"\x80\x80"
).decode()


class RpcError(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.body = {"code": code, "message": message, **({} if data is None else {"data": data})}


class InputRequired(Exception):
    def __init__(self, questions, answers):
        super().__init__("input required")
        self.questions, self.answers = questions, answers


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def seal(value):
    payload = base64.urlsafe_b64encode(json.dumps(value).encode()).decode()
    return payload + "." + hmac.new(KEY, payload.encode(), hashlib.sha256).hexdigest()


def unseal(state):
    payload, _, mac = state.partition(".")
    if not hmac.compare_digest(hmac.new(KEY, payload.encode(), hashlib.sha256).hexdigest(), mac):
        raise RpcError(-32602, "requestState is not as it was given")
    return json.loads(base64.urlsafe_b64decode(payload))


class Server:
    def __init__(self, era):
        self.modern = era == "modern"
        self.writing = threading.Lock()
        self.waiting = {}
        self.next = 1000
        self.capabilities = {}
        self.extra_tool = self.extra_prompt = False
        self.listeners = {}
        self.subscribed = set()

    def write(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        with self.writing:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def notify(self, method, params=None):
        self.write({"method": method, **({} if params is None else {"params": params})})

    def news(self, flag, method, params=None):
        """Tells everybody who wants to know, in the manner of the era."""
        if not self.modern:
            return self.notify(method, params)
        for number, wanted in list(self.listeners.items()):
            if wanted.get(flag):
                meta = {META + "subscriptionId": number}
                self.notify(method, {**(params or {}), "_meta": meta})

    def run(self):
        for line in sys.stdin:
            line = line.strip()
            if not line:
                continue
            message = json.loads(line)
            if "method" not in message:
                waiter = self.waiting.pop(message.get("id"), None)
                if waiter:
                    waiter.put(message)
            elif "id" in message:
                threading.Thread(target=self.answer, args=(message,), daemon=True).start()
            elif message["method"] == "notifications/cancelled":
                self.listeners.pop(message.get("params", {}).get("requestId"), None)

    def answer(self, message):
        method, params = message["method"], message.get("params") or {}
        call = Call(self, message["id"], params)
        try:
            if self.modern:
                call.check()
            handler = getattr(self, "on_" + method.replace("/", "_"), None)
            if handler is None:
                raise RpcError(-32601, f"no method {method}")
            result = handler(call, params)
        except RpcError as error:
            return self.write({"id": message["id"], "error": error.body})
        except InputRequired as needed:
            result = {"resultType": "input_required", "inputRequests": needed.questions, "requestState": seal(needed.answers)}
        except Exception as error:  # whatever goes wrong is said, never left unanswered
            return self.write({"id": message["id"], "error": {"code": -32603, "message": repr(error)}})
        if result is None:
            return None
        if self.modern:
            result = {"resultType": "complete", "_meta": {META + "serverInfo": INFO}, **result}
            if "list" in method or method in ("resources/read", "server/discover"):
                result = {"ttlMs": 0, "cacheScope": "private", **result}
        return self.write({"id": message["id"], "result": result})

    # What both eras have.

    def on_tools_list(self, call, params):
        more = [{"name": "test_dynamic_tool", "description": "Comes and goes.", "inputSchema": {"type": "object"}}]
        return {"tools": TOOLS + (more if self.extra_tool else [])}

    def on_tools_call(self, call, params):
        handler = getattr(self, params.get("name", ""), None)
        if handler is None or not params["name"].startswith("test_"):
            raise RpcError(-32602, f"no tool {params.get('name')!r}")
        return handler(call, params.get("arguments") or {})

    def on_prompts_list(self, call, params):
        more = [{"name": "test_dynamic_prompt", "description": "Comes and goes."}]
        return {"prompts": PROMPTS + (more if self.extra_prompt else [])}

    def on_prompts_get(self, call, params):
        args = params.get("arguments") or {}

        def user(content):
            return {"role": "user", "content": content}

        words = lambda value: user({"type": "text", "text": value})
        name = params.get("name")
        if name == "test_simple_prompt":
            return {"messages": [words("This is a simple prompt for testing.")]}
        if name == "test_prompt_with_arguments":
            return {"messages": [words(f"Prompt with arguments: arg1='{args.get('arg1')}', arg2='{args.get('arg2')}'")]}
        if name == "test_prompt_with_embedded_resource":
            resource = {"uri": args.get("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing."}
            embedded = user({"type": "resource", "resource": resource})
            return {"messages": [embedded, words("Please process the embedded resource above.")]}
        if name == "test_prompt_with_image":
            image = user({"type": "image", "data": PNG, "mimeType": "image/png"})
            return {"messages": [image, words("Please analyze the image above.")]}
        if name == "test_input_required_result_prompt":
            answer = call.ask("user_context", *form("What context should the prompt use?", context={"type": "string"}))
            return {"messages": [words(f"With context: {answer.get('content')}")]}
        raise RpcError(-32602, f"no prompt {name!r}")

    def on_resources_list(self, call, params):
        return {"resources": RESOURCES}

    def on_resources_templates_list(self, call, params):
        return {"resourceTemplates": TEMPLATES}

    def on_resources_read(self, call, params):
        uri = params.get("uri", "")
        if uri == "test://static-text":
            words = "This is the content of the static text resource."
            return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": words}]}
        if uri == "test://static-binary":
            return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": PNG}]}
        if uri == "test://watched-resource":
            return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "Watch me."}]}
        if uri.startswith("test://template/") and uri.endswith("/data"):
            number = uri.split("/")[3]
            data = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
            return {"contents": [{"uri": uri, "mimeType": "application/json", "text": data}]}
        raise RpcError(-32602 if self.modern else -32002, "resource not found", {"uri": uri})

    def on_completion_complete(self, call, params):
        value = params.get("argument", {}).get("value", "")
        values = [word for word in ["paris", "park", "party", "test"] if word.startswith(value)]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}

    # What one era has.

    def on_initialize(self, call, params):
        if self.modern:
            raise RpcError(-32601, f"this server speaks {MODERN} only")
        self.capabilities = params.get("capabilities", {})
        return {"protocolVersion": LEGACY, "capabilities": CAPABILITIES, "serverInfo": INFO}

    def on_ping(self, call, params):
        return self.legacy({})

    def on_logging_setLevel(self, call, params):
        return self.legacy({})

    def on_resources_subscribe(self, call, params):
        self.subscribed.add(params.get("uri"))
        return self.legacy({})

    def on_resources_unsubscribe(self, call, params):
        self.subscribed.discard(params.get("uri"))
        return self.legacy({})

    def legacy(self, result):
        if self.modern:
            raise RpcError(-32601, "no such method since " + MODERN)
        return result

    def on_server_discover(self, call, params):
        if not self.modern:
            raise RpcError(-32601, "no method server/discover")
        return {"supportedVersions": [MODERN], "capabilities": CAPABILITIES}

    def on_subscriptions_listen(self, call, params):
        if not self.modern:
            raise RpcError(-32601, "no method subscriptions/listen")
        wanted = params.get("notifications", {})
        meta = {META + "subscriptionId": call.id}
        self.notify("notifications/subscriptions/acknowledged", {"notifications": wanted, "_meta": meta})
        self.listeners[call.id] = wanted
        return None

    # The tools.

    def test_simple_text(self, call, args):
        return text("This is a simple text response for testing.")

    def test_image_content(self, call, args):
        return {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}

    def test_audio_content(self, call, args):
        return {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]}

    def test_embedded_resource(self, call, args):
        words = "This is an embedded resource content."
        resource = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": words}
        return {"content": [{"type": "resource", "resource": resource}]}

    def test_multiple_content_types(self, call, args):
        resource = {"uri": "test://mixed-content-resource", "mimeType": "application/json", "text": '{"test":"data","value":123}'}
        return {
            "content": [
                {"type": "text", "text": "Multiple content types test:"},
                {"type": "image", "data": PNG, "mimeType": "image/png"},
                {"type": "resource", "resource": resource},
            ]
        }

    def test_tool_with_logging(self, call, args):
        for words in ["Tool execution started", "Tool processing data", "Tool execution completed"]:
            call.log(words)
            time.sleep(0.05)
        return text("Tool with logging executed successfully")

    def test_logging_tool(self, call, args):
        call.log("Only for those who want to know")
        return text("logged")

    def test_tool_with_progress(self, call, args):
        for done in (0, 50, 100):
            call.progress(done, 100)
            time.sleep(0.05)
        return text("Tool with progress executed successfully")

    def test_error_handling(self, call, args):
        return {"isError": True, **text("This tool intentionally returns an error for testing")}

    def test_sampling(self, call, args):
        answer = call.ask("sampled", *sample(args.get("prompt", "")))
        return text(f"LLM response: {answer.get('content', {}).get('text')}")

    def test_elicitation(self, call, args):
        fields = {"username": {"type": "string"}, "email": {"type": "string"}}
        return said(call.ask("user", *form(args.get("message", "?"), **fields)), "User response")

    def test_elicitation_sep1034_defaults(self, call, args):
        status = {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}
        fields = {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": status,
            "verified": {"type": "boolean", "default": True},
        }
        return said(call.ask("details", *form("Please review your details", required=[], **fields)))

    def test_elicitation_sep1330_enums(self, call, args):
        options = ["option1", "option2", "option3"]
        titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in ((1, "First"), (2, "Second"), (3, "Third"))]
        fields = {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }
        return said(call.ask("choices", *form("Please choose", required=[], **fields)))

    def test_streaming_elicitation(self, call, args):
        call.progress(0, 1)
        return said(call.ask("confirm", *form("Go on?", ok={"type": "boolean"})))

    def test_custom_headers(self, call, args):
        return text(json.dumps(args))

    def test_reconnection(self, call, args):
        time.sleep(0.2)
        return text("Reconnection test completed successfully")

    def test_missing_capability(self, call, args):
        if "sampling" not in call.capabilities:
            raise RpcError(-32021, "sampling is needed", {"requiredCapabilities": {"sampling": {}}})
        return text("can sample")

    def test_trigger_tool_change(self, call, args):
        self.extra_tool = not self.extra_tool
        self.news("toolsListChanged", "notifications/tools/list_changed")
        return text("tools changed")

    def test_trigger_prompt_change(self, call, args):
        self.extra_prompt = not self.extra_prompt
        self.news("promptsListChanged", "notifications/prompts/list_changed")
        return text("prompts changed")

    def test_input_required_result_elicitation(self, call, args):
        answer = call.ask("user_name", *form("What is your name?", name={"type": "string"}))
        return text(f"Hello, {(answer.get('content') or {}).get('name')}!")

    def test_input_required_result_sampling(self, call, args):
        answer = call.ask("capital_question", *sample("What is the capital of France?"))
        return text(answer.get("content", {}).get("text", ""))

    def test_input_required_result_list_roots(self, call, args):
        return text(json.dumps(call.ask("client_roots", "roots/list", {})))

    def test_input_required_result_request_state(self, call, args):
        call.ask("confirm", *form("Please confirm", ok={"type": "boolean"}))
        return text("state-ok")

    def test_input_required_result_tampered_state(self, call, args):
        call.ask("confirm", *form("Please confirm", ok={"type": "boolean"}))
        return text("untampered")

    def test_input_required_result_multiple_inputs(self, call, args):
        answers = call.ask_all(
            {
                "user_name": form("What is your name?", name={"type": "string"}),
                "greeting": sample("Generate a greeting"),
                "client_roots": ("roots/list", {}),
            }
        )
        return text(json.dumps(answers))

    def test_input_required_result_multi_round(self, call, args):
        first = call.ask("step1", *form("Step 1: What is your name?", name={"type": "string"}))
        second = call.ask("step2", *form("Step 2: What is your favorite color?", color={"type": "string"}))
        return text(json.dumps([first, second]))

    def test_input_required_result_capabilities(self, call, args):
        questions = {}
        if "sampling" in call.capabilities:
            questions["sampled"] = sample("Say something")
        if "elicitation" in call.capabilities:
            questions["asked"] = form("Say something", words={"type": "string"})
        return text(json.dumps(call.ask_all(questions)))


def form(message, required=None, **fields):
    required = list(fields) if required is None else required
    schema = {"type": "object", "properties": fields, "required": required}
    return "elicitation/create", {"message": message, "requestedSchema": schema}


def sample(words):
    message = {"role": "user", "content": {"type": "text", "text": words}}
    return "sampling/createMessage", {"messages": [message], "maxTokens": 100}


def said(answer, what="Elicitation completed"):
    return text(f"{what}: action={answer.get('action')}, content={json.dumps(answer.get('content'))}")


class Call:
    """One request, and what can be said and asked in its course."""

    def __init__(self, server, number, params):
        self.server, self.id, self.params = server, number, params
        self.meta = params.get("_meta") or {}
        declared = self.meta.get(META + "clientCapabilities") if server.modern else server.capabilities
        self.capabilities = declared or {}
        self.answers = {}

    def check(self):
        """What every request has to say from 2026-07-28."""
        version = self.meta.get(META + "protocolVersion")
        if version != MODERN:
            data = {"supported": [MODERN], "requested": version}
            raise RpcError(-32022 if version else -32602, f"unsupported protocol version {version!r}", data)
        if not isinstance(self.meta.get(META + "clientCapabilities"), dict):
            raise RpcError(-32602, "no client capabilities")
        if "requestState" in self.params:
            self.answers = unseal(self.params["requestState"])
        given = self.params.get("inputResponses") or {}
        self.answers.update({key: value for key, value in given.items() if isinstance(value, dict)})

    def log(self, words):
        if not self.server.modern or self.meta.get(META + "logLevel"):
            self.server.notify("notifications/message", {"level": "info", "logger": "fixture", "data": words})

    def progress(self, done, total):
        token = self.meta.get("progressToken")
        if token is not None:
            self.server.notify("notifications/progress", {"progressToken": token, "progress": done, "total": total})

    def ask(self, key, method, params):
        return self.ask_all({key: (method, params)})[key]

    def ask_all(self, questions):
        if not self.server.modern:
            return {key: self.ask_now(*question) for key, question in questions.items()}
        missing = {key: question for key, question in questions.items() if key not in self.answers}
        if missing:
            wanted = {key: {"method": method, "params": params} for key, (method, params) in missing.items()}
            raise InputRequired(wanted, self.answers)
        return {key: self.answers[key] for key in questions}

    def ask_now(self, method, params):
        answers = queue.Queue()
        with self.server.writing:
            self.server.next += 1
            number = self.server.next
        self.server.waiting[number] = answers
        self.server.write({"id": number, "method": method, "params": params})
        answer = answers.get(timeout=30)
        if "error" in answer:
            raise RpcError(answer["error"].get("code", -32603), answer["error"].get("message", ""), answer["error"].get("data"))
        return answer["result"]


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("--era", choices=["legacy", "modern"], default="legacy")
    Server(reader.parse_args().era).run()
