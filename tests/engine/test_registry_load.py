"""A registry in every common form, and every error in one reported at its place."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from glyphscope.base.errors import RegistryError
from glyphscope.registry import (
    Tool,
    bundled_registries,
    bundled_registry,
    check_tool,
    default_registry,
    load_registry,
    make_tool,
    to_json,
    to_openai,
)

IN_A = "/tools/0/parameters/properties/a"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def problems_of(document: object) -> dict[str, str]:
    with pytest.raises(RegistryError) as caught:
        load_registry(document if isinstance(document, str | bytes | Path) else json.dumps(document))
    return dict(caught.value.problems)


@pytest.mark.parametrize(
    "document",
    [
        {"glyphscope": 1, "tools": [{"name": "weather", "description": "W", "parameters": CITY}]},
        [{"type": "function", "function": {"name": "weather", "description": "W", "parameters": CITY}}],
        {
            "tools": [
                {"type": "function", "function": {"name": "weather", "description": "W", "parameters": CITY}}
            ]
        },
        [{"name": "weather", "description": "W", "parameters": CITY, "allowed_callers": ["direct"]}],
        {"name": "weather", "description": "W", "parameters": CITY},
        {
            "tools": [{"name": "weather", "title": "Weather", "description": "W", "inputSchema": CITY}],
            "nextCursor": "x",
        },
        {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"tools": [{"name": "weather", "description": "W", "inputSchema": CITY}]},
        },
        [{"name": "weather", "description": "W", "input_schema": CITY}],
        {"weather": {"description": "W", "args": {"city": {"type": "string", "required": True}}}},
    ],
)
def test_each_form_gives_the_same_tool(document):
    assert load_registry(document).tools == (Tool("weather", "W", CITY),)
    assert load_registry(json.dumps(document).encode("utf-8-sig")).tools == (Tool("weather", "W", CITY),)


def test_schemas_by_name_keep_their_description_on_the_tool():
    registry = load_registry({"weather": {**CITY, "description": "W"}, "now": {"type": "object"}})
    assert [(tool.name, tool.description) for tool in registry] == [("weather", "W"), ("now", "")]


def test_the_short_form_supports_all_its_constraints():
    args = {
        "query": {"type": "string", "required": True, "minLength": 1, "maxLength": 9, "pattern": "^a"},
        "count": {"type": "int", "min": 1, "max": 100},
        "share": {"type": "float", "min": 0.5},
        "exact": {"type": "bool"},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "sources": {"type": "array", "items": "string"},
        "more": {"type": "object"},
        "any": {},
    }
    tool = load_registry({"search": {"args": args}}).tools[0]
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a"},
            "count": {"type": "integer", "minimum": 1, "maximum": 100},
            "share": {"type": "number", "minimum": 0.5},
            "exact": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "sources": {"type": "array", "items": {"type": "string"}},
            "more": {"type": "object"},
            "any": {},
        },
        "required": ["query"],
    }


def test_errors_in_the_short_form_have_their_place():
    args = {
        "n": {"type": "int", "min": "1"},
        "s": {"type": "str", "pattern": "("},
        "t": {"type": "string", "max": 3},
    }
    found = problems_of({"search": {"args": args}})
    assert set(found) == {
        "/search/args/n/min",
        "/search/args/s/type",
        "/search/args/s/pattern",
        "/search/args/t/max",
    }


def test_a_registry_is_written_and_read_back_unchanged():
    registry = default_registry()
    assert load_registry(to_json(registry)) == registry
    assert load_registry(to_openai(registry)).digest == registry.digest
    allowed = {"glyphscope": 1, "unknown_arguments": "allow", "tools": [{"name": "a", "enabled": False}]}
    registry = load_registry(allowed)
    assert load_registry(to_json(registry)) == registry
    assert to_openai(registry) == []
    assert registry.unknown_arguments == "allow"


def test_the_default_registry_has_the_seven_tools_with_their_constraints():
    registry = default_registry()
    names = ["search", "calculate", "browse", "execute", "read_file", "write_file", "send_email"]
    assert [tool.name for tool in registry.allowed] == names
    assert all(tool.description for tool in registry)
    properties = {t.name: t.parameters["properties"] for t in registry}
    assert properties["search"]["max_results"].items() >= {"minimum": 1, "maximum": 100}.items()
    assert properties["calculate"]["precision"].items() >= {"minimum": 0, "maximum": 15}.items()
    assert properties["browse"]["url"]["pattern"] == "^https?://"
    assert properties["read_file"]["encoding"]["enum"] == ["utf8", "base64", "binary"]
    assert properties["write_file"]["mode"]["enum"] == ["overwrite", "append"]
    assert all(argument["description"] for tool in properties.values() for argument in tool.values())


def test_the_document_is_neither_changed_nor_shared():
    document = {"weather": {"type": "object", "properties": {"n": {"type": "integer", "nullable": True}}}}
    before = json.dumps(document)
    tool = load_registry(document).tools[0]
    tool.parameters["properties"].clear()
    assert json.dumps(document) == before


def test_all_errors_are_reported_at_once():
    bad = {
        "type": "object",
        "properties": {
            "a": {"type": "strin"},
            "b": {"minimum": "1"},
            "c/d": {"pattern": "("},
            "e": {"$ref": "#/$defs/none"},
            "f": {"$ref": "https://example.com/schema.json"},
            "g": {"type": "string", "required": True},
            "h": 5,
            "i": {"enum": 3},
            "j": {"type": "int"},
        },
        "required": "a",
    }
    found = problems_of(
        {"tools": [{"name": "x", "parameters": bad}, {"name": "x"}, {"name": ""}, {"name": 5}, 7]}
    )
    prefix = "/tools/0/parameters"
    assert set(found) == {
        f"{prefix}/properties/a/type",
        f"{prefix}/properties/b/minimum",
        f"{prefix}/properties/c~1d/pattern",
        f"{prefix}/properties/e/$ref",
        f"{prefix}/properties/f/$ref",
        f"{prefix}/properties/g/required",
        f"{prefix}/properties/h",
        f"{prefix}/properties/i/enum",
        f"{prefix}/properties/j/type",
        f"{prefix}/required",
        "/tools/1/name",
        "/tools/2/name",
        "/tools/3/name",
        "/tools/4",
    }
    assert "another document" in found[f"{prefix}/properties/f/$ref"]
    assert 'Write "integer"' in found[f"{prefix}/properties/j/type"]


@pytest.mark.parametrize(
    ("tool", "pointer"),
    [
        ({"name": "x", "parameters": {"type": "array"}}, "/tools/0/parameters/type"),
        ({"name": "x", "parameters": []}, "/tools/0/parameters"),
        ({"name": "a\nb"}, "/tools/0/name"),
        ({"name": "x", "parameters": {"properties": {"a\u0000": {}}}}, f"{IN_A}\u0000"),
        ({"name": "x", "enabled": "yes"}, "/tools/0/enabled"),
        ({"name": "x", "enabeld": True}, "/tools/0/enabeld"),
        ({"name": "x", "description": 3}, "/tools/0/description"),
        ({"name": "x", "parameters": {"properties": {"a": {"const": "\ud800"}}}}, f"{IN_A}/const"),
    ],
)  # fmt: skip
def test_an_error_of_a_tool_has_its_pointer(tool, pointer):
    assert list(problems_of({"glyphscope": 1, "tools": [tool]})) == [pointer]


@pytest.mark.parametrize(
    "definitions",
    [
        {"a": {"$ref": "#/$defs/a"}},
        {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
        {"a": {"anyOf": [{"type": "null"}, {"not": {"$ref": "#/$defs/a"}}]}},
    ],
)
def test_circular_references_are_rejected(definitions):
    found = problems_of(
        {"x": {"type": "object", "properties": {"v": {"$ref": "#/$defs/a"}}, "$defs": definitions}}
    )
    assert all("refers to itself" in message for message in found.values())


def test_recursion_through_the_value_is_accepted():
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    assert load_registry({"x": tree}).tools[0].parameters == tree


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ('{"tools": [1,]}', f"line 1, column {13 if sys.version_info >= (3, 13) else 14}", "comma"),
        ("{'tools': []}", "line 1, column 2", "double quotes"),
        ('{\n  "tools": [] // none\n}', "line 2, column 15", "comments"),
        ('{"a": {"args": {"u": {"pattern": /^a/}}}}', "line 1, column 34", "string"),
        ("", "line 1, column 1", "empty"),
        ('{"tools": [', "line 1, column 12", "still open"),
        ('{"tools": [{} {}]}', "line 1, column 15", "comma is missing"),
        ('{"a": True}', "line 1, column 7", "lowercase"),
    ],
)
def test_text_that_is_not_json_is_reported_with_line_column_and_a_hint(text, place, hint):
    with pytest.raises(RegistryError) as caught:
        load_registry(text)
    assert place in caught.value.message
    assert hint in caught.value.hint


def test_duplicate_keys_and_invalid_numbers_are_reported():
    found = problems_of('{"a": {"type": "object", "type": "object", "minProperties": NaN}, "a": {}}')
    assert found == {"/a": "Duplicate key."}
    found = problems_of('{"a": {"type": "object", "type": "object", "x": NaN, "y": 1e999}}')
    assert set(found) == {"/a/type", "/a/x", "/a/y"}


@pytest.mark.parametrize(
    "text",
    [
        "5",
        '"x"',
        "{}",
        '{"a": 1}',
        "null",
        '{"tools": {"a": {}}}',
        '{"jsonrpc": "2.0", "error": {"code": 1}}',
    ],
)
def test_a_document_that_is_not_a_registry_is_rejected(text):
    with pytest.raises(RegistryError):
        load_registry(text)


def test_a_newer_version_is_rejected():
    with pytest.raises(RegistryError, match=r"version 2.*newer Glyphscope"):
        load_registry({"glyphscope": 2, "tools": []})


def test_files_that_cannot_be_read_are_named(tmp_path):
    for path, reason in ((tmp_path / "none.json", "no such file"), (tmp_path, "folder")):
        with pytest.raises(RegistryError, match=reason) as caught:
            load_registry(path)
        assert caught.value.where == str(path)
    latin = tmp_path / "latin.json"
    latin.write_bytes(b'{"caf\xe9": {}}')
    with pytest.raises(RegistryError, match="not UTF-8 text: byte 0xE9 at 5"):
        load_registry(latin)


def test_a_file_that_is_far_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope.registry.document.MAX_BYTES", 10)
    path = tmp_path / "large.json"
    path.write_text('{"a": {"type": "object"}}')
    with pytest.raises(RegistryError, match="has 25 B; a registry has at most 10 B"):
        load_registry(path)


def test_an_editor_gets_every_error_of_one_tool():
    found = check_tool(Tool("", "", {"type": "object", "properties": {"a": {"type": "x"}}}))
    assert [problem.pointer for problem in found] == ["/name", "/parameters/properties/a/type"]
    assert check_tool(default_registry().tools[0]) == ()
    assert check_tool(Tool("a", "", {"x": object()}))[0].pointer == "/parameters/x"
    with pytest.raises(RegistryError):
        make_tool("a", "", {"type": "string"})
    assert make_tool("a", "", {"properties": {}}).parameters == {"type": "object", "properties": {}}


def test_every_bundled_registry_loads_by_its_name():
    assert "default" in bundled_registries()
    for name in bundled_registries():
        assert bundled_registry(name).allowed, name
    with pytest.raises(RegistryError, match="There is no bundled registry"):
        bundled_registry("../runs/x")
