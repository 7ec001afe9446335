"""Why alternatives were masked: one reason for each, the same on pages, in the window and in the terminal."""

from __future__ import annotations

import pytest

from glyphscope import resources
from glyphscope.events import Alternative, RunRequest
from glyphscope.explain.mask_impact import mask_impact
from glyphscope.explain.mask_impact_report import worst_words
from glyphscope.explain.masked import (
    CONTROL_TOKEN,
    INSIDE_CHARACTER,
    ORDER,
    AlternativeReasons,
    masked_reasons,
    token_reasons,
)
from glyphscope.registry import default_registry, load_registry
from glyphscope.runs import run_state
from glyphscope.runs.run_state import RunState
from glyphscope.sessions.records import parse_record

RECORDS = [f"runs/{name}" for name in resources.names("runs", ".jsonl")]
RECORDS += [f"lessons/runs/{name}" for name in resources.names("lessons/runs", ".jsonl")]


def state_of(name: str) -> RunState:
    return run_state(parse_record(resources.read_bytes(name)).events)


def masked(text: str | bytes) -> Alternative:
    data = text if isinstance(text, bytes) else text.encode()
    return Alternative(7, data, data.decode(errors="ignore"), 0.5, 0.0, allowed=False)


@pytest.mark.slow
def test_every_masked_alternative_of_every_bundled_record_has_a_reason() -> None:
    count = 0
    for name in RECORDS:
        state = state_of(name)
        assert state.started is not None and state.registry is not None
        for stage in state.stages:
            reasons = masked_reasons(state.started.request, state.registry, stage)
            for token in stage.tokens:
                for place, one in enumerate(token.step.alternatives):
                    if one.allowed is False:
                        assert reasons[token.step.index].texts[place], (name, token.step.index, one)
                        count += 1
    assert count > 6_000


@pytest.mark.parametrize(
    "name", ["runs/search-mask.jsonl", "lessons/runs/gbnf-number.jsonl", "runs/verbs-loop.jsonl"]
)
def test_one_token_has_the_reasons_that_the_page_has(name: str) -> None:
    state = state_of(name)
    assert state.started is not None and state.registry is not None
    stage = state.stages[0]
    page = masked_reasons(state.started.request, state.registry, stage)
    for index, token in enumerate(stage.tokens):
        alone = token_reasons(
            state.started.request, state.registry, stage.kind, stage.tokens, index, token.step.alternatives
        )
        assert alone == page.get(token.step.index, alone)


def test_the_terminal_names_the_same_reason() -> None:
    state = state_of("runs/search-mask.jsonl")
    assert state.started is not None and state.registry is not None
    page = masked_reasons(state.started.request, state.registry, state.present)
    impacts = mask_impact(state).conflicts
    assert impacts
    for impact in impacts:
        assert impact.worst is not None
        lines = worst_words(impact, state.registry)
        texts = page[impact.worst.token].texts
        assert lines[2].removeprefix("masked: ") in texts


@pytest.mark.parametrize(
    ("before", "text", "order", "reason"),
    [
        ("", "T", "any", "'T' appears before the call, which must begin with '{' or the name of a tool"),
        ('{action="', "t", "any", "no allowed tool has a name that starts with 't'"),
        ('{action="search" query="x" max_results=', "x", "any", "max_results must be of type integer"),
        ('{action="search" query="x" max_results=50', "0", "any", "max_results is at most 100, and no contin"),
        ('{action="search"', " max_results=", "schema", ORDER),
        ('{action="search" query="', "<|im_end|>", "any", CONTROL_TOKEN),
        ('{action="search" query="', b"\xa9", "any", INSIDE_CHARACTER),
        ('{action="search"', "  ", "any", "after \" \", search expects \"query=\""),
    ],
)  # fmt: skip
def test_the_validators_verdict_comes_before_the_grammars_expectation(
    before: str, text: str | bytes, order: str, reason: str
) -> None:
    request = RunRequest(prompt="", registry={}, order=order)
    explains = AlternativeReasons(request, default_registry())
    state = explains.start()
    assert state is not None
    assert explains.of(state.feed(before), before, (masked(text),)).texts[0].startswith(reason)


def test_a_custom_grammar_gives_the_reasons_and_not_the_registry() -> None:
    request = RunRequest(prompt="", registry={}, grammar='root ::= "city=" name\nname ::= [A-Z] [a-z]+\n')
    explains = AlternativeReasons(request, load_registry({"f": {"type": "object"}}))
    state = explains.start()
    assert state is not None
    reasons = explains.of(state.feed("city="), "city=", (masked("a"), masked("Ax"), masked('{action="f"')))
    assert reasons.place == "name expects A-Z"
    assert reasons.texts == ("name expects A-Z", "the constraint does not allow it here", "name expects A-Z")
