"""Prompt tokens per second: in our generations, and in llama.cpp."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from glyphscope.base.errors import ModelError
from glyphscope.base.figures import duration
from glyphscope.events import LoadOptions
from glyphscope.models.interface import GenerateRequest, Model, PromptReady
from glyphscope.models.process import ENVIRONMENT
from glyphscope_benchmarks import documents
from glyphscope_benchmarks.baseline_process import Baseline, last_line
from glyphscope_benchmarks.figures import Figure, Row, at_least
from glyphscope_benchmarks.timing import Plan, interleaved, ratios

TOKENS = 512
_PATIENCE = 600.0
_OURS = (
    f"a prompt of about {TOKENS} tokens, none of them cached, from the request to the evaluation of its last token, "
    "with the prompt's tokenization and the progress that is reported"
)
OVER_LOOP = Row(
    "prompt tokens/s, ours over llama_decode",
    "ratio",
    f"{_OURS}; against llama_decode of the same tokens in batches of 512 (n_batch, n_ubatch), in a process without "
    "anything else, with the same file, threads and options",
    at_least(0.95),
)
OVER_LLAMA_BENCH = Row(
    "prompt tokens/s, ours over llama-bench",
    "ratio",
    f"{_OURS}; against llama-bench with as many tokens, its batches of 512, the same file, threads and options; "
    "compiled from the source of the llama-cpp-python in use",
    at_least(0.95),
)
ROWS = (OVER_LOOP,)

_TEXT = documents.STORY * (TOKENS // 14)
"""The story's request has about 14 tokens."""
_numbers = count()


def figures(model: Model, baseline: Baseline, plan: Plan) -> list[Figure]:
    """The figure compared with a loop of llama_decode. Raises ModelError."""

    def bare() -> float:
        answer = baseline.ask(task="read", prompt=_prompt())
        return (len(answer.ids) - 1) / answer.spent[0]

    return [_beside(OVER_LOOP, model, "llama_decode", bare, plan)]


def beside_llama_bench(program: Path, model: Model, options: LoadOptions, plan: Plan) -> Figure:
    """The figure compared with that llama-bench. Raises ModelError."""
    asked = {"model": model.info.path, "threads": options.threads, "n-gpu-layers": options.gpu_layers}
    asked |= {
        "cache-type-k": options.kv_type,
        "cache-type-v": options.kv_type,
        "flash-attn": options.flash_attention,
    }
    asked |= {"n-prompt": TOKENS, "n-gen": 0, "repetitions": 1, "output": "json"}
    command = [str(program), *(part for name, value in asked.items() for part in (f"--{name}", str(value)))]

    def measured() -> float:
        environment = {**os.environ, **ENVIRONMENT}
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, timeout=_PATIENCE, check=False
            )
            return float(json.loads(done.stdout)[0]["avg_ts"])
        except OSError as error:
            raise ModelError(f"llama-bench cannot be started: {error.strerror or error}") from error
        except subprocess.TimeoutExpired:
            raise ModelError(f"llama-bench did not end within {duration(_PATIENCE)}") from None
        except (ValueError, LookupError, TypeError):
            raise ModelError(f"llama-bench failed: {last_line(done.stderr)}") from None

    return _beside(OVER_LLAMA_BENCH, model, "llama_bench", measured, plan)


def _beside(row: Row, model: Model, name: str, other: Callable[[], float], plan: Plan) -> Figure:
    runs = {"ours": lambda: _ours(model), name: other}
    interleaved(runs, 1)
    taken = interleaved(runs, plan.rounds)
    samples = {f"{each}_tokens_per_second": statistics.median(speed) for each, speed in taken.items()}
    return row.of(ratios(taken["ours"], taken[name]), samples=samples)


def _ours(model: Model) -> float:
    """Our tokens per second. Raises ModelError."""
    start, speed = time.perf_counter(), 0.0
    for output in model.generate(GenerateRequest(prompt=_prompt(), max_tokens=1)):
        if isinstance(output, PromptReady):
            speed = (output.tokens - output.cached - 1) / (time.perf_counter() - start)
    if not speed:
        raise ModelError("the generation ended before its prompt was read")
    return speed


def _prompt() -> str:
    """A different prompt each time, so that none is cached."""
    return f"{next(_numbers)} " + _TEXT
