"""A server that speaks enough of Telegram's Bot API. telegram.py FOLDER: FOLDER/telegram.jsonl gets each call. Prints its port."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

folder = Path(sys.argv[1])
turn = threading.Lock()


class Telegram(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        method = self.path.rpartition("/")[2]
        with turn, open(folder / "telegram.jsonl", "a") as out:
            out.write(json.dumps({"method": method, "body": body.decode("latin-1")}) + "\n")
        refusal = (folder / "refusal").exists() and method != "getMe"
        answer = {"ok": False, "error_code": 400, "description": "chat not found"} if refusal else {"ok": True, "result": {}}
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Telegram)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
