"""What an extension may use of the host: `host.call`, `progress`, `log`, and the type `Message`."""

import contextvars
import sys
import threading
from dataclasses import dataclass
from typing import Optional

current_call = contextvars.ContextVar("jackfield_call", default=None)


@dataclass
class Message:
    """What passes through a channel."""

    text: str
    sender: str = ""
    channel: str = ""
    metadata: Optional[dict] = None


class HostError(Exception):
    """The host refused a call or failed in it; `code` says how."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class _Line:
    """The wire once there is one."""

    def __init__(self):
        self.wire = None
        self.waiting = {}
        self.count = 0
        self.lock = threading.Lock()

    def ask(self, method, params, timeout_ms, on_chunk, resolve):
        if self.wire is None:
            raise RuntimeError("the host cannot be called while the file is loaded; call it inside a function")
        with self.lock:
            self.count += 1
            name = "h%d" % self.count
            self.waiting[name] = (resolve, on_chunk)
        frame = {"type": "host_call", "id": name, "method": method, "params": {} if params is None else params}
        if timeout_ms is not None:
            frame["timeout_ms"] = int(timeout_ms)
        within = current_call.get()
        if within is not None:
            frame["within"] = within
        try:
            self.wire.send(frame)
        except BaseException:
            self.forget(name)
            raise
        return name

    def forget(self, name):
        with self.lock:
            return self.waiting.pop(name, None)

    def give_up(self, name):
        if self.forget(name) is not None:
            self.wire.send({"type": "host_cancel", "id": name})

    def answered(self, frame):
        """A `host_result` came; whoever waits for it learns it."""
        name = frame.get("id")
        chunk = frame.get("chunk")
        if chunk and not chunk.get("is_last"):
            entry = self.waiting.get(name)
            if entry is not None and entry[1] is not None:
                entry[1](frame.get("output"))
            return
        entry = self.forget(name)
        if entry is None:
            return
        if frame.get("is_error"):
            error = frame.get("error") or {}
            entry[0](None, HostError(error.get("code", "internal"), error.get("message", "the host did not say why")))
        else:
            entry[0](frame.get("output"), None)


line = _Line()


def _running_loop():
    asyncio = sys.modules.get("asyncio")
    return asyncio._get_running_loop() if asyncio is not None else None


class Host:
    """The host. Inside `async def` its calls are awaited, elsewhere they wait by themselves."""

    def call(self, method, params=None, *, timeout_ms=None, on_chunk=None):
        """A host call: `host.call("fs", {"op": "read", "path": "notes.txt"})`. Raises HostError."""
        loop = _running_loop()
        if loop is not None:
            return self._call_async(loop, method, params, timeout_ms, on_chunk)
        done = threading.Event()
        outcome = []

        def resolve(output, error):
            outcome.append((output, error))
            done.set()

        name = line.ask(method, params, timeout_ms, on_chunk, resolve)
        try:
            done.wait()
        except BaseException:
            line.give_up(name)
            raise
        output, error = outcome[0]
        if error is not None:
            raise error
        return output

    async def _call_async(self, loop, method, params, timeout_ms, on_chunk):
        future = loop.create_future()

        def settle(output, error):
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(output)

        def resolve(output, error):
            loop.call_soon_threadsafe(settle, output, error)

        name = line.ask(method, params, timeout_ms, on_chunk, resolve)
        try:
            return await future
        except BaseException:
            line.give_up(name)
            raise

    def tool(self, name, args=None, *, timeout_ms=None):
        """Calls another tool: `host.tool("read", {"path": "notes.txt"})`."""
        return self.call("tool", {"name": name, "input": {} if args is None else args}, timeout_ms=timeout_ms)


host = Host()


def progress(message):
    """Says how far a call has come."""
    name = current_call.get()
    if line.wire is not None and name is not None:
        line.wire.send({"type": "progress", "id": name, "message": str(message)})


def log(message, level="info", **data):
    """Writes a line to the extension's log; `level` is debug, info, warn or error."""
    from . import results

    if line.wire is not None:
        line.wire.send({"type": "log", "level": str(level), "message": str(message), "data": results.plain(data)})


#: What a file finds among its globals.
GIVEN = {"host": host, "progress": progress, "log": log, "Message": Message}
