"""The pipe to the host, kept out of the extension's reach: whatever it prints or reads is not ours."""

import io
import json
import os
import sys
import threading

CHUNK = 1 << 16
LONGEST_LOGGED = 8192


def encode(frame):
    """One frame as a line. Half characters, which are no text, become question marks."""
    text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


class Wire:
    """Takes standard input and output away from the extension and speaks over them."""

    def __init__(self):
        self.fd = os.dup(0)
        self._out = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        # What native code and child processes print goes to the log, not between the frames.
        os.dup2(2, 1)
        self._lock = threading.Lock()
        self._rest = []

    def send(self, frame):
        """Sends one frame, whole."""
        self.send_line(encode(frame))

    def send_line(self, line):
        try:
            with self._lock:
                while line:
                    line = line[os.write(self._out, line):]
        except OSError:
            # Nobody listens any more.
            os._exit(0)

    def feed(self, data):
        """The whole lines in what has been read so far."""
        self._rest.append(data)
        if b"\n" not in data:
            return []
        lines = b"".join(self._rest).split(b"\n")
        self._rest = [lines.pop()]
        return [json.loads(line) for line in lines if line]

    def frames(self):
        """Every frame until the host closes the pipe."""
        while True:
            data = os.read(self.fd, CHUNK)
            if not data:
                return
            for frame in self.feed(data):
                yield frame


class Printed(io.RawIOBase):
    """Standard output as the extension sees it: every line is a log line."""

    def __init__(self, wire):
        super().__init__()
        self._wire = wire
        self._rest = b""
        self._lock = threading.Lock()

    def writable(self):
        return True

    def fileno(self):
        return 1

    def write(self, data):
        data = bytes(data)
        with self._lock:
            lines = (self._rest + data).split(b"\n")
            self._rest = lines.pop()
            if len(self._rest) > LONGEST_LOGGED:
                lines.append(self._rest)
                self._rest = b""
        self._tell(lines)
        return len(data)

    def finish(self):
        """Tells what has no line end."""
        with self._lock:
            rest, self._rest = self._rest, b""
        if rest:
            self._tell([rest])

    def _tell(self, lines):
        for line in lines:
            if not line.strip():
                continue
            text = line[:LONGEST_LOGGED].decode("utf-8", "replace")
            try:
                os.write(2, text.encode("utf-8", "replace") + b"\n")
            except OSError:
                pass
            self._wire.send({"type": "log", "level": "info", "message": text, "data": {"stream": "stdout"}})


def capture_output(wire):
    """Makes `print` write log lines; gives what finishes the last one."""
    printed = Printed(wire)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(printed, 1), encoding="utf-8", errors="replace", line_buffering=True, write_through=True
    )
    sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)

    def finish():
        try:
            sys.stdout.flush()
        except (OSError, ValueError, AttributeError):
            pass
        printed.finish()

    return finish
