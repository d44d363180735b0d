"""An MCP server in one file, with nothing but Python: two tools and a prompt on standard input and output."""

import json
import sys

RECIPES = {
    "pancakes": {"eggs": 2, "flour (g)": 150, "milk (ml)": 300},
    "omelette": {"eggs": 3, "butter (g)": 10},
}

TOOLS = [
    {
        "name": "list_recipes",
        "description": "The names of all recipes.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "scale_recipe",
        "description": "The ingredients of a recipe for that many people.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": sorted(RECIPES)},
                "people": {"type": "integer", "minimum": 1, "maximum": 100},
            },
            "required": ["name", "people"],
        },
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    },
]


def list_recipes(_args):
    return {"content": [{"type": "text", "text": ", ".join(sorted(RECIPES))}]}


def scale_recipe(args):
    amounts = {item: amount * args["people"] / 2 for item, amount in RECIPES[args["name"]].items()}
    lines = [f"{item}: {amount:g}" for item, amount in amounts.items()]
    return {"content": [{"type": "text", "text": "\n".join(lines)}], "structuredContent": amounts}


CALLS = {"list_recipes": list_recipes, "scale_recipe": scale_recipe}


def serve(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "prompts": {}},
            "serverInfo": {"name": "recipes", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params.get("name") in CALLS:
        return CALLS[params["name"]](params.get("arguments") or {})
    if method == "prompts/list":
        return {"prompts": [{"name": "dinner", "description": "Asks what to cook."}]}
    if method == "prompts/get":
        text = "What can I cook tonight? Look at the recipes first."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    if method == "ping":
        return {}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue  # a notification wants no answer
    result = serve(message["method"], message.get("params") or {})
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        answer["error"] = {"code": -32601, "message": f"Method not found: {message['method']}"}
    else:
        answer["result"] = result
    print(json.dumps(answer), flush=True)
