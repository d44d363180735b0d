"""Letters in a folder: `.pith/letters/in/NAME` is a message of NAME, the answer appears in `.pith/letters/out/NAME`."""

import asyncio
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".pith" / "letters"


async def connect():
    for name in ("in", "out"):
        (FOLDER / name).mkdir(parents=True, exist_ok=True)


async def recv():
    while True:
        for path in sorted((FOLDER / "in").iterdir()):
            if not path.name.startswith("."):
                text = path.read_text(encoding="utf-8")
                path.unlink()
                return {"text": text, "sender": path.name}
        await asyncio.sleep(0.1)


async def send(incoming, text):
    with open(FOLDER / "out" / incoming["sender"], "a", encoding="utf-8") as file:
        file.write(text + "\n")
