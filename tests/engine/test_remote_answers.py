"""Answers that are not calls, behind an endpoint: the server's own field for each kind, and the note without one."""

from __future__ import annotations

import json

import pytest

from glyphscope.events import Answer, PromptRendered, RunFailed, RunRequest
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from scripted_endpoint import Answer as Reply
from scripted_endpoint import endpoint, remote, said


def request(**fields) -> RunRequest:
    return RunRequest(prompt="Is it?", registry={"glyphscope": 1, "tools": []}, **fields)


def sent(server) -> dict:
    return server.asked[-1].body


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OF_SCHEMA, OF_PATTERN = Answer("schema", json.dumps(CITY)), Answer("regex", "[0-9]{4}")
OF_CHOICE, OF_GRAMMAR = Answer("choice", "yes\nno"), Answer("gbnf", 'root ::= "a" | "b"')
NAMED = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": CITY}}
RULES = ...
"""In place of a grammar."""


@pytest.mark.parametrize(
    ("dialect", "answer", "field", "value"),
    [
        ("llama-server", OF_SCHEMA, "json_schema", CITY),
        ("llama-server", OF_CHOICE, "grammar", RULES),
        ("llama-server", OF_PATTERN, "grammar", RULES),
        ("llama-server", OF_GRAMMAR, "grammar", RULES),
        ("llama-cpp-python", OF_SCHEMA, "grammar", RULES),
        ("vllm", OF_SCHEMA, "structured_outputs", {"json": CITY}),
        ("vllm", OF_CHOICE, "structured_outputs", {"choice": ["yes", "no"]}),
        ("vllm", OF_PATTERN, "structured_outputs", {"regex": "[0-9]{4}"}),
        ("vllm", OF_GRAMMAR, "structured_outputs", {"grammar": RULES}),
        ("vllm-guided", OF_SCHEMA, "guided_json", CITY),
        ("vllm-guided", OF_CHOICE, "guided_choice", ["yes", "no"]),
        ("vllm-guided", OF_PATTERN, "guided_regex", "[0-9]{4}"),
        ("vllm-guided", OF_GRAMMAR, "guided_grammar", RULES),
        ("sglang", OF_SCHEMA, "response_format", NAMED),
        ("sglang", OF_CHOICE, "ebnf", RULES),
        ("sglang", OF_PATTERN, "regex", "[0-9]{4}"),
        ("openai", OF_SCHEMA, "response_format", NAMED),
        ("compatible", OF_SCHEMA, "response_format", NAMED),
    ],
)
def test_an_answer_that_is_not_a_call_is_sent_in_the_servers_own_field(dialect, answer, field, value):
    texts = {"schema": '{"city":"Bern"}', "regex": "2026", "choice": "yes", "gbnf": "b"}
    with endpoint(said(texts[answer.kind])) as server, remote(server, f"?dialect={dialect}") as model:
        events = list(run(request(answer=answer, notation="json"), model))
        body = sent(server)
    found = body[field]
    if value is RULES or value == {"grammar": RULES}:
        rules = found if value is RULES else found["grammar"]
        assert "root ::=" in rules
    else:
        assert found == value
    assert not {"grammar", "ebnf", "regex", "json_schema", "response_format"} & (body.keys() - {field})
    (prompt,) = (event for event in events if isinstance(event, PromptRendered))
    assert field in prompt.note and "endpoint's own" in prompt.note
    assert run_state(events).outcome == "valid"


@pytest.mark.parametrize("answer", [OF_CHOICE, OF_PATTERN, OF_GRAMMAR], ids=lambda each: each.kind)
@pytest.mark.parametrize("dialect", ["openai", "compatible"])
def test_an_answer_for_which_a_server_has_no_field_is_judged_and_the_note_says_that_nothing_enforces_it(
    dialect, answer
):
    with endpoint(said("b"), said("Sure: b")) as server, remote(server, f"?dialect={dialect}") as model:
        states = [run_state(run(request(answer=answer, stop_on="never"), model)) for _ in range(2)]
    right = answer is OF_GRAMMAR
    assert [state.outcome for state in states] == ["valid" if right else "invalid", "invalid"]
    assert "nothing enforces it" in states[0].notes[0] and str(answer) in states[0].notes[0]


def test_a_server_that_ignores_the_choice_that_it_was_sent_is_found_out():
    with endpoint(said("maybe")) as server, remote(server, "?dialect=vllm") as model:
        *_, last = run(request(answer=OF_CHOICE), model)
    assert isinstance(last, RunFailed) and last.code == "CONSTRAINT_IGNORED"
    assert "structured_outputs.choice" in last.message


def test_an_answer_in_glyph_or_after_text_is_sent_as_a_grammar():
    for more in ({"notation": "glyph"}, {"notation": "json", "free_text": True}):
        with endpoint(said("x")) as server, remote(server, "?dialect=vllm") as model:
            list(run(request(answer=OF_SCHEMA, **more), model))
            assert list(sent(server)["structured_outputs"]) == ["grammar"]


def test_a_server_that_rejects_what_it_was_sent_is_quoted_and_the_answer_is_judged_without_a_constraint():
    words = b'{"error": {"message": "structured_outputs.regex: look-around is not supported"}}'
    rejected = Reply((words,), 400, "application/json")
    with endpoint(rejected, said("2026")) as server, remote(server, "?dialect=vllm") as model:
        *_, failed = run(request(answer=OF_PATTERN), model)
        judged = run_state(run(request(answer=OF_PATTERN, constraint="off"), model))
    assert isinstance(failed, RunFailed) and "look-around is not supported" in failed.message
    assert "--constraint off" in failed.hint and judged.outcome == "valid"
