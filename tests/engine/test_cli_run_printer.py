"""A run of several stages as a terminal shows it."""

from __future__ import annotations

import io
from typing import get_args

import pytest
from rich.console import Console

from glyphscope.cli.run_printer import RunView
from glyphscope.events import (
    AnyEvent,
    ApprovalGiven,
    ApprovalNeeded,
    CandidatesFound,
    Change,
    Extracted,
    FinalAnswer,
    LimitReached,
    NameCandidate,
    QuestionAnswered,
    QuestionAsked,
    RepairTried,
    Routed,
    RunFinished,
    StageFinished,
    StageStarted,
    Token,
    TokenStep,
    ToolContent,
    ToolResult,
    ToolsDeferred,
    ToolsSearched,
    ToolStarted,
    TransformActed,
)
from glyphscope.runs import run_state

HOSTILE = "a\x1b[2Jb\r\n"


def shown(*events):
    out = Console(file=io.StringIO(), width=120, force_terminal=False)
    out.print(RunView(run_state(events)))
    return out.file.getvalue()


def token(text):
    return Token(step=TokenStep(index=0, id=0, data=text.encode(), text=text), start=0, end=len(text))


def stage(name, title, **more):
    return StageStarted(stage=name, title=title, **more)


def ended(reason, valid):
    return RunFinished(
        reason=reason, valid=valid, tokens=2, forced=0, prompt_ms=1, first_token_ms=2, total_ms=3
    )


def test_each_stage_is_shown_with_its_title_text_and_prompt_size():
    text = shown(
        stage("name", "Name", kind="name"),
        token('"search"'),
        StageFinished(reason="complete", valid=True, tokens=1, prompt_tokens=40, cached=38, ms=5),
        stage("arguments", "Arguments of search", kind="arguments"),
        token("{}"),
    )
    assert "Name\n" in text and '"search"' in text and "prompt 40 tokens (38 cached)" in text
    assert "Arguments of search\n{}" in text


CASES = [
    (CandidatesFound(candidates=(NameCandidate("Ace", "weapon", "ace", 0, 3, 97.5),)), "Ace (weapon, 98)"),
    (CandidatesFound(candidates=()), "· Names: no known names in the prompt"),
    (Routed(choice="call_tool", tool="search"), "· Routed: call search"),
    (QuestionAsked(question="Which one?"), "? Question: “Which one?”"),
    (QuestionAnswered(answer=None), "✗ Question: → no answer"),
    (Extracted(before="x{}", after="{}", changes=(Change("prose", 0),), valid=True), "at character 0: prose"),
    (
        RepairTried(
            attempt=1,
            attempts=2,
            code="SYNTAX",
            message="m",
            before="ab",
            after="ac",
            char=1,
            now=None,
            now_code=None,
            tokens=7,
        ),
        "✓ Difference: SYNTAX at character 1: now valid\n    Attempt 1 of 2, 7 tokens\n    abc",
    ),
    (
        ToolsDeferred(search="search_tools", by="bm25", deferred=400, tokens=29_402, context=4_096),
        "· Tools: 400 tools deferred to search_tools: all tools would take 29,402 tokens of 4,096",
    ),
    (
        ToolsSearched(query=HOSTILE, by="bm25", found=("a", "b"), matches=3, loaded=("a",), left_off=("b",)),
        "” → a\n    No room for: b",
    ),
    (
        ToolsSearched(query="(", by="regex", problem="It ends early."),
        "✗ Tool search: “(”\n    It ends early.",
    ),
    (TransformActed(name="tags", surface="response", what="took the tag away"), "tags: took the tag away"),
    (
        LimitReached(limit="max_turns", allowed=8, used=9, message="8 turns are over"),
        "✗ Limit: max_turns: 9 of 8\n    8 turns are over",
    ),
    (FinalAnswer(text="Done.", recovered=True), "· Answer: Done. (prompted once more)"),
    (
        ApprovalNeeded(call="c", tool="rm", arguments={"p": HOSTILE}, source="files", identity="npx files"),
        '? Approval: rm: waiting for approval\n    rm of files, npx files\n    {"p": ',
    ),
    (
        ApprovalGiven(call="c", action="deny", arguments={}, by="nobody", reason="no"),
        "✗ Approval: denied: no answer\n    no",
    ),
    (
        ApprovalGiven(call="c", action="allow", arguments={"a": 1}, edited=True),
        'allowed by a person, with edited arguments\n    Arguments executed\n    {"a": 1}',
    ),
    (ToolStarted(call="c", tool="t", source="demo", arguments={}), "▸ Result: t, executed by demo\n    {}"),
    (
        ToolResult(call="c", tool="t", source="demo", ok=True, content=(ToolContent(text=HOSTILE),), bytes=3),
        "3 bytes in 0 ms",
    ),
    (
        ToolResult(call="c", tool="t", source="demo", ok=False, code="TOOL_ERROR", message="no"),
        "✗ Result: TOOL_ERROR: no",
    ),
    (
        ToolResult(call="c", tool="t", source="demo", ok=True, schema_problems=("/a: wrong",)),
        "Output schema violated: /a: wrong",
    ),
]


@pytest.mark.parametrize(("event", "words"), CASES)
def test_events_between_two_texts_are_shown_without_control_characters(event, words):
    text = shown(stage("router", "Router", kind="router"), event)
    assert words in text
    assert "\x1b" not in text and "\r" not in text


def test_every_event_of_a_strategy_is_shown():
    kinds = {kind for kind in get_args(AnyEvent) if kind.__module__.endswith((".stages", ".tools"))}
    assert {kind.__name__ for kind in kinds - {type(event) for event, _ in CASES}} == {
        "StageStarted",
        "StageFinished",
        "ConstraintReady",
        "ToolProgressed",
    }


@pytest.mark.parametrize(
    ("reason", "valid", "words"),
    [
        ("answered", True, "✓ answered"),
        ("no-tool", True, "✓ no tool was chosen"),
        ("unanswered", False, "✗ the model's question was not answered"),
        ("cancelled", False, "• stopped"),
        ("refused", False, "✗ constraint not met"),
    ],
)
def test_each_ending_is_described(reason, valid, words):
    assert words in shown(stage("turn", "Turn 1"), token("Hi"), ended(reason, valid))


def test_the_time_spent_waiting_for_the_user_is_separate_from_the_tools_time():
    text = shown(
        stage("turn", "Turn 1", kind="turn"),
        stage("tool", "search", kind="tool", t=1.0),
        ApprovalNeeded(call="1", tool="search", arguments={}, source="demo", t=1.0),
        ApprovalGiven(call="1", action="allow", arguments={}, t=62.0),
        ToolResult(call="1", tool="search", source="demo", ok=True, bytes=5, ms=3, t=62.1),
        ended("answered", True),
    )
    assert "5 bytes in 3 ms" in text and "waited 61 s for you" in text
    assert "(61 s of it waiting for you)" in text
