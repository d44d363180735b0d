from collections import Counter
from typing import Literal

from _text import words


def run(text: str, most: int = 5, order: Literal["count", "name"] = "count") -> dict:
    """Count how often each word occurs in a text.

    Args:
        text: what to count in
        most: how many words to give back
        order: by how often they occur, or by name

    >>> run("to be or not to be", most=1)
    {'words': 6, 'most': {'to': 2}}
    """
    counted = Counter(words(text))
    pairs = counted.most_common(most)
    if order == "name":
        pairs.sort()
    return {"words": sum(counted.values()), "most": dict(pairs)}
