#!/usr/bin/env python3
"""An extension in the JSON-RPC dialect that misbehaves on command, for the tests of hosts.

usage: misbehave_rpc.py MODE[,MODE…]

Start:    ok, silent, noise_before, exit_early, string_tools, bad_names
Answers:  numeric_request, both_result_error, method_fallback, app_errors, non_utf8, deaf
Hooks:    hook_abort, hook_override, hook_hang
Stop:     no_shutdown

Whatever waits for ever waits for at most LIFETIME seconds, so that a failed test leaves nothing behind for long.
"""

import itertools
import json
import os
import signal
import sys
import threading
import time

LIFETIME = 1000
MODES = set(",".join(sys.argv[1:] or ["ok"]).split(","))
HOOKS = ["before_tool_call", "before_message", "after_tool_call"]
METHOD_NOT_FOUND, INVALID_PARAMS, APPLICATION = -32601, -32602, -32000

lock = threading.Lock()
ids = itertools.count(1)
waiting = {}  # id of a request of ours -> (event, list that takes the answer)


def forever():
    time.sleep(LIFETIME)
    os._exit(0)


def raw(line):
    with lock:
        try:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        except OSError:
            pass  # the host has gone; the reader sees it too


def send(**message):
    line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
    raw(b'\xff\xfe\x80\n{"jsonrpc":"2.0","id":999999,"result":"\xc3\x28"}\n' + line if "non_utf8" in MODES else line)


class RpcError(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.data = code, data

    def as_json(self):
        data = {} if self.data is None else {"data": self.data}
        return {"code": self.code, "message": str(self), **data}


# ------------------------------------------------------------------------------------------------------------- tools


def add(args):
    try:
        return {"sum": float(args["a"]) + float(args["b"])}
    except (KeyError, TypeError, ValueError) as error:
        raise RpcError(INVALID_PARAMS, f"a and b must be numbers: {error!r}") from error


def fail(_args):
    raise RpcError(APPLICATION, "failed as asked", {"hint": "there is nothing to do"})


def host_call(args):
    """Asks the host, and returns the whole message that answers."""
    request = f"host-{next(ids)}"
    done, answer = threading.Event(), []
    waiting[request] = (done, answer)
    known = {key: args[key] for key in ("method", "params", "capability", "timeout_ms") if key in args}
    send(id=request, method="host/call", params=known)
    return answer[0] if done.wait(60) else {"error": "misbehave_rpc.py gave up after 60 s"}


TOOLS = {
    "echo": lambda args: args.get("text", ""),
    "add": add,
    "fail": fail,
    "crash": lambda _args: os._exit(7),
    "hang": lambda _args: forever(),
    "meta": lambda args: {"_meta": args.get("_meta")},
    "host_call": host_call,
    "pid": lambda _args: {"pid": os.getpid()},
}


def call_tool(name, args):
    if "app_errors" in MODES:
        raise RpcError(APPLICATION, "every call fails in this mode", {"tool": name})
    if name not in TOOLS:
        raise RpcError(METHOD_NOT_FOUND, f"unknown tool: {name}")
    return TOOLS[name](args if isinstance(args, dict) else {})


# ----------------------------------------------------------------------------------------------------------- methods


def initialize(_params):
    if "string_tools" in MODES:
        tools = list(TOOLS)
    else:
        tools = [{"name": name, "description": f"The tool {name}.", "input_schema": {"type": "object"}} for name in TOOLS]
    if "bad_names" in MODES:
        tools += [{"name": name} for name in ("Bad Name!", "../../etc/passwd", "", "new\nline", "n" * 5000)] + [7, None]
    hooks = HOOKS if any(mode.startswith("hook_") for mode in MODES) else []
    return {"server_version": "misbehave-rpc-1.0.0", "tools": tools, "hooks": hooks}


def tools_call(params):
    if "method_fallback" in MODES:
        raise RpcError(METHOD_NOT_FOUND, "unknown method: tools/call")
    return call_tool(params.get("name"), params.get("arguments"))


def tools_by_name(name, params):
    """The older form, one method per tool. Hosts differ in whether the arguments are wrapped."""
    if "method_fallback" not in MODES:
        raise RpcError(METHOD_NOT_FOUND, f"unknown method: tools/{name}")
    return call_tool(name, params["arguments"] if isinstance(params.get("arguments"), dict) else params)


def hook(name, params):
    if "hook_hang" in MODES:
        forever()
    if "hook_abort" in MODES:
        return {"abort": True, "reason": "aborted by misbehave_rpc.py"}
    if "hook_override" in MODES:
        text = {"text": "overridden"}
        if name != "before_tool_call":
            return {"abort": False, "override": text}
        return {"abort": False, "override": {"arguments": {**(params.get("arguments") or {}), **text}}}
    return None


def dispatch(method, params):
    if method == "initialize":
        return initialize(params)
    if method == "tools/call":
        return tools_call(params)
    kind, _, name = method.partition("/")
    if kind == "tools" and name:
        return tools_by_name(name, params)
    if kind == "hooks" and name in HOOKS:
        return hook(name, params)
    if method == "shutdown":
        return {"ok": True}
    raise RpcError(METHOD_NOT_FOUND, f"unknown method: {method}")


def answer(request):
    if "numeric_request" in MODES and request["method"] != "initialize":
        # A request of ours whose id is the one that the host waits for: not an answer, whatever it looks like.
        send(id=request["id"], method="host/ping", params={})
    try:
        outcome = {"result": dispatch(request["method"], request.get("params") or {})}
        if "both_result_error" in MODES and request["method"] != "initialize":
            outcome["error"] = {"code": APPLICATION, "message": "and yet it failed"}
    except RpcError as error:
        outcome = {"error": error.as_json()}
    send(id=request["id"], **outcome)


# ------------------------------------------------------------------------------------------------- the life of it all


def handle(message):
    """Returns whether to go on."""
    method = message.get("method")
    if method is None:
        if message.get("id") in waiting:
            done, slot = waiting.pop(message["id"])
            slot.append(message)
            done.set()
    elif "silent" in MODES or "id" not in message:
        pass
    elif method == "initialize":
        if "exit_early" in MODES:
            print("misbehave_rpc.py: leaving after initialize", file=sys.stderr, flush=True)
            os._exit(3)
        if "noise_before" in MODES:
            raw('Starting up…\n\n[1, 2]\n{"level":"info","message":"a log line"}\n{"id":0}\n'.encode())
        answer(message)
        if "deaf" in MODES:
            forever()
    elif method == "shutdown":
        if "no_shutdown" not in MODES:
            answer(message)
            return False
    else:
        threading.Thread(target=answer, args=(message,), daemon=True).start()
    return True


def main():
    if "no_shutdown" in MODES:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        if not handle(json.loads(line)):
            break
    if "no_shutdown" in MODES:
        forever()
    # Calls under way must not hold up the end.
    os._exit(0)


if __name__ == "__main__":
    main()
