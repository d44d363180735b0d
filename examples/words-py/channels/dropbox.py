"""Messages from a folder: a file in `in/` is a message of whoever it is named after, the answer appears in `out/`."""

import asyncio
import os

FOLDER = os.path.join(os.environ["JACKFIELD_DATA_DIR"], "dropbox")


async def connect() -> None:
    for name in ("in", "out"):
        os.makedirs(os.path.join(FOLDER, name), exist_ok=True)


async def recv() -> Message:
    while True:
        for name in sorted(os.listdir(os.path.join(FOLDER, "in"))):
            path = os.path.join(FOLDER, "in", name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            os.unlink(path)
            return Message(text, sender=os.path.splitext(name)[0])
        await asyncio.sleep(0.2)


async def send(message: Message) -> None:
    path = os.path.join(FOLDER, "out", message.sender + ".txt")
    with open(path, "a", encoding="utf-8") as file:
        file.write(message.text + "\n")
