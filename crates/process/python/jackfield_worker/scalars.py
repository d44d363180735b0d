"""Values that JSON cannot say by itself or says as text: how each looks in a schema and how it is read."""

import json
import math
import re
import sys

_INTEGER = re.compile(r"^\s*[+-]?\d{1,4000}\s*$")
_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}


class Bad(Exception):
    """An argument that does not fit."""


def show(value):
    """A value as messages quote it."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 80 else text[:79] + "…"


def fail(where, wanted, value):
    raise Bad("%s: expected %s, found %s" % (where, wanted, show(value)))


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def text(value, where, lax):
    if isinstance(value, str):
        return value
    if lax and is_number(value):
        return json.dumps(value)
    fail(where, "a text", value)


def integer(value, where, lax):
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if lax and isinstance(value, str) and _INTEGER.match(value):
        return int(value)
    fail(where, "an integer", value)


def number(value, where, lax):
    if is_number(value):
        try:
            return float(value)
        except OverflowError:
            fail(where, "a number within the range of float", value)
    if lax and isinstance(value, str):
        try:
            read = float(value)
        except ValueError:
            read = math.nan
        if math.isfinite(read):
            return read
    fail(where, "a number", value)


def boolean(value, where, lax):
    if isinstance(value, bool):
        return value
    if lax:
        word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
    fail(where, "true or false", value)


def nothing(value, where, lax):
    if value is None:
        return None
    fail(where, "null", value)


def anything(value, where, lax):
    return value


def binary(value, where, lax):
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    fail(where, "a text", value)


def _from_text(what, read):
    def convert(value, where, lax):
        if isinstance(value, str):
            try:
                return read(value)
            except (ValueError, ArithmeticError):
                pass
        fail(where, what, value)

    return convert


def _iso(text):
    """`Z` means UTC to everybody but older Pythons."""
    text = text.strip()
    return text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text


def _moment(value, where, lax):
    import datetime

    if lax and is_number(value):
        try:
            return datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
        except (OverflowError, ValueError, OSError):
            pass
    elif isinstance(value, str):
        try:
            return datetime.datetime.fromisoformat(_iso(value))
        except ValueError:
            pass
    fail(where, "a date and time such as 2026-02-21T09:30:00Z", value)


_DURATION = re.compile(
    r"^([+-])?P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$"
)


def _duration(value, where, lax):
    import datetime

    if is_number(value):
        try:
            return datetime.timedelta(seconds=value)
        except (OverflowError, ValueError):
            pass
    elif isinstance(value, str):
        parts = _DURATION.match(value.strip())
        if parts and any(parts.groups()[1:]):
            days, hours, minutes, seconds = (float(part or 0) for part in parts.groups()[1:])
            try:
                span = datetime.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
            except OverflowError:
                fail(where, "a shorter duration", value)
            return -span if parts.group(1) == "-" else span
    fail(where, "seconds, or a duration such as PT1H30M", value)


def _decimal(value, where, lax):
    import decimal

    if is_number(value) or isinstance(value, str):
        try:
            return decimal.Decimal(str(value).strip())
        except decimal.InvalidOperation:
            pass
    fail(where, "a number", value)


def _formatted(form):
    return {"type": "string", "format": form}


#: By type: the schema and the reader.
SCALARS = {
    str: ({"type": "string"}, text),
    int: ({"type": "integer"}, integer),
    float: ({"type": "number"}, number),
    bool: ({"type": "boolean"}, boolean),
    type(None): ({"type": "null"}, nothing),
    object: ({}, anything),
    bytes: (_formatted("binary"), binary),
    bytearray: (_formatted("binary"), lambda v, w, lax: bytearray(binary(v, w, lax))),
    complex: ({"type": "string"}, _from_text("a complex number such as 1+2j", lambda t: complex(t.strip()))),
}


def _loaded(module):
    """A module that is there because the hint comes from it. None is loaded for hints that nobody uses."""
    return sys.modules[module]


#: By module and name, for types whose modules are not loaded before a file uses them.
_NAMED = {
    ("datetime", "datetime"): lambda: (_formatted("date-time"), _moment),
    ("datetime", "date"): lambda: (
        _formatted("date"),
        _from_text("a date such as 2026-02-21", lambda t: _loaded("datetime").date.fromisoformat(t.strip())),
    ),
    ("datetime", "time"): lambda: (
        _formatted("time"),
        _from_text("a time such as 09:30:00", lambda t: _loaded("datetime").time.fromisoformat(_iso(t))),
    ),
    ("datetime", "timedelta"): lambda: ({"anyOf": [{"type": "number"}, _formatted("duration")]}, _duration),
    ("uuid", "UUID"): lambda: (_formatted("uuid"), _from_text("a UUID", lambda t: _loaded("uuid").UUID(t.strip()))),
    ("pathlib", "Path"): lambda: (_formatted("path"), _from_text("a path", _loaded("pathlib").Path)),
    ("pathlib", "PurePath"): lambda: (_formatted("path"), _from_text("a path", _loaded("pathlib").PurePath)),
    ("decimal", "Decimal"): lambda: ({"anyOf": [{"type": "number"}, {"type": "string"}]}, _decimal),
}


def scalar(hint):
    """The schema and the reader of a type that is one value, else None."""
    try:
        known = SCALARS.get(hint)
    except TypeError:
        return None
    if known is None and isinstance(hint, type):
        make = _NAMED.get((hint.__module__.split(".")[0], hint.__name__))
        known = make() if make is not None else None
    return known


def given_as_json(value, kind, lax):
    """Models now and then write a list or an object as text."""
    if lax and isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return value
        if isinstance(read, kind):
            return read
    return value
