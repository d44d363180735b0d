#!/usr/bin/env python3
"""{{name}}: a tool in Python, as a program that speaks JSON lines with jackfield."""

import json
import sys

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def say(**frame):
    print(json.dumps(frame), flush=True)


say(type="hello", name="{{name}}", version="0.1.0")
say(type="register_tool", name="{{tool}}", description="Says a text loudly.", schema=SCHEMA)
say(type="ready")

for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        text = frame["args"]["text"].upper()
        say(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
    elif frame["type"] == "shutdown":
        break
