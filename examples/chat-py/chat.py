"""A channel in a few lines of Python, without an SDK: people talk by connecting to a socket of this machine.

Who they are is what the operating system says: the user that runs their program.
"""

import json
import os
import queue
import socket
import struct
import sys
import threading

PLACE = os.path.join(os.environ.get("JACKFIELD_DATA_DIR", "."), "chat.sock")
messages = queue.Queue()
people = {}  # number -> connection
open_calls = {}  # id of a receive -> stop asked for
lock = threading.Lock()
listener = None


def send(**frame):
    with lock:
        print(json.dumps(frame), flush=True)


def listen(person, number):
    uid = struct.unpack("3i", person.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    for line in person.makefile("r", encoding="utf-8", errors="replace"):
        messages.put({"text": line.rstrip("\n"), "sender": f"uid-{uid}", "raw": {"connection": number}})
    # Whoever has said all may still wait for answers; they hear the last of them when this program ends.


def accept():
    for number in range(1 << 30):
        try:
            person, _ = listener.accept()
        except OSError:
            return
        people[number] = person
        threading.Thread(target=listen, args=(person, number), daemon=True).start()


def connect():
    global listener
    # Beside, and then in place of the old one: a version that is replaced may still be listening.
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(PLACE + ".new")
    os.chmod(PLACE + ".new", 0o600)
    os.rename(PLACE + ".new", PLACE)
    listener.listen()
    threading.Thread(target=accept, daemon=True).start()


def receive(call):
    # A receive may wait for ever; one that is cancelled answers with null, or with what came meanwhile.
    while call in open_calls:
        try:
            return messages.get(timeout=0.1)
        except queue.Empty:
            pass
    return None


def serve(frame):
    call, answer = frame["id"], {}
    try:
        if frame["op"] == "connect":
            connect()
        elif frame["op"] == "receive":
            answer = {"message": receive(call)}
        elif frame["op"] == "send":
            people[frame["message"]["raw"]["connection"]].sendall(frame["text"].encode() + b"\n")
        elif frame["op"] == "disconnect":
            listener.close()
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    open_calls.pop(call, None)
    send(type="channel_result", id=call, **answer)


send(type="hello", name="chat-py", version="1.0.0", capabilities=["channels", "tool_cancel"])
send(type="register_channel", name="socket", description="Whoever connects to a socket of this machine.")
send(type="ready")

for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "channel_call":
        open_calls[frame["id"]] = True
        threading.Thread(target=serve, args=(frame,), daemon=True).start()
    elif frame["type"] == "tool_cancel":
        open_calls.pop(frame["id"], None)
    elif frame["type"] == "shutdown":
        break
