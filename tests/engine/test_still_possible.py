"""A violation lists as still possible what a valid call and the mask allow at that character, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from glyphscope.events import RunRequest, Violation
from glyphscope.grammar import MatchLimits, State, compile_grammar
from glyphscope.notation import is_bare_key, shape_keys, write_value
from glyphscope.registry import Tool, ToolRegistry, load_registry
from glyphscope.runs.strategies.turns import expected_answer
from glyphscope.turns import Expected, TurnOptions, build_turn_grammar
from glyphscope.validation import CallValidator
from turn_forms import FORMS
from turn_forms import write as native_call

pytestmark = pytest.mark.slow

OBJECT = {"type": "object"}
INTEGER = {"type": "integer"}
CLOSED = {"additionalProperties": False}
WEATHER = {
    "properties": {
        "place": {"type": "string"},
        "unit": {"enum": ["celsius", "centi", "fahrenheit"]},
        "days": {"enum": [1, 15, 150, 2]},
        "dry": {"enum": [True, None, "true north"]},
    },
    "required": ["place"],
}
REGISTRIES: dict[str, ToolRegistry] = {
    name: load_registry({"tools": [{"name": n, "parameters": OBJECT | p} for n, p in tools.items()]})
    for name, tools in {
        "names that begin like keys of the call": {
            "weather_get": WEATHER,
            "weather": {"properties": {"amount": {"type": "number"}, "tools": {"type": "boolean"}}},
            "add": {"properties": {"args_": {"type": "integer"}}, "required": ["args_"]},
        },
        "no arguments": {"ping": {}},
        "all required": {"move": {"properties": {"x": INTEGER, "y": INTEGER}, "required": ["x", "y"]}},
        "closed": {"set": WEATHER | CLOSED},
        "most members": {"one": {"properties": {"a": {}, "b": {}, "ab": {}}, "maxProperties": 1} | CLOSED},
    }.items()
}  # fmt: skip
SAMPLES: dict[str, Any] = {
    "place": "x", "unit": "centi", "days": 15, "dry": True, "amount": 1, "tools": True, "args_": 1, "x": 1, "y": 2,
    "a": 1, "b": 1, "ab": 1,
}  # fmt: skip
WRONG_KEYS = [
    "a",
    "ab",
    "am",
    "amount",
    "action",
    "actio",
    "actions",
    "tool",
    "args",
    "z",
    "d",
    "days",
    "dab",
    "un",
]
WRONG_KEYS += ["x", "place", "p", "abc", "name", "arguments"]
WRONG_VALUES = {
    "unit": ['"celsius ', '"ce"', '"f', '"x', "c", "centipede", "q", "4", "[", "tru"],
    "days": ["3", "151", "15,", "15 ", "1.5", "0", "x", '"1', "-", "1500", "1e", "{"],
    "dry": ["f", "tx", "nu1", "true_", "truenorth", '"true s', "_", "1", "n "],
}
ENDS = {"the end of the call", "the end of the arguments"}
SHAPES = ["flat", "tool-args", "name-arguments"]


class Text:
    """Text of a call in a notation and shape: up to the place of an argument, with `given` before it."""

    def __init__(self, notation: str, shape: str, tool: Tool, given: tuple[str, ...]) -> None:
        self.notation, self.json = notation, notation == "json"
        self.tool, self.given = tool, given
        keys = shape_keys(shape)
        self.text = "{" + self.pair(keys.name_key, tool.name)
        if keys.args_key:
            self.text += ("," if self.json else " ") + self.key(keys.args_key) + "{"
        self.first = bool(keys.args_key)
        for name in given:
            self.text += self.between + self.pair(name, SAMPLES[name])
            self.first = False

    @property
    def between(self) -> str:
        """The text between this and another argument."""
        return "" if self.first else "," if self.json else " "

    def key(self, name: str) -> str:
        return f'"{name}":' if self.json else f"{name}="

    def pair(self, name: str, value: Any) -> str:
        return self.key(name) + write_value(value, self.notation)


def texts(notation: str, shape: str) -> Iterator[tuple[str, ToolRegistry, Text]]:
    for title, registry in REGISTRIES.items():
        for tool in registry.allowed:
            names = properties(tool)
            for size in range(min(2, len(names)) + 1):
                for given in itertools.permutations(names, size):
                    yield title, registry, Text(notation, shape, tool, given)


def first_violation(registry: ToolRegistry, text: str, notation: str, shape: str) -> Violation | None:
    validator = CallValidator(registry, notation, shape)
    validator.feed(text)
    return validator.violations[0] if validator.violations else None


@cache
def grammar(title: str, notation: str, shape: str) -> State:
    request = RunRequest(
        prompt="", registry={}, notation=notation, shape=shape, constraint="mask", order="any"
    )
    return compile_grammar(expected_answer(request).grammar(REGISTRIES[title])).start(MatchLimits())


def properties(tool: Tool) -> list[str]:
    return list(tool.parameters.get("properties", {}))


def listed(violation: Violation) -> set[str]:
    return set(violation.viable.replace(" or ", ", ").split(", ")) - {""}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("notation", ["glyph", "json"])
def test_the_names_listed_at_a_wrong_key_are_those_that_can_follow(notation: str, shape: str) -> None:
    checked = 0
    for title, registry, before in texts(notation, shape):
        if first_violation(registry, before.text, notation, shape):
            continue
        mask = grammar(title, notation, shape).feed(before.text)
        written = {
            name: before.between + before.key(name) for one in registry.allowed for name in properties(one)
        }
        possible = {
            n
            for n, key in written.items()
            if not first_violation(registry, before.text + key, notation, shape)
        }
        assert possible == {name for name, key in written.items() if mask.feed(key).alive}, before.text
        for wrong in WRONG_KEYS:
            key = before.between + before.key(wrong)
            found = first_violation(registry, before.text + key, notation, shape)
            if found is None:
                continue
            where = (title, before.text + key, found)
            good = key[: found.char - len(before.text)]
            assert found.code in ("UNKNOWN_ARGUMENT", "DUPLICATE_ARGUMENT", "CONSTRAINT_OTHER"), where
            names = listed(found) - ENDS
            assert names == {name for name in possible if written[name].startswith(good)}, where
            ends = bool(listed(found) & ENDS)
            assert ends == (first_violation(registry, before.text + good + "}", notation, shape) is None), (
                where
            )
            assert good.strip(" ") or ends == mask.feed("}").alive, where
            checked += 1
    assert checked > 300


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("notation", ["glyph", "json"])
def test_the_arguments_listed_at_an_early_end_are_those_that_can_follow(notation: str, shape: str) -> None:
    checked = 0
    for title, registry, before in texts(notation, shape):
        found = first_violation(registry, before.text + "}", notation, shape)
        if found is None or found.char < len(before.text):
            continue
        where = (title, before.text + "}", found)
        assert found.code == "MISSING_REQUIRED", where
        assert listed(found) == set(properties(before.tool)) - set(before.given), where
        mask = grammar(title, notation, shape).feed(before.text)
        assert all(mask.feed(before.between + before.key(name)).alive for name in listed(found)), where
        checked += 1
    assert checked >= 4


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("notation", ["glyph", "json"])
def test_the_values_listed_at_a_wrong_value_are_those_that_can_follow(notation: str, shape: str) -> None:
    title, checked = "closed", 0
    registry = REGISTRIES[title]
    mask = grammar(title, notation, shape)
    for name, values in WRONG_VALUES.items():
        before = Text(notation, shape, registry.allowed[0], ("place",))
        start = before.text + before.between + before.key(name)
        enum = WEATHER["properties"][name]["enum"]  # type: ignore[index]
        for value in values:
            found = first_violation(registry, start + value, notation, shape)
            if found is None or found.code == "SYNTAX":
                continue
            good = (start + value)[: found.char]
            written = {write_value(one, "json"): writings(one, notation) for one in enum}
            possible = {
                key for key, ways in written.items() if any((start + way).startswith(good) for way in ways)
            }
            where = (start + value, found)
            assert listed(found) == possible, where
            for key in possible:
                fitting = [way for way in written[key] if (start + way).startswith(good)]
                masked = not mask.feed(good).alive  # the mask writes a value in one way
                assert masked or any(mask.feed(start + way).alive for way in fitting), (key, where)
            checked += 1
    assert checked > 15


def writings(value: Any, notation: str) -> list[str]:
    """The ways to write a value that the mask or a model has."""
    ways = [write_value(value, "json")]
    if type(value) is int:
        ways.append(f"{value}.0")
    if notation == "glyph":
        ways += {"true": ["t"], "null": ["_", "nil", "∅"]}.get(ways[0], [])
        ways += [value] if isinstance(value, str) and is_bare_key(value) else []
    return ways


@pytest.mark.parametrize("notation", ["glyph", "json"])
def test_before_the_tool_is_named_the_arguments_of_every_tool_are_listed(notation: str) -> None:
    registry = REGISTRIES["names that begin like keys of the call"]
    found = first_violation(registry, '{"zoo"' if notation == "json" else "{zoo", notation, "flat")
    assert found is not None
    expected = {"'action'"} | {name for tool in registry.allowed for name in properties(tool)}
    assert listed(found) == expected


def test_arguments_before_the_name_narrow_the_tools_that_are_listed() -> None:
    registry = REGISTRIES["names that begin like keys of the call"]
    for text, viable in (
        ("{amount=1 action=x", '"weather"'),
        ('{amount=1 action="weather_', '"weather"'),
        ('{action="weath"', '"weather_get" or "weather"'),
        ('{action="wx', '"weather_get" or "weather"'),
        ("{amount=1}", "'action' or tools"),
    ):
        found = first_violation(registry, text, "glyph", "flat")
        assert found is not None and found.viable == viable, (text, found)


NO_G = "no remaining argument begins with 'g'"


@pytest.mark.parametrize(
    ("schema", "text", "message", "viable"),
    [
        ({"propertyNames": {"enum": ["red", "blue", "bluish"]}}, '{"g', NO_G, "red, blue or bluish"),
        ({"propertyNames": {"enum": ["red", "blue", "bluish"]}}, '{"bx', NO_G.replace("g'", "bx'"), "blue or bluish"),
        ({"propertyNames": {"enum": ["red", "blue"]}}, '{"re":', "no remaining argument is named 're'", "red"),
        ({"propertyNames": {"enum": ["red"]}}, '{"red":1,', "no argument remains", "the end of the object"),
        ({"propertyNames": {"enum": ["red"]}, "properties": {"green": {}, "red": {}}}, '{"g', NO_G, "red"),
        ({"propertyNames": {"pattern": "^x-"}}, '{"g', NO_G, "any name that `propertyNames` allows"),
        ({"patternProperties": {"^x-": {}}} | CLOSED, '{"g', NO_G, "a name that matches ^x-"),
        ({"properties": {"a": False}}, '{"a":', "no remaining argument is named 'a'", "any other name"),
        ({"maxProperties": 1}, '{"a":1,', "e may have at most 1 members", "the end of the object"),
    ],
)  # fmt: skip
def test_the_names_of_an_object_with_other_keywords_are_listed(
    schema: dict[str, Any], text: str, message: str, viable: str
) -> None:
    registry = load_registry({"f": {"type": "object", "properties": {"e": OBJECT | schema}}})
    found = first_violation(registry, '{"action":"f","e":' + text, "json", "flat")
    assert found is not None
    assert (found.message, found.viable) == (message, viable)


# native turns

WRONG_NAMES = [
    "wx",
    "weath",
    "weather_",
    "weatherx",
    "we ather",
    "add_",
    "a",
    "zoo",
    "",
    "pin",
    "pingu",
    "W",
    "weather_get_",
]


def native_violation(encoding: str, registry: ToolRegistry, text: str) -> Violation | None:
    validator = Expected(FORMS[encoding], TurnOptions(thinking=False)).validator(registry)
    validator.feed(text)
    return validator.violations[0] if validator.violations else None


@cache
def native_mask(title: str, encoding: str) -> State:
    options = TurnOptions(order="any", thinking=False)
    return compile_grammar(build_turn_grammar(FORMS[encoding], REGISTRIES[title], options, {})).start(
        MatchLimits()
    )


def parts(encoding: str, tool: str, given: tuple[str, ...]) -> tuple[str, str]:
    """The text of a call up to another argument's name, and the text between that name and its value."""
    whole = native_call(encoding, tool, **{name: SAMPLES[name] for name in given}, zqkey=7)
    before, _, after = whole.partition("zqkey")
    return before, after.partition("7")[0]


@pytest.mark.parametrize("encoding", FORMS)
def test_the_names_listed_at_a_wrong_key_of_a_native_call_are_those_that_can_follow(encoding: str) -> None:
    checked = 0
    for title, registry in REGISTRIES.items():
        for tool in registry.allowed:
            names = properties(tool)
            for given in itertools.chain.from_iterable(itertools.permutations(names, n) for n in range(3)):
                before, close = parts(encoding, tool.name, given)
                if native_violation(encoding, registry, before):
                    continue
                mask = native_mask(title, encoding).feed(before)
                every = {name for one in registry.allowed for name in properties(one)}
                possible = {n for n in every if not native_violation(encoding, registry, before + n + close)}
                assert possible == {n for n in every if mask.feed(n + close).alive}, before
                for wrong in WRONG_KEYS:
                    found = native_violation(encoding, registry, before + wrong + close)
                    if found is None or found.char < len(before):
                        continue
                    where = (title, before + wrong + close, found)
                    assert found.code in ("UNKNOWN_ARGUMENT", "DUPLICATE_ARGUMENT", "CONSTRAINT_OTHER"), where
                    good = wrong[: found.char - len(before)]
                    fitting = {name for name in possible if name.startswith(good)}
                    assert listed(found) - ENDS == fitting, where
                    assert all(mask.feed(name + close).alive for name in fitting), where
                    checked += 1
    assert checked > 200


@pytest.mark.parametrize("encoding", FORMS)
def test_the_tools_listed_at_a_wrong_name_of_a_native_call_are_those_that_can_follow(encoding: str) -> None:
    checked = 0
    for title, registry in REGISTRIES.items():
        before, _, after = native_call(encoding, "zqtool").partition("zqtool")
        mask = native_mask(title, encoding).feed(before)
        for wrong in WRONG_NAMES:
            found = native_violation(encoding, registry, before + wrong + after)
            if found is None or registry.get(wrong) is not None:
                continue
            where = (title, before + wrong + after, found)
            good = (wrong + after)[: found.char - len(before)]
            assert found.code == "UNKNOWN_TOOL", where
            names = {tool.name for tool in registry.allowed if tool.name.startswith(good)}
            assert {name.strip('"') for name in listed(found)} == names, where
            assert all(mask.feed(name).alive for name in names), where
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("encoding", FORMS)
def test_the_arguments_listed_at_an_early_end_of_a_native_call_are_those_that_can_follow(
    encoding: str,
) -> None:
    checked = 0
    for title, registry in REGISTRIES.items():
        for tool in registry.allowed:
            names = properties(tool)
            for given in itertools.chain.from_iterable(itertools.permutations(names, n) for n in range(3)):
                whole = native_call(encoding, tool.name, **{name: SAMPLES[name] for name in given})
                before, close = parts(encoding, tool.name, given)
                found = native_violation(encoding, registry, whole)
                if found is None or native_violation(encoding, registry, before):
                    continue
                where = (title, whole, found)
                assert found.code == "MISSING_REQUIRED", where
                mask = native_mask(title, encoding).feed(before)
                assert listed(found) == set(names) - set(given), where
                assert all(mask.feed(name + close).alive for name in listed(found)), where
                checked += 1
    assert checked >= 4


@pytest.mark.parametrize("encoding", FORMS)
def test_the_values_listed_at_a_wrong_value_of_a_native_call_are_those_that_can_follow(encoding: str) -> None:
    title, checked = "closed", 0
    registry = REGISTRIES[title]
    for name in ("unit", "days"):
        enum = WEATHER["properties"][name]["enum"]  # type: ignore[index]
        written = {
            write_value(one, "json"): native_call(encoding, "set", place="x", **{name: one}) for one in enum
        }
        assert not any(native_violation(encoding, registry, whole) for whole in written.values())
        for wrong in (
            ("celsiusx", "ce", "fahr", "zoo", 3, 151, 1500, 16) if name == "unit" else (3, 151, 1500, 16, 0)
        ):
            text = native_call(encoding, "set", place="x", **{name: wrong})
            found = native_violation(encoding, registry, text)
            assert found is not None
            if found.code != "CONSTRAINT_ENUM":
                continue
            good, where = text[: found.char], (text, found)
            fitting = {value for value, whole in written.items() if whole.startswith(good)}
            assert listed(found) == fitting, where
            alive = native_mask(title, encoding).feed(good).alive
            assert not alive or all(native_mask(title, encoding).feed(written[v]).alive for v in fitting), (
                where
            )
            checked += 1
    assert checked > 5
