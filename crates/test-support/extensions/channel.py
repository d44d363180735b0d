#!/usr/bin/env python3
"""An extension in the frames dialect with one channel, `chat`, that a test feeds through a folder.

usage: channel.py SPOOL MODE[,MODE…]

A message is a file SPOOL/in/NAME with its JSON, taken in the order of the names; one that begins with `LINE ` is written as
it is in place of a frame, with %ID% replaced. What is sent is appended to SPOOL/out.jsonl, what happens to SPOOL/log.

Modes:  ok, no_cancel, description:TEXT
        connect_fails:N, connect_hangs:N, receive_null, receive_empty, receive_fails:N, die_in_receive:N, die_in_send:N,
        send_fails:N, send_hangs:N, big_receive:N, die_at_start:N
N counts over all processes of one spool.
"""

import json
import os
import sys
import threading
import time

SPOOL = sys.argv[1]
LIFETIME = 600
MODES = {}
for word in ",".join(sys.argv[2:] or ["ok"]).split(","):
    key, _, value = word.partition(":")
    MODES[key] = value

lock = threading.Lock()
stopped = {}  # call id -> event


def raw(data):
    with lock:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def send(kind, **fields):
    raw(json.dumps({"type": kind, **fields}, separators=(",", ":")).encode() + b"\n")


def append(name, text):
    with open(os.path.join(SPOOL, name), "a", encoding="utf-8") as file:
        file.write(text + "\n")


def happens(mode):
    """Whether this is one of the first N times."""
    if mode not in MODES:
        return False
    with lock:
        path = os.path.join(SPOOL, "count-" + mode)
        count = os.path.getsize(path) if os.path.exists(path) else 0
        if count >= int(MODES[mode] or 1):
            return False
        with open(path, "a", encoding="utf-8") as file:
            file.write("x")
        return True


def take():
    """The next file, moved away: from then on nobody else gets it."""
    folder = os.path.join(SPOOL, "in")
    for name in sorted(os.listdir(folder)):
        if name.startswith("."):
            continue
        taken = os.path.join(SPOOL, "taken", name)
        try:
            os.rename(os.path.join(folder, name), taken)
        except FileNotFoundError:
            continue
        with open(taken, "rb") as file:
            return file.read()
    return None


def receive(call, stop):
    if "receive_null" in MODES:
        append("log", "receive")
        return send("channel_result", id=call, message=None)
    if "receive_empty" in MODES:
        append("log", "receive")
        return send("channel_result", id=call, message={"sender": "bob"})
    if happens("receive_fails"):
        return send("channel_result", id=call, error="receive failed as asked")
    if happens("die_in_receive"):
        os._exit(7)
    if happens("big_receive"):
        head = '{"type":"channel_result","id":"%s","message":{"sender":"bob","text":"' % call
        raw(head.encode() + b"a" * (64 << 20) + b'"}}\n')
        return None
    while not stop.is_set():
        content = take()
        if content is None:
            stop.wait(0.005)
        elif content.startswith(b"LINE "):
            return raw(content[5:].replace(b"%ID%", call.encode()).rstrip(b"\n") + b"\n")
        else:
            return send("channel_result", id=call, message=json.loads(content))
    send("channel_result", id=call, message=None)


def call(frame):
    number, op = frame["id"], frame["op"]
    if op != "receive":
        append("log", op)
    if op == "connect":
        if happens("connect_fails"):
            return send("channel_result", id=number, error="connect failed as asked")
        if happens("connect_hangs"):
            return None
    elif op == "receive":
        return receive(number, stopped[number])
    elif op == "send":
        if happens("send_fails"):
            return send("channel_result", id=number, error="send failed as asked")
        if happens("send_hangs"):
            return None
        if happens("die_in_send"):
            os._exit(7)
        out = {"sender": frame["message"]["sender"], "text": frame["text"], "message": frame["message"]}
        with lock:
            append("out.jsonl", json.dumps({**out, "pid": os.getpid()}))
    send("channel_result", id=number)


def main():
    for name in ("in", "taken"):
        os.makedirs(os.path.join(SPOOL, name), exist_ok=True)
    if happens("die_at_start"):
        os._exit(7)
    send("hello", name="channel", version="1.0.0", capabilities=[] if "no_cancel" in MODES else ["tool_cancel"])
    send("register_channel", name="chat", description=MODES.get("description") or "Files in a folder.")
    send("ready")
    append("log", "start %d" % os.getpid())
    for line in sys.stdin.buffer:
        frame = json.loads(line)
        if frame["type"] == "channel_call":
            stopped[frame["id"]] = threading.Event()
            threading.Thread(target=call, args=(frame,), daemon=True).start()
        elif frame["type"] == "tool_cancel" and "no_cancel" not in MODES:
            if frame["id"] in stopped:
                stopped[frame["id"]].set()
        elif frame["type"] == "shutdown":
            send("shutdown_ack")
            break
    os._exit(0)


if __name__ == "__main__":
    main()
