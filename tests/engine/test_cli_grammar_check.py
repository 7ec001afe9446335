"""`glyphscope grammar check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli_command import command

WRONG = 'root ::= "é" x\r\n# so\n  y ::= [\\d] |\n'


def run(*arguments: str, text: str | bytes | None = None) -> Result:
    return command("grammar", "check", *arguments, text=text)


def answer(text: str | bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("--json", "-", text=text).stdout)
    return found


def test_a_grammar_that_llama_cpp_accepts_is_a_yes() -> None:
    result = run("--json", "-", text='root ::= "a"\n')
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"ok": True, "diagnostics": []})


def test_each_problem_has_the_documented_keys_and_its_place_from_1() -> None:
    result = run("--json", "-", text=WRONG)
    assert result.exit_code == 1
    undefined, unused, escape = json.loads(result.stdout)["diagnostics"]
    assert list(undefined) == [
        "severity", "code", "message", "line", "column", "end_line", "end_column", "fix",
    ]  # fmt: skip
    places = [
        (d["code"], d["line"], d["column"], d["end_line"], d["end_column"])
        for d in (undefined, unused, escape)
    ]
    assert places == [
        ("undefined-rule", 1, 14, 1, 15),
        ("unused-rule", 3, 3, 3, 4),
        ("unknown-escape", 3, 10, 3, 12),
    ]
    assert escape["fix"] == {
        "title": "Write `0-9`",
        "edits": [{"line": 3, "column": 10, "end_line": 3, "end_column": 12, "text": "0-9"}],
    }


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        (b'root ::= "a\xff"', "not-utf-8", (1, 12)),
        (b'\xef\xbb\xbfroot ::= "a"', "unexpected-text", (1, 1)),
        (b'root ::= "a"\n\0', "nul-character", (2, 1)),
        (b"", "no-rules", (1, 1)),
    ],
)
def test_invalid_bytes_are_reported_with_their_place(text: bytes, code: str, place: tuple[int, int]) -> None:
    found = answer(text)
    assert not found["ok"]
    assert [(d["code"], (d["line"], d["column"])) for d in found["diagnostics"]] == [(code, place)]


def test_the_line_is_shown_with_the_place_underlined_and_the_fix() -> None:
    result = run("-", text=WRONG)
    assert "standard input:3:10: ✗ error" in result.stdout
    assert "    y ::= [\\d] |\n           ^^\n  fix: Write `0-9`" in result.stdout
    assert result.stdout.endswith("✗ 2 errors, 1 other remark\n")


def test_a_file_that_cannot_be_read_is_exit_code_2(tmp_path: Path) -> None:
    assert run(str(tmp_path / "none.gbnf")).exit_code == 2
    assert run(str(tmp_path)).exit_code == 2
    assert run("--fix", "-", text="root ::= x").exit_code == 2
    assert run("--print", "--json", "-", text="root ::= x").exit_code == 2


def test_fix_applies_unambiguous_fixes_and_leaves_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "g.gbnf"
    file.write_bytes(b'root ::= "a" | \n "b"\n | x_y\nx_y ::= "\\d\n# \xe9\n')
    result = run("--fix", str(file))
    assert result.exit_code == 1  # a byte that is invalid UTF-8 is left
    assert file.read_bytes() == b'root ::= ("a" | \n "b"\n | x-y)\nx-y ::= [0-9]\n# \xe9\n'


def test_print_formats_the_grammar() -> None:
    result = run("--print", "-", text='root::="a"|x # so\nx   ::= ( "b" )')
    assert result.exit_code == 0
    assert result.stdout == 'root ::= "a" | x  # so\nx ::= ("b")\n'
