"""What a docstring says about the parameters, in the styles of Google, NumPy and Sphinx; the rest is the description."""

import re

_GOOGLE = re.compile(r"^(args|arguments|parameters|params|keyword args|keyword arguments|other parameters)\s*:\s*$", re.I)
_GOOGLE_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\)|\[[^\]]*\])?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^(parameters|other parameters)\s*$", re.I)
_NUMPY_ITEM = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX = re.compile(r"^:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_SPHINX_TYPE = re.compile(r"^:(?:type)\s+\w+\s*:.*$")
_UNDERLINE = re.compile(r"^-{3,}\s*$")


def _indent(line):
    return len(line) - len(line.lstrip())


def parse(text):
    """Gives the description and what is said about each parameter."""
    lines = (text or "").expandtabs().splitlines()
    rest, found = [], {}
    at = 0
    while at < len(lines):
        line = lines[at]
        bare = line.strip()
        if _GOOGLE.match(bare) and not (at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1].strip())):
            end = _google(lines, at + 1, _indent(line), found)
        elif _NUMPY.match(bare) and at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1].strip()):
            end = _numpy(lines, at + 2, _indent(line), found)
        elif _SPHINX.match(bare):
            end = _sphinx(lines, at, found)
        elif _SPHINX_TYPE.match(bare):
            end = at + 1
        else:
            end = None
        if end is None or end == at:
            rest.append(line)
            at += 1
        else:
            at = end
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in rest)).strip()
    return description, {name: said for name, said in found.items() if said}


def _joined(parts):
    return " ".join(part.strip() for part in parts if part.strip())


def _google(lines, at, outer, found):
    """Items that are indented below the heading; what is indented further goes on with the item."""
    name, parts, depth = None, [], None
    while at < len(lines):
        line = lines[at]
        if line.strip():
            indent = _indent(line)
            if indent <= outer:
                break
            item = _GOOGLE_ITEM.match(line.strip())
            depth = indent if depth is None else depth
            if item and indent <= depth:
                if name:
                    found.setdefault(name, _joined(parts))
                name, parts = item.group(1), [item.group(2)]
            else:
                parts.append(line)
        at += 1
    if name:
        found.setdefault(name, _joined(parts))
    return at


def _numpy(lines, at, outer, found):
    names, parts = [], []

    def finish():
        for name in names:
            found.setdefault(name, _joined(parts))

    while at < len(lines):
        line = lines[at]
        if line.strip():
            if at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1].strip()):
                break
            if _indent(line) <= outer:
                item = _NUMPY_ITEM.match(line.strip())
                if not item:
                    break
                finish()
                names, parts = [name.strip(" *") for name in item.group(1).split(",")], []
            else:
                parts.append(line)
        at += 1
    finish()
    return at


def _sphinx(lines, at, found):
    item = _SPHINX.match(lines[at].strip())
    name, parts, outer = item.group(1), [item.group(2)], _indent(lines[at])
    at += 1
    while at < len(lines) and lines[at].strip() and _indent(lines[at]) > outer:
        parts.append(lines[at])
        at += 1
    found.setdefault(name, _joined(parts))
    return at
