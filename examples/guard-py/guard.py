#!/usr/bin/env python3
"""A guard: it is asked before every tool call, blocks what looks dangerous, and may rewrite the arguments.

Patterns catch accidents, not attackers; what an extension may really do is the policy's business. The audit trail goes
to standard error, which the host keeps as this extension's log.
"""

import json
import re
import sys

HARMLESS_DEVICES = {"/dev/null", "/dev/zero", "/dev/full", "/dev/stdout", "/dev/stderr"}
FORK_BOMB = re.compile(r"(?<!\w)(\w{1,64}|:)\s*\(\)\s*\{[^}]{0,80}\1\s*\|\s*\1\s*&")


def danger(text):
    """What is dangerous about a text, or None.

    Commands are taken apart into words rather than matched as a whole: it finds `rm -r -f`, `/bin/rm -fr` and
    `rm --force x --recursive` alike, and takes time in proportion to the text, so that nobody can stall the guard.
    """
    if FORK_BOMB.search(text):
        return "is a fork bomb"
    for command in re.split(r"[;&|\n]", text):
        words = [word.strip("\"'`$()") for word in command.split()]
        names = {word.rpartition("/")[2] for word in words}
        letters = {letter for word in words if word.startswith("-") and word[:2] != "--" for letter in word}
        recursive = "r" in letters or "R" in letters or "--recursive" in words
        if "rm" in names and recursive and ("f" in letters or "--force" in words):
            return "removes whole trees by force"
        if any(name.partition(".")[0] == "mkfs" for name in names):
            return "makes a file system"
        if "dd" in names and any(word.startswith("of=/dev/") and word[3:] not in HARMLESS_DEVICES for word in words):
            return "writes to a raw device"
        if "chmod" in names and recursive and not {"777", "0777", "a+rwx"}.isdisjoint(words):
            return "opens everything to everyone"
    return None


def send(frame):
    print(json.dumps(frame), flush=True)


def audit(text):
    print(text, file=sys.stderr, flush=True)


def strings(value):
    """Every string in a JSON value, the keys of objects aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)


def trimmed(value):
    """The same value with the white space at the end of its strings gone."""
    if isinstance(value, str):
        return value.rstrip()
    if isinstance(value, list):
        return [trimmed(item) for item in value]
    if isinstance(value, dict):
        return {key: trimmed(item) for key, item in value.items()}
    return value


def judge(tool, args):
    """The fields of the answer. Nothing in it means: go on unchanged."""
    for text in strings(args):
        if what := danger(text):
            audit(f"blocked {tool}: it {what}")
            return {"block": True, "reason": f"refused by guard-py: the call to {tool} {what}"}
    tidy = trimmed(args)
    if tidy != args:
        audit(f"rewrote {tool}: trailing white space")
        return {"modified_args": tidy}
    audit(f"allowed {tool}")
    return {}


def main():
    send({"type": "hello", "name": "guard-py", "version": "1.0.0", "capabilities": ["events"]})
    send({"type": "subscribe", "events": ["session_start", "tool_call"], "intercept": ["tool_call"]})
    send({"type": "ready"})
    for line in sys.stdin:
        frame = json.loads(line)
        kind = frame.get("type")
        if kind == "event_intercept":
            answer = judge(frame.get("tool_name", "a tool"), frame.get("tool_args"))
            send({"type": "event_intercept_response", "id": frame["id"], **answer})
        elif kind == "event":
            audit(f"event {frame.get('event')} {frame.get('tool_name', '')}".rstrip())
        elif kind == "shutdown":
            send({"type": "shutdown_ack"})
            break


if __name__ == "__main__":
    main()
