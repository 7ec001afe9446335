"""Values whose members are tags, and parameters with the attribute of a type or without it: read by the schema."""

from __future__ import annotations

from typing import Any

import pytest

from glyphscope.events import Violation
from glyphscope.registry import parse_document
from glyphscope.turns import Expected, TurnForm, TurnTools, call_violations, read_turn
from glyphscope.turns.form import ArgumentsForm, CallForm, Piece

TEXTS = {"type": "array", "items": {"type": "string"}}
ROW = {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": ["integer", "null"]}}}
OPTS = {"zip": {"type": "string"}, "n": {"type": "integer"}, "tags": TEXTS, "rows": {"type": "array", "items": ROW},
        "item": {"type": "string"}, "either": {"type": ["string", "integer"]}}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {
        "opts": {"type": "object", "properties": OPTS, "additionalProperties": False},
        "any": {}, "object": {"type": "object"}, "text": {"type": "string"},
        "maybe": {"type": ["string", "integer"]}, "numbers": {"type": "array", "items": {"type": "integer"}},
    },
}  # fmt: skip
REGISTRY = parse_document([{"name": "f", "parameters": SCHEMA}])


def tagged(*parameter: Piece, **fields: Any) -> TurnForm:
    pieces = (
        Piece("text", "<call="),
        Piece("name"),
        Piece("text", ">"),
        Piece("arguments"),
        Piece("text", "</call>"),
    )
    arguments = ArgumentsForm("tagged", parameter=parameter, **fields)
    return TurnForm(calls=(CallForm(pieces, arguments),))


TAGS = tagged(Piece("text", "<"), Piece("key"), Piece("text", ">"), Piece("value"), Piece("text", "</"),
              Piece("key"), Piece("text", ">"), item="item")  # fmt: skip
TYPED = tagged(Piece("text", '<p name="'), Piece("key"), Piece("text", '" string="true">'), Piece("value"),
               Piece("text", "</p>"), typed={"string": '" string="true">', "integer": '" string="false">',
                                              "array": '" string="false">'})  # fmt: skip


def judged(form: TurnForm, text: str, size: int) -> tuple[Any, list[tuple[str, str, str]]]:
    """Return the arguments, and code, path and preceding text of each violation."""
    validator = Expected(form).validator(REGISTRY)
    events = [event for at in range(0, len(text), size) for event in validator.feed(text[at : at + size])]
    (streamed,) = (call.arguments for call in validator.calls)
    events += validator.finish()
    (call,) = read_turn(text, form, TurnTools(REGISTRY)).calls
    assert call.arguments == streamed
    found = [event for event in events if isinstance(event, Violation)]
    return call.arguments, [(event.code, event.path, text[: event.char + 1]) for event in found]


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("<opts><zip>01234</zip><n>3</n></opts>", {"opts": {"zip": "01234", "n": 3}}),
        ("<opts><tags><item>1</item><item>true</item></tags></opts>", {"opts": {"tags": ["1", "true"]}}),
        ("<opts><tags></tags></opts>", {"opts": {"tags": []}}),
        ("<opts></opts>", {"opts": {}}),
        ("<numbers></numbers>", {"numbers": []}),
        ("<numbers><item>1</item><item>2</item></numbers>", {"numbers": [1, 2]}),
        ("<opts><item>12</item></opts>", {"opts": {"item": "12"}}),
        ("<opts><rows><item><id>7</id><n>null</n></item><item><id>a < b\n</id></item></rows></opts>",
         {"opts": {"rows": [{"id": "7", "n": None}, {"id": "a < b\n"}]}}),
        ("<opts><either>12</either></opts>", {"opts": {"either": 12}}),
        ("<any><a>1</a><b>x</b><c></c></any>", {"any": {"a": 1, "b": "x", "c": ""}}),
        ("<text><b>12</b></text>", {"text": "<b>12</b>"}),
        ("<opts><zip><b>12</b></zip></opts>", {"opts": {"zip": "<b>12</b>"}}),
    ],
)  # fmt: skip
def test_values_written_as_tags_are_read_by_the_schema(text: str, arguments: Any, size: int) -> None:
    assert judged(TAGS, f"<call=f>{text}</call>", size) == (arguments, [])


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("<opts><n>x</n></opts>", [("TYPE_MISMATCH", "/opts/n", "<opts><n>x")]),
        ("<opts><n>[1,</n><zip>a</zip></opts>", [("TYPE_MISMATCH", "/opts/n", "<opts><n>[")]),
        ("<numbers><item>true</item></numbers>", [("TYPE_MISMATCH", "/numbers/0", "<numbers><item>t")]),
    ],
)
def test_a_value_in_tags_has_one_violation_where_it_is_decided(text: str, wrong: Any, size: int) -> None:
    found = judged(TAGS, f"<call=f>{text}</call>", size)[1]
    assert found == [(code, path, f"<call=f>{before}") for code, path, before in wrong]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_parameter_without_the_attribute_of_its_type_is_read_by_the_schema(size: int) -> None:
    text = '<call=f><p name="text">12</p><p name="numbers">[1]</p><p name="any" string="true">3</p></call>'
    arguments, found = judged(TYPED, text, size)
    assert arguments == {"text": "12", "numbers": [1], "any": "3"}
    assert found == [
        ("SYNTAX", "", '<call=f><p name="text">'),
        ("SYNTAX", "", '<call=f><p name="text">12</p><p name="numbers">'),
    ]


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    ("parameter", "arguments", "code", "at"),
    [  # the type that a value is said to have is one that the argument, or its own value, does not have
        ('<p name="numbers" string="true">[1]', {"numbers": [1]}, "SYNTAX", '<p name="numbers" string="t'),
        ('<p name="text" string="false">12', {"text": "12"}, "SYNTAX", '<p name="text" string="f'),
        ('<p name="text" string="false">"a"', {"text": '"a"'}, "SYNTAX", '<p name="text" string="f'),
        ('<p name="maybe" string="false">a', {"maybe": "a"}, "TYPE_MISMATCH", '<p name="maybe" string="false">a'),
    ],
)  # fmt: skip
def test_a_value_of_another_type_than_its_attribute_says_is_invalid(
    parameter: str, arguments: Any, code: str, at: str, size: int
) -> None:
    text = f"<call=f>{parameter}</p></call>"
    found, violations = judged(TYPED, text, size)
    assert (found, [each[::2] for each in violations]) == (arguments, [(code, f"<call=f>{at}")])
    assert not read_turn(text, TYPED, TurnTools(REGISTRY)).strict


@pytest.mark.parametrize("size", [1, 1000])
def test_an_attribute_chooses_between_the_types_of_an_argument(size: int) -> None:
    for said, value in (("true", "12"), ("false", 12)):
        text = f'<call=f><p name="maybe" string="{said}">12</p></call>'
        assert judged(TYPED, text, size) == ({"maybe": value}, [])


@pytest.mark.parametrize(
    "text",
    [
        '<object>{"a": 1, "a": 2}</object>',
        '<opts>{"n": 1, "\\u006e": 2}</opts>',
        '<object>{"": 1, "": 2}</object>',
        "<object>{'a': {'b': 1, 'b': 2}}</object>",
    ],
)
def test_a_key_that_is_written_twice_inside_of_a_value_is_a_violation_of_both_readers(text: str) -> None:
    assert [code for code, _, _ in judged(TAGS, f"<call=f>{text}</call>", 1)[1]] == ["DUPLICATE_ARGUMENT"]
    tools = TurnTools(REGISTRY)
    turn = read_turn(f"<call=f>{text}</call>", TAGS, tools)
    found = [each.code for call in turn.calls for each in call_violations(call, tools)]
    assert (turn.strict, found) == (False, ["DUPLICATE_ARGUMENT"])


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    "text",
    ["01234", "+49171", ".5", "5.", "{1}", '{"a": 1, "a": 2}', '"""a"""', "1.0", "1e3"],
)  # fmt: skip
def test_a_text_that_is_another_value_only_as_a_departure_is_itself_where_texts_are_allowed(
    text: str, size: int
) -> None:
    for form, before, after in (
        (TAGS, "<maybe>", "</maybe>"),
        (TYPED, '<p name="maybe" string="true">', "</p>"),
    ):
        turn = f"<call=f>{before}{text}{after}</call>"
        assert judged(form, turn, size) == ({"maybe": text}, [])
        assert read_turn(turn, form, TurnTools(REGISTRY)).strict
