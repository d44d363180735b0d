"""A model on loopback that says what a file tells it to, and keeps what it was asked.

model.py FOLDER: FOLDER/replies.jsonl holds one answer per request, {"text": ...} or {"calls": [[NAME, ARGUMENTS], ...]};
FOLDER/requests.jsonl gets each request. Prints its port.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

folder = Path(sys.argv[1])
turn = threading.Lock()
served = 0


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        global served
        body = self.rfile.read(int(self.headers["content-length"]))
        with turn:
            lines = (folder / "replies.jsonl").read_text().splitlines()
            reply = json.loads(lines[served]) if served < len(lines) else {"text": "nothing more to say"}
            with open(folder / "requests.jsonl", "a") as out:
                out.write(json.dumps(json.loads(body)) + "\n")
            served += 1
            number = served
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        delta = {"role": "assistant", "content": reply.get("text")}
        if "calls" in reply:
            delta["tool_calls"] = [
                {
                    "index": index,
                    "id": f"call_{number}_{index}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for index, (name, arguments) in enumerate(reply["calls"])
            ]
        self.chunk({"delta": delta, "finish_reason": None})
        self.chunk({"delta": {}, "finish_reason": "tool_calls" if "calls" in reply else "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def chunk(self, choice):
        choice["index"] = 0
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "stub", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
