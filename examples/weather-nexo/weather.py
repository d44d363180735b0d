#!/usr/bin/env python3
"""Weather over JSON-RPC: two tools and a hook, in nexo's stdio dialect.

One message per line. The host asks `initialize`, `tools/call`, `hooks/<name>` and `shutdown`; every request is answered
with its id. What a tool returns may be any JSON.
"""

import hashlib
import json
import sys

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

CONDITIONS = ["sunny", "cloudy", "rain", "fog", "snow", "storm"]

TOOLS = [
    {
        "name": "get_weather",
        "description": "The weather in a city. Invented, but always the same for the same city.",
        "input_schema": {
            "type": "object",
            "properties": {"city": {"type": "string", "minLength": 1}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
    {
        "name": "echo_meta",
        "description": "Returns what the host says about agent and session.",
        "input_schema": {"type": "object", "additionalProperties": False},
    },
]


class RpcError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def get_weather(arguments):
    city = arguments.get("city")
    if not isinstance(city, str) or not city.strip():
        raise RpcError(INVALID_PARAMS, "city must be a string that is not empty")
    digest = hashlib.sha256(city.strip().lower().encode()).digest()
    return {
        "city": city.strip(),
        "temperature_c": digest[0] % 45 - 10,
        "condition": CONDITIONS[digest[1] % len(CONDITIONS)],
    }


def echo_meta(arguments):
    # Added by the host after it has checked the arguments, because the manifest says `passthrough`.
    return {"_meta": arguments.get("_meta")}


def initialize(_params):
    return {"server_version": "weather-nexo-1.0.0", "tools": TOOLS, "hooks": ["before_tool_call"]}


def call_tool(params):
    tool = {"get_weather": get_weather, "echo_meta": echo_meta}.get(params.get("name"))
    if tool is None:
        raise RpcError(METHOD_NOT_FOUND, f"unknown tool: {params.get('name')}")
    arguments = params.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise RpcError(INVALID_PARAMS, "arguments must be an object")
    return tool(arguments)


def before_tool_call(params):
    # Asked about every tool of the host, not only our own: look on, and stop only what is surely wrong.
    print(f"saw {params.get('tool_name')}", file=sys.stderr, flush=True)
    arguments = params.get("arguments")
    if isinstance(arguments, dict) and arguments.get("city") == "Atlantis":
        return {"abort": True, "reason": "Atlantis has sunk; there is no weather down there"}
    return {"abort": False}


METHODS = {
    "initialize": initialize,
    "tools/list": lambda _params: {"tools": TOOLS},
    "tools/call": call_tool,
    "hooks/before_tool_call": before_tool_call,
    "shutdown": lambda _params: {"ok": True},
}


def answer(request):
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        method = METHODS.get(request.get("method"))
        if method is None:
            raise RpcError(METHOD_NOT_FOUND, f"unknown method: {request.get('method')}")
        params = request.get("params") or {}
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params must be an object")
        reply["result"] = method(params)
    except RpcError as error:
        reply["error"] = {"code": error.code, "message": str(error)}
    return reply


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:  # a notification wants no answer
            continue
        print(json.dumps(answer(request)), flush=True)
        if request.get("method") == "shutdown":
            break


if __name__ == "__main__":
    main()
