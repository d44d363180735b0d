"""The table of hints and schemas, and how arguments are read."""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import typing
import uuid

from support import unittest

from jackfield_worker.parameters import Parameters
from jackfield_worker.scalars import Bad


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


@dataclasses.dataclass
class Chain:
    value: int
    more: "typing.Optional[Chain]" = None


class Options(typing.TypedDict, total=False):
    deep: bool
    names: typing.List[str]


class Pair(typing.NamedTuple):
    left: int
    right: str = "r"


class Plain:
    pass


class Bound:
    """What annotated_types.Interval and the like look like."""

    def __init__(self, **said):
        self.__dict__.update(said)


def of(hint, default=None, has_default=False):
    """A function with one parameter of this hint and another, so that no special case holds."""
    if has_default:
        def run(a, other: int = 0):
            pass
        run.__defaults__ = (default, 0)
    else:
        def run(a, other: int = 0):
            pass
    run.__annotations__["a"] = hint
    return Parameters(run, "")


def schema(hint):
    return of(hint).schema["properties"]["a"]


STRING, INTEGER, NUMBER, BOOLEAN = ({"type": kind} for kind in ("string", "integer", "number", "boolean"))


class Table(unittest.TestCase):
    def check(self, *rows):
        for hint, expected in rows:
            with self.subTest(hint=hint):
                self.assertEqual(schema(hint), expected)

    def test_scalars(self):
        self.check(
            (str, STRING), (int, INTEGER), (float, NUMBER), (bool, BOOLEAN), (None, {"type": "null"}),
            (typing.Any, {}), (object, {}), (bytes, {"type": "string", "format": "binary"}),
            (datetime.datetime, {"type": "string", "format": "date-time"}),
            (datetime.date, {"type": "string", "format": "date"}), (uuid.UUID, {"type": "string", "format": "uuid"}),
            (pathlib.Path, {"type": "string", "format": "path"}),
            (decimal.Decimal, {"anyOf": [NUMBER, STRING]}),
        )

    def test_containers(self):
        self.check(
            (list, {"type": "array", "items": {}}), (tuple, {"type": "array", "items": {}}),
            (typing.List[int], {"type": "array", "items": INTEGER}),
            (typing.Sequence[str], {"type": "array", "items": STRING}),
            (collections.abc.Sequence, {"type": "array", "items": {}}),
            (typing.Tuple[int, str], {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2}),
            (typing.Tuple[int, ...], {"type": "array", "items": INTEGER}),
            (typing.Set[str], {"type": "array", "items": STRING, "uniqueItems": True}),
            (dict, {"type": "object", "additionalProperties": True}),
            (typing.Dict[str, typing.Any], {"type": "object", "additionalProperties": True}),
            (typing.Dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
        )

    def test_choices(self):
        self.check(
            (typing.Optional[int], {"anyOf": [INTEGER, {"type": "null"}]}),
            (typing.Union[int, str], {"anyOf": [INTEGER, STRING]}),
            (typing.Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
            (typing.Literal["a", 1, None], {"enum": ["a", 1, None]}),
            (Color, {"$ref": "#/$defs/Color"}),
        )
        self.assertEqual(of(typing.Optional[int]).schema["required"], ["a"])
        self.assertEqual(of(Color).schema["$defs"], {"Color": {"title": "Color", "type": "string", "enum": ["red", "blue"]}})
        self.assertEqual(of(Size).schema["$defs"]["Size"], {"title": "Size", "type": "integer", "enum": [1, 2]})

    def test_annotated(self):
        bounded = typing.Annotated[int, Bound(ge=1, le=9, description="how many")]
        self.check(
            (bounded, {"type": "integer", "minimum": 1, "maximum": 9, "description": "how many"}),
            (typing.Annotated[str, "a bare text is ignored"], STRING),
            (typing.Annotated[str, Bound(min_length=2, pattern="^a")], {"type": "string", "minLength": 2, "pattern": "^a"}),
            (typing.Annotated[list, Bound(max_length=2)], {"type": "array", "items": {}, "maxItems": 2}),
        )

    def test_fields(self):
        self.assertEqual(schema(Point), {"$ref": "#/$defs/Point"})
        self.assertEqual(schema(typing.List[Point]), {"type": "array", "items": {"$ref": "#/$defs/Point"}})
        point = {"title": "Point", "type": "object", "properties": {"x": INTEGER, "y": dict(INTEGER, default=0)}, "required": ["x"]}
        self.assertEqual(of(Point).schema["$defs"], {"Point": point})
        options = of(Options).schema["$defs"]["Options"]
        self.assertEqual(options["properties"], {"deep": BOOLEAN, "names": {"type": "array", "items": STRING}})
        self.assertNotIn("required", options)
        self.assertIn("anyOf", of(Chain).schema["$defs"]["Chain"]["properties"]["more"])
        self.assertEqual(of(Pair).schema["$defs"]["Pair"]["required"], ["left"])

    def test_what_means_nothing_is_open_and_told(self):
        for hint in (typing.Callable[[int], int], Plain, "NoSuchName", typing.Type[int]):
            with self.subTest(hint=hint):
                parameters = of(hint)
                self.assertEqual(parameters.schema["properties"]["a"], {})
                self.assertEqual(len(parameters.warnings), 1, parameters.warnings)
                self.assertEqual(parameters.bind({"a": [1]}), ([], {"a": [1]}))

    def test_defaults_and_kinds(self):
        def run(a, /, b: int, *rest: int, c: Color = Color.RED, d=None, e: list = [1], **more: str):
            pass

        parameters = Parameters(run, "")
        self.assertEqual(parameters.schema["required"], ["a", "b"])
        self.assertEqual(parameters.schema["additionalProperties"], STRING)
        properties = parameters.schema["properties"]
        self.assertEqual(properties["c"], {"$ref": "#/$defs/Color", "default": "red"})
        self.assertEqual(properties["a"], {})
        self.assertEqual(properties["d"], {"default": None})
        self.assertEqual(properties["e"]["default"], [1])
        self.assertNotIn("rest", properties)
        self.assertIn("*rest", parameters.warnings[0])
        bound = parameters.bind({"a": 1, "b": "2", "c": "blue", "x": "y"})
        self.assertEqual(bound, ([1], {"b": 2, "c": Color.BLUE, "x": "y"}))
        with self.assertRaisesRegex(Bad, "x: expected a text"):
            parameters.bind({"a": 1, "b": 2, "x": []})

    def test_nothing_needed_has_no_required(self):
        self.assertEqual(
            Parameters(lambda: None, "").schema, {"type": "object", "additionalProperties": False, "properties": {}}
        )

    def test_a_single_parameter_with_fields_stands_for_them(self):
        def run(point: Point):
            pass

        parameters = Parameters(run, "")
        expected = {"type": "object", "properties": {"x": INTEGER, "y": dict(INTEGER, default=0)}, "required": ["x"]}
        self.assertEqual(parameters.schema, expected)
        self.assertEqual(parameters.bind({"x": "3"}), ([Point(3)], {}))

    def test_hints_that_cannot_be_resolved_spoil_only_themselves(self):
        def run(a: "NoSuchName", b: "int"):
            pass

        parameters = Parameters(run, "")
        self.assertEqual(parameters.schema["properties"], {"a": {}, "b": INTEGER})
        self.assertEqual(len(parameters.warnings), 1)


class Reading(unittest.TestCase):
    def check(self, hint, given, meant):
        self.assertEqual(of(hint).bind({"a": given})[1]["a"], meant)
        self.assertEqual(type(of(hint).bind({"a": given})[1]["a"]), type(meant))

    def refuses(self, hint, given, text):
        with self.assertRaisesRegex(Bad, text):
            of(hint).bind({"a": given})

    def test_what_is_read(self):
        for hint, given, meant in (
            (int, "5", 5), (int, 5.0, 5), (float, 1, 1.0), (float, "1.5", 1.5), (bool, "true", True), (bool, 0, False),
            (str, 5, "5"), (bytes, "é", "é".encode()), (Color, "blue", Color.BLUE), (Color, "RED", Color.RED),
            (Size, 2, Size.LARGE), (typing.Literal["a", 1], "1", 1), (typing.List[int], ["1", 2], [1, 2]),
            (typing.List[int], "[1, 2]", [1, 2]), (typing.Set[int], [1, 1], {1}), (typing.Tuple[int, str], [1, "a"], (1, "a")),
            (typing.Dict[str, int], {"k": "1"}, {"k": 1}), (typing.Dict[int, str], {"1": "x"}, {1: "x"}),
            (typing.Union[int, str], "5", "5"), (typing.Optional[int], None, None), (typing.Optional[int], "5", 5),
            (Point, {"x": 1}, Point(1)), (Pair, {"left": 1}, Pair(1)), (pathlib.Path, "/a", pathlib.Path("/a")),
            (datetime.date, "2026-02-21", datetime.date(2026, 2, 21)), (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
            (datetime.timedelta, "PT1H30M", datetime.timedelta(hours=1, minutes=30)),
            (Chain, {"value": 1, "more": {"value": 2}}, Chain(1, Chain(2))),
        ):
            with self.subTest(hint=hint, given=given):
                self.check(hint, given, meant)
        moment = of(datetime.datetime).bind({"a": "2026-02-21T09:30:00Z"})[1]["a"]
        self.assertEqual(moment.isoformat(), "2026-02-21T09:30:00+00:00")

    def test_what_is_refused(self):
        for hint, given, text in (
            (int, "many", "a: expected an integer, found \"many\""), (int, True, "integer"), (int, 1.5, "integer"),
            (bool, "maybe", "true or false"), (str, [1], "a text"), (Color, "green", "one of \"red\", \"blue\""),
            (typing.List[int], [1, "x"], r"a\[1\]: expected an integer"), (typing.Tuple[int, str], [1], "a list of 2"),
            (Point, {"y": 1}, "a: x is missing"), (Point, {"x": 1, "z": 1}, "no field z"), (typing.Set[list], [[1]], "unhashable"),
            (typing.Union[int, bool], [], "an integer or true or false"), (float, "nan", "a number"),
            (datetime.datetime, "soon", "a date and time"), (typing.Annotated[int, Bound(le=9)], 10, "at most 9"),
            (typing.Annotated[str, Bound(pattern="^a")], "b", "like"), (uuid.UUID, "x", "a UUID"), (int, "9" * 5000, "integer"),
        ):
            with self.subTest(hint=hint, given=given):
                self.refuses(hint, given, text)

    def test_all_that_is_wrong_is_told_at_once(self):
        def run(a: int, b: str):
            pass

        with self.assertRaisesRegex(Bad, "a: expected an integer.*b is missing.*no parameter c; the parameters are: a, b"):
            Parameters(run, "").bind({"a": "x", "c": 1})


if __name__ == "__main__":
    unittest.main()
