from _text import words


async def run(path: str, number: int = 1) -> str:
    """Give the n-th word of a file of the project. The host is asked for the file, so policy has its say.

    :param path: the file, relative to the project
    :param number: which word, counted from 1
    """
    progress(f"reading {path}")
    answer = await host.tool("read", {"path": path})
    found = words(answer["content"][0]["text"])
    if not 1 <= number <= len(found):
        raise ValueError(f"{path} has {len(found)} words")
    return found[number - 1]
