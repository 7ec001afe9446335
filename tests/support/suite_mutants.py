"""Suites, and files of promptfoo, Inspect and the leaderboard, with small errors."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glyphscope.base import resources
from glyphscope_plugins.promptfoo.yaml_text import parse_yaml
from mutants import VALUES, damaged, text_mutant, with_another_value, written

PROMPTFOO = r"""
description: Questions about orders
prompts:
  - "Where is order {{order}}?"
  - file://prompts.txt
  - {raw: '[{"role": "system", "content": "Be short."}, {"role": "user", "content": "{{ order }} {{p.city}}"}]'}
  - 'notes/*.md'
providers:
  - id: openai:chat:gpt-4.1-mini
    config: &config
      tools:
        - type: function
          function: {name: "{{tool}}", parameters: {type: object, properties: {id: {type: string}}, required: [id]}}
  - google:gemini:
      config: {tools: [{functionDeclarations: [{name: find, parameters: {type: OBJECT, properties: {n: {}}}}]}]}
  - id: bedrock:x
    config: {tools: [{toolSpec: {name: cancel, inputSchema: {json: {type: object}}}}, file://tools.json]}
assertionTemplates: {short: {type: regex, value: '^.{1,40}$'}}
defaultTest:
  {vars: {tool: track, day: 2026-11-28}, options: {prefix: 'P '}, assert: [{$ref: '#/assertionTemplates/short'}]}
tests:
  - &first
    vars: {order: [A-1, "{{day}} x"], p: {city: Bern}, time: 12:30, none: ~, n: 1.0}
    assert:
      - {type: trajectory:tool-args-match, value: {name: track, args: {id: "{{order}}"}}}
      - {type: contains-any, value: '"a, b", c'}
      - {type: javascript, value: "JSON.parse(output[0].function.arguments).id === 'A-1'"}
      - {type: not-regex, value: '(a+)+$', transform: 'output[0].function.name'}
      - {type: tool-call-f1, value: [track], threshold: 1}
      - {type: llm-rubric, value: "About {{p.city}}"}
  - {<<: *first, description: second, metadata: {a: [1, {b: no}]}, options: {disableDefaultAsserts: true}}
  - file://tests.csv
  - vars: {order: 'file://notes/*.md'}
scenarios:
  - config: [{vars: {order: X}}, {vars: {order: Y}, assert: [{type: equals, value: 010}]}]
    tests: [{vars: {n: 5}}, {description: other}]
"""
INSPECT = [
    {"id": 7, "input": "Where is Bern?", "target": ["Switzerland", "Alps"], "metadata": {"level": "easy"}},
    {
        "input": [
            {"role": "system", "content": "Short."},
            {"role": "user", "content": [{"type": "text", "text": "1+1?"}]},
        ],
        "target": 2,
    },
    {"id": "c", "input": "Which?", "choices": "Bern, Aare", "target": "A", "sandbox": "docker"},
    {
        "input": "Tea",
        "target": {"tool_calls": [{"function": {"name": "search", "arguments": '{"query": "tea"}'}}]},
    },
]
BFCL = [
    {
        "id": "simple_0",
        "question": [[{"role": "user", "content": "Area of 10 by 5?"}]],
        "function": [
            {
                "name": "area",
                "description": "d",
                "parameters": {
                    "type": "dict",
                    "properties": {
                        "base": {"type": "integer"},
                        "unit": {"type": "string", "default": "m"},
                        "p": {"type": "tuple", "items": {"type": "float"}},
                    },
                    "required": ["base"],
                },
            }
        ],
        "ground_truth": [{"area": {"base": [10, 10.0], "unit": ["m", ""], "p": [[1.5, 2]]}}],
    },
    {
        "id": "parallel_1",
        "question": [[{"role": "system", "content": "s"}, {"role": "user", "content": "Both?"}]],
        "function": [{"name": "f.g", "parameters": {"type": "dict", "properties": {"x": {"type": "any"}}}}],
        "ground_truth": [{"f.g": {"x": [1]}}, {"f.g": {"x": [{"a": [2]}]}}],
    },
    {
        "id": "irrelevance_2",
        "question": [[{"role": "user", "content": "Hi"}]],
        "function": [{"name": "f", "parameters": {"type": "dict"}}],
    },
    {
        "id": "multi_turn_3",
        "question": [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]],
        "function": [
            {
                "name": "mv",
                "parameters": {
                    "type": "dict",
                    "properties": {
                        "s": {"type": "string"},
                        "n": {"type": "array", "items": {"type": "integer"}},
                    },
                },
            }
        ],
        "ground_truth": [["mv(s='a', n=[1, -2])"], ["mv('b')", 'mv(s="c\\n")']],
    },
]
BESIDE = {
    "prompts.txt": "One {{order}}\n---\nTwo {{ n }}\n",
    "notes/a.md": "a {{order}}\n",
    "notes/b.md": "b",
    "tests.csv": 'order,__expected,__expected2,__description\nZ,note: abc,"contains-any: ""x, y"", z",d\n',
    "tools.json": '[{"name": "more", "input_schema": {"type": "object"}}]',
}
SUITE_VALUES: list[Any] = [
    *VALUES,
    1e300, 10**40, "\n", "no", "[]", [{}], [None] * 3, "😀", "x" * 70_000, "{{", "{{order}}", "{{ order | upper }}",
    "{% if x %}", "{{a.b.c}}", "{{n[0]}}", "{{tool}}{{tool}}", "file://", "file://x.json", "file://loop", "file://../up.txt",
    "file://a\u0000b", "file://notes", "file://**/*", "file://notes/*.md", "file:///dev/zero",
    "file://prompts.txt", "https://x.y/z", "(a+)+$", "(?i)x", "[", "a{1000}{1000}", "\\", {"$ref": "#"},
    {"$ref": "#/tests"}, {"$ref": "x.yaml#/a"}, {"$ref": 5}, {"type": "object"},
    {"type": "OBJECT", "properties": []},
    {"name": "x", "parameters": {"type": "dict", "properties": {"a": {"type": "tuple"}}}}, {"role": "user"},
    {"content": "x"}, {"function": {"name": 5}}, {"tool_calls": []}, "mv(**x)", "f(" * 90 + ")" * 90,
    "__import__('os').system('x')", "1" * 5_000,
]  # fmt: skip
SUITE_PIECES = (
    "{", "}", "[", "]", ":", ",", "-", "\n", "\n  ", "\n    ", "'", '"', "|", ">", "#", "&a ", "*a", "*first",
    "<<: ", "!!int ", "!!bool ", "!!timestamp ", "!x ", "? ", "%YAML 1.1\n", "---\n", "...\n", "~", "null",
    "0x", "1:1", ".inf", "\t", "\r", "\x00", "\ufeff", "\\", "\\u0000", "{{", "}}", "{%", "e400", "\u2028", "é",
    "file://", "$ref", "'''", "[" * 60, "{a: " * 40,
)  # fmt: skip
CSV = "input,target,choices,metadata,id\n" + 'Which?,A,"x, y","{""n"": 1}",1\nHello,b,,,2\n' * 2


def suites() -> list[tuple[str, Any]]:
    """Documents, or texts, each with the name of its file."""
    names = resources.names("suites", ".json")
    own = [("suite.json", json.loads(resources.read_text(f"suites/{name}"))) for name in names]
    config = parse_yaml(PROMPTFOO, "")
    files = [("config.yaml", PROMPTFOO), ("config.yaml", config), ("config.json", config), ("data.csv", CSV)]
    files += [("data.jsonl", INSPECT), ("data.json", INSPECT), ("BFCL_x.json", BFCL)]
    return [*files, *own]


def suite_mutant(sources: Sequence[tuple[str, Any]], place: Path, rng: random.Random) -> Path:
    for name, text in BESIDE.items():
        written(place / name, text.encode())
    (place / "loop").symlink_to("loop")
    name, document = rng.choice(sources)
    if isinstance(document, str):
        text = document
    else:
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 6))):
            document = with_another_value(document, rng, SUITE_VALUES)
        by_line = isinstance(document, list) and name in ("data.jsonl", "BFCL_x.json")
        text = "\n".join(map(json.dumps, document if by_line else [document])) + "\n"
    if document is text or rng.random() < 0.3:
        text = text_mutant([text], SUITE_PIECES, rng)
    return written(place / name, damaged(text.encode("utf-8", "surrogatepass"), rng))
