"""Extraction of a call from a text that is not a valid call: the changes made, and the texts left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.notation import parse_value, write_value
from glyphscope.runs.strategies import MAX_CHANGES, extract

CALL = '{"action":"search","query":"AI news"}'

texts = st.text(st.sampled_from("ab é'\"\\`{}[]:,“”\n\t/*"), max_size=12)
scalars = st.none() | st.booleans() | st.integers(-99, 99) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, min_size=1, max_size=4)
prose = st.text(
    st.characters(blacklist_characters="{}[]`\"'“”„‘’", blacklist_categories=("Cs",)), max_size=30
)
layouts = st.sampled_from([None, 2])


@at_most(300)
@given(objects | values, layouts, st.sampled_from(["", "action"]))
def test_valid_json_is_extracted_unchanged(value: Any, indent: int | None, key: str) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    assert extract(text, "json", key) == (text, ())


@at_most(300)
@given(prose, objects, layouts, prose, st.booleans())
def test_of_an_object_in_prose_only_the_prose_is_left_out(
    before: str, value: Any, indent: int | None, after: str, fenced: bool
) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    inside = f"```json\n{text}\n```" if fenced else text
    found = extract(before + inside + after, "json")
    assert found.after.strip() == text
    assert all("left out" in change.what for change in found.changes)


@at_most(300)
@given(prose, st.dictionaries(st.sampled_from(["a", "bc", "d_e"]), values, min_size=1), prose, st.booleans())
def test_of_glyph_in_prose_only_the_prose_is_left_out(
    before: str, value: Any, after: str, fenced: bool
) -> None:
    text = write_value(value, "glyph")
    inside = f"```\n{text}\n```" if fenced else f" {text} "
    assert extract(before + inside + after, "glyph").after.strip() == text


@at_most(300)
@given(
    st.text(st.sampled_from("{}[]'\"`\\ab1,:=/* \n“”tTrueNone"), max_size=60), st.booleans(), st.booleans()
)
def test_any_text_is_extracted_and_extracting_again_changes_nothing(
    text: str, glyph: bool, ended: bool
) -> None:
    notation = "glyph" if glyph else "json"
    found = extract(text, notation, "a", ended=ended)
    assert (found.after == text) or found.changes
    assert all(0 <= change.char <= len(text) for change in found.changes)
    assert [change.char for change in found.changes] == sorted(change.char for change in found.changes)
    assert extract(found.after, notation, "a", ended=ended).after == found.after


def python_text(value: Any) -> str:
    """As Python prints it, with the escapes that JSON has too."""
    if isinstance(value, str):
        inside = json.dumps(value, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
        return f"'{inside}'"
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{python_text(k)}: {python_text(v)}" for k, v in value.items())
            + (",}" if value else "}")
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(python_text, value)) + "]"
    return repr(value)


@pytest.mark.slow
@at_most(300)
@given(objects)
def test_the_content_of_strings_is_never_changed(value: Any) -> None:
    found = extract(python_text(value), "json")
    assert json.loads(found.after) == value


@pytest.mark.parametrize(
    ("text", "after", "changes"),
    [
        (f"Sure: {CALL}", CALL, ["5 characters before it left out"]),
        (f"```json\n{CALL}\n```", CALL, ["the code fence before it left out", "the code fence after it left out"]),
        (f"{CALL} {CALL}", CALL, [f"{len(CALL)} characters after it left out"]),
        (f'{{"thought":"hm"}}\n{CALL}', CALL, ["16 characters before it left out"]),
        ('{"action":"a",}', '{"action":"a"}', ["the comma after the last one left out"]),
        ('{"action":"a","l":[1,2,],}', '{"action":"a","l":[1,2]}', ["the comma after the last one left out"] * 2),
        ("{'action':'a'}", '{"action":"a"}', ["'…' made double quotes"] * 2),
        ("{'action':'it\\'s \"a\"'}", '{"action":"it\'s \\"a\\""}', ["'…' made double quotes"] * 2),
        ("{“action”:“a”}", '{"action":"a"}', ["“…” made double quotes"] * 2),
        ('{"action":"a\nb\t\x01\\n"}', '{"action":"a\\nb\\t\\u0001\\n"}',
         ["line breaks and other control characters in a text escaped"]),
        ("{'action':'a\nb'}", '{"action":"a\\nb"}', ["'…' made double quotes"] * 2),
        ('{"action":True,"b":None}', '{"action":true,"b":null}',
         ["Python's True written true", "Python's None written null"]),
        ('{action:"a"}', '{"action":"a"}', ["the key action put into quotes"]),
        ('{"action":"a" // why\n}', '{"action":"a" \n}', ["a comment left out"]),
        ('{"action":"a","args":{"b":"c"', '{"action":"a","args":{"b":"c"}}', ["closed with }}"]),
        ('```\n{"action":"a"\n```', '{"action":"a"\n}',
         ["the code fence before it left out", "closed with }", "the code fence after it left out"]),
        (f"[{CALL}] is it", CALL, ["a character before it left out", "7 characters after it left out"]),
    ],
)  # fmt: skip
def test_each_json_error_is_corrected_and_named(text: str, after: str, changes: list[str]) -> None:
    found = extract(text, "json", "action")
    assert found.after == after
    assert [change.what for change in found.changes] == changes
    json.loads(found.after)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no object at all",
        '{"action":"sea',  # the string may continue
        '{"action":"a","n":12',  # so may the number
        '{"action":"a",',  # another member was due
        '{"action":"a","args":{',
        "{'action':'it's'}",
        '{"action":search}',
        '{"action":"a","l":[1,2}',
        '{"action" "a"}',
        '{"action":{"x":oops},"args":{"query":"x"}}',  # its arguments are not a call
        '{"action":"a","args":{"query":"x"},"b":oops}',
        "{" * 300,
        "{}",
        '[{"action":"a"}]',  # unchanged JSON
    ],
)
def test_ambiguous_text_is_left_unchanged(text: str) -> None:
    assert extract(text, "json", "action") == (text, ())


def test_a_truncated_text_is_not_closed() -> None:
    text = '{"action":"a"'
    assert extract(text, "json", "action", ended=False) == (text, ())


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('Sure: {action="search" query="a}b"} ok', '{action="search" query="a}b"}'),
        ('```glyph\nsearch{query="x"}\n```', 'search{query="x"}'),
        ('the {thing} is search{query="x"}', 'search{query="x"}'),
        ('{note="x"} {action="search"}', '{action="search"}'),
        ('Here {action="search" tags=["a" "b"', '{action="search" tags=["a" "b"]}'),
        ("Here {action=search", "Here {action=search"),
        ('Here {action="sea', 'Here {action="sea'),
        ("search", "search"),
        ('{action="search",query="x"}', '{action="search",query="x"}'),
        ("so {action='search'}", "{action='search'}"),
    ],
)
def test_glyph_is_only_extracted(text: str, after: str) -> None:
    assert extract(text, "glyph", "action").after == after


@pytest.mark.slow
@pytest.mark.parametrize("notation", ["json", "glyph"])
@pytest.mark.parametrize(
    "piece",
    [
        "{",
        '{"a":',
        "{'",
        '{"a":1,',
        '"',
        "\\",
        "{a:/* ",
        "{//",
        "```",
        "{}",
        "[",
        '{a:"\\',
        '{"a":"x"}',
        "'{",
    ],
)
def test_a_hostile_text_takes_linear_time(notation: Any, piece: str) -> None:
    text = "{" + piece * (100_000 // len(piece) - 1)
    found = extract(text, notation, "action")
    assert len(found.changes) <= MAX_CHANGES + 1
    assert len(found.after) <= len(text) + 300


def test_many_changes_are_reported_in_sum() -> None:
    text = "{" + ",".join(f"k{i}:1" for i in range(200)) + "}"
    found = extract(text, "json")
    assert len(parse_value(found.after, "json")) == 200
    assert (len(found.changes), found.changes[-1].what) == (MAX_CHANGES + 1, "150 more changes")
