"""Tests of a server's enforcement by asking it: what is sent, and what the answers show."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from cli_command import command
from glyphscope.base.errors import GlyphscopeError
from glyphscope.explain.asked_endpoint import ask, requests_of, trials
from scripted_endpoint import DONE, Answer, chunk, endpoint, remote, said


def value(one) -> Answer:
    return said(json.dumps({"value": one}))


def called(one) -> Answer:
    function = {"name": "record", "arguments": json.dumps({"value": one})}
    delta = {"tool_calls": [{"index": 0, "id": "c", "function": function}]}
    return Answer((chunk(delta=delta), chunk(finish="tool_calls"), DONE))


def rejected(words: str) -> Answer:
    return Answer((json.dumps({"error": {"message": words}}).encode(),), 400, "application/json")


def _broken(schema, text: str) -> bool:
    return not Draft202012Validator(schema, format_checker=FormatChecker()).is_valid(json.loads(text))


@pytest.mark.parametrize(
    ("name", "answers", "found"),
    [
        ("enum", (value("green"), value("red")), "enforced"),
        ("enum", (value("green"), value("green")), "not enforced"),
        ("maximum", (value(500), value(100)), "enforced"),
        ("maximum", (value(500), value(500)), "not enforced"),
        ("maximum", (value(5), value(7)), "not shown"),
        ("maximum", (value(5), value(500)), "not enforced"),
        ("pattern", (value("abc1"), rejected("pattern is not supported")), "rejected"),
        ("type", (rejected("overloaded by x"), value(5)), "not shown"),
        ("maximum", (said("Five hundred."), value(7)), "not shown"),
        ("regex", (said("hello"), said("2026")), "enforced"),
        ("grammar", (said("c"), said("c")), "not enforced"),
        ("a call", (said("hello"), called(5)), "enforced"),
        ("a call", (said("hello"), said("hello")), "not enforced"),
        ("maximum of a call", (called(500), called(500)), "not enforced"),
        ("enum of a call", (called("green"), called("red")), "enforced"),
    ],
)
def test_two_answers_show_whether_a_constraint_is_enforced(name, answers, found):
    with endpoint(*answers) as server, remote(server, "?dialect=vllm") as model:
        (result,) = ask(model, [name])
        asked = [each.body for each in server.asked]
    assert (result.name, result.found) == (name, found)
    assert len(asked) == requests_of([name]) == 2 and all(body["temperature"] == 0.0 for body in asked)
    sent = [{"structured_outputs", "tool_choice"} & body.keys() for body in asked]
    assert sent[1] or found == "rejected"
    if name in ("regex", "grammar"):
        assert not sent[0]
    if found == "rejected":
        assert "pattern is not supported" in result.why


def test_a_server_without_a_field_for_a_constraint_is_not_said_to_ignore_it():
    with endpoint(said("hello")) as server, remote(server, "?dialect=compatible") as model:
        (result,) = ask(model, ["regex"])
    assert result.found == "no field"


def test_strict_is_sent_with_the_tools_and_a_stop_ends_the_tests():
    with endpoint(called(500), called(5)) as server, remote(server, "?dialect=vllm") as model:
        (result,) = ask(model, ["maximum of a call"], strict="on")
        assert server.asked[-1].body["tools"][0]["function"]["strict"] is True
        assert result.found == "enforced" and "strict is sent for 1 of 1 tools" in result.sent
        assert list(ask(model, ["enum", "maximum"], cancelled=lambda: True)) == []
        assert len(server.asked) == 3


def test_an_unknown_test_is_reported_with_the_known_ones():
    with endpoint(said("x")) as server, remote(server) as model:
        with pytest.raises(GlyphscopeError, match="Did you mean"):
            list(ask(model, ["maximun"]))
        assert not server.asked


def test_every_trial_asks_for_a_text_that_its_constraint_excludes():
    for name, trial in trials().items():
        text = trial.request.prompt.removeprefix("Write this text: ")
        if trial.request.answer.is_call:
            continue
        with endpoint(said(text)) as server, remote(server, "?dialect=compatible") as model:
            (result,) = ask(model, [name])
        assert result.without == text and result.found in ("not enforced", "no field"), name
        assert trial.schema is None or _broken(trial.schema, text)


def test_the_command_asks_before_it_sends_and_counts_what_it_found():
    with endpoint(value("green"), value("red"), value(500), value(500)) as server:
        address = f"{server.url}?dialect=vllm"
        asked = command("models", "enforcement", address, "--only", "enum")
        assert asked.exit_code == 2 and not server.asked
        assert "2 requests of at most 100 tokens" in asked.stderr and "--yes" in asked.stderr
        done = command(
            "models", "enforcement", address, "--only", "enum", "--only", "maximum", "--yes", "--json"
        )
        assert (done.exit_code, len(server.asked)) == (1, 4), done.stderr
        assert [each["found"] for each in json.loads(done.stdout)["results"]] == ["enforced", "not enforced"]
        table = command("models", "enforcement", address, "--only", "enum", "--yes")
        assert "0 of 1 enforced" in table.stdout and "not enforced" in table.stdout
