"""The kinds of answers: text, one call or several, any tool or a named one."""

import pytest

from glyphscope.events import (
    ApprovalRule,
    CallReady,
    FinalAnswer,
    RunFailed,
    RunFinished,
    RunRequest,
    ToolResult,
    Violation,
)
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import NonInteractive, run_state
from glyphscope.runs.strategies import run
from glyphscope.tools import Outcome
from toolbox import Box

REGISTRY = default_registry().to_document()
SEARCH, CALCULATE = '{"action":"search","query":"AI"}', '{"action":"calculate","expression":"1+1"}'


def answered(text, *, interaction=None, max_tokens=512, **changes):
    request = RunRequest(
        prompt="p",
        **{
            "registry": REGISTRY,
            "constraint": "off",
            "notation": "json",
            "max_tokens": max_tokens,
            **changes,
        },
    )
    return list(run(request, ScriptedModel(text), interaction or NonInteractive({})))


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def test_several_calls_are_ready_one_by_one_with_their_own_text():
    events = answered(f"{SEARCH}\n{CALCULATE}", most_calls=2)
    assert [(c.tool, c.text, c.call_index, c.call) for c in of(events, CallReady)] == [
        ("search", SEARCH, 0, "call-1"),
        ("calculate", CALCULATE, 1, "call-2"),
    ]
    assert events[-1].valid
    state = run_state(events)
    assert [sorted(call.fields) for call in state.present.written.values()] == [
        ["/action", "/query"],
        ["/action", "/expression"],
    ]


def test_several_calls_are_executed_in_order_and_one_that_fails_makes_the_run_invalid():
    allowed = {"dispatch": True, "approvals": (ApprovalRule(action="allow"),), "most_calls": None}
    for result, valid in ((2, True), (Outcome(fault="tool", message="no"), False)):
        box = Box(search=lambda query: 1, calculate=lambda expression, result=result: result)
        events = answered(f"{SEARCH}\n{CALCULATE}", interaction=NonInteractive({"demo": box}), **allowed)
        assert [name for name, _ in box.calls] == ["search", "calculate"]
        assert [each.ok for each in of(events, ToolResult)] == [True, valid]
        assert events[-1].valid is valid


@pytest.mark.parametrize("constraint", ["off", "mask"])
def test_an_answer_that_may_be_text_is_the_answer(constraint):
    events = answered("It is {two}.", tool_choice="auto", constraint=constraint)
    assert [answer.text for answer in of(events, FinalAnswer)] == ["It is {two}."]
    end = events[-1]
    assert isinstance(end, RunFinished) and (end.reason, end.valid) == ("answered", True)


def test_a_call_may_come_in_an_answer_that_may_be_text():
    events = answered(f"Wait. {SEARCH}", tool_choice="auto")
    assert [call.text for call in of(events, CallReady)] == [SEARCH] and not of(events, FinalAnswer)


def test_text_that_the_limit_cuts_off_is_not_an_answer_that_ended():
    end = answered("one two three four five", tool_choice="none", max_tokens=1)[-1]
    assert isinstance(end, RunFinished) and end.reason == "length"


def test_another_tool_than_the_named_one_is_a_violation_at_its_first_character():
    (found,) = of(answered(CALCULATE, tool_choice="search", stop_on="error"), Violation)
    assert (found.code, found.char) == (
        "UNKNOWN_TOOL",
        CALCULATE.index("calculate"),
    ) and "search" in found.viable


def test_a_tool_named_like_a_choice_restricts_nothing():
    tools = [
        {"name": name, "parameters": {"type": "object", "properties": {}}} for name in ("required", "ping")
    ]
    events = answered('{"action":"ping"}', registry={"glyphscope": 1, "tools": tools})
    assert events[-1].valid and not of(events, Violation)


def test_a_tool_choice_that_does_not_exist_names_the_existing_tools():
    failed = answered(SEARCH, tool_choice="serach")[-1]
    assert isinstance(failed, RunFailed) and failed.code == "PROMPT_FAILED"
    assert "'serach'" in failed.message and "search" in failed.hint
