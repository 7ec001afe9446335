"""Runs that end without a valid call: their messages, their marks, and the suggested actions."""

import pytest
from msgspec.structs import replace

from glyphscope.events import RunRequest, Token
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.endings import end_of
from glyphscope.sessions.history import kin_of
from glyphscope.strategies import run
from talks import SEARCH, numbered, talk


def direct(script, **changes):
    request = RunRequest(
        prompt="x", registry=default_registry().to_document(), constraint="off", stop_on="never", **changes
    )
    return list(run(request, ScriptedModel(script)))


@pytest.mark.parametrize(
    ("events", "status", "words", "hint"),
    [
        (talk("Hello."), "open", "answered without a call", "Require a call"),
        (talk("Hello.", tool_use="disabled"), "holds", "answered", ""),
        (talk(SEARCH, "Done."), "holds", "answered", ""),
        (talk("word " * 9, max_tokens=3), "open", "without a call, cut off at the token limit", "now 3"),
        (talk("word " * 9, max_tokens=3, tool_use="disabled"), "open", "the answer was cut off", "now 3"),
        (talk(*numbered(9), max_turns=2), "impossible", "took 2 turns", "Allow more turns"),
        (direct("word " * 9), "impossible", "no valid call: the model ended the text", "constraint mask"),
        (
            direct("word " * 9, max_tokens=3),
            "impossible",
            "no valid call: the text ended at the token limit",
            "now 3",
        ),
        (
            direct(SEARCH, stop=("query",)),
            "impossible",
            "the text ended at a stop string",
            "Remove or change",
        ),
        (direct("word " * 9, tool_choice="auto"), "open", "answered without a call", "Require a call"),
        (direct("word " * 9, tool_choice="none", max_tokens=3), "open", "cut off", "now 3"),
    ],
)
def test_an_end_without_a_valid_call_has_a_hint(events, status, words, hint):
    end = end_of(run_state(events))
    assert end.status == status and words in end.words and hint in end.hint
    assert bool(end.hint) == bool(hint)


def test_a_run_stopped_before_its_first_token_or_of_a_loop_can_only_be_run_again():
    events = direct(SEARCH)
    stopped = replace(events[-1], reason="cancelled", valid=False)
    assert end_of(run_state([stopped])).hint == "Run it again."
    token = next(event for event in events if isinstance(event, Token))
    assert "continue from any" in end_of(run_state([events[0], token, stopped])).hint
    request = replace(events[0].request, strategy="loop")
    assert end_of(run_state([replace(events[0], request=request), token, stopped])).hint == "Run it again."


def test_an_end_with_a_valid_call_an_abort_or_a_failure_has_no_ending_words():
    for events in (direct(SEARCH), direct("x", native="auto"), direct(SEARCH)[:-1]):
        assert end_of(run_state(events)) is None


def test_an_answer_without_a_call_is_listed_as_such():
    assert kin_of(talk("Hello.")).row.outcome == "no-call"
    assert kin_of(talk("Hello.", tool_use="disabled")).row.outcome == "answered"
    assert kin_of(talk(SEARCH, "Done.")).row.outcome == "answered"
