"""Why alternatives were masked: one reason for each, the same on pages, in the window and in the terminal."""

from __future__ import annotations

import pytest

from examples import some
from glyphscope.base import resources
from glyphscope.events import Alternative, RunRequest, Strategy
from glyphscope.explain.constraint_attribution import is_control_token
from glyphscope.explain.impact import mask_impact, worst_words
from glyphscope.explain.masked import (
    CONTROL_TOKEN,
    INSIDE_CHARACTER,
    NOT_ALLOWED,
    ORDER,
    AlternativeReasons,
    masked_reasons,
    special_names,
    state_after,
    token_reasons,
)
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry, load_registry
from glyphscope.runs import RunState, run_state
from glyphscope.runs.strategies import run
from glyphscope.store.records import parse_record

RECORDS = [f"runs/{name}" for name in resources.names("runs", ".jsonl")]
RECORDS += [f"lessons/runs/{name}" for name in resources.names("lessons/runs", ".jsonl")]


def state_of(name: str) -> RunState:
    return run_state(parse_record(resources.read_bytes(name)).events)


def masked(text: str | bytes) -> Alternative:
    data = text if isinstance(text, bytes) else text.encode()
    return Alternative(7, data, data.decode(errors="ignore"), 0.5, 0.0, allowed=False)


@pytest.mark.slow
def test_every_masked_alternative_of_every_bundled_record_has_its_own_reason() -> None:
    count = 0
    for name in some(RECORDS, 3):
        state = state_of(name)
        assert state.started is not None and state.registry is not None
        for stage in state.stages:
            reasons = masked_reasons(state.started.request, state.registry, stage)
            for token in stage.tokens:
                for place, one in enumerate(token.step.alternatives):
                    if one.allowed is False:
                        reason = reasons[token.step.index].texts[place]
                        assert reason and reason != NOT_ALLOWED, (name, token.step.index, one)
                        count += 1
    assert count > 1_000


@pytest.mark.slow
def test_the_grammar_that_explains_a_stage_accepts_its_text_and_every_alternative_that_the_mask_allowed() -> (
    None
):
    stages, count = set(), 0
    for name in RECORDS:
        run = state_of(name)
        assert run.started is not None and run.registry is not None
        for stage in run.stages:
            names = special_names(stage.tokens)
            state = AlternativeReasons(run.started.request, run.registry, stage.place, names).start()
            if state is None:
                assert not any(one.allowed is False for t in stage.tokens for one in t.step.alternatives)
                continue
            stages.add((run.started.request.strategy, stage.kind))
            for token in stage.tokens:
                for one in token.step.alternatives:
                    if (
                        one.allowed
                        and one.text
                        and not is_control_token(one.text)
                        and "\ufffd" not in one.text
                    ):
                        assert state.feed_token(one.id, one.text).alive, (
                            name,
                            stage.text[: token.start],
                            one,
                        )
                        count += 1
                state = state_after(state, token)
                assert state.alive or token.step.end, (name, stage.kind, token)
    assert {("direct", "call"), ("two-stage", "name"), ("two-stage", "arguments"), ("loop", "turn")} <= stages
    assert count > 5_000


ROUTED = '{"choice":"call_tool","tool":"search","question":null}'
CALL = '{action="search" query="AI news"}'


@pytest.mark.parametrize(
    ("strategy", "turns", "kinds"),
    [
        ("route-execute", (ROUTED, CALL), ["router", "executor"]),
        ("two-stage", ('"search"', '{query="AI news"}'), ["name", "arguments"]),
        ("loop", (CALL, "It rains."), ["turn", "turn"]),
        ("direct", (CALL,), ["call"]),
    ],
)
def test_each_stage_of_a_strategy_is_explained_by_its_own_grammar(
    strategy: Strategy, turns: tuple[str, ...], kinds: list[str]
) -> None:
    request = RunRequest(prompt="x", registry=default_registry().to_document(), strategy=strategy)
    state = run_state(run(request, ScriptedModel(turns=turns)))
    assert state.registry is not None
    stages = [stage for stage in state.stages if stage.kind != "tool"][: len(kinds)]
    assert [stage.kind for stage in stages] == kinds
    for stage, text in zip(stages, turns):
        explains = AlternativeReasons(request, state.registry, stage.place)
        start = explains.start()
        assert start is not None and start.feed(text).alive
        (reason,) = explains.of(start, "", (masked("%"),)).texts
        assert reason not in ("", NOT_ALLOWED) or stage.kind == "turn"  # which may be words


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
            state.started.request, state.registry, stage.place, stage.tokens, index, token.step.alternatives
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
    assert reasons.texts == ("name expects A-Z", NOT_ALLOWED, "name expects A-Z")


def test_nothing_is_said_against_the_end_token_after_a_complete_answer() -> None:
    state = state_of("lessons/runs/sums-mask.jsonl")
    assert state.started is not None and state.registry is not None
    (stage,) = state.stages
    end = stage.tokens[-1].step
    reasons = masked_reasons(state.started.request, state.registry, stage)[end.index]
    said = dict(zip((one.text for one in end.alternatives), reasons.texts, strict=True))
    assert not said["<|im_end|>"] and "cannot continue" in (said["."] or "")
