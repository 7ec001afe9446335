"""`glyphscope grammar diff`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli_command import command


def diff(*arguments: str) -> Result:
    return command("grammar", "diff", *arguments)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts: dict[str, Any] = {
        "a.gbnf": 'root ::= "a"*',
        "same.gbnf": 'root ::= "" | "a" root',
        "b.gbnf": 'root ::= "a"+ | "b"',
        "deep.gbnf": 'root ::= "(" root ")" | ""',
        "deeper.gbnf": 'root ::= "(" root ")" | "()" | ""',
        "bad.gbnf": "root ::= x",
        "tools.json": json.dumps({"f": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}}),
        "schema.json": json.dumps({"type": "integer", "minimum": 0, "maximum": 1}),
        "bits.gbnf": "root ::= [01]",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: str(tmp_path / name) for name in texts}


def test_two_texts_of_one_language_are_reported_as_the_same(files: dict[str, str]) -> None:
    done = diff(files["a.gbnf"], files["same.gbnf"])
    assert (done.exit_code, "the same language" in done.output) == (0, True)
    assert diff(files["schema.json"], files["bits.gbnf"]).exit_code == 0


def test_a_difference_is_shown_with_a_text(files: dict[str, str]) -> None:
    done = diff(files["a.gbnf"], files["b.gbnf"], "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout) == {
        "same": False,
        "only_first": "",
        "only_second": "b",
        "exhausted": True,
        "bound": "every pair of states was followed",
    }
    shown = diff(files["a.gbnf"], files["b.gbnf"]).output
    assert "the empty text" in shown
    assert "  b\n" in shown


def test_two_notations_of_one_registry_differ(files: dict[str, str]) -> None:
    tools = files["tools.json"]
    done = diff(tools, tools, "--notation", "json", "--second-notation", "glyph", "--json")
    assert json.loads(done.stdout)["only_first"] == '{"action":"f"}'
    assert json.loads(done.stdout)["only_second"] == '{action="f"}'


def test_the_bound_of_a_comparison_is_reported(files: dict[str, str]) -> None:
    done = diff(files["deep.gbnf"], files["deeper.gbnf"], "--characters", "40")
    assert done.exit_code == 0
    assert "no difference in texts of up to 40 characters" in done.output
    assert "same language" not in done.output


@pytest.mark.parametrize("names", [("bad.gbnf", "a.gbnf"), ("a.gbnf", "missing.gbnf")])
def test_bad_input_of_diff_is_exit_code_2(files: dict[str, str], names: tuple[str, str]) -> None:
    done = diff(*(files.get(name, name) for name in names))
    assert done.exit_code == 2
    assert "error" in done.stderr
