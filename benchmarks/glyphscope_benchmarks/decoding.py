"""Tokens per second: with our mask, without it, with llama-cpp-python's grammar, and in a bare loop."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from glyphscope.events import ConstraintKind, Message, RunRequest, Sampling
from glyphscope.grammar.builder.json_schema import call_schema
from glyphscope.models.interface import GenerateRequest, Model, PromptReady
from glyphscope.registry import ToolRegistry, default_registry
from glyphscope.runs.strategies.request import generate_request, render_prompt
from glyphscope_benchmarks import documents
from glyphscope_benchmarks.baseline_process import Baseline
from glyphscope_benchmarks.figures import Figure, Row, at_least, at_most
from glyphscope_benchmarks.timing import Plan, Stamped, interleaved, interleaved_by_prompt, rates, ratios

_TIMED = "greedy, from the evaluation of the prompt's last token, the others being cached, to the last token's arrival"

AGAINST_GRAMMAR = Row(
    "tokens/s, our mask over llama-cpp-python's grammar=",
    "ratio",
    f"JSON calls of the seven tools, a prompt for each, {_TIMED}, all tokens counted, without evidence "
    "(--evidence none), as the baseline has none. The baseline's GBNF is its own conversion of the same schemas, "
    "without the pattern of a URL, which it rejects; it loses the integers' ranges, and allows a space where ours "
    "allows none: it enforces less than our mask",
    at_least(2.5),
)
WITH_EVIDENCE = Row(
    "the same with the evidence of every token",
    "ratio",
    "as the window shows it: ten alternatives, and the model's own figures also of the tokens that the mask forced",
    higher_is_better=True,
)
AGAINST_NONE = Row(
    "tokens/s, our mask over our unconstrained decoding",
    "ratio",
    f"the same prompts, {_TIMED}, with the evidence of every token in both",
    at_least(1.0),
)
OVERHEAD = Row(
    "time per token over a bare loop",
    "%",
    "our unconstrained tokens as they arrive here, with 10 alternatives and all evidence, against those of "
    "llama_decode and argmax in a process that gets a request for each, as ours does; the same tokens, in each round "
    "the median over their positions",
    at_most(5.0),
)
ROWS = (AGAINST_GRAMMAR, WITH_EVIDENCE, AGAINST_NONE, OVERHEAD)


def throughput(model: Model, baseline: Baseline, plan: Plan) -> list[Figure]:
    """The ratios, from alternating generations. Raises ModelError."""
    runs: dict[tuple[str, int], Callable[[], Stamped]] = {}
    for number, text in enumerate(documents.PROMPTS[: plan.prompts]):
        registry = beginning_with(number, default_registry())
        schema = convertible(registry)
        masked, free = (request_for(model, registry, text, kind, plan) for kind in ("mask", "off"))
        bare = msgspec.structs.replace(masked, evidence="none")
        runs["bare mask", number] = partial(stamped, model, bare)
        runs["mask", number] = partial(stamped, model, masked)
        runs["grammar", number] = partial(_by_baseline, baseline, masked.prompt, schema, plan.call_tokens)
        runs["none", number] = partial(stamped, model, free)
    interleaved(dict(list(runs.items())[:4]), 1)  # one-time work per model and grammar is done here
    results = interleaved_by_prompt(runs, plan.call_rounds)
    speed = {
        way: rates([times for (name, _), times in results.items() if name == way])
        for way in ("bare mask", "mask", "grammar", "none")
    }
    samples = {
        f"{way.replace(' ', '_')}_tokens_per_second": statistics.median(each) for way, each in speed.items()
    }
    return [
        AGAINST_GRAMMAR.of(ratios(speed["bare mask"], speed["grammar"]), samples=samples),
        WITH_EVIDENCE.of(ratios(speed["mask"], speed["grammar"]), samples=samples),
        AGAINST_NONE.of(ratios(speed["mask"], speed["none"]), samples=samples),
    ]


def overhead(model: Model, baseline: Baseline, plan: Plan) -> list[Figure]:
    """The cost of our token beyond that of a bare token. Raises ModelError."""
    prompt = model.render_chat([Message("user", documents.STORY)]).text
    request = GenerateRequest(
        prompt=prompt, constraint="off", sampling=Sampling(temperature=0.0), max_tokens=plan.text_tokens
    )
    runs: dict[str, Callable[[], Stamped]] = {
        "ours": partial(stamped, model, request),
        "bare": lambda: baseline.ask_bare(prompt, plan.text_tokens)[0],
    }
    interleaved(runs, 1)
    results = interleaved(runs, 3 * plan.rounds)  # a difference of a few per cent needs more rounds
    both = min(len(run.intervals) for rounds in results.values() for run in rounds)
    medians = {
        way: [statistics.median(run.intervals[:both]) for run in rounds] for way, rounds in results.items()
    }
    samples = {f"{way}_ms_per_token": statistics.median(times) * 1000 for way, times in medians.items()}
    samples["evidence_ms_per_token"] = _evidence_ms(model, request)
    samples["bare_compute_ms_per_token"] = (
        statistics.median(baseline.ask_bare(prompt, plan.text_tokens)[1].spent) * 1000
    )
    more = [(ratio - 1) * 100 for ratio in ratios(medians["ours"], medians["bare"])]
    return [OVERHEAD.of(more, samples=samples)]


def _evidence_ms(model: Model, request: GenerateRequest) -> float:
    """The overhead of choosing a token and computing its evidence; the rest is transfer between processes."""
    outputs = [output for output in model.generate(request) if isinstance(output, tuple)]
    return statistics.median(step.sample_ms for steps in outputs for step in steps)


def stamped(model: Model, request: GenerateRequest) -> Stamped:
    """Run the generation and record when its tokens arrive."""
    start = time.perf_counter()
    arrivals: list[tuple[float, int]] = []
    for output in model.generate(request):
        now = time.perf_counter()
        if isinstance(output, PromptReady):
            start = now
        elif isinstance(output, tuple):
            arrivals.append((now, len(output)))
    return Stamped(start, tuple(arrivals))


def convertible(registry: ToolRegistry) -> dict[str, Any]:
    """One schema for a flat call of any tool, without keywords that llama-cpp-python's conversion rejects."""
    schema = call_schema(registry, "flat")
    for call in schema["oneOf"]:
        for argument in call["properties"].values():
            argument.pop("pattern", None)
    return schema


def beginning_with(number: int, registry: ToolRegistry) -> ToolRegistry:
    """The same tools in rotated order: a small model calls the tool whose example it reads first."""
    return replace(registry, tools=registry.tools[number:] + registry.tools[:number])


def run_request(registry: ToolRegistry, prompt: str, constraint: ConstraintKind, tokens: int) -> RunRequest:
    """A greedy JSON call, requested as by the window."""
    return RunRequest(
        prompt=prompt,
        registry=registry.to_document(),
        notation="json",
        constraint=constraint,
        sampling=Sampling(temperature=0.0),
        max_tokens=tokens,
    )


def request_for(
    model: Model, registry: ToolRegistry, prompt: str, constraint: ConstraintKind, plan: Plan
) -> GenerateRequest:
    """A greedy JSON call of a tool, with the evidence of every token."""
    request = run_request(registry, prompt, constraint, plan.call_tokens)
    return generate_request(request, registry, render_prompt(request, registry, model).text)


def _by_baseline(baseline: Baseline, prompt: str, schema: dict[str, Any], tokens: int) -> Stamped:
    return baseline.ask(task="grammar", prompt=prompt, schema=schema, max_tokens=tokens).stamped
