"""The cost of a large vocabulary: opening it for masks, and mask and evidence per token, compared with a bare loop."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import msgspec

from glyphscope.base.figures import duration_ms
from glyphscope.cli.load_options import opened
from glyphscope.events import LoadOptions, Sampling, TokenStep
from glyphscope.models.interface import GenerateRequest, Model
from glyphscope.registry import default_registry
from glyphscope.runs.strategies.request import generate_request
from glyphscope_benchmarks import documents
from glyphscope_benchmarks.baseline_process import started
from glyphscope_benchmarks.decoding import run_request
from glyphscope_benchmarks.figures import Figure, Row, at_most
from glyphscope_benchmarks.timing import Plan, interleaved

CONTEXT = 1024
STEP_MS = 10.0
"""A step of a small model on a fast machine, to which the cost of mask and evidence per token is compared."""

OPENING = Row(
    "large vocabulary: opening for masks, and the first mask",
    "s",
    "a model opened, its vocabulary made ready for masks, a JSON grammar of the seven tools compiled and its first "
    "mask computed, less what llama.cpp takes to load the same file and make a context, in one process",
    at_most(1.0),
)
TOKEN = Row(
    f"large vocabulary: mask and evidence of a token, of a step of {duration_ms(STEP_MS)}",
    "%",
    "tokens of a JSON call that were chosen one by one at temperature 1, with mask, 10 alternatives and all evidence, "
    "as they arrive here, less those of llama_decode and argmax in a process that gets a request for each, as "
    "ours does; the same model, medians",
    at_most(15.0),
)
ROWS = (OPENING, TOKEN)
NO_FILE = "no model with a large vocabulary was given (--large)"


@dataclass(frozen=True)
class _Run:
    """Milliseconds between arrivals of single tokens, and the times that these tokens report."""

    intervals: list[float]
    steps: list[TokenStep]


def figures(path: str, plan: Plan) -> list[Figure]:
    """The figures of that model file. Raises ModelError."""
    return [_opening(path, plan), _token(path, plan)]


def _opening(path: str, plan: Plan) -> Figure:
    bare, ours = [], []
    for _ in range(plan.call_rounds):
        with started(
            path, LoadOptions(context=CONTEXT)
        ) as baseline:  # a new process each time, without caches
            spent = baseline.ask(task="opening", registry=default_registry().to_document()).spent
        bare.append(spent[0])
        ours.append(spent[1])
    samples = {"bare_s": statistics.median(bare), "ours_s": statistics.median(ours)}
    return OPENING.of([one - other for one, other in zip(ours, bare, strict=True)], samples=samples)


def _token(path: str, plan: Plan) -> Figure:
    registry = default_registry()
    asked = run_request(registry, documents.STORY, "mask", CONTEXT // 2)
    with (
        opened(path, options=LoadOptions(context=CONTEXT)) as model,
        started(path, LoadOptions(context=CONTEXT)) as baseline,
    ):
        runs: dict[tuple[str, int], Callable[[], _Run]] = {}
        for seed in range(plan.prompts):
            sampled = msgspec.structs.replace(asked, sampling=Sampling(temperature=1.0, seed=seed))
            request = generate_request(sampled, registry, documents.STORY)
            runs["ours", seed] = partial(_masked, model, request, plan.text_tokens)
            runs["bare", seed] = lambda: _Run(
                [each * 1000 for each in baseline.ask_bare(documents.STORY, plan.text_tokens)[0].intervals],
                [],
            )
        interleaved(dict(list(runs.items())[:2]), 1)  # one-time work per model is done here
        taken = interleaved(runs, plan.rounds)
    ours, bare = (
        [
            statistics.median(each for run in runs_of_round for each in run.intervals)
            for runs_of_round in zip(*(rounds for (name, _), rounds in taken.items() if name == way))
        ]
        for way in ("ours", "bare")
    )
    steps = [step for rounds in taken.values() for run in rounds for step in run.steps]
    samples = {
        "ours_ms_per_token": statistics.median(ours),
        "bare_ms_per_token": statistics.median(bare),
        "mask_ms": statistics.median(step.mask_ms for step in steps),
        "choice_and_evidence_ms": statistics.median(step.sample_ms for step in steps),
        "vocabulary": float(model.info.vocabulary),
    }
    more = [(one - other) / STEP_MS * 100 for one, other in zip(ours, bare, strict=True)]
    return TOKEN.of(more, samples=samples)


def _masked(model: Model, request: GenerateRequest, most: int) -> _Run:
    """Run its first tokens, which, like most tokens, are far from the limit."""
    arrivals: list[tuple[float, int]] = []
    chosen: list[TokenStep] = []
    for output in model.generate(request):
        if isinstance(output, tuple):
            arrivals.append((time.perf_counter(), len(output)))
            chosen += (step for step in output if not step.forced)
        if len(arrivals) > most:
            break
    return _Run([(after - before) * 1000 for (before, _), (after, n) in pairwise(arrivals) if n == 1], chosen)
