"""The time of explaining a prompt by leaving out its parts, against reading the prompt once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Collection

from glyphscope.base.errors import ModelError
from glyphscope.events import RunFailed
from glyphscope.explain.ablation.choice import written_choice
from glyphscope.explain.ablation.scoring import ablate_prompt
from glyphscope.explain.ablation.types import OMISSION_KINDS, OmissionKind, PromptAblation
from glyphscope.models.interface import GenerateRequest, Model
from glyphscope.registry import default_registry
from glyphscope.runs import RunState, run_state
from glyphscope.runs.strategies import run
from glyphscope_benchmarks import documents
from glyphscope_benchmarks.decoding import run_request
from glyphscope_benchmarks.figures import Figure, Row, at_most
from glyphscope_benchmarks.reuse import forget
from glyphscope_benchmarks.timing import Plan, ratios, seconds

TWELVE: tuple[OmissionKind, ...] = ("sentence", "message")
"""The kinds of which the prompt of the bench has 12 parts."""
BUDGET = 2.6
SOME = Row(
    "12 parts of a prompt left out, over reading it",
    "ratio",
    "the tool of a masked run is scored with the prompt of 466 tokens and without each of its sentences and messages, "
    f"with an empty cache and the budget {BUDGET}: all are estimated, and those with the most influence left out; "
    "against evaluating the prompt with an empty cache",
    at_most(3.0),
)
ALL = Row(
    "all parts of a prompt left out, over reading it",
    "ratio",
    "the same without a budget, for each tool, description, example, message and sentence",
)
ROWS = (SOME, ALL)


def figures(model: Model, plan: Plan) -> list[Figure]:
    """Both figures; each round has its own reading. Raises ModelError."""
    state = _answered(model, plan)
    found = _explained(model, state, TWELVE, BUDGET)  # makes the grammar and the mask's tokenizer, once
    whole = _explained(model, state)
    read, some, every = [], [], []
    for _ in range(plan.call_rounds):
        read.append(_reading(model, found.prompt))
        forget(model)
        some.append(seconds(lambda: _explained(model, state, TWELVE, BUDGET)))
        forget(model)
        every.append(seconds(lambda: _explained(model, state)))
    return [
        SOME.of(ratios(some, read), samples=_samples(found, read, some)),
        ALL.of(ratios(every, read), samples=_samples(whole, read, every)),
    ]


def _samples(found: PromptAblation, read: list[float], explained: list[float]) -> dict[str, float]:
    return {
        "read_ms": statistics.median(read) * 1000,
        "explained_ms": statistics.median(explained) * 1000,
        "prompt_tokens": found.tokens,
        "evaluated_tokens": found.evaluated,
        "parts": len(found.effects),
        "parts_left_out": sum(effect.score is not None for effect in found.effects),
    }


def _answered(model: Model, plan: Plan) -> RunState:
    events = tuple(
        run(run_request(default_registry(), documents.PROMPTS[0], "mask", plan.call_tokens), model)
    )
    if isinstance(failed := events[-1], RunFailed):
        raise ModelError(failed.message)
    return run_state(events)


def _explained(
    model: Model,
    state: RunState,
    kinds: Collection[OmissionKind] = OMISSION_KINDS,
    budget: float | None = None,
) -> PromptAblation:
    return ablate_prompt(state, model, written_choice(state), kinds=kinds, budget=budget)


def _reading(model: Model, prompt: str) -> float:
    """Seconds of evaluating the prompt with an empty cache, and one token after it."""
    forget(model)
    start = time.perf_counter()
    for _ in model.generate(GenerateRequest(prompt=prompt, max_tokens=1, evidence="none")):
        pass
    return time.perf_counter() - start
