"""Classes with fields (dataclasses, TypedDict, NamedTuple, pydantic's models), and what `Annotated` says beside a type."""

import dataclasses
import enum
import json
import re
import sys
import typing

from .scalars import Bad, is_number

_MISSING = object()


class Field:
    """One field: its hint, and what holds without it."""

    __slots__ = ("hint", "required", "default")

    def __init__(self, hint, required, default=_MISSING):
        self.hint = hint
        self.required = required
        self.default = default


class Fields:
    """The fields of a class and how to make one. `whole` reads everything by itself where the class can."""

    def __init__(self, items, make, is_open=False, whole=None, schema=None):
        self.items = items
        self.make = make
        self.open = is_open
        self.whole = whole
        self.schema = schema


def _hints(cls):
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 a name that does not exist; each field is then looked at by itself
        return {}


def fields_of(cls):
    """The fields of a class that has some, else None."""
    if not isinstance(cls, type):
        return None
    if callable(getattr(cls, "model_json_schema", None)) and callable(getattr(cls, "model_validate", None)):
        return Fields({}, None, whole=_validated(cls.model_validate), schema=cls.model_json_schema)
    if callable(getattr(cls, "parse_obj", None)) and callable(getattr(cls, "schema", None)):
        return Fields({}, None, whole=_validated(cls.parse_obj), schema=lambda: _renamed(cls.schema()))
    hints = _hints(cls)
    if dataclasses.is_dataclass(cls):
        items = {}
        for field in dataclasses.fields(cls):
            if field.init:
                has_default = field.default is not dataclasses.MISSING
                required = not has_default and field.default_factory is dataclasses.MISSING
                default = field.default if has_default else _MISSING
                items[field.name] = Field(hints.get(field.name, field.type), required, default)
        return Fields(items, lambda read: cls(**read))
    if issubclass(cls, dict) and hasattr(cls, "__total__"):
        hints = hints or dict(getattr(cls, "__annotations__", {}))
        required = getattr(cls, "__required_keys__", frozenset(hints))
        return Fields({name: Field(hint, _is_required(hint, name in required)) for name, hint in hints.items()}, dict)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        defaults = getattr(cls, "_field_defaults", {})
        items = {
            name: Field(hints.get(name, typing.Any), name not in defaults, defaults.get(name, _MISSING))
            for name in cls._fields
        }
        return Fields(items, lambda read: cls(**read))
    return None


def _is_required(hint, otherwise):
    """`NotRequired` counts even where the class was made by an older typing."""
    word = str(typing.get_origin(hint)).rsplit(".", 1)[-1]
    return {"Required": True, "NotRequired": False}.get(word, otherwise)


def _renamed(schema):
    """The older pydantic calls `$defs` `definitions`."""
    text = re.sub(r'"#/definitions/', '"#/$defs/', json.dumps(schema))
    schema = json.loads(text)
    if "definitions" in schema:
        schema["$defs"] = schema.pop("definitions")
    return schema


def _validated(validate):
    def convert(value, where, lax):
        try:
            return validate(value)
        except Exception as error:  # noqa: BLE001 pydantic's own, or whatever a validator raises
            raise Bad(_complaint(error, where)) from None

    return convert


def _complaint(error, where):
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return "%s: %s" % (where, error)
    parts = []
    for one in errors()[:5]:
        place = ".".join([where] + [str(step) for step in one.get("loc", ())])
        parts.append("%s: %s" % (place, one.get("msg", "it does not fit")))
    return "; ".join(parts)


def pydantic_node(hint, hoist):
    """The schema and the reader that pydantic has for a hint; None without pydantic or where it has none."""
    pydantic = sys.modules.get("pydantic")
    adapter = getattr(pydantic, "TypeAdapter", None)
    if adapter is None:
        return None
    try:
        adapter = adapter(hint)
        return hoist(adapter.json_schema()), _validated(adapter.validate_python)
    except Exception:  # noqa: BLE001 it means nothing to pydantic either
        return None


def plain_default(value):
    """A default as JSON, or `_MISSING`."""
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None or isinstance(value, (str, bool)) or (is_number(value) and abs(value) < 1e300):
        return value
    from . import results

    try:
        return results.plain(value, strict=True)
    except (TypeError, ValueError, RecursionError):
        return _MISSING


def with_default(schema, field):
    """The schema with what holds without a value."""
    default = _MISSING if field.default is _MISSING else plain_default(field.default)
    return schema if default is _MISSING else dict(schema, default=default)


class Constraints:
    """What `Annotated` says: bounds, lengths, a pattern, a description."""

    def __init__(self):
        self.said = {}
        self.description = None

    def apply(self, schema, convert):
        said = dict(self.said)
        if schema.get("type") == "array":
            for ours, theirs in (("minLength", "minItems"), ("maxLength", "maxItems")):
                if ours in said:
                    said[theirs] = said.pop(ours)
        more = dict(said)
        if self.description:
            more["description"] = self.description
        schema = dict(schema, **more)
        if not said:
            return schema, convert
        checks = [_CHECKS[word](bound) for word, bound in said.items() if word in _CHECKS]

        def checked(value, where, lax):
            read = convert(value, where, lax)
            for holds, complaint in checks:
                try:
                    fits = holds(read)
                except TypeError:
                    fits = True
                if not fits:
                    raise Bad("%s: must be %s" % (where, complaint))
            return read

        return schema, checked


_CHECKS = {
    "minimum": lambda bound: (lambda v: v >= bound, "at least %s" % bound),
    "maximum": lambda bound: (lambda v: v <= bound, "at most %s" % bound),
    "exclusiveMinimum": lambda bound: (lambda v: v > bound, "more than %s" % bound),
    "exclusiveMaximum": lambda bound: (lambda v: v < bound, "less than %s" % bound),
    "multipleOf": lambda bound: (lambda v: v % bound == 0, "a multiple of %s" % bound),
    "minLength": lambda bound: (lambda v: len(v) >= bound, "at least %d long" % bound),
    "maxLength": lambda bound: (lambda v: len(v) <= bound, "at most %d long" % bound),
    "minItems": lambda bound: (lambda v: len(v) >= bound, "at least %d long" % bound),
    "maxItems": lambda bound: (lambda v: len(v) <= bound, "at most %d long" % bound),
    "pattern": lambda bound: (lambda v: re.search(bound, v) is not None, "like %s" % bound),
}
_WORDS = {
    "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum", "multiple_of": "multipleOf",
    "min_length": "minLength", "max_length": "maxLength", "pattern": "pattern", "regex": "pattern",
}


def constraints(metadata):
    """What the words beside a type say, and whether there were some that only pydantic knows."""
    known, unknown = Constraints(), False
    for word in metadata:
        if isinstance(word, str):
            continue
        found = False
        for name, key in _WORDS.items():
            bound = getattr(word, name, None)
            if bound is not None and not callable(bound):
                known.said[key] = bound if is_number(bound) else str(getattr(bound, "pattern", bound))
                found = True
        description = getattr(word, "description", None) or getattr(word, "documentation", None)
        if isinstance(description, str):
            known.description = description
            found = True
        inner = getattr(word, "metadata", None)
        if isinstance(inner, (list, tuple)):
            deeper, more = constraints(inner)
            known.said.update(deeper.said)
            unknown |= more
            found = True
        unknown |= not found and type(word).__module__.split(".")[0] == "pydantic"
    return known, unknown
