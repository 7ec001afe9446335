"""Hostile registries: deep, wide, and with patterns that backtrack for ever."""

from __future__ import annotations

import json
import time

import pytest

from glyphscope.base.errors import RegistryError
from glyphscope.registry import load_registry, to_json


def nested(levels: int, wrap: str = "properties") -> dict:
    schema: dict = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}} if wrap == "properties" else {wrap: schema}
    return {"type": "object", "properties": {"v": schema}}


@pytest.mark.parametrize("wrap", ["properties", "items", "not"])
def test_a_schema_200_levels_deep_loads(wrap):
    registry = load_registry(json.dumps({"deep": nested(200, wrap)}))
    assert load_registry(to_json(registry)).digest == registry.digest


@pytest.mark.parametrize("wrap", ["properties", "items"])
@pytest.mark.parametrize("levels", [257, 300, 520])
def test_a_schema_that_is_too_deep_is_rejected(levels, wrap):
    with pytest.raises(RegistryError) as caught:
        load_registry(
            json.dumps({"deep": nested(levels, wrap)}) if levels < 400 else {"deep": nested(levels, wrap)}
        )
    assert "levels deep" in str(caught.value)


def test_deeply_nested_text_is_rejected():
    with pytest.raises(RegistryError, match="levels deep"):
        load_registry('{"a":' * 100_000)


def test_a_document_that_contains_itself_is_rejected():
    loop: dict = {"type": "object"}
    loop["properties"] = {"a": loop}
    with pytest.raises(RegistryError, match="levels deep"):
        load_registry({"loop": loop})


def test_a_pattern_that_backtracks_endlessly_does_not_block_loading():
    start = time.perf_counter()
    load_registry(
        {"x": {"type": "object", "properties": {"a": {"pattern": "(a+)+$"}, "b": {"pattern": "(x*)*y"}}}}
    )
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(((a{1000}){1000}){1000})", "multiply"),
        ("([ab]{5}\\d{3}){99999999999}", "multiply"),
        ("(" * 4000 + ")" * 4000, "nested too deep"),
        ("a" * 20_000, "20,000 characters"),
        ("(a", "Invalid regular expression"),
    ],
)
def test_a_pattern_that_would_exhaust_memory_or_stack_is_rejected_at_once(pattern, words):
    start = time.perf_counter()
    with pytest.raises(RegistryError, match=words):
        load_registry({"x": {"type": "object", "properties": {"a": {"pattern": pattern}}}})
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    "pattern", [r"^[\w.]{1,64}@[^@\]]{1,255}$", "a{1,1000000}", r"\{9{2}", "(?<year>\\d{4})|x", "[[]{3}"]
)
def test_an_ordinary_pattern_is_accepted(pattern):
    schema = {"type": "object", "properties": {"a": {"pattern": pattern}}}
    (tool,) = load_registry({"x": schema})
    assert tool.parameters == schema


@pytest.mark.parametrize("index", ["9" * 5000, "-1", "1"])
def test_a_reference_beyond_the_end_of_a_list_is_rejected(index):
    with pytest.raises(RegistryError, match="leads nowhere"):
        load_registry(
            {"x": {"type": "object", "anyOf": [{}], "properties": {"a": {"$ref": f"#/anyOf/{index}"}}}}
        )


@pytest.mark.slow
def test_2000_tools_load_within_two_seconds():
    def tool(i: int) -> dict:
        properties = {
            f"a{i}_{j}": {"type": "string", "description": f"{i} {j}", "maxLength": i} for j in range(6)
        }
        schema = {"type": "object", "properties": properties, "required": [f"a{i}_0"]}
        return {"name": f"tool{i}", "description": f"Tool {i}", "inputSchema": schema}

    text = json.dumps({"tools": [tool(i) for i in range(2000)]})
    start = time.process_time()
    assert len(load_registry(text)) == 2000
    assert time.process_time() - start < 2
