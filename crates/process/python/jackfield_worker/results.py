"""What a function returned, as blocks for the model: text, pictures, JSON; and what it raised, as an error with its place."""

import base64
import dataclasses
import enum
import json
import math
import os
import sys
import time

#: The most text that goes to the host; the whole is kept in a file.
MOST_TEXT = 256 * 1024
#: The most that is kept of one output, and how many are kept.
MOST_KEPT = 64 * 1024 * 1024
MOST_FILES = 20
#: A picture larger than this goes to a file; a frame must stay below the host's limit.
MOST_IMAGE = 2 * 1024 * 1024
DEEPEST = 200
#: The host reads no deeper structure beside the text.
DEEPEST_DETAILS = 60
LONGEST_TRACE = 12

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)


class NotJson(ValueError):
    """A value that cannot be written as JSON."""


def plain(value, strict=False, depth=0):
    """A value as JSON has it. What has no form of its own becomes its text, or is refused if `strict`."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value, strict, depth)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value) if -(1 << 63) <= value < (1 << 64) else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if depth > DEEPEST:
        raise NotJson("it is nested more than %d deep, or holds itself" % DEEPEST)
    if isinstance(value, dict):
        return {_key(key): plain(item, strict, depth + 1) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict(), strict, depth)
    if isinstance(value, (list, tuple)):
        return [plain(item, strict, depth + 1) for item in value]
    if isinstance(value, (set, frozenset)):
        try:
            items = sorted(value)
        except TypeError:
            items = list(value)
        return [plain(item, strict, depth + 1) for item in items]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return plain(fields, strict, depth)
    for method in ("model_dump", "dict"):
        dump = getattr(value, method, None)
        if callable(dump) and hasattr(type(value), "__fields__") and not isinstance(value, type):
            return plain(dump(), strict, depth)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode("ascii")
    if strict and not isinstance(value, os.PathLike) and type(value).__module__ not in ("uuid", "decimal"):
        raise TypeError("%s is not JSON" % type(value).__name__)
    return str(value)


def _key(key):
    if isinstance(key, str):
        return str(key)
    if isinstance(key, enum.Enum):
        return str(key.value)
    return json.dumps(key) if key is None or isinstance(key, (bool, int)) else str(key)


def depth_of(value):
    """How deep a plain value is nested."""
    deepest, pending = 0, [(value, 1)]
    while pending:
        value, depth = pending.pop()
        deepest = max(deepest, depth)
        if isinstance(value, dict):
            pending.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, list):
            pending.extend((item, depth + 1) for item in value)
    return deepest


def _image(value):
    """The bytes and the kind of a picture, if it is one."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        for magic, mime in _MAGIC:
            if data.startswith(magic) and not (magic == b"BM" and len(data) < 54):
                return data, mime
        return (data, "image/webp") if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
    package = type(value).__module__.split(".")[0]
    if package in ("PIL", "matplotlib"):
        import io

        out = io.BytesIO()
        if package == "PIL" and callable(getattr(value, "save", None)):
            value.save(out, format="PNG")
            return out.getvalue(), "image/png"
        if callable(getattr(value, "savefig", None)):
            value.savefig(out, format="png")
            return out.getvalue(), "image/png"
    return None


def _has_pictures(value):
    return isinstance(value, (list, tuple)) and any(_image(item) is not None for item in value)


def content(value):
    """The blocks for a result, and the structured data beside them."""
    if _has_pictures(value):
        blocks = []
        for item in value:
            blocks.extend(content(item)[0])
        return blocks, None
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return _text(str(value))
    picture = _image(value)
    if picture is not None:
        return [_picture(*picture)], None
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        try:
            return _text(data.decode("utf-8"))
        except UnicodeDecodeError:
            return [{"type": "text", "text": "%d bytes that are no text; %s" % (len(data), _stored(data, "bin"))}], None
    if isinstance(value, os.PathLike):
        return _text(os.fsdecode(os.fspath(value)))
    if hasattr(value, "__next__") and hasattr(value, "__iter__"):
        raise NotJson("run returned %s; return a list of what it gives instead" % type(value).__name__)
    data = plain(value)
    text = json.dumps(data, ensure_ascii=False)
    if isinstance(data, str):
        # It had no form in JSON and became its text.
        return _text(data)
    blocks, cut = _text(text)
    if cut is not None:
        return blocks, cut
    structured = data if isinstance(data, (dict, list)) and depth_of(data) <= DEEPEST_DETAILS else None
    return blocks, structured


def _picture(data, mime):
    if len(data) > MOST_IMAGE:
        return {"type": "text", "text": "a picture (%s) of %d bytes; %s" % (mime, len(data), _stored(data, mime[6:]))}
    return {"type": "image", "mime_type": mime, "data": base64.b64encode(data).decode("ascii")}


def _text(text):
    """A text, cut where it is too long; the whole then stands in a file."""
    if len(text) <= MOST_TEXT // 4 or (len(text) <= MOST_TEXT and len(text.encode("utf-8", "replace")) <= MOST_TEXT):
        return [{"type": "text", "text": text}], None
    # Never more at once than is kept: it may be all the memory there is.
    data = text[:MOST_KEPT].encode("utf-8", "replace")[:MOST_KEPT]
    shown = data[:MOST_TEXT].decode("utf-8", "ignore")
    whole = len(text) <= MOST_KEPT and len(data) < MOST_KEPT
    stored = _stored(data, "txt", whole)
    note = "\n\n[cut: %d of %d characters are shown; %s]" % (len(shown), len(text), stored)
    cut = {"truncated": True, "characters": len(text), "shown": len(shown)}
    if stored.file:
        cut["file"] = stored.file
    return [{"type": "text", "text": shown + note}], cut


class _Stored(str):
    file = None


def _stored(data, ending, whole=None):
    """Keeps an output in a file of its own; says where, or why not."""
    folder = os.environ.get("JACKFIELD_TEMP_DIR")
    if not folder:
        return _Stored("the rest is not kept: there is no folder for it")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _forget_old(folder)
        file = os.path.join(folder, "output-%d-%d.%s" % (time.time_ns(), os.getpid(), ending))
        out = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(out, "wb") as out:
            out.write(data[:MOST_KEPT])
    except OSError as error:
        return _Stored("the rest is not kept: %s" % error)
    whole = len(data) <= MOST_KEPT if whole is None else whole
    kept = "all of it is" if whole else "the first %d bytes are" % min(len(data), MOST_KEPT)
    stored = _Stored("%s in %s" % (kept, file))
    stored.file = file
    return stored


def _forget_old(folder):
    kept = sorted(name for name in os.listdir(folder) if name.startswith("output-"))
    for name in kept[: max(0, len(kept) - MOST_FILES + 1)]:
        os.unlink(os.path.join(folder, name))


def place_of(error, own):
    """The innermost line of the extension's own files that an exception passed through, and the whole way there."""
    frames, at = [], error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        frames.append((code.co_filename, at.tb_lineno, code.co_name))
        at = at.tb_next
    inside = [number for number, frame in enumerate(frames) if own(frame[0])]
    if not inside:
        return None, []
    file, line, _ = frames[inside[-1]]
    return (file, line), frames[inside[0]:]


def failure(error, own, title=None):
    """The blocks for an exception: what it says, and the last lines of the way to it."""
    import linecache

    place, frames = place_of(error, own)
    name = type(error).__name__
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 even that may fail
        said = "(its text cannot be shown)"
    said = said if len(said) <= 8192 else said[:8192] + "…"
    text = title or ("%s: %s" % (name, said) if said else name)
    if place is not None:
        text += "\nat %s:%d" % place
    lines = []
    skipped = len(frames) - LONGEST_TRACE
    for file, line, function in frames[-LONGEST_TRACE:]:
        lines.append('  File "%s", line %d, in %s' % (file, line, function))
        source = linecache.getline(file, line).strip()
        if source:
            lines.append("    " + source[:200])
    if lines:
        more = "  (%d more above)\n" % skipped if skipped > 0 else ""
        text += "\n\nlast lines of the traceback:\n" + more + "\n".join(lines)
    details = {"exception": name, "message": said}
    if place is not None:
        details["file"], details["line"] = place
    return [{"type": "text", "text": text}], details


def finished_by_exit(error):
    """What is said about `sys.exit` in a call."""
    return "run called sys.exit(%s); return a value or raise an exception instead" % (
        "" if error.code is None else repr(error.code)
    )


def interpreter():
    """Which Python this is, for messages."""
    return "%s (Python %d.%d)" % ((sys.executable,) + sys.version_info[:2])
