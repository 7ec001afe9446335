"""Files of promptfoo, Inspect and the leaderboard with small errors, each of which is read as a suite or rejected.

Seeded: a number is always the same file. `python tests/support/hostile_files.py suites 10000` reads many.
"""

from __future__ import annotations

import copy
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.suites.imported import IMPORTERS
from glyphscope.evals.suites.reading import check_suite, load_suite
from glyphscope_plugins.bfcl.questions import import_bfcl

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
VALUES: list[Any] = [
    None, True, False, 0, -1, 1.0, 1e300, 10**40, "", " ", "\n", "no", "[]", "{", [], {}, [[]], [{}], {"": ""},
    [None] * 3, "\u0000", "\ud800", "😀", "x" * 70_000, "{{", "{{order}}", "{{ order | upper }}", "{% if x %}",
    "{{a.b.c}}", "{{n[0]}}", "{{tool}}{{tool}}", "file://", "file://x.json", "file://loop", "file://../up.txt",
    "file://a\u0000b", "file://notes", "file://**/*", "file://notes/*.md", "file:///dev/zero",
    "file://prompts.txt", "https://x.y/z", "(a+)+$", "(?i)x", "[", "a{1000}{1000}", "\\", {"$ref": "#"},
    {"$ref": "#/tests"}, {"$ref": "x.yaml#/a"}, {"$ref": 5}, {"type": "object"},
    {"type": "OBJECT", "properties": []},
    {"name": "x", "parameters": {"type": "dict", "properties": {"a": {"type": "tuple"}}}}, {"role": "user"},
    {"content": "x"}, {"function": {"name": 5}}, {"tool_calls": []}, "mv(**x)", "f(" * 90 + ")" * 90,
    "__import__('os').system('x')", "1" * 5_000,
]  # fmt: skip
TOKENS = (
    "{", "}", "[", "]", ":", ",", "-", "\n", "\n  ", "\n    ", "'", '"', "|", ">", "#", "&a ", "*a", "*first",
    "<<: ", "!!int ", "!!bool ", "!!timestamp ", "!x ", "? ", "%YAML 1.1\n", "---\n", "...\n", "~", "null",
    "0x", "1:1", ".inf", "\t", "\r", "\x00", "\ufeff", "\\", "\\u0000", "{{", "}}", "{%", "e400", "\u2028", "é",
    "file://", "$ref", "'''", "[" * 60, "{a: " * 40,
)  # fmt: skip
LIMIT_S = 10.0
"""The longest time for one file; patterns and paths are compiled in another process, which has its own limits."""


def mutant(number: int) -> tuple[str, bytes]:
    """The name and the content of a file."""
    rng = random.Random(number)
    kind = rng.choice(
        ("config.yaml",) * 2 + ("config.json", "data.jsonl", "data.json", "data.csv", "BFCL_x.json")
    )
    if kind == "data.csv":
        text = "input,target,choices,metadata,id\n" + 'Which?,A,"x, y","{""n"": 1}",1\nHello,b,,,2\n' * 2
    else:
        text = _text(kind, rng)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 5))):
        text = _changed(text, rng)
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        place = rng.randrange(len(data) + 1)
        data = data[:place] + bytes([rng.randrange(256)]) + data[place:]
    return kind, data


def _text(kind: str, rng: random.Random) -> str:
    if kind.startswith("config"):
        if kind == "config.yaml" and rng.random() < 0.5:
            return PROMPTFOO
        document = _edited(_config(), rng)
        return json.dumps(document, indent=rng.choice((None, 1)))
    samples = _edited(copy.deepcopy(BFCL if kind.startswith("BFCL") else INSPECT), rng)
    if kind == "data.json" or not isinstance(samples, list):
        return json.dumps(samples)
    return "".join(json.dumps(sample) + "\n" for sample in samples)


def _config() -> Any:
    from glyphscope_plugins.promptfoo.yaml_text import parse_yaml

    return parse_yaml(PROMPTFOO, "")


def _edited(document: Any, rng: random.Random) -> Any:
    """The document with some values replaced, taken out, repeated, renamed or moved."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 6))):
        places = list(_places(document))
        if not places:
            break
        container, key = rng.choice(places)
        other, name = rng.choice(places)
        match rng.randrange(6):
            case 0 | 1 | 2:
                container[key] = copy.deepcopy(rng.choice(VALUES))
            case 3:
                del container[key]
            case 4:
                container[key] = copy.deepcopy(other[name])
            case _ if isinstance(container, dict):
                container[rng.choice((*container, "type", "value", "vars", "config", "x"))] = container.pop(
                    key
                )
            case _:
                container[key : key + 1] = [container[key]] * rng.randrange(40)
    return document


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, each in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(each, dict | list):
            yield from _places(each)


def _changed(text: str, rng: random.Random) -> str:
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice((0, 0, 1, 1, 3, 20, 200)))
    return text[:start] + rng.choice((*TOKENS, "", "", text[start:end] * 2)) + text[end:]


def readers(name: str, path: Path) -> list[Callable[[], Any]]:
    """The ways in which a file of that name is read."""
    if name.startswith("BFCL"):
        return [lambda: import_bfcl(path).suite]
    importer = IMPORTERS.get("promptfoo" if name.startswith("config") else "inspect")
    return [lambda: load_suite(path), lambda: importer.read(path, "default").suite]


def try_mutants(numbers: range, folder: Path) -> Counter[str]:
    """Read each file in each way; the outcomes. Raises AssertionError for too long a time, and any other error."""
    for name, text in BESIDE.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    if not (folder / "loop").is_symlink():
        (folder / "loop").symlink_to("loop")
    tally: Counter[str] = Counter()
    for number in numbers:
        name, data = mutant(number)
        (folder / name).write_bytes(data)
        for read in readers(name, folder / name):
            start = time.perf_counter()
            try:
                suite = read()
                assert check_suite(suite) == (), number
                tally["suite"] += 1
            except GlyphscopeError as error:
                assert error.message and "None" not in error.message and len(str(error)) < 100_000, number
                tally[type(error).__name__] += 1
            except AssertionError:
                raise
            except BaseException as error:
                raise AssertionError(f"mutant {number} ({name}): {type(error).__name__}: {error}") from error
            assert (took := time.perf_counter() - start) < LIMIT_S, (
                f"mutant {number} ({name}) took {took:.1f} s"
            )
    return tally
