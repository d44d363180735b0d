"""The parameters of `run`: one schema for all, and how the arguments of a call become those of the function."""

import functools
import inspect
import typing

from . import docs, models
from .hints import Hints, Node
from .scalars import Bad, anything

_EMPTY = inspect.Parameter.empty
_FIXED = (
    inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY,
)


def _innermost(function):
    """The function whose hints count."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not isinstance(function, type):
        function = getattr(type(function), "__call__", function)
    return inspect.unwrap(function)


def _hints_of(function, hints):
    """Each hint as an object. One that cannot be resolved does not spoil the others."""
    inner = _innermost(function)
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except Exception:  # noqa: BLE001 whatever evaluating a stranger's hint raises
        pass
    found = {}
    for name, hint in getattr(inner, "__annotations__", {}).items():
        if isinstance(hint, str):
            try:
                hint = eval(hint, getattr(inner, "__globals__", {}))  # noqa: S307 it is the extension's own code
            except Exception as error:  # noqa: BLE001
                hints.warn("%s: the hint %s is taken as anything: %s" % (name, hint, error))
                hint = typing.Any
        found[name] = hint
    return found


class Parameters:
    """What `run` takes."""

    def __init__(self, function, docstring):
        hints = Hints()
        self.description, said = docs.parse(docstring)
        resolved = _hints_of(function, hints)
        self._fixed, self._more, self._whole = [], None, None
        for parameter in inspect.signature(function).parameters.values():
            name, hint = parameter.name, resolved.get(parameter.name, typing.Any)
            if parameter.kind in _FIXED:
                self._fixed.append((parameter, hints.node(hint, name)))
            elif parameter.kind == inspect.Parameter.VAR_KEYWORD:
                self._more = hints.node(hint, name)
            else:
                hints.warn("*%s is left out: arguments have names, so nothing can be passed to it" % name)
        self.schema = self._single(hints, resolved) or self._schema(said)
        if hints.defs:
            self.schema["$defs"] = hints.defs
        self.warnings = hints.warnings

    def _single(self, hints, resolved):
        """A single parameter that has fields: they stand for it."""
        if len(self._fixed) != 1 or self._more is not None:
            return None
        parameter = self._fixed[0][0]
        hint = resolved.get(parameter.name)
        if parameter.default is not _EMPTY or models.fields_of(hint) is None or issubclass(hint, tuple):
            return None
        fresh = Hints()
        node = fresh.object(hint, parameter.name)
        hints.defs, self._whole = fresh.defs, Node(None, node.convert)
        schema = {key: value for key, value in node.schema.items() if key != "title"}
        schema.setdefault("properties", {})
        return schema

    def _schema(self, said):
        schema = {"type": "object", "additionalProperties": False, "properties": {}}
        if self._more is not None:
            schema["additionalProperties"] = self._more.schema or True
        required = []
        for parameter, node in self._fixed:
            field = models.Field(None, parameter.default is _EMPTY)
            if not field.required:
                field.default = parameter.default
            shown = models.with_default(node.schema, field)
            if parameter.name in said and "description" not in shown:
                shown = dict(shown, description=said[parameter.name])
            schema["properties"][parameter.name] = shown
            if field.required:
                required.append(parameter.name)
        if required:
            schema["required"] = required
        return schema

    def bind(self, args):
        """Positional and named arguments for the function.

        Raises Bad with all that does not fit.
        """
        if not isinstance(args, dict):
            raise Bad("expected an object with the arguments")
        if self._whole is not None:
            parameter = self._fixed[0][0]
            value = self._whole.convert(args, parameter.name, True)
            if parameter.kind == inspect.Parameter.KEYWORD_ONLY:
                return [], {parameter.name: value}
            return [value], {}
        positional, named, complaints = [], {}, []
        left = dict(args)
        gap = False
        for parameter, node in self._fixed:
            name = parameter.name
            if name not in left:
                if parameter.default is _EMPTY:
                    complaints.append("%s is missing" % name)
                gap = True
                continue
            value = left.pop(name)
            if not (value is None and parameter.default is None):
                try:
                    value = node.convert(value, name, True)
                except Bad as error:
                    complaints.append(str(error))
                    continue
            if parameter.kind != inspect.Parameter.POSITIONAL_ONLY:
                named[name] = value
            elif not gap:
                positional.append(value)
            else:
                complaints.append("%s: whatever stands before it is needed, too" % name)
        for name, value in left.items():
            if self._more is None:
                known = ", ".join(parameter.name for parameter, _ in self._fixed) or "none"
                complaints.append("there is no parameter %s; the parameters are: %s" % (name, known))
                continue
            try:
                named[name] = self._more.convert(value, name, True)
            except Bad as error:
                complaints.append(str(error))
        if complaints:
            raise Bad("; ".join(complaints[:10]))
        return positional, named


def open_parameters(docstring):
    """For a function whose parameters nobody can tell: whatever comes is passed by name."""
    parameters = Parameters(lambda **more: None, docstring)
    parameters._more = Node({}, anything)
    return parameters
