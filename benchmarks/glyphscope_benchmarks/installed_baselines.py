"""Masked tokens per second, compared with other programs in separate environments (`installed_baseline.py`)."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import LoadOptions
from glyphscope.models.interface import GenerateRequest, Model
from glyphscope.models.memory import KV_TYPES
from glyphscope.registry import default_registry
from glyphscope_benchmarks import documents, reading
from glyphscope_benchmarks.baseline_process import Baseline, running
from glyphscope_benchmarks.decoding import beginning_with, convertible, request_for, stamped
from glyphscope_benchmarks.environments import Environment, llama_tools, package_versions
from glyphscope_benchmarks.figures import Figure, Row, at_least
from glyphscope_benchmarks.timing import Plan, Stamped, interleaved_by_prompt, rates, ratios

PROMPTS = 3
"""Only some of the seven prompts, because most baselines evaluate the whole prompt for each call."""
_SCRIPT = Path(__file__).with_name("installed_baseline.py")
_PATIENCE = 300.0
_TIMED = (
    "JSON calls of the seven tools, the same prompts, schemas, file, threads and options, greedy; all tokens, from the "
    "evaluation of the prompt's last token on, so that no side's prompt or compiler counts; ours without evidence"
)
_FROM_FIRST = "its tokens after the first one, from the arrival of that one on"


@dataclass(frozen=True)
class InstalledBaseline:
    """`name` is the baseline's name in the script; the version of `package` is reported; `server` is from llama.cpp."""

    name: str
    environment: Environment
    package: str
    row: Row
    server: str = ""


def _row(name: str, constraint: str) -> Row:
    return Row(f"tokens/s, our mask over {name}", "ratio", f"{_TIMED}; {constraint}", at_least(1.0))


_GBNF = (
    "the grammar is llama-cpp-python's conversion of the schema, over HTTP on this machine, streamed; "
    f"{_FROM_FIRST}, so that no request counts"
)
_SERVER = Environment("server", extra="server")
BASELINES = (
    InstalledBaseline(
        "guidance",
        Environment("guidance", ("guidance>=0.3",)),
        "guidance",
        _row("guidance", "guidance.json() of the schema, echo off"),
    ),
    InstalledBaseline(
        "outlines",
        Environment("outlines", ("outlines[llamacpp]>=1.2",)),
        "outlines",
        _row(
            "Outlines",
            f"a Generator of the schema with the default engine, made once; {_FROM_FIRST}, as it evaluates the whole "
            "prompt for each call",
        ),
    ),
    InstalledBaseline("python-server", _SERVER, "llama-cpp-python", _row("llama_cpp.server", _GBNF)),
    InstalledBaseline(
        "llama-server", _SERVER, "llama-cpp-python", _row("llama-server", _GBNF), server="llama-server"
    ),
)
ROWS = (*(baseline.row for baseline in BASELINES), reading.OVER_LLAMA_BENCH)


def figures(model: Model, plan: Plan) -> Iterator[Figure]:
    """Every baseline's figure; if a baseline cannot be installed or fails, the reason."""
    options = model.info.load or LoadOptions(context=model.info.context)
    calls = list(_calls(model, plan))
    with contextlib.ExitStack() as stack:
        reasons: dict[str, str] = {}
        found: dict[str, tuple[Baseline, str]] = {}
        for baseline in BASELINES:
            try:
                found[baseline.name] = _warm(baseline, model.info.path, options, calls, plan, stack)
            except GlyphscopeError as error:
                reasons[baseline.name] = error.message
        runs: dict[tuple[str, int], Callable[[], Stamped | str]] = {}
        for number, (request, schema) in enumerate(calls):
            runs["ours", number] = partial(stamped, model, request)
            for name, (process, _) in found.items():
                runs[name, number] = partial(_asked, process, request.prompt, schema, plan.call_tokens)
        taken = interleaved_by_prompt(runs, plan.rounds) if found else {}
    for baseline in BASELINES:
        if baseline.name in reasons:
            yield baseline.row.missing(reasons[baseline.name])
        else:
            yield _figure(baseline, taken, found[baseline.name][1])
    yield _beside_llama_bench(model, options, plan)


def _figure(
    baseline: InstalledBaseline, taken: dict[tuple[str, int], list[Stamped | str]], version: str
) -> Figure:
    """The figure from all rounds; a baseline that failed in one of them has no figure."""
    ours, theirs = (
        [rounds for (way, _), rounds in taken.items() if way == name] for name in ("ours", baseline.name)
    )
    if failed := [each for rounds in theirs for each in rounds if isinstance(each, str)]:
        return baseline.row.missing(failed[0])
    speed = [
        rates([[each for each in rounds if isinstance(each, Stamped)] for rounds in side])
        for side in (ours, theirs)
    ]
    if not all(all(side) for side in speed):
        return baseline.row.missing("its calls had no token that could be timed")
    samples = {
        f"{name}_{unit}": value
        for name, side, rounds in (("ours", speed[0], ours), ("baseline", speed[1], theirs))
        for unit, value in (
            ("tokens_per_second", statistics.median(side)),
            ("tokens", float(sum(each[0].tokens for each in rounds if isinstance(each[0], Stamped)))),
        )
    }
    return baseline.row.of(ratios(*speed), note=version, samples=samples)


def _calls(model: Model, plan: Plan) -> Iterator[tuple[GenerateRequest, dict[str, Any]]]:
    """Our requests, each with the schema for the other programs."""
    for number, text in enumerate(documents.PROMPTS[: min(plan.prompts, PROMPTS)]):
        registry = beginning_with(number, default_registry())
        request = request_for(model, registry, text, "mask", plan)
        yield msgspec.structs.replace(request, evidence="none"), convertible(registry)


def _warm(
    baseline: InstalledBaseline,
    path: str,
    options: LoadOptions,
    calls: list[tuple[GenerateRequest, dict[str, Any]]],
    plan: Plan,
    stack: contextlib.ExitStack,
) -> tuple[Baseline, str]:
    """The running baseline, after compiling each schema with a call, and its version. Raises GlyphscopeError."""
    python = baseline.environment.python()
    more = {"server": str(llama_tools() / baseline.server)} if baseline.server else {}
    arguments = json.dumps(_arguments(options) | more)
    process = stack.enter_context(
        running([str(python), "-P", str(_SCRIPT), baseline.name, path, arguments], _environment())
    )
    for request, schema in calls:
        process.ask_within(
            _PATIENCE, task="grammar", prompt=request.prompt, schema=schema, max_tokens=plan.call_tokens
        )
    return (
        process,
        f"{baseline.package} {package_versions(python).get(baseline.package, 'of an unknown version')}",
    )


def _asked(process: Baseline, prompt: str, schema: dict[str, Any], tokens: int) -> Stamped | str:
    """The generation, or the reason why there is none; the other baselines are measured anyway."""
    try:
        answer = process.ask_within(
            _PATIENCE, task="grammar", prompt=prompt, schema=schema, max_tokens=tokens
        )
    except GlyphscopeError as error:
        return error.message
    return answer.stamped


def _arguments(options: LoadOptions) -> dict[str, Any]:
    """The arguments of `llama_cpp.Llama`."""
    kv_type = KV_TYPES[options.kv_type]
    return {
        "n_ctx": options.context,
        "n_threads": options.threads,
        "n_threads_batch": options.threads,
        "n_gpu_layers": options.gpu_layers,
        "type_k": kv_type,
        "type_v": kv_type,
        "flash_attn": options.flash_attention == "on",
    }


def _environment() -> dict[str, str]:
    """The environment without variables that would add this program's packages to the baseline's environment."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def _beside_llama_bench(model: Model, options: LoadOptions, plan: Plan) -> Figure:
    try:
        return reading.beside_llama_bench(llama_tools() / "llama-bench", model, options, plan)
    except GlyphscopeError as error:
        return reading.OVER_LLAMA_BENCH.missing(error.message)
