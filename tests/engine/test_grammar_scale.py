"""Large, deep and hostile schemas: built in bounded time, or rejected with an error that names the reason."""

import json
import os
import time
from collections import Counter
from pathlib import Path

import pytest
from llguidance import LLMatcher, LLTokenizer

from glyphscope.errors import GrammarError
from glyphscope.events import NOTATIONS
from glyphscope.grammar.builder.calls import build_call_grammar
from glyphscope.grammar.lark.emit import to_lark
from glyphscope.grammar.lark.reading import MaskReader
from glyphscope.notation.write import write_value
from glyphscope.registry import Tool, ToolRegistry, normalise

TOKENIZER = LLTokenizer("byte")
SAMPLE = Path(os.environ.get("GLYPHSCOPE_SCHEMAS", "../shared/data/schemas/sample.jsonl"))


def matcher_of(lark):
    return LLMatcher(TOKENIZER, LLMatcher.grammar_from_lark(lark), log_level=0)


def accepts(matcher, text):
    data = text.encode()
    return matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting()


@pytest.mark.slow
@pytest.mark.parametrize("notation", NOTATIONS)
def test_two_thousand_tools_are_built_in_seconds_and_each_can_be_called(notation):
    schema = {
        "type": "object",
        "properties": {"q": {"type": "string"}, "n": {"type": "integer", "maximum": 9}},
    }
    tools = ToolRegistry(tuple(Tool(f"tool_{i}", "", schema | {"required": ["q"]}) for i in range(2000)))
    start = time.process_time()
    lark = to_lark(build_call_grammar(tools, notation, "flat"))
    assert time.process_time() - start < 10  # most machines need 2
    template = matcher_of(lark)
    for i in (0, 1, 19, 199, 1999):
        document = {"action": f"tool_{i}", "q": "", "n": 9}
        assert accepts(template.deep_copy(), write_value(document, notation))
    assert not accepts(template.deep_copy(), write_value({"action": "tool_2000", "q": ""}, notation))


def nested(levels, wrap):
    schema = {"type": "integer"}
    for _ in range(levels):
        schema = wrap(schema)
    return schema


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrap", "wrap_value"),
    [
        (lambda s: {"type": "object", "properties": {"a": s}, "required": ["a"]}, lambda value: {"a": value}),
        (lambda s: {"type": "array", "items": s}, lambda value: [value]),
        (lambda s: {"anyOf": [s, {"type": "null"}]}, lambda value: value),
        (lambda s: {"allOf": [s]}, lambda value: value),
    ],
    ids=["properties", "items", "anyOf", "allOf"],
)
def test_a_schema_200_levels_deep_is_enforced(wrap, wrap_value):
    schema = {"type": "object", "properties": {"x": nested(200, wrap)}, "required": ["x"]}
    tools = ToolRegistry((Tool("tool", "", schema),))
    for notation in NOTATIONS:
        matcher = matcher_of(to_lark(build_call_grammar(tools, notation, "tool-args")))
        for innermost, valid in ((7, True), ("seven", False)):
            value = innermost
            for _ in range(200):
                value = wrap_value(value)
            call = write_value({"tool": "tool", "args": {"x": value}}, notation)
            assert accepts(matcher.deep_copy(), call) == valid


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_hostile_pattern_is_enforced_in_linear_time(notation):
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}}
    tools = ToolRegistry((Tool("tool", "", schema | {"required": ["x"]}),))
    grammar = build_call_grammar(tools, notation, "flat")
    assert not grammar.unenforced
    matcher = matcher_of(to_lark(grammar))
    begin = {"glyph": '{action="tool" x="', "json": '{"action":"tool","x":"'}[notation]
    start = time.process_time()
    assert accepts(matcher.deep_copy(), begin + "a" * 20_000 + '"}')
    assert not accepts(matcher.deep_copy(), begin + "a" * 20_000 + '!"}')
    assert time.process_time() - start < 1


@pytest.mark.slow
def test_alternatives_that_multiply_are_an_error():
    many = {"anyOf": [{"minimum": i} for i in range(12)]}
    schema = {"type": "object", "properties": {"x": {"type": "integer", "allOf": [many] * 6}}}
    with pytest.raises(GrammarError, match="more than"):
        build_call_grammar(ToolRegistry((Tool("tool", "", schema),)), "json", "flat")


@pytest.mark.slow
@pytest.mark.skipif(not SAMPLE.exists(), reason="the sample of real schemas is not there")
@pytest.mark.parametrize("notation", NOTATIONS)
def test_real_schemas_are_built_or_rejected_and_accept_only_valid_instances(notation):
    counts = Counter()
    for line in SAMPLE.read_text().splitlines():
        row = json.loads(line)
        tools = ToolRegistry((Tool("tool", "", normalise(row["schema"])),))
        try:
            grammar = build_call_grammar(tools, notation, "tool-args")
        except GrammarError as error:
            assert error.where.startswith("tool: ")
            counts["refused"] += 1
            continue
        counts["built"] += 1
        texts = [write_value({"tool": "tool", "args": test["data"]}, notation) for test in row["tests"]]
        for test, taken in zip(row["tests"], MaskReader(lark=to_lark(grammar)).read(texts), strict=True):
            counts["valid" if test["valid"] else "invalid", taken] += 1
            assert test["valid"] or not taken or grammar.unenforced, row["name"]
    print(notation, dict(counts))
    assert counts["built"] >= 525 and counts["valid", True] >= 495
