"""Values whose members are tags, and parameters without a type attribute: read by the schema."""

from __future__ import annotations

from typing import Any

import pytest

from glyphscope.events import Violation
from glyphscope.registry import parse_document
from glyphscope.turns import Expected, TurnForm, TurnTools, read_turn
from glyphscope.turns.form import ArgumentsForm, CallForm, Piece

TEXTS = {"type": "array", "items": {"type": "string"}}
ROW = {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": ["integer", "null"]}}}
OPTS = {"zip": {"type": "string"}, "n": {"type": "integer"}, "tags": TEXTS, "rows": {"type": "array", "items": ROW},
        "item": {"type": "string"}, "either": {"type": ["string", "integer"]}}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {
        "opts": {"type": "object", "properties": OPTS, "additionalProperties": False},
        "any": {}, "text": {"type": "string"}, "numbers": {"type": "array", "items": {"type": "integer"}},
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
               Piece("text", "</p>"), typed={"string": '" string="true">', "integer": '" string="false">'})  # fmt: skip


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
