"""The start time of the program: commands that answer, help, validate, or test what engines enforce, and the window."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import duration
from glyphscope.processes import module_command, own_command
from glyphscope.registry import ToolRegistry, bundled_registry
from glyphscope_benchmarks.baseline_process import last_line, with_benchmarks
from glyphscope_benchmarks.figures import Figure, Row, at_most, measured_or_missing
from glyphscope_benchmarks.timing import Plan, interleaved

FRAME_MODULE = "glyphscope_benchmarks.first_frame"
CALL = '{action="calculate" expression="1+1"}'
VERSION = Row(
    "start, glyphscope --version",
    "s",
    "a process from its start to its end, with its files in memory; the median of the rounds",
    at_most(0.2),
)
CHECK = Row(
    "start, glyphscope check", "s", "the same, with one valid call of the bundled tools", at_most(0.5)
)
WINDOW = Row(
    "start, window usable",
    "s",
    "from the start of the process until the first picture of the enabled window is painted offscreen and the window "
    "waits for input; the embedded model is being loaded meanwhile",
    at_most(1.5),
)
HELP = Row("start, glyphscope run --help", "s", "the same, with the help of all options", at_most(0.3))
REPORTS = {
    tools: Row(
        f"grammar build --report, {tools} tools",
        "s",
        "a process; the constraints of these bundled tools, tested in the engines that are installed",
        at_most(most),
    )
    for tools, most in ((26, 8), (117, 20))
}
COMMANDS = (VERSION, CHECK, HELP, *REPORTS.values())
ROWS = (*COMMANDS, WINDOW)

_MIN_ROUNDS = 3
_PATIENCE = 120.0


class FirstFrame(msgspec.Struct, frozen=True):
    """The output of `python -m glyphscope_benchmarks.first_frame`: seconds since the start of the process.

    `cpu_s` is the CPU time of the window's process until then.
    """

    usable_s: float
    cpu_s: float


class Taken(NamedTuple):
    """Seconds of wall-clock time and of CPU time."""

    wall: float
    cpu: float


def figures(plan: Plan) -> list[Figure]:
    """The alternating starts; the first of each does not count. Without a window, its figures are missing."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**with_benchmarks(os.environ), "QT_QPA_PLATFORM": "offscreen", "GLYPHSCOPE_HOME": home}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its bytecode
        ended = partial(_ended, environment)
        listed = bundled_registry("many").tools
        files = {row.name: Path(home, f"{tools}.json") for tools, row in REPORTS.items()}
        for tools, row in REPORTS.items():
            some = tuple(listed[place * len(listed) // tools] for place in range(tools))
            files[row.name].write_bytes(msgspec.json.encode(ToolRegistry(some).to_document()))
        report = ("--notation", "json", "--report")
        counted = _rounds(
            {
                "python": partial(ended, [sys.executable, "-c", "pass"]),
                VERSION.name: partial(ended, own_command("--version")),
                CHECK.name: partial(ended, own_command("check", "-")),
                HELP.name: partial(ended, own_command("run", "--help")),
                **{
                    name: partial(ended, own_command("grammar", "build", "-r", str(file), *report))
                    for name, file in files.items()
                },
            },
            plan,
        )
        samples = {"python_s": statistics.median(each.wall for each in counted["python"])}
        found = [_figure(row, counted[row.name], samples) for row in COMMANDS]
        frame = {WINDOW.name: partial(_first_frame, environment)}
        window = measured_or_missing(
            (WINDOW,), lambda: [_figure(WINDOW, _rounds(frame, plan)[WINDOW.name], {})]
        )
    return [*found, *window]


def _rounds(starts: Mapping[str, Callable[[], Taken]], plan: Plan) -> dict[str, list[Taken]]:
    for start in starts.values():
        start()  # reads the files, and writes the bytecode
    return interleaved(starts, max(plan.rounds, _MIN_ROUNDS))


def _figure(row: Row, taken: Sequence[Taken], more: dict[str, float]) -> Figure:
    samples = {"cpu_s": statistics.median(each.cpu for each in taken)}
    return row.of([each.wall for each in taken], samples=samples | more)


def _ended(environment: dict[str, str], command: Sequence[str]) -> Taken:
    """Run a command to its end. Raises GlyphscopeError if it fails."""
    before, begun = _childrens_cpu(), time.perf_counter()
    done = subprocess.run(
        command, input=CALL.encode(), env=environment, capture_output=True, timeout=_PATIENCE, check=False
    )
    taken = Taken(time.perf_counter() - begun, _childrens_cpu() - before)
    if done.returncode:
        raise GlyphscopeError(f"{Path(command[0]).name} failed: {last_line(done.stderr)}")
    return taken


def _first_frame(environment: dict[str, str]) -> Taken:
    """Start the window and close it. Raises GlyphscopeError if there is none."""
    if find_spec("PySide6") is None:
        raise GlyphscopeError("PySide6 is not installed")
    command = module_command(FRAME_MODULE, str(time.monotonic()))
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=_PATIENCE, check=False)
        found = msgspec.json.decode(done.stdout, type=FirstFrame)
    except subprocess.TimeoutExpired:
        raise GlyphscopeError(f"the window did not end within {duration(_PATIENCE)}") from None
    except msgspec.DecodeError:
        raise GlyphscopeError(f"the window failed: {last_line(done.stderr)}") from None
    return Taken(found.usable_s, found.cpu_s)


def _childrens_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
