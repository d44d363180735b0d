"""Type hints: what each means as a JSON Schema, and how an argument becomes a value of it.

The schemas follow pydantic's. A hint that means nothing in JSON becomes `{}` and a warning; it never costs the tool.
"""

import collections
import collections.abc
import enum
import sys
import typing

from . import models
from .scalars import SCALARS, Bad, anything, fail, given_as_json, scalar, show

_LISTS = {
    list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable, collections.abc.Iterator,
    collections.abc.Collection, collections.abc.Container, collections.abc.Reversible, collections.deque,
}
_SETS = {set, frozenset, collections.abc.Set, collections.abc.MutableSet}
_DICTS = {
    dict, collections.abc.Mapping, collections.abc.MutableMapping, collections.OrderedDict, collections.defaultdict,
}
_UNIONS = {typing.Union} | ({type(int | str)} if sys.version_info >= (3, 10) else set())


class Node:
    """A hint that was understood: its schema, and `convert(value, where, lax)`."""

    __slots__ = ("schema", "convert")

    def __init__(self, schema, convert):
        self.schema = schema
        self.convert = convert


class Hints:
    """Understands the hints of one function. What has a name of its own is written once, under `$defs`."""

    def __init__(self):
        self.defs = {}
        self.warnings = []
        self._named = {}

    def warn(self, text):
        if text not in self.warnings:
            self.warnings.append(text)

    def open(self, hint, where, why="it means nothing in JSON"):
        """Anything goes."""
        shown = getattr(hint, "__qualname__", None) or str(hint)
        self.warn("%s: the hint %s is taken as anything: %s" % (where, shown, why))
        return Node({}, anything)

    def node(self, hint, where):
        """Never fails: what cannot be understood is open."""
        try:
            return self._node(hint, where)
        except Exception as error:  # noqa: BLE001 whatever a strange class does when it is looked at
            return self.open(hint, where, "%s: %s" % (type(error).__name__, error))

    def _node(self, hint, where):
        if hint is typing.Any or hint is None:
            return Node({}, anything) if hint is typing.Any else Node(*SCALARS[type(None)])
        origin = typing.get_origin(hint)
        if origin is not None:
            return self._generic(hint, origin, typing.get_args(hint), where)
        if isinstance(hint, typing.TypeVar):
            if hint.__bound__ is not None:
                return self._node(hint.__bound__, where)
            return Node({}, anything)
        if hasattr(hint, "__supertype__"):
            return self._node(hint.__supertype__, where)
        if hasattr(hint, "__value__") and type(hint).__name__ == "TypeAliasType":
            return self._node(hint.__value__, where)
        if isinstance(hint, (str, typing.ForwardRef)):
            return self.open(hint, where, "the name is not defined")
        known = scalar(hint)
        if known is not None:
            return Node(dict(known[0]), known[1])
        if isinstance(hint, type):
            return self._class(hint, where)
        return self._foreign(hint, where)

    def _generic(self, hint, origin, args, where):
        if origin is typing.Annotated:
            return self._annotated(hint, args, where)
        if origin in _UNIONS:
            return self._union([self._node(arg, where) for arg in args])
        if origin is typing.Literal:
            return _literal(args)
        if origin in _LISTS:
            return self._list(args, where, collections.deque if origin is collections.deque else list)
        if origin in _SETS:
            return self._set(args, where, frozenset if origin is frozenset else set)
        if origin is tuple:
            return self._tuple(args, where)
        if origin in _DICTS:
            return self._dict(args, where)
        if origin in (typing.Final, typing.ClassVar) or str(origin).rsplit(".", 1)[-1] in ("Required", "NotRequired", "ReadOnly"):
            return self._node(args[0], where)
        return self._foreign(hint, where)

    def _class(self, hint, where):
        if hint in _LISTS:
            return self._list((), where, collections.deque if hint is collections.deque else list)
        if hint in _SETS:
            return self._set((), where, frozenset if hint is frozenset else set)
        if hint is tuple:
            return self._tuple((), where)
        if hint in _DICTS:
            return self._dict((), where)
        if issubclass(hint, enum.Enum):
            return self._named_node(hint, lambda: _enum(hint))
        fields = models.fields_of(hint)
        if fields is not None:
            return self._named_node(hint, lambda: self._object(hint, fields, where))
        return self._foreign(hint, where)

    def _foreign(self, hint, where):
        """What only pydantic understands, if the file uses it."""
        foreign = models.pydantic_node(hint, self._hoist)
        if foreign is None:
            return self.open(hint, where)
        return Node(*foreign)

    def _hoist(self, schema):
        """Moves the definitions of a schema from elsewhere among our own."""
        for name, definition in schema.pop("$defs", {}).items():
            self.defs.setdefault(name, definition)
        return schema

    def _named_node(self, hint, make):
        known = self._named.get(hint)
        if known is not None:
            return known
        name, count = hint.__name__, 2
        while name in self.defs:
            name, count = "%s%d" % (hint.__name__, count), count + 1
        node = Node({"$ref": "#/$defs/" + name}, None)
        # Known before it is made: it may hold itself.
        self._named[hint], self.defs[name] = node, {}
        made = make()
        self.defs[name], node.convert = made.schema, made.convert
        return node

    def object(self, hint, where):
        """The schema of a class with fields, by itself; None if it is none."""
        fields = models.fields_of(hint)
        return None if fields is None else self._object(hint, fields, where)

    def _object(self, hint, fields, where):
        if fields.whole is not None:
            return Node(self._hoist(fields.schema()), fields.whole)
        nodes = {name: self.node(field.hint, "%s.%s" % (where, name)) for name, field in fields.items.items()}
        schema = {"title": hint.__name__, "type": "object", "properties": {}}
        for name, field in fields.items.items():
            schema["properties"][name] = models.with_default(nodes[name].schema, field)
        required = [name for name, field in fields.items.items() if field.required]
        if required:
            schema["required"] = required

        def convert(value, at, lax):
            value = given_as_json(value, dict, lax)
            if not isinstance(value, dict):
                fail(at, "an object", value)
            missing = [name for name in required if name not in value]
            if missing:
                raise Bad("%s: %s is missing" % (at, ", ".join(missing)))
            unknown = [name for name in value if name not in nodes]
            if unknown and not fields.open:
                raise Bad("%s: there is no field %s" % (at, ", ".join(map(str, unknown))))
            read = {
                name: nodes[name].convert(item, "%s.%s" % (at, name), lax) if name in nodes else item
                for name, item in value.items()
            }
            try:
                return fields.make(read)
            except (TypeError, ValueError) as error:
                raise Bad("%s: %s" % (at, error)) from None

        return Node(schema, convert)

    def _union(self, nodes):
        schemas = []
        for node in nodes:
            if node.schema not in schemas:
                schemas.append(node.schema)

        def convert(value, where, lax):
            complaints = []
            for strictly in (False, True) if lax else (False,):
                complaints = []
                for node in nodes:
                    try:
                        return node.convert(value, where, strictly)
                    except Bad as error:
                        complaints.append(str(error))
            wanted = [text.split(": expected ", 1)[-1].rsplit(", found ", 1)[0] for text in complaints]
            fail(where, " or ".join(dict.fromkeys(wanted)), value)

        return Node({"anyOf": schemas} if len(schemas) > 1 else dict(schemas[0]), convert)

    def _list(self, args, where, make):
        item = self._node(args[0], where) if args else Node({}, anything)
        return Node({"type": "array", "items": item.schema}, _items(item, make, "a list"))

    def _set(self, args, where, make):
        item = self._node(args[0], where) if args else Node({}, anything)
        return Node({"type": "array", "items": item.schema, "uniqueItems": True}, _items(item, make, "a list"))

    def _tuple(self, args, where):
        if not args or (len(args) == 2 and args[1] is Ellipsis):
            item = self._node(args[0], where) if args else Node({}, anything)
            return Node({"type": "array", "items": item.schema}, _items(item, tuple, "a list"))
        nodes = [self._node(arg, where) for arg in args if arg != ()]
        size = len(nodes)

        def convert(value, at, lax):
            value = given_as_json(value, list, lax)
            if not isinstance(value, list) or len(value) != size:
                fail(at, "a list of %d" % size, value)
            return tuple(node.convert(item, "%s[%d]" % (at, n), lax) for n, (node, item) in enumerate(zip(nodes, value)))

        schema = {"type": "array", "prefixItems": [node.schema for node in nodes], "minItems": size, "maxItems": size}
        return Node(schema, convert)

    def _dict(self, args, where):
        key, item = (self._node(arg, where) for arg in args) if len(args) == 2 else (None, Node({}, anything))

        def convert(value, at, lax):
            value = given_as_json(value, dict, lax)
            if not isinstance(value, dict):
                fail(at, "an object", value)
            return {
                name if key is None else key.convert(name, "%s, key %s" % (at, show(name)), True):
                    item.convert(inner, "%s.%s" % (at, name), lax)
                for name, inner in value.items()
            }

        return Node({"type": "object", "additionalProperties": item.schema or True}, convert)

    def _annotated(self, hint, args, where):
        known, unknown = models.constraints(args[1:])
        if unknown:
            foreign = models.pydantic_node(hint, self._hoist)
            if foreign is not None:
                return Node(*foreign)
        node = self._node(args[0], where)
        return Node(*known.apply(node.schema, node.convert))


def _items(item, make, wanted):
    def convert(value, where, lax):
        value = given_as_json(value, list, lax)
        if not isinstance(value, list):
            fail(where, wanted, value)
        read = [item.convert(inner, "%s[%d]" % (where, at), lax) for at, inner in enumerate(value)]
        try:
            return make(read)
        except TypeError as error:
            raise Bad("%s: %s" % (where, error)) from None

    return convert


def _literal(values):
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    schema = {"enum": plain}
    kinds = {type(value) for value in plain}
    if len(kinds) == 1 and kinds <= {str, int, bool}:
        schema = {"type": SCALARS[kinds.pop()][0]["type"], "enum": plain}
    return Node(schema, _choice(list(zip(plain, values))))


def _enum(hint):
    plain = [member.value for member in hint]
    schema = {"title": hint.__name__, "enum": plain}
    kinds = {type(value) for value in plain}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        schema = {"title": hint.__name__, "type": SCALARS[kinds.pop()][0]["type"], "enum": plain}
    names = [(member.name, member) for member in hint]
    return Node(schema, _choice([(member.value, member) for member in hint], names))


def _choice(pairs, names=()):
    def same(a, b):
        return a == b and isinstance(a, bool) == isinstance(b, bool)

    def convert(value, where, lax):
        for plain, meant in pairs:
            if same(plain, value):
                return meant
        if lax:
            for plain, meant in list(pairs) + list(names):
                if isinstance(value, (str, int, float)) and str(plain).lower() == str(value).strip().lower():
                    return meant
        fail(where, "one of " + ", ".join(show(plain) for plain, _ in pairs), value)

    return convert
