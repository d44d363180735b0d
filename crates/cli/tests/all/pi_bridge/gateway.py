"""A gateway on loopback that does what its tools are named after, and keeps what it was asked.

gateway.py FOLDER TOKEN: FOLDER/tools.json is the list of tools, read again for each question; FOLDER/calls.jsonl gets each
call, FOLDER/gone.jsonl each call whose caller went away. Prints its port.
"""

import base64
import json
import select
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

folder, token = Path(sys.argv[1]), sys.argv[2]
turn = threading.Lock()
waiting = []
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n not quite").decode()


def keep(name, value):
    with turn, open(folder / name, "a") as out:
        out.write(json.dumps(value) + "\n")


def tools():
    text = (folder / "tools.json").read_text()
    return str(zlib.crc32(text.encode()) + 1), json.loads(text)


class Gateway(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/health":
            return self.say(200, {"ok": True})
        if self.headers.get("authorization") != f"Bearer {token}":
            return self.say(401, {"ok": False, "error": "no token"})
        since = self.path.partition("since=")[2]
        keep("asked.jsonl", since)
        deadline = time.monotonic() + 20
        while tools()[0] == since and time.monotonic() < deadline and not self.is_alone():
            time.sleep(0.02)
        revision, listed = tools()
        self.say(200, {"ok": True, "revision": revision, "tools": listed})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        keep("calls.jsonl", {"authorization": self.headers.get("authorization"), "body": body, "accept": self.headers.get("accept")})
        tool, params = body["tool"], body["params"]
        text = {"type": "text", "text": json.dumps(params, sort_keys=True)}
        if tool == "fails":
            return self.say(200, {"ok": True, "result": {"content": [{"type": "text", "text": "it failed as asked"}], "isError": True}})
        if tool == "refused":
            return self.say(422, {"ok": False, "error": {"code": "invalid_request", "message": "params/count: no number"}})
        if tool == "picture":
            image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
            return self.say(200, {"ok": True, "result": {"content": [text, image, {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]}})
        if tool == "waits":
            while not self.is_alone():
                time.sleep(0.02)
            return keep("gone.jsonl", tool)
        if tool == "together":
            with turn:
                waiting.append(1)
            deadline = time.monotonic() + 20
            while len(waiting) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
            text["text"] += f" with {len(waiting)}"
        if tool == "steps":
            return self.steps(text)
        if tool == "breaks":
            self.close_connection = True
            return self.connection.close()
        self.say(200, {"ok": True, "result": {"content": [text], "details": {"from": tool}}})

    def steps(self, text):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for step in (1, 2):
            data = json.dumps({"progress": step, "total": 2, "message": f"step {step} ü"})
            self.wfile.write(f"event: progress\ndata: {data}\n\n: still here\n\n".encode())
            self.wfile.flush()
            time.sleep(0.05)
        data = json.dumps({"ok": True, "result": {"content": [text]}})
        self.wfile.write(f"event: result\ndata: {data}\n\n".encode())

    def is_alone(self):
        """Whether the other side has closed the connection."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable)

    def say(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            self.wfile.write(body)
        except OSError:
            pass  # whoever asked has gone

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
