from typing import List, Optional

from _memory import opened, plain


def run(content: str, tags: Optional[List[str]] = None) -> dict:
    """Remember something.

    Args:
        content: what to remember
        tags: words to find it by
    """
    if not content.strip():
        raise ValueError("there is nothing to remember")
    with opened() as base:
        number = base.execute("INSERT INTO memories (content) VALUES (?)", (content,)).lastrowid
        base.executemany("INSERT INTO tags VALUES (?, ?)", [(number, tag) for tag in plain(tags)])
    return {"id": number, "tags": plain(tags)}
