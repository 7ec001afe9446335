"""Budgets in whole runs: from the request through the model's process to the events and the terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from glyphscope.cli.run_printer import RunView
from glyphscope.events import (
    AnyEvent,
    LoadOptions,
    PromptRendered,
    RunFinished,
    RunRequest,
    Sampling,
    Token,
    TokenStep,
    decode_event,
    encode_event,
)
from glyphscope.models import open_model
from glyphscope.models.interface import Model
from glyphscope.registry import parse_document
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from untrained_models import PAIRS, model_file

pytest.importorskip("llama_cpp")

TOOLS: dict[str, Any] = {
    "tools": [
        {
            "name": "note",
            "description": "Keeps a note.",
            "parameters": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "minLength": 4},
                    "tags": {"type": "array", "items": {"enum": ["café", "work"]}, "minItems": 1},
                },
                "required": ["text", "tags"],
                "additionalProperties": False,
            },
        }
    ]
}
REQUEST = RunRequest(
    prompt="Note it.",
    notation="json",
    registry=parse_document(TOOLS).to_document(),
    constraint="mask",
    sampling=Sampling(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0),
    max_tokens=60,
    evidence="none",
    alternatives=0,
    thinking="off",
)


@pytest.fixture(scope="module")
def model(llama_data: Path) -> Iterator[Model]:
    opened = open_model(model_file(llama_data, PAIRS[0]), options=LoadOptions(context=1024))
    yield opened
    opened.close()


def events_of(model: Model, **changes: Any) -> list[AnyEvent]:
    return list(run(msgspec.structs.replace(REQUEST, **changes), model))


def seeded(seed: int) -> Sampling:
    return msgspec.structs.replace(REQUEST.sampling, seed=seed)


def steps_of(events: list[AnyEvent]) -> list[TokenStep]:
    return [event.step for event in events if isinstance(event, Token)]


def shown(events: list[AnyEvent]) -> str:
    out = Console(file=io.StringIO(), width=160, force_terminal=False)
    out.print(RunView(run_state(events)))
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    return text


@pytest.mark.slow
def test_a_masked_run_is_valid_and_shows_where_the_budget_narrowed_it(model: Model) -> None:
    reported = 0
    for seed in range(6):
        events = events_of(model, sampling=seeded(seed))
        end = events[-1]
        assert isinstance(end, RunFinished) and end.valid and end.tokens <= REQUEST.max_tokens
        narrowed = [step.index for step in steps_of(events) if step.narrowed]
        words = "From token {} on, the mask makes sure that the answer fits in the remaining tokens."
        assert (words.format(narrowed[0]) if narrowed else "ok") in (shown(events) if narrowed else "ok")
        reported += bool(narrowed)
    assert reported


@pytest.mark.slow
def test_an_answer_that_cannot_be_complete_is_announced_and_truncated(model: Model) -> None:
    events = events_of(model, max_tokens=8)
    prompt = next(event for event in events if isinstance(event, PromptRendered))
    assert (
        "The shortest answer that the grammar allows takes" in prompt.note
        and "8 tokens are left" in prompt.note
    )
    assert isinstance(events[-1], RunFinished) and not events[-1].valid
    assert not any(step.narrowed for step in steps_of(events))
    assert any(getattr(event, "code", "") == "TRUNCATED" for event in events)


@pytest.mark.slow
def test_llama_cpps_own_sampler_has_no_budget(model: Model) -> None:
    events = events_of(model, constraint="gbnf", max_tokens=8)
    assert not any(step.narrowed for step in steps_of(events))
    assert all("shortest answer" not in event.note for event in events if isinstance(event, PromptRendered))


def test_a_step_that_was_not_narrowed_is_recorded_without_the_field() -> None:
    step = TokenStep(index=3, id=5, data=b"a", text='"narrowed":""}')
    line = encode_event(Token(step=step, start=0, end=1))
    assert b'"narrowed":""' not in line.replace(b'\\"', b"")
    assert decode_event(line) == Token(step=step, start=0, end=1)
    narrowed = Token(step=msgspec.structs.replace(step, narrowed="tokens"), start=0, end=1)
    assert (
        b'"narrowed":"tokens"' in encode_event(narrowed) and decode_event(encode_event(narrowed)) == narrowed
    )
