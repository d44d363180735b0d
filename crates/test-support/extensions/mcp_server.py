"""An MCP server on standard input and output that misbehaves on command. The words after the script say how:

  modern | dual          speaks 2026-07-28 (and, if dual, initialize as well)
  silent-probe           reads server/discover and says nothing
  exit-on-probe          ends when it sees server/discover
  hang | exit | refuse   in initialize
  junk                   writes lines that are no messages
  pages                  lists its tools one by one
  names                  has tools with long, odd and doubled names
  schemas                has a tool whose schema is none
  changed                describes its tools in other words
  more                   has one tool more
  log:FILE               writes down every message it gets
  a file `now` beside it  more of these words
  marker:WORD            only shows in the list of processes
"""

import json
import os
import sys
import threading
import time

MODES = sys.argv[1:]
LOCK = threading.Lock()
LOG = next((mode[4:] for mode in MODES if mode.startswith("log:")), None)
if os.path.exists("now"):
    MODES += open("now").read().split()
MODERN = "modern" in MODES or "dual" in MODES
asked = {}
cancelled = set()
state = {"tools": "more" in MODES, "id": 0, "subscription": None, "level": None}


def send(message):
    raw(json.dumps(message, ensure_ascii=False, separators=(",", ":")))


def raw(text):
    data = text if isinstance(text, bytes) else text.encode()
    with LOCK:
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()


def answer(ident, result):
    if MODERN:
        result.setdefault("resultType", "complete")
    send({"jsonrpc": "2.0", "id": ident, "result": result})


def fail(ident, code, message, data=None):
    error = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    send({"jsonrpc": "2.0", "id": ident, "error": error})


def notify(method, params=None):
    send({"jsonrpc": "2.0", "method": method, "params": params or {}})


def ask(method, params):
    """Asks the client and waits for the answer."""
    with LOCK:
        state["id"] += 1
        ident = f"s{state['id']}"
        asked[ident] = [threading.Event(), None]
    send({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
    asked[ident][0].wait(20)
    return asked[ident][1]


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


OPEN = {"type": "object"}


def tools():
    words = "Says it back, differently." if "changed" in MODES else "Says it back."
    found = [
        {"name": "echo", "title": "Echo", "description": words, "zz": 1, "inputSchema": {
            "type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "number"}}},
         "annotations": {"readOnlyHint": True}},
    ]
    for name in ["odd", "size", "wait", "twice", "late", "die", "refuse", "progress", "elicit", "sample", "roots",
                 "change", "bytes", "where", "secret", "flood", "line", "input", "loop", "seen", "pid"]:
        found.append({"name": name, "inputSchema": OPEN})
    if state["tools"]:
        found.append({"name": "new", "inputSchema": OPEN})
    if "names" in MODES:
        long = "a_name_that_is_longer_than_the_sixty_four_characters_which_providers_take"
        for name in [long + "_1", long + "_2", "echo", "with space/and.dots", "日本", "", 7]:
            found.append({"name": name, "inputSchema": OPEN, "description": str(name)[-2:]})
    if "schemas" in MODES:
        found.append({"name": "bad", "inputSchema": {"type": "nonsense", "properties": 7}})
        found.append({"name": "none"})
        found.append({"name": "text", "inputSchema": "object"})
        found.append(7)
    return found


def listed(ident, key, items, params):
    if "pages" not in MODES:
        return answer(ident, {key: items, "ttlMs": 0, "cacheScope": "private"})
    at = int(params.get("cursor", "0"))
    page = {key: items[at:at + 1], "ttlMs": 0, "cacheScope": "private"}
    if at + 1 < len(items):
        page["nextCursor"] = str(at + 1)
    answer(ident, page)


def call(ident, params):
    name, args = params.get("name"), params.get("arguments") or {}
    token = (params.get("_meta") or {}).get("progressToken")
    if name == "echo":
        answer(ident, text(json.dumps(args, ensure_ascii=False)))
    elif name == "odd":
        raw('{"jsonrpc":"2.0","id":%s,"result":{"zeta":12345678901234567890123,"content":[{"type":"hologram","depth":3.10,'
            '"x":null},{"type":"text","text":"after"}],"alpha":{"b":1,"a":2},"tools":[],"structuredContent":{"n":1}}}'
            % json.dumps(ident))
    elif name == "size":
        answer(ident, text("x" * int(args["bytes"])))
    elif name == "wait":
        time.sleep(args.get("seconds", 0.3))
        if ident in cancelled:
            answer(ident, text("answered after the cancel"))
        else:
            answer(ident, text(str(args.get("seconds"))))
    elif name == "twice":
        answer(ident, text("first"))
        answer(ident, text("second"))
        answer(99999, text("nobody asked"))
        answer("strange", text("nobody asked"))
    elif name == "late":
        while ident not in cancelled:
            time.sleep(0.01)
        answer(ident, text("too late"))
        notify("notifications/progress", {"progressToken": token, "progress": 1})
    elif name == "die":
        sys.stderr.write("it was asked to die\n")
        sys.stderr.flush()
        os._exit(3)
    elif name == "refuse":
        fail(ident, -32050, "not today", {"why": ["a", 1]})
    elif name == "progress":
        for step in range(int(args.get("steps", 5))):
            notify("notifications/progress", {"progressToken": token, "progress": step, "message": f"step {step}"})
        notify("notifications/message", {"level": "info", "data": "said"})
        answer(ident, text("done"))
    elif name == "elicit":
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        answer(ident, text(json.dumps(ask("elicitation/create", {"message": "who?", "requestedSchema": schema}))))
    elif name == "sample":
        answer(ident, text(json.dumps(ask("sampling/createMessage", {"messages": [], "maxTokens": 5}))))
    elif name == "roots":
        answer(ident, text(json.dumps([ask("roots/list", {}), ask("ping", {}), ask("no/such", {})])))
    elif name == "change":
        state["tools"] = not state["tools"]
        changed = {}
        if state["subscription"] is not None:
            changed["_meta"] = {"io.modelcontextprotocol/subscriptionId": state["subscription"]}
        for _ in range(5):
            notify("notifications/tools/list_changed", changed)
        answer(ident, text("changed"))
    elif name == "bytes":
        raw(b'{"jsonrpc":"2.0","id":' + json.dumps(ident).encode()
            + b',"result":{"content":[{"type":"text","text":"a\xff\xfeb"}]}}')
    elif name == "where":
        names = args.get("names", [])
        answer(ident, text(json.dumps({"cwd": os.getcwd(), "argv": sys.argv[1:], **{n: os.environ.get(n) for n in names}})))
    elif name == "secret":
        sys.stderr.write(f"the key is {os.environ.get('API_KEY')}\n")
        sys.stderr.flush()
        fail(ident, -32000, f"the key is {os.environ.get('API_KEY')}")
    elif name == "flood":
        for number in range(2000):
            raw(f"junk {number}")
        answer(ident, text("flooded"))
    elif name == "line":
        # A line without an end, and then nothing.
        with LOCK:
            for _ in range(int(args["mib"])):
                sys.stdout.buffer.write(b"y" * (1 << 20))
            sys.stdout.buffer.write(b"\n")
            sys.stdout.buffer.flush()
    elif name == "input":
        given = params.get("inputResponses")
        if given is None:
            schema = {"type": "object", "properties": {"name": {"type": "string"}}}
            question = {"method": "elicitation/create", "params": {"message": "who?", "requestedSchema": schema}}
            place = {"method": "roots/list"}
            answer(ident, {"resultType": "input_required", "inputRequests": {"q": question, "r": place},
                           "requestState": "state-1"})
        else:
            answer(ident, text(json.dumps([given, params.get("requestState")])))
    elif name == "loop":
        answer(ident, {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}})
    elif name == "seen":
        answer(ident, text(json.dumps(sorted(str(number) for number in cancelled))))
    elif name == "pid":
        answer(ident, text(str(os.getpid())))
    elif name == "new":
        answer(ident, text("new"))
    else:
        fail(ident, -32602, f"no tool {name}")


CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"subscribe": True}, "logging": {}}
INFO = {"name": "odd", "version": "1.2.3", "vendor": {"z": 1}}


def request(ident, method, params):
    if method == "server/discover":
        if "exit-on-probe" in MODES:
            os._exit(7)
        if "silent-probe" in MODES:
            return
        if not MODERN:
            return fail(ident, -32601, "Method not found")
        return answer(ident, {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, "serverInfo": INFO,
                              "instructions": "be kind", "ttlMs": 0, "cacheScope": "private"})
    if MODERN and "io.modelcontextprotocol/protocolVersion" not in (params.get("_meta") or {}) and "dual" not in MODES:
        return fail(ident, -32602, "no protocol version in _meta")
    if method == "initialize":
        if "modern" in MODES:
            return fail(ident, -32022, "Unsupported protocol version", {"supported": ["2026-07-28"]})
        if "hang" in MODES:
            sys.stderr.write("it thinks about it\n")
            sys.stderr.flush()
            return
        if "exit" in MODES:
            sys.stderr.write("there is no module named left_pad\n")
            sys.stderr.flush()
            os._exit(1)
        if "refuse" in MODES:
            return fail(ident, -32000, "go away")
        return answer(ident, {"protocolVersion": "2025-06-18", "capabilities": CAPABILITIES, "serverInfo": INFO,
                              "instructions": "be kind"})
    if method == "tools/list":
        return listed(ident, "tools", tools(), params)
    if method == "prompts/list":
        return listed(ident, "prompts", [{"name": "greet", "arguments": []}], params)
    if method == "resources/list":
        return listed(ident, "resources", [{"uri": "odd://one", "name": "one"}], params)
    if method == "resources/templates/list":
        return listed(ident, "resourceTemplates", [], params)
    if method == "prompts/get":
        return answer(ident, {"messages": [{"role": "user", "content": {"type": "text", "text": json.dumps(params)}}]})
    if method == "subscriptions/listen":
        state["subscription"] = ident
        return notify("notifications/subscriptions/acknowledged", {
            "_meta": {"io.modelcontextprotocol/subscriptionId": ident}, "notifications": params.get("notifications")})
    if method == "tools/call":
        return threading.Thread(target=call, args=(ident, params), daemon=True).start()
    fail(ident, -32601, f"Method not found: {method}")


def main():
    if "junk" in MODES:
        raw("Starting the server…")
        raw('{"not": "a message"}')
        raw("[1, 2")
        raw(b"\xff\xfe\x00")
        raw("")
    for line in sys.stdin.buffer:
        if LOG:
            with open(LOG, "ab") as log:
                log.write(line)
        message = json.loads(line)
        if "junk" in MODES:
            raw("still here")
        method = message.get("method")
        if method is None:
            waiting = asked.get(message.get("id"))
            if waiting:
                waiting[1] = message.get("result", message.get("error"))
                waiting[0].set()
        elif "id" in message:
            request(message["id"], method, message.get("params") or {})
        elif method == "notifications/cancelled":
            cancelled.add(message["params"]["requestId"])


main()
