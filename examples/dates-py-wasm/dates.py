"""Counts days between dates, in Python: CPython and this module in one component, which imports the log and nothing else.

`cargo xtask examples dates-py-wasm` makes target/examples/dates-py-wasm/dates.wasm of it.
An exception that is not caught ends the instance, so every tool is wrapped.
"""

import json
from datetime import date

from wit_world import exports
from wit_world.imports.types import Content_Text, Registration, ToolResult, ToolSpec

SCHEMA = {
    "type": "object",
    "properties": {"start": {"type": "string", "format": "date"}, "end": {"type": "string", "format": "date"}},
    "required": ["start", "end"],
}


def days(args):
    between = date.fromisoformat(args["end"]) - date.fromisoformat(args["start"])
    return f"{between.days} days"


class Guest(exports.Guest):
    def describe(self):
        tool = ToolSpec("days_between", None, "Counts the days between two dates.", json.dumps(SCHEMA), "")
        return Registration("dates", "1.0.0", "Counts days.", [tool], [], [], [], [], "")

    def call_tool(self, context, name, args):
        try:
            return ToolResult([Content_Text(days(json.loads(args)))], False, None)
        except Exception as error:
            return ToolResult([Content_Text(str(error))], True, None)
