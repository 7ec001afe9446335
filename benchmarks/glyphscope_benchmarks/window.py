"""The busy slices of the window's thread while tokens stream in, measured by the window itself, offscreen."""

from __future__ import annotations

import os
import statistics
import subprocess
from importlib.util import find_spec

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import duration
from glyphscope.processes import module_command
from glyphscope_benchmarks.baseline_process import last_line, with_benchmarks
from glyphscope_benchmarks.figures import Figure, Row, at_most
from glyphscope_benchmarks.timing import Plan

MODULE = "glyphscope_benchmarks.frame_time"
BUSY = Row(
    "window, busy slices of its thread, 99th percentile",
    "ms",
    "a recorded run replayed at 2,000 tokens/s into the whole window, drawn offscreen; the median of the rounds",
    at_most(16.0),
)
LONGEST = Row(
    "window, longest busy slice of an action",
    "ms",
    "the longest of: the end of that run, opening its record at once, changing the theme and the text size, showing "
    "the chart of the steps and each page for the first time; the median of the rounds",
    at_most(50.0),
)
MEMORY = Row(
    "window, private memory with a run open",
    "MB",
    "`RssAnon` of the window's process, in which a run of 2,000 tokens with ten alternatives each was replayed and "
    "then opened as a record; no chart and no other page was seen",
    at_most(120.0),
)
ROWS = (BUSY, LONGEST, MEMORY)

_PATIENCE = 180.0


class Slices(msgspec.Struct, frozen=True):
    """The output of `python -m glyphscope_benchmarks.frame_time`."""

    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float
    private_mb: float
    longest_ms: dict[str, float]
    tokens: int
    seconds: float


def figures(plan: Plan) -> list[Figure]:
    """Run the window in a separate process, once per round. Raises GlyphscopeError if there is no window."""
    rounds = sorted((_measured() for _ in range(plan.rounds)), key=lambda slices: slices.p99_ms)
    median = rounds[len(rounds) // 2]
    samples = {
        "p50_ms": median.p50_ms,
        "p90_ms": median.p90_ms,
        "max_ms": max(slices.max_ms for slices in rounds),
        "tokens_per_second": median.tokens / median.seconds,
    }
    longest = {
        name: statistics.median(slices.longest_ms[name] for slices in rounds) for name in median.longest_ms
    }
    worst = max(longest, key=longest.__getitem__)
    in_words = {f"{name.replace(' ', '_')}_ms": value for name, value in longest.items()}
    return [
        BUSY.of([slices.p99_ms for slices in rounds], samples=samples),
        LONGEST.of([slices.longest_ms[worst] for slices in rounds], note=worst, samples=in_words),
        MEMORY.of([_measured("--tokens", "2000").private_mb]),
    ]


def _measured(*arguments: str) -> Slices:
    if find_spec("PySide6") is None:
        raise GlyphscopeError("PySide6 is not installed")
    if find_spec("glyphscope_gui") is None:
        raise GlyphscopeError("this installation has no window")
    command = module_command(MODULE, *arguments)
    environment = {**with_benchmarks(os.environ), "QT_QPA_PLATFORM": "offscreen"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=_PATIENCE, check=False)
        return msgspec.json.decode(done.stdout, type=Slices)
    except subprocess.TimeoutExpired:
        raise GlyphscopeError(f"the window did not answer within {duration(_PATIENCE)}") from None
    except msgspec.DecodeError:
        raise GlyphscopeError(f"the window failed: {last_line(done.stderr)}") from None
