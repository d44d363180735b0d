#!/usr/bin/env python3
"""The smallest useful extension: one slash command that hands the agent a prompt.

It registers without waiting for the host's hello_ack and never says that it is ready; a host accepts both.
"""

import json
import sys


def send(frame):
    print(json.dumps(frame), flush=True)


send({"type": "hello", "name": "hello-py", "version": "1.0.0", "capabilities": ["commands"]})
send({"type": "register_command", "name": "hellopy", "description": "be greeted by the agent"})

for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "command_invoked":
        send({
            "type": "command_response",
            "id": frame["id"],
            "action": "prompt",
            "prompt": "Say hello to me in a few words, with a single emoji.",
        })
    elif frame["type"] == "shutdown":
        send({"type": "shutdown_ack"})
        break
