"""Each kind of answer from the command line over the embedded model, from its run to an evaluation and every export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_command import command
from glyphscope.events import Aborted
from glyphscope.runs import run_state
from glyphscope.store.records import read_record

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.timeout(900)]

FILES = {
    "person.json": '{"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}, '
    '"age": {"type": "integer", "minimum": 0, "maximum": 130}}, "required": ["name", "age"]}',
    "sum.gbnf": 'root ::= number "+" number\nnumber ::= [0-9] [0-9]?\n',
    "let.lark": 'start: "let" NAME "=" NUMBER\nNAME: /[a-z]{1,9}/\nNUMBER: /[0-9]{1,3}/\n%ignore / /\n',
}
ANSWERS = {
    "call": ("call", "Search for AI news, 10 results", '{action="calculate"'),
    "schema": ("schema:person.json", "The person: Ann, 30 years old.", '{"name":"Bo"'),
    "regex": ("regex:[0-9]{4}-[0-9]{2}-[0-9]{2}", "When was the moon landing? Write the date.", "2001-"),
    "choice": ("choice:positive|negative", "I love it. What is the sentiment?", "neg"),
    "gbnf": ("sum.gbnf", "Write a sum of two numbers.", "77+"),
    "lark": ("let.lark", "Let x be 3.", "let yes ="),
}
"""By its kind, an answer with a prompt and the beginning of a branch."""
FORMS = {"call": {"json-schema", "openai-tool-calls"}, "schema": {"json-schema"}}
"""The exports that only some kinds have."""


def done(*arguments: str | Path, code: int = 0) -> str:
    """The output of `glyphscope` with these arguments, which ends with that exit code."""
    result = command(*arguments)
    assert result.exit_code == code, (arguments, result.output)
    return result.output


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_kind_of_answer_is_run_replayed_branched_exported_and_evaluated(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    answer, prompt, written = ANSWERS[kind]
    notation = "glyph" if kind == "call" else "json"  # in which the model makes an error without a constraint
    asked = ("--answer", answer, "--notation", notation, "--seed", "1", "--max-tokens", "60")

    done("run", *asked, "--record", "run.jsonl", prompt)
    state = run_state(read_record(Path("run.jsonl")).events)
    assert state.outcome == "valid" and (kind == "call") == (state.call is not None)
    assert "✓ the same" in done("replay", "run.jsonl", "--verify")

    done("run", *asked, "--constraint", "off", "--record", "free.jsonl", prompt, code=1)
    free = read_record(Path("free.jsonl")).events
    (aborted,) = (event for event in free if isinstance(event, Aborted))
    assert len(run_state(free).tokens) == aborted.tokens_decoded and "stopped at" in done(
        "replay", "free.jsonl"
    )

    done("branch", "run.jsonl", "--at", "0", "--text", written, "--record", "branch.jsonl")
    branch = run_state(read_record(Path("branch.jsonl")).events)
    assert branch.outcome == "valid" and branch.text.startswith(written) and branch.started is not None
    assert branch.started.request.answer.kind == kind

    for record in ("run.jsonl", "free.jsonl"):
        namespace: dict[str, object] = {}
        exec(done("export", record, "--to", "pytest"), namespace)  # a file that the program wrote
        tests = [made for name, made in namespace.items() if name.startswith("test_")]
        assert len(tests) == 2
        for test in tests:
            test()  # type: ignore[operator]
        done("export", record, "--to", "html", "--out", "page.html")
        assert json.dumps(prompt)[1:-1] in Path("page.html").read_text()
        assert "curl" in done("export", record, "--to", "curl")
    for form in ("gbnf", "lark", "answer", "openai-messages"):
        assert done("export", "run.jsonl", "--to", form)
    for form in ("json-schema", "openai-tool-calls"):
        done("export", "run.jsonl", "--to", form, code=0 if form in FORMS.get(kind, ()) else 2)
    done("bundle", "run.jsonl", "--out", "run.glyphrun")
    assert done("replay", "run.glyphrun") == done("replay", "run.jsonl")

    expect = {"calls": [{"tools": ["search"]}]} if kind == "call" else {"final": {"least_characters": 1}}
    scenario = {"id": "one", "prompt": prompt, "expect": expect, "request": {"max_tokens": 60}}
    suite = {"glyphscope_suite": 1, "name": "kinds", "about": "", "answer": answer, "scenarios": [scenario]}
    Path("suite.json").write_text(json.dumps(suite))
    done(
        "eval",
        "run",
        "suite.json",
        "--notation",
        notation,
        "--constraint",
        "off",
        "mask",
        "--savings",
        "1",
        "--out",
        "results",
    )
    (folder,) = Path("results").iterdir()
    off, mask = map(json.loads, (folder / "samples.jsonl").read_text().splitlines())
    assert (off["ok"], mask["ok"]) == (False, True)
    assert off["saved"] > 0, "the tokens that stopping at the deciding character saved"
