"""The ends of runs: how lists name them, their words and status everywhere else, and the suggested actions."""

import pytest
from msgspec.structs import replace

from glyphscope.base.errors import ToolError
from glyphscope.events import Answer, ApprovalRule, RunRequest, Token
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import NonInteractive, end_of, outcome_words, run_state, status_of
from glyphscope.runs.strategies import run
from glyphscope.store.history import kin_of
from talks import BAD, SEARCH, numbered, talk
from toolbox import Box


def direct(script, constraint="off", **changes):
    request = RunRequest(
        prompt="x",
        registry=default_registry().to_document(),
        constraint=constraint,
        stop_on="never",
        **changes,
    )
    return list(run(request, ScriptedModel(script)))


DIGITS = Answer("regex", "[0-9]+")


def executed(action, tool):
    request = RunRequest(
        prompt="x", registry=default_registry().to_document(), constraint="off", dispatch=True,
        approvals=(ApprovalRule(action=action),),
    )  # fmt: skip
    return list(run(request, ScriptedModel(SEARCH), NonInteractive({"demo": Box(search=tool)})))


def fails(**_):
    raise ToolError("No network.")


@pytest.mark.parametrize(
    ("events", "outcome", "status", "words", "hint"),
    [
        (talk("Hello."), "no-call", "open", "answered without a call", "Require a call"),
        (talk("Hello.", tool_use="disabled"), "answered", "holds", "answered", ""),
        (talk(SEARCH, "Done."), "answered", "holds", "answered", ""),
        (
            talk("word " * 9, max_tokens=3),
            "no-call",
            "open",
            "without a call, cut off at the token limit",
            "now 3",
        ),
        (
            talk("word " * 9, max_tokens=3, tool_use="disabled"),
            "cut-off",
            "open",
            "the answer was cut off",
            "now 3",
        ),
        (
            talk(*numbered(9), max_turns=2),
            "limit",
            "impossible",
            "took 2 turns",
            "Allow more turns",
        ),
        (direct("word " * 9), "end-of-text", "impossible", "no valid call: ended by the model", "mask"),
        (direct("word " * 9, max_tokens=3), "length", "impossible", "cut off at the token limit", "now 3"),
        (direct(SEARCH, stop=("query",)), "stop-string", "impossible", "at a stop string", "Remove"),
        (direct("word " * 9, tool_choice="auto"), "no-call", "open", "without a call", "Require a call"),
        (
            direct("word " * 9, tool_choice="auto", max_tokens=3),
            "no-call",
            "open",
            "without a call, cut off at the token limit",
            "now 3",
        ),
        (direct("word " * 9, tool_choice="none", max_tokens=3), "cut-off", "open", "cut off", "now 3"),
        (direct(["12", "3"], answer=DIGITS, max_tokens=1), "cut-off", "open", "valid answer, cut", "now 1"),
        (direct(["12", "3"], answer=DIGITS), "valid answer", "holds", "valid answer", ""),
        (direct(SEARCH), "valid", "holds", "a valid call of search", ""),
        (executed("allow", lambda **_: 1), "valid", "holds", "a valid call of search", ""),
        (
            executed("allow", fails),
            "call-failed",
            "impossible",
            "call of search, which failed: No net",
            "valid",
        ),
        (
            executed("deny", fails),
            "call-failed",
            "impossible",
            "a valid call of search, which was denied",
            "valid",
        ),
        (direct(BAD), "end-of-text", "impossible", "ended by the model (CONSTRAINT_MAX)", "mask"),
        (
            direct(BAD, "mask", grammar="root ::= [^\\x00]*"),
            "end-of-text",
            "impossible",
            "(CONSTRAINT_MAX)",
            "The custom grammar allows this",
        ),
        (direct(SEARCH)[:-1], "unfinished", "open", "not finished: the record ends", ""),
        (direct("x", native="auto"), "failed PROMPT_FAILED", "impossible", "the run failed: ", ""),
    ],
)
def test_an_end_has_words_a_status_and_a_hint(events, outcome, status, words, hint):
    end = end_of(run_state(events))
    assert (end.outcome, end.status) == (outcome, status) and status_of(outcome) == status
    assert kin_of(events).row.outcome == outcome
    assert words in end.words and hint in end.hint
    if not outcome.startswith("failed"):
        assert bool(end.hint) == bool(hint)


@pytest.mark.parametrize(
    ("outcome", "status", "words"),
    [
        ("valid", "holds", "valid call"),
        ("valid relaxed", "open", "valid call, relaxed"),
        ("aborted CONSTRAINT_MAX", "impossible", "stopped early: CONSTRAINT_MAX"),
        ("a new one", "open", "a: new one"),
    ],
)
def test_a_list_names_an_end_by_its_outcome(outcome, status, words):
    assert (status_of(outcome), outcome_words(outcome)) == (status, words)


def test_a_run_stopped_before_its_first_token_or_of_a_loop_can_only_be_run_again():
    events = direct(SEARCH)
    stopped = replace(events[-1], reason="cancelled", valid=False)
    assert end_of(run_state([stopped])).hint == "Run it again."
    token = next(event for event in events if isinstance(event, Token))
    assert "continue from any" in end_of(run_state([events[0], token, stopped])).hint
    request = replace(events[0].request, strategy="loop")
    assert end_of(run_state([replace(events[0], request=request), token, stopped])).hint == "Run it again."
