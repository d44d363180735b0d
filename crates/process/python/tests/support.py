"""What the worker's own tests share."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, ROOT)
sys.dont_write_bytecode = True


class Talk:
    """A worker that is spoken to in frames."""

    def __init__(self, source, role="tool", name="it", helpers=None, env=None):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, name + ".py")
        write(self.file, source)
        for helper, text in (helpers or {}).items():
            write(os.path.join(self.folder.name, helper), text)
        words = [sys.executable, os.path.join(ROOT, "main.py"), role, self.file, name]
        environment = dict(os.environ, JACKFIELD_TEMP_DIR=os.path.join(self.folder.name, "tmp"), **(env or {}))
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
            cwd=self.folder.name,
        )
        # Nothing here takes long; what hangs fails instead of waiting for ever.
        self.patience = threading.Timer(60, self.process.kill)
        self.patience.daemon = True
        self.patience.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.patience.cancel()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        self.folder.cleanup()

    def send(self, **frame):
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def read(self, *kinds):
        """The next frame of one of these kinds."""
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError("the worker went: %s" % self.process.stderr.read().decode())
            frame = json.loads(line)
            if not kinds or frame["type"] in kinds:
                return frame

    def ready(self):
        """All that it registers."""
        frames = []
        while not frames or frames[-1]["type"] not in ("ready", "cannot_start"):
            frames.append(self.read())
        return frames

    def call(self, number="1", **args):
        self.send(type="tool_call", id=number, name="it", args=args)
        return self.read("tool_result")


def write(file, text):
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "w", encoding="utf-8") as out:
        out.write(text)


def run(source, **args):
    """One call of a tool."""
    with Talk(source) as talk:
        talk.ready()
        return talk.call(**args)


def text_of(answer):
    return "".join(block.get("text", "") for block in answer["content"])


__all__ = ["ROOT", "Talk", "run", "text_of", "unittest", "write"]
