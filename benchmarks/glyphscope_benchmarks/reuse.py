"""Time to the first token: a rerun with a changed prompt, which pays only for the new part, against a cold start."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from glyphscope.base.errors import ModelError
from glyphscope.cli.load_options import opened
from glyphscope.events import LoadOptions, RunFailed, RunRequest, Token
from glyphscope.models.interface import GenerateRequest, Model
from glyphscope.models.memory import memory_needed, read_facts
from glyphscope.registry import default_registry
from glyphscope.runs.strategies import run
from glyphscope_benchmarks import documents
from glyphscope_benchmarks.decoding import run_request
from glyphscope_benchmarks.figures import Figure, Row, at_most
from glyphscope_benchmarks.timing import Plan, model_processes, private, ratios

RERUN = Row(
    "time to first token, rerun over cold",
    "ratio",
    "a whole run under the mask up to its first token, prompt rendering and grammar included; the same system prompt "
    "with another user prompt, against the same with an empty cache",
    at_most(0.2),
)
MEMORY = Row(
    "model's process, private memory without its cache",
    "MB",
    "`RssAnon` of the new process of a model once it is open, less its KV cache as computed; the weights are mapped",
    at_most(110.0),
)
ROWS = (RERUN, MEMORY)

_OTHER = "0 1 2 3"
"""A text that shares nothing with a rendered prompt: generating from it empties the cache."""


def figures(model: Model, plan: Plan) -> list[Figure]:
    """Pairs of a cold run and its rerun, each pair with different prompts. Raises ModelError."""
    registry = default_registry()
    orders = [run_request(registry, prompt, "mask", plan.call_tokens) for prompt in documents.PROMPTS]
    first_token(orders[0], model)  # makes the grammar and the mask's tokenizer, once
    cold, rerun = [], []
    for number in range(plan.call_rounds):
        forget(model)
        cold.append(first_token(orders[number % len(orders)], model))
        rerun.append(first_token(orders[(number + 1) % len(orders)], model))
    samples = {"cold_ms": statistics.median(cold) * 1000, "rerun_ms": statistics.median(rerun) * 1000}
    return [RERUN.of(ratios(rerun, cold), samples=samples), _memory(model, plan)]


def _memory(model: Model, plan: Plan) -> Figure:
    """The same file, opened again. Raises ModelError."""
    options = model.info.load or LoadOptions(context=model.info.context)
    cache = memory_needed(read_facts(Path(model.info.path)), options).cache or 0
    used = []
    for _ in range(plan.rounds):
        others = model_processes()
        with opened(model.info.path, options=options):
            new = model_processes() - others
            if not new:
                return MEMORY.missing("only Linux states it")
            used.append((private(*new) - cache) / 1e6)
    return MEMORY.of(used, samples={"cache_mb": cache / 1e6})


def first_token(request: RunRequest, model: Model) -> float:
    """Seconds from the request to its first token. Raises ModelError if there is none."""
    start = time.perf_counter()
    spent = None
    for event in run(request, model):
        if isinstance(event, Token) and spent is None:
            spent = time.perf_counter() - start
            model.cancel()
        elif isinstance(event, RunFailed):
            raise ModelError(event.message)
    if spent is None:
        raise ModelError("the run ended without a token")
    return spent


def forget(model: Model) -> None:
    """Empty the model's cache."""
    for _ in model.generate(GenerateRequest(prompt=_OTHER, max_tokens=1)):
        pass
