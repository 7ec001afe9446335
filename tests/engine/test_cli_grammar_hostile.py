"""`glyphscope grammar …` on hostile input: each command ends in bounded time and memory, with a result or an error.

Every command runs in a separate process, limited to two gigabytes of addresses and a bounded CPU time.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

resource = pytest.importorskip("resource", reason="needs limits for processes")

pytestmark = pytest.mark.slow

MEMORY = 2 << 30
SECONDS = 40
"""Of CPU time: most need less than two, a megabyte up to three."""

Run = Callable[..., subprocess.CompletedProcess[bytes]]


def limit() -> None:
    for limited, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, SECONDS)):
        resource.setrlimit(limited, (most, most))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run(command, …, grammar=bytes)`: arguments that are named become files of that name with that content."""

    def run_it(
        *arguments: str, given: bytes = b"", **files: bytes | str
    ) -> subprocess.CompletedProcess[bytes]:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (tmp_path / name.replace("_", ".")).write_bytes(data)
        command = [sys.executable, "-P", "-m", "glyphscope", "grammar", *arguments]
        done = subprocess.run(
            command, input=given, cwd=tmp_path, preexec_fn=limit, capture_output=True, check=False
        )
        assert done.returncode in (0, 1, 2), (done.returncode, done.stderr[-500:])
        assert b"Traceback" not in done.stderr, done.stderr[-500:]
        assert len(done.stdout) + len(done.stderr) < 5_000_000
        assert done.returncode != 2 or re.search(rb"^error: ", done.stderr, re.M), done.stderr[:300]
        return done

    return run_it


def chain(count: int, body: str, end: str) -> str:
    """`root` and that many rules, each with the next one's name in its body."""
    rules = [f"r{i} ::= {body.replace('NEXT', f'r{i + 1}')}\n" for i in range(count)]
    return "".join(["root ::= r0\n", *rules, f"r{count} ::= {end}\n"])


PARENTHESES = "root ::= " + "(" * 5_000 + '"a"' + ")" * 5_000 + "\n"
OPTIONALS = 'root ::= x{2000}\nx ::= "a"?\n'
LIST = 'root ::= value\nvalue ::= "[" (value ("," value)*)? "]" | "\\"" [^"]* "\\"" | [0-9]+\n'
LARGE = 1_000_000
CHECKED: dict[str, tuple[bytes | str, bool, str]] = {
    "any-bytes": (bytes(range(256)) * 100, False, "not-utf-8"),
    "nul": (b"\0" * 10_000, False, "nul-character"),
    "utf-16": ('root ::= "a"\n'.encode("utf-16"), False, "not-utf-8"),
    "surrogates": (b'root ::= "\xed\xa0\x80"\n', False, "not-utf-8"),
    "nothing": (b"", False, "no-rules"),
    "10000-rules": (chain(10_000, '"a" NEXT | "b" | [c-z]{2}', '"x"'), True, ""),
    "10000-in-a-circle": (chain(10_000, 'NEXT "x" | "a"', 'r0 | "a"'), False, "left-recursion"),
    "10000-that-double": (chain(10_000, "NEXT NEXT", '"x"'), True, ""),
    "5000-parentheses": (PARENTHESES, True, ""),
    "5000-optional-parentheses": (PARENTHESES.replace(")", ")?"), False, "repetition-too-large"),
    "500000-open-parentheses": ("root ::= " + "(" * 500_000, False, "nested-too-deep"),
    "optionals": ('root ::= ("a"?){5000}\n', False, "repetition-too-large"),
    "optional-rules": (OPTIONALS, True, ""),
    "stars-in-stars": ('root ::= (("a"*)*)*\n', True, "empty-loop"),
    "same-alternative": ('root ::= ("a" | "a")*\n', True, "same-alternative"),
    "a-number-without-end": (f'root ::= "a"{{{"9" * 10_000}}}\n', False, "repetition-too-large"),
}


SHOWN = ("any-bytes", "10000-in-a-circle", "stars-in-stars", "nothing")
"""Those that are printed for users as well: bytes, many rules, remarks, and no rule."""


@pytest.mark.parametrize("name", CHECKED)
def test_check_answers_for_every_hostile_grammar(run: Run, name: str) -> None:
    text, ok, code = CHECKED[name]
    done = run("check", "g.gbnf", "--json", g_gbnf=text)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["ok"]) == (0 if ok else 1, ok), answer["diagnostics"][:2]
    assert not code or code in {diagnostic["code"] for diagnostic in answer["diagnostics"]}
    if name in SHOWN:
        assert run("check", "g.gbnf").returncode == done.returncode


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("root ::= " + " | ".join(f'"item {i}"' for i in range(120_000)) + "\n", "too-many-ways"),
        ('root ::= "' + 'a"' * (LARGE // 2), "undefined-rule"),
        ("(((|||***" * (LARGE // 9), "stray-line"),
        ("# " + "x" * LARGE + '\nroot ::= "a"\n', ""),
        ('root ::= "' + "x" * LARGE + '"\n', ""),
    ],
    ids=["alternatives", "quotes", "signs", "comment", "literal"],
)
def test_megabytes_are_checked_to_their_end(run: Run, text: str, code: str) -> None:
    done = run("check", "-", "--json", given=text.encode())
    answer = json.loads(done.stdout)
    assert done.returncode == (1 if code else 0)
    assert not code or code in {diagnostic["code"] for diagnostic in answer["diagnostics"]}


@pytest.mark.parametrize(
    ("grammar", "text", "expected"),
    [
        (LIST, "[" * 150_000 + "]" * 150_000, {"accepted": True}),
        (LIST, "[" * 300_000, {"accepted": False, "prefix_ok": True}),
        (LIST, '"' + "é" * 299_998 + '"', {"accepted": True}),
        (LIST, "[" + "1," * 149_998 + "x", {"accepted": False, "failed_at": 299_997}),
        (PARENTHESES, "a", {"accepted": True}),
        (OPTIONALS, "a" * 1_000_000, {"accepted": False, "failed_at": 2_000}),
        ('root ::= (("a"*)*)*\n', "a" * 299_999 + "b", {"accepted": False, "failed_at": 299_999}),
        ('root ::= ("a" | "a")*\n', "a" * 300_000, {"accepted": True}),
        ('root ::= (("a"+)+)+ "b"\n', "a" * 300_000, {"accepted": False, "prefix_ok": True}),
        (chain(10_000, '"a" NEXT | "b" | [c-z]{2}', '"x"'), "a" * 9_999 + "b", {"accepted": True}),
        (chain(60, "NEXT NEXT", '"a"'), "a" * 100_000, {"accepted": False, "prefix_ok": True}),
    ],
    ids=["deep", "open", "long-string", "long-list", "parentheses", "optionals", "stars",
         "same", "pluses", "rules", "doubling"],
)  # fmt: skip
def test_large_texts_and_hard_grammars_are_matched(
    run: Run, grammar: str, text: str, expected: dict[str, Any]
) -> None:
    done = run("match", "g.gbnf", "-", "--json", given=text.encode(), g_gbnf=grammar)
    answer = json.loads(done.stdout)
    assert {key: answer[key] for key in expected} == expected
    assert done.returncode == (0 if expected["accepted"] else 1)


@pytest.mark.parametrize(
    "grammar",
    ['root ::= "a" root? | "a" root "b" root? | "a" root root\n', chain(60, 'NEXT? "a" NEXT?', '"a"')],
    ids=["three-ways", "doubling"],
)
def test_a_text_that_is_read_in_too_many_ways_is_reported(run: Run, grammar: str) -> None:
    done = run("match", "g.gbnf", "-", given=b"a" * 300_000, g_gbnf=grammar)
    assert done.returncode == 2
    assert b"in too many ways" in done.stderr


@pytest.mark.parametrize(
    "given", [b"\xff\xfe\0", b"a\0b", b"\xed\xa0\x80"], ids=["bytes", "nul", "surrogate"]
)
def test_any_bytes_are_matched_or_rejected(run: Run, given: bytes) -> None:
    done = run("match", "g.gbnf", "-", given=given, g_gbnf=LIST)
    assert done.returncode in (1, 2)


@pytest.mark.parametrize(
    ("grammar", "code"),
    [
        (PARENTHESES, 0),
        (chain(10_000, '"a" NEXT | "b" | [c-z]{2}', '"x"'), 0),
        (chain(60, 'NEXT? "a" NEXT?', '"a"'), 0),
        (chain(60, "NEXT NEXT", '"a"'), 2),
        (bytes(range(256)), 2),
        ('root ::= "a" root\n', 2),
        ('root ::= (("a"*)*)*\n', 0),
    ],
    ids=["parentheses", "rules", "optionals", "doubling", "bytes", "endless", "stars"],
)
def test_sampling_always_ends(run: Run, grammar: bytes | str, code: int) -> None:
    for more in ([], ["--cover"]):
        done = run("sample", "g.gbnf", "-n", "20", *more, g_gbnf=grammar)
        assert done.returncode == code, done.stderr


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ('root ::= (("a"*)*)*\n', 'root ::= ("a" | "a")*\n', 0),
        (OPTIONALS, 'root ::= "a"{0,2000}\n', 0),
        (LIST, 'root ::= "[" root "]" | "[]"\n', 1),
        (chain(60, "NEXT NEXT", '"a"'), 'root ::= "a"\n', 1),
        (chain(10_000, '"a" NEXT | "b"', '"x"'), chain(10_000, '"b" | "a" NEXT', '"y"'), None),
        (PARENTHESES, 'root ::= "a"\n', 0),
        (bytes(range(256)), LIST, 2),
    ],
    ids=["stars", "optionals", "lists", "doubling", "rules", "parentheses", "bytes"],
)
def test_a_comparison_always_ends(run: Run, first: bytes | str, second: str, code: int | None) -> None:
    seconds = "1" if code is None else "5"  # the former is not decided in time
    done = run("diff", "a.gbnf", "b.gbnf", "--seconds", seconds, "--json", a_gbnf=first, b_gbnf=second)
    assert code is None or done.returncode == code, done.stderr or done.stdout


def nested(levels: int) -> str:
    return '{"items":' * levels + "{}" + "}" * levels


MANY = {
    "allOf": [
        {"anyOf": [{"properties": {f"p{i}_{j}": {"type": "integer"}}} for j in range(30)]} for i in range(3)
    ]
}
SCHEMAS: dict[str, tuple[Any, str]] = {
    "remote": ({"$ref": "http://example.com/x.json"}, "another document"),
    "file": ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "another document"),
    "cyclic-allOf": (
        {
            "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
            "$ref": "#/$defs/a",
        },
        "refers to itself without ever looking into the value",
    ),
    "cyclic-anyOf": ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, "refers to itself"),
    "endless": ({"type": "array", "items": {"$ref": "#"}, "minItems": 1}, "contain itself without end"),
    "bounds": ({"type": "integer", "minimum": 10, "maximum": 5}, "contradict each other"),
    "lengths": (
        {"properties": {"a": {"type": "string", "minLength": 9, "maxLength": 2}}, "required": ["a"], "type": "object"},
        "/properties/a",
    ),
    "no-schema": ([1, 2], "not a list"),
    "nothing": (False, "No value satisfies"),
    "too-deep": (nested(100_000), "Invalid JSON"),
    "too-deep-a-schema": (nested(300), "levels deep"),
    "too-many-ways": (MANY, "20,000 rules"),
    "pattern": ({"pattern": "(((a{1000}){1000}){1000})"}, "multiply"),
    "deep": (nested(200), ""),
    "properties": ({"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(2000)}}, ""),
    "enum": ({"enum": [f"value {i}" for i in range(100_000)]}, ""),
    "length": ({"type": "string", "maxLength": 10**9}, ""),
    "items": ({"type": "array", "items": {"maxItems": 10**6, "maxLength": 10**6}, "minItems": 1000}, ""),
    "number": ({"type": "integer", "minimum": -(10**300), "maximum": 10**300}, ""),
    "backtracking": ({"type": "string", "pattern": "(a+)+$", "minLength": 500, "maxLength": 5000}, ""),
}  # fmt: skip
"""Each with its error message; those without one are built."""


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_built_or_rejected_with_the_reason(run: Run, name: str) -> None:
    schema, words = SCHEMAS[name]
    text = schema if isinstance(schema, str) else json.dumps(schema)
    ways = (("json", "lark"), ("glyph", "gbnf"))
    once = words or name == "enum"  # a reason comes before the notation matters; the values take ten seconds
    for notation, to in ways[:1] if once else ways:
        done = run("build", "--schema", "s.json", "--notation", notation, "--to", to, s_json=text)
        assert done.returncode == (2 if words else 0), done.stderr
        assert words in " ".join(done.stderr.decode().split())
