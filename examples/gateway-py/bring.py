#!/usr/bin/env python3
"""Registers a tool in a gateway that runs, and serves it as long as this program does.

usage: JACKFIELD_TOKEN=… bring.py http://127.0.0.1:PORT

Needs nothing but Python: the WebSocket is written out below. The token comes from the environment, because everybody on the
machine can read the arguments of a program.
"""

import base64
import json
import os
import socket
import struct
import sys
from urllib.parse import urlsplit


class WebSocket:
    """As much of RFC 6455 as a client of the gateway needs."""

    def __init__(self, address, token):
        place = urlsplit(address)
        self.socket = socket.create_connection((place.hostname, place.port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (
                f"GET /ws HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {token}\r\n"
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Key: {key}\r\n\r\n"
            ).encode()
        )
        self.file = self.socket.makefile("rb")
        status = self.file.readline().split(b" ", 2)[1:]
        while self.file.readline().strip():
            pass
        if status[0] != b"101":
            raise SystemExit(f"the gateway answered {b' '.join(status).decode().strip()}")

    def send(self, message):
        self.frame(1, json.dumps(message).encode())

    def frame(self, kind, payload):
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        self.socket.sendall(head + mask + masked)

    def messages(self):
        """Every message, until the gateway closes the connection."""
        text = b""
        while True:
            head = self.file.read(2)
            if len(head) < 2:
                return
            kind, size = head[0] & 15, head[1] & 127
            if size == 126:
                (size,) = struct.unpack("!H", self.file.read(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", self.file.read(8))
            payload = self.file.read(size)
            if kind == 8:
                return
            if kind == 9:
                # A sign of life was asked for.
                self.frame(10, payload)
            elif kind in (0, 1):
                text += payload
                if head[0] & 0x80:
                    yield json.loads(text)
                    text = b""


def reverse(params):
    return params["text"][::-1]


TOOL = {
    "name": "reverse_text",
    "description": "Reverses a text.",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def main():
    if len(sys.argv) != 2 or not os.environ.get("JACKFIELD_TOKEN"):
        raise SystemExit(__doc__)
    gateway = WebSocket(sys.argv[1], os.environ["JACKFIELD_TOKEN"])
    gateway.send({"type": "hello", "name": "reverser"})
    gateway.send({"id": 1, "type": "register_tool", "tool": TOOL})
    for message in gateway.messages():
        if message["type"] == "tool_call_request":
            answer = {"type": "tool_call_response", "id": message["id"]}
            try:
                answer["result"] = reverse(message["params"])
            except Exception as error:  # the model is told what went wrong
                answer["error"] = f"{type(error).__name__}: {error}"
            gateway.send(answer)
        elif message["type"] == "response" and message.get("id") == 1:
            if not message["ok"]:
                raise SystemExit(message["error"]["error"])
            print(f"registered {message['result']['name']}", flush=True)


if __name__ == "__main__":
    main()
