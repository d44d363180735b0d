"""Describes many files at once: each is loaded in a fork of this process, so that what it does there harms no other.

Reads one JSON line per file: {"id", "role", "file", "name", "env"}; writes one per file: {"id", "frames"} or {"id", "error"}. A file
whose process died without a word gets {"id"} alone.
"""

import json
import os
import select
import signal
import sys
import time

from .load import CannotLoad, Extension

TOGETHER = 4
#: How long one file may take.
PATIENCE = 10.0


def describe(wire):
    """All that come in, in any order."""
    waiting = [frame for frame in wire.frames()]
    waiting.reverse()
    running = {}
    while waiting or running:
        while waiting and len(running) < TOGETHER:
            order = waiting.pop()
            fd, pid = _begin(order, wire)
            running[fd] = [order, pid, [], time.monotonic() + PATIENCE]
        patience = max(0.0, min(entry[3] for entry in running.values()) - time.monotonic())
        ready, _, _ = select.select(list(running), [], [], patience)
        for fd in ready:
            data = os.read(fd, 1 << 16)
            if data:
                running[fd][2].append(data)
                continue
            order, pid, parts, _ = running.pop(fd)
            _end(fd, pid)
            wire.send_line(_told(order, b"".join(parts)))
        now = time.monotonic()
        for fd in [fd for fd, entry in running.items() if entry[3] <= now]:
            order, pid, _, _ = running.pop(fd)
            os.kill(pid, signal.SIGKILL)
            _end(fd, pid)
            error = "%s: it was still being loaded after %d s; keep what takes long inside a function" % (
                order["file"], PATIENCE,
            )
            wire.send({"id": order["id"], "error": error})


def _told(order, said):
    """The child's word, if it is one."""
    try:
        read = json.loads(said)
    except ValueError:
        read = None
    if not isinstance(read, dict) or read.get("id") != order["id"]:
        return json.dumps({"id": order["id"]}).encode() + b"\n"
    return said


def _end(fd, pid):
    os.close(fd)
    try:
        os.waitpid(pid, 0)
    except OSError:
        pass


def _begin(order, wire):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return reading, pid
    status = 1
    try:
        os.close(reading)
        os.close(wire.fd)
        os.setpgid(0, 0)
        os.environ.clear()
        os.environ.update(order["env"])
        os.chdir(os.path.dirname(order["file"]))
        nothing = open(os.devnull, "w")
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
        sys.stdout = sys.stderr = nothing
        sys.argv = [order["file"]]
        try:
            said = {"id": order["id"], "frames": Extension(order["file"], order["role"], order["name"]).frames()}
        except CannotLoad as error:
            said = {"id": order["id"], "error": str(error)}
        from .wire import encode

        line = encode(said)
        while line:
            line = line[os.write(writing, line):]
        status = 0
    finally:
        os._exit(status)
