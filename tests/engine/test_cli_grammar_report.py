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
    assert "leaks" in done.output


@pytest.mark.parametrize(("notation", "engines"), [("json", 4), ("glyph", 2)])
def test_json_has_the_counts_of_each_engine(registry: str, notation: str, engines: int) -> None:
    done = command("grammar", "build", "-r", registry, "--notation", notation, "--report", "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert len(answer["counts"]) == engines
    assert answer["counts"]["gbnf"]["checked"] == 1
    assert {proof["status"] for proof in answer["proofs"]} <= {"enforced", "checked", "unsupported"}
