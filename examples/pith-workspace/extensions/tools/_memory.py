"""What the tools share: a database beside the workspace's other state. A file whose name begins with an underscore is no tool."""

import sqlite3
from contextlib import contextmanager
from pathlib import Path

# Each file is an extension, with a process and a data folder of its own; what they share lies in the workspace, outside of
# `extensions/`, which is what somebody trusts.
PLACE = Path(__file__).resolve().parents[2] / ".pith"

TABLES = """
CREATE TABLE IF NOT EXISTS memories (id INTEGER PRIMARY KEY, saved TEXT NOT NULL DEFAULT (datetime('now')), content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS tags (memory INTEGER NOT NULL REFERENCES memories, tag TEXT NOT NULL, PRIMARY KEY (memory, tag));
CREATE TABLE IF NOT EXISTS profiles (who TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (who, field));
"""


@contextmanager
def opened():
    """The database, made if there is none; what happens inside is kept whole or not at all."""
    PLACE.mkdir(mode=0o700, exist_ok=True)
    base = sqlite3.connect(PLACE / "memory.db", timeout=10)
    try:
        base.executescript(TABLES)
        with base:
            yield base
    finally:
        base.close()


def plain(tags):
    """Tags as they are kept: without `#` and space around them, in small letters, each once."""
    return sorted({tag.strip().lstrip("#").lower() for tag in tags or []} - {""})
