from typing import List, Optional

from _memory import opened, plain


def run(query: str = "", tags: Optional[List[str]] = None, limit: int = 10) -> list:
    """Look for what was remembered, the newest first.

    Args:
        query: words that it holds, or is tagged with
        tags: tags that it has, all of them
        limit: how many to give
    """
    found = []
    with opened() as base:
        for number, saved, content in base.execute("SELECT id, saved, content FROM memories ORDER BY id DESC"):
            mine = [tag for (tag,) in base.execute("SELECT tag FROM tags WHERE memory = ? ORDER BY tag", (number,))]
            text = " ".join([content.lower(), *mine])
            if set(plain(tags)) <= set(mine) and all(word in text for word in query.lower().split()):
                found.append({"id": number, "saved": saved, "content": content, "tags": mine})
            if len(found) >= max(1, limit):
                break
    return found
