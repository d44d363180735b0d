#!/usr/bin/env python3
"""Notes: tools that keep data, ask the host for a file, report progress, and can be cancelled.

The main thread only reads frames; every call runs in a thread of its own, because note_import waits for the host's
answer and calls may overlap.
"""

import itertools
import json
import os
import pathlib
import sys
import threading

HOST_CALL_TIMEOUT = 30  # seconds


class Host:
    """The other end of the pipe: sends frames, and joins host calls with their results."""

    def __init__(self):
        self._write = threading.Lock()
        self._ids = itertools.count(1)
        self._waiting = {}  # host call id -> (tool call id, event, result)

    def send(self, kind, **fields):
        line = json.dumps({"type": kind, **fields}) + "\n"
        with self._write:  # frames of two threads must not mix
            sys.stdout.buffer.write(line.encode())
            sys.stdout.buffer.flush()

    def read_file(self, path, within):
        """The text of a file of the project. The host decides whether we may have it."""
        call_id = f"host-{next(self._ids)}"
        answered, slot = threading.Event(), {}
        self._waiting[call_id] = (within, answered, slot)
        try:
            self.send(
                "host_call",
                id=call_id,
                method="fs",
                params={"op": "read", "path": path},
                capability="read",
                within=within,
            )
            if not answered.wait(HOST_CALL_TIMEOUT):
                self.send("host_cancel", id=call_id)
                raise ToolError(f"the host did not answer the request to read {path}")
        finally:
            self._waiting.pop(call_id, None)
        if slot["is_error"]:
            error = slot.get("error") or {}
            raise ToolError(f"cannot read {path}: {error.get('message', 'the host gave no reason')}")
        return slot["output"]["content"]

    def resolve(self, frame):
        if frame["id"] in self._waiting:
            _, answered, slot = self._waiting[frame["id"]]
            slot.update(frame)
            answered.set()

    def give_up(self, tool_call):
        """Ends the host calls that a cancelled tool call waits for."""
        for call_id, (within, answered, slot) in list(self._waiting.items()):
            if within == tool_call:
                self.send("host_cancel", id=call_id)
                slot.update(is_error=True, error={"message": "cancelled"})
                answered.set()


class ToolError(Exception):
    """An answer that says what went wrong."""


class Notes:
    """One JSON string per line; appending is atomic enough for two instances that overlap during a reload."""

    def __init__(self, data_dir):
        self.path = pathlib.Path(data_dir, "notes.jsonl")

    def add(self, texts):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(text) + "\n" for text in texts))

    def all(self):
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]


class Extension:
    def __init__(self):
        self.host = Host()
        # Until hello_ack names it, the environment does; by hand, the current directory will do.
        self.notes = Notes(os.environ.get("JACKFIELD_DATA_DIR", "."))
        self.cancelled = {}  # call id -> event
        self.tools = {"note_add": self.note_add, "note_list": self.note_list, "note_import": self.note_import}

    # Tools: take the call's id and arguments, return text or raise ToolError.

    def note_add(self, _call_id, args):
        text = args.get("text")
        if not isinstance(text, str) or not text.strip():
            raise ToolError("note_add needs a text")
        self.notes.add([text.strip()])
        self.host.send("log", level="info", message="note added", data={"characters": len(text)})
        return f"noted ({len(self.notes.all())} in all)"

    def note_list(self, _call_id, _args):
        return self.listing()

    def note_import(self, call_id, args):
        path = args.get("path")
        if not isinstance(path, str) or not path:
            raise ToolError("note_import needs a path")
        self.host.send("progress", id=call_id, message=f"reading {path}")
        lines = [line.strip() for line in self.host.read_file(path, call_id).splitlines() if line.strip()]
        # The last moment to give up: what is written stays written.
        if self.cancelled[call_id].is_set():
            raise ToolError("cancelled")
        self.notes.add(lines)
        self.host.send("progress", id=call_id, message=f"imported {len(lines)} notes")
        self.host.send("log", level="info", message="notes imported", data={"path": path, "count": len(lines)})
        return f"imported {len(lines)} notes from {path}"

    def listing(self):
        notes = self.notes.all()
        return "\n".join(f"{number}. {text}" for number, text in enumerate(notes, 1)) or "no notes yet"

    # Frames of the host.

    def call_tool(self, frame):
        call_id = frame["id"]
        try:
            tool = self.tools.get(frame["name"])
            if tool is None:
                raise ToolError(f"notes-py has no tool {frame['name']}")
            text, is_error = tool(call_id, frame["args"]), False
        except (ToolError, OSError, ValueError) as error:
            text, is_error = str(error), True
        finally:
            self.cancelled.pop(call_id, None)
        self.host.send("tool_result", id=call_id, content=[{"type": "text", "text": text}], is_error=is_error)

    def handle(self, frame):
        """Returns whether to go on."""
        kind = frame.get("type")
        if kind == "hello_ack":
            self.notes = Notes(frame.get("data_dir") or self.notes.path.parent)
        elif kind == "tool_call":
            self.cancelled[frame["id"]] = threading.Event()
            threading.Thread(target=self.call_tool, args=(frame,), daemon=True).start()
        elif kind == "tool_cancel":
            if event := self.cancelled.get(frame["id"]):
                event.set()
                self.host.give_up(frame["id"])
        elif kind == "command_invoked":
            self.host.send("command_response", id=frame["id"], action="display", display=self.listing())
        elif kind == "host_result":
            self.host.resolve(frame)
        elif kind == "shutdown":
            self.host.send("shutdown_ack")
            return False
        return True

    def run(self):
        send = self.host.send
        send("hello", name="notes-py", version="1.0.0", capabilities=["commands", "tools", "tool_cancel", "host_call"])
        for name, description, properties in (
            ("note_add", "Adds a note.", {"text": {"type": "string", "minLength": 1}}),
            ("note_list", "Lists all notes.", {}),
            ("note_import", "Adds every line of a file of the project as a note.", {"path": {"type": "string"}}),
        ):
            schema = {"type": "object", "properties": properties, "additionalProperties": False}
            if properties:
                schema["required"] = list(properties)
            send("register_tool", name=name, description=description, schema=schema)
        send("register_command", name="notes", description="Shows all notes")
        send("ready")
        for line in sys.stdin.buffer:
            if not self.handle(json.loads(line)):
                break


if __name__ == "__main__":
    Extension().run()
