"""`glyphscope grammar build --report`."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from cli_command import command

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="needs llama-cpp-python"),
]
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "maximum": 100}, "l": {"type": "array", "uniqueItems": True}},
}


@pytest.fixture
def registry(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"f": SCHEMA}))
    return str(path)


def test_a_leak_is_shown_in_the_table(registry: str) -> None:
    done = command("grammar", "build", "-r", registry, "--notation", "json", "--report")
    assert done.exit_code == 0, done.output
    assert '{"action":"f","n":101}' in done.output
    assert "/properties/l/uniqueItems" in done.output
    assert "! checked after" in done.output


@pytest.mark.parametrize(("notation", "engines"), [("json", 4), ("glyph", 2)])
def test_json_has_the_counts_of_each_engine(registry: str, notation: str, engines: int) -> None:
    done = command("grammar", "build", "-r", registry, "--notation", notation, "--report", "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert len(answer["counts"]) == engines
    assert answer["counts"]["gbnf"]["checked"] == 1
    assert {proof["status"] for proof in answer["proofs"]} <= {"enforced", "checked", "unsupported"}


WRITTEN = {"type": "string", "x-grammar": '"\\"" [a-z]+ "\\""'}
FORMATS = {"input": {"type": "string", "x-grammar": {"type": "text"}}}


def test_the_grammar_of_a_custom_tool_is_a_row_and_texts_just_outside_it_are_tried(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"f": {"properties": {"a": WRITTEN}}, "any": {"properties": FORMATS}}))
    answers = [
        json.loads(
            command("grammar", "build", "-r", tools, "--notation", "json", "--report", "--json").stdout
        )
        for tools in ("custom", str(path))
    ]
    rows: list[dict[str, dict[str, str]]] = [{}, {}]
    for found, answer in zip(rows, answers):
        for proof in answer["proofs"]:
            if proof["keyword"] == "x-grammar":
                found.setdefault(proof["tool"], {})[proof["engine"]] = proof["status"]
                assert ("no validator judges values by it" in proof["why"]) == (proof["tool"] == "f")
    enforced = {"mask": "enforced", "gbnf": "enforced", "converter": "checked", "schema": "checked"}
    assert rows[0] == dict.fromkeys(("calc", "orders", "open_day"), enforced)
    assert rows[1] == {"f": dict.fromkeys(enforced, "unsupported")}, "any text is no row"
