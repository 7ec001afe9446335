"""Samples per minute of an evaluation, compared with the version before prompts were shared and stored."""

from __future__ import annotations

import io
import os
import statistics
import tarfile
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.models.interface import Model
from glyphscope.processes import own_command
from glyphscope_benchmarks.environments import run_step
from glyphscope_benchmarks.figures import Figure, Row, at_least
from glyphscope_benchmarks.timing import Plan, interleaved, ratios

BEFORE = "2f1b680a530e399a4d60d52e6033b5c5c5df1cb0"
"""The last commit whose samples share only whole chunks of 64 tokens, and whose jobs do not share the cores."""
_RESULTS = (
    "text", "calls", "parsed", "valid", "right_tool", "right_arguments", "ok", "prompt_tokens", "decoded", "forced",
)  # fmt: skip
_ROOT = Path(__file__).parents[2]
_SUITE = "assets/glyphscope_assets/suites/starter.json"
"""In the older version: the suite has grown since."""
_COMPARES = (
    f"`glyphscope eval` of the starter suite of commit {BEFORE[:7]}, 24 samples, against the same by that commit with "
    "one job, which was its fastest, on the same packages; whole commands, the same results"
)


def _row(jobs: int, state: str, how: str) -> Row:
    named = "one job" if jobs == 1 else f"{jobs} jobs"
    return Row(f"samples/min, {named}, {state}, over before", "ratio", f"{_COMPARES}; {how}", at_least(2.0))


JOBS = (1, 2)
FIRST = {jobs: _row(jobs, "first evaluation", "no prompts on disk") for jobs in JOBS}
AGAIN = {jobs: _row(jobs, "prompts on disk", "prompts on disk from the evaluation before") for jobs in JOBS}
ROWS = (*FIRST.values(), *AGAIN.values())


@dataclass(frozen=True)
class _Version:
    """A version of the program: `environment` leads to its code. `suite` is a file that both versions read."""

    path: str
    suite: Path
    environment: Mapping[str, str]

    def evaluate(self, home: Path, jobs: int, *options: str) -> tuple[float, dict[str, list[Any]]]:
        """The seconds of an evaluation, and its results by sample. Raises GlyphscopeError if it fails."""
        with tempfile.TemporaryDirectory(dir=home) as out:
            more = ("--model", self.path, "--jobs", str(jobs), "--out", out, *options)
            start = time.perf_counter()
            environment = {**self.environment, "GLYPHSCOPE_HOME": str(home)}
            run_step(own_command("eval", str(self.suite), *more), "the evaluation failed", environment)
            spent = time.perf_counter() - start
            (lines,) = Path(out).glob("*/samples.jsonl")
            samples = map(msgspec.json.decode, lines.read_bytes().splitlines())
            return spent, {sample["id"]: [sample[name] for name in _RESULTS] for sample in samples}


def figures(model: Model, plan: Plan) -> list[Figure]:
    """Alternating evaluations. Raises GlyphscopeError without the older commit, or if any result is another."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment.pop("GLYPHSCOPE_PROMPT_CACHE_MB", None)
    with tempfile.TemporaryDirectory() as folder:
        code = _code_before(Path(folder))
        suite = Path(folder) / _SUITE
        now = _Version(model.info.path, suite, environment)
        before = _Version(model.info.path, suite, {**environment, "PYTHONPATH": code})
        for version in (before, now):
            version.evaluate(Path(folder), 1, "--first", "1")  # writes the bytecode
        runs = {0: partial(_twice, before, folder, 1, 1)} | {
            jobs: partial(_twice, now, folder, jobs, 2) for jobs in JOBS
        }
        taken = interleaved(runs, plan.call_rounds)
    evaluations = [each for rounds in taken.values() for twice in rounds for each in twice]
    if any(results != evaluations[0][1] for _, results in evaluations):
        raise GlyphscopeError(f"samples differ from those of commit {BEFORE[:7]}")
    old = [first for ((first, _),) in taken[0]]
    samples = {"before_s": statistics.median(old)}
    found = []
    for number, rows in enumerate((FIRST, AGAIN)):
        for jobs, row in rows.items():
            new = [twice[number][0] for twice in taken[jobs]]
            found.append(row.of(ratios(old, new), samples=samples | {"now_s": statistics.median(new)}))
    return found


def _twice(version: _Version, folder: str, jobs: int, times: int) -> list[tuple[float, dict[str, list[Any]]]]:
    """One evaluation after another in a new home."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        return [version.evaluate(Path(home), jobs) for _ in range(times)]


def _code_before(folder: Path) -> str:
    """The search path of the older version, unpacked from the repository."""
    failing = f"commit {BEFORE[:7]}, to compare with, cannot be read from the repository"
    packed = run_step(["git", "-C", str(_ROOT), "archive", BEFORE, "engine", "assets"], failing)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return os.pathsep.join(str(folder / name) for name in ("engine", "assets"))
