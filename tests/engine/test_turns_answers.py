"""Answers of many families, read as by common servers; the cases are in the .jsonl file beside this one.

`test_turns_families.jsonl` has the families' answers in the variants that the authors of servers test: values of every
kind, several calls, text and reasoning around them, markers left out, doubled or of another generation.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glyphscope.registry import parse_document
from glyphscope.turns import TurnForm, TurnTools, call_violations, read_turn
from renderers import derived_at

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = [
    json.loads(line)
    for name in ("answers", "families")
    for line in (HERE / f"test_turns_{name}.jsonl").read_text("utf-8").splitlines()
]
FAMILIES = sorted({case["template"] for case in CASES})
TOOLS = TurnTools(parse_document(json.loads((HERE / "test_turns_answers_tools.json").read_text("utf-8"))))


def form(folder: Path, template: str) -> TurnForm:
    return derived_at(folder / f"{template}.jinja")[1]


@pytest.mark.parametrize("template", FAMILIES)
def test_the_answers_of_a_family_are_read_as_its_users_expect(llama_data: Path, template: str) -> None:
    wrong = []
    for case in (case for case in CASES if case["template"] == template):
        turn = read_turn(case["text"], form(llama_data / "templates", template), TOOLS, case["thinking"])
        calls = [[call.name, call.arguments] for call in turn.calls]
        if (turn.content, turn.reasoning, calls) != (case["content"], case["reasoning"], case["calls"]):
            wrong.append((case, turn))
    assert wrong == []


def test_most_answers_are_strictly_in_the_form_and_their_calls_are_valid(llama_data: Path) -> None:
    strict = 0
    for case in CASES:
        turn = read_turn(
            case["text"], form(llama_data / "templates", case["template"]), TOOLS, case["thinking"]
        )
        strict += turn.strict
        if turn.complete:
            known = [call for call in turn.calls if call.name in TOOLS.names]
            assert [call_violations(call, TOOLS) for call in known] == [[] for _ in known], case
    assert strict > len(CASES) / 2
