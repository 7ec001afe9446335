"""Evaluations of up to a million samples by a scripted model: time and memory of each step, as a table.

    PYTHONPATH=benchmarks .venv/bin/python -m glyphscope_benchmarks.scale 10000 100000 1000000

Every step is a process: planning, a run that is killed (SIGKILL) after half of the samples, resuming it, making its
summaries and report, opening it in the window by two measures, comparing it with a copy in which every tenth verdict is
another, exporting it as CSV, and running the same evaluation in the window. The suite has 2,500 scenarios, in four
arms; more samples are more trials. The scripted model's runs are made once for each arm and outcome, and recorded again
for each sample: the rest is the program's own work. Files are written below a folder, which needs 13 GB for a million
samples.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from glyphscope.base.figures import byte_size, duration
from glyphscope.evals.matrix.needs import Needs
from glyphscope.evals.matrix.plan import Matrix, Plan, Planned, plan_of
from glyphscope.evals.results.changes import changes_between
from glyphscope.evals.results.export import export_samples
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import REPORT, publish
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.running.evaluation import evaluate
from glyphscope.evals.running.local_workers import LocalWorker
from glyphscope.evals.running.progress import Control, SampleDone, SampleGrew
from glyphscope.evals.running.sample_runs import SampleAndRuns, run_sample
from glyphscope.evals.running.tool_servers import ToolServers
from glyphscope.evals.running.worker_pool import WorkerPool
from glyphscope.events import DEFAULT_LOAD, ModelInfo
from glyphscope.models.interface import Model
from glyphscope.models.scripted import ScriptedModel
from glyphscope.store.files import now
from glyphscope_benchmarks.timing import private

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from glyphscope_gui.evaluate.page import EvalPage
    from glyphscope_gui.evaluate.result_presenter import EvalResultPresenter

SCENARIOS, ARMS = 2_500, 4
STEPS = ("plan", "run", "resume", "report", "open", "compare", "export", "window")
SIGNAL = {"run": -signal.SIGKILL}
"""The steps that are killed."""
LOOK_SECONDS = 0.005
"""The time between two looks at the memory of a step."""
_RIGHT, _WRONG = '{action="search" query="news"}', '{action="search" query="other news"}'


class ScriptedWorkers:
    """One worker: its model's runs are made once by `run_sample`, and repeated with other trials and seeds."""

    servers: ToolServers | None = None

    @contextmanager
    def begin(
        self, plan: Plan, needs: Needs, allow_python: bool, control: Control
    ) -> Iterator[Mapping[str, ModelInfo]]:
        yield {}

    @contextmanager
    def pool(self, model: str, todo: Sequence[Planned], control: Control) -> Iterator[WorkerPool]:
        made: dict[tuple[str, bool], SampleAndRuns] = {}

        def make(
            planned: Planned, model: Model, ended: threading.Event, report: Callable[[SampleGrew], object]
        ) -> SampleAndRuns:
            right = planned.seed % 10 < (3 if planned.arm.constraint == "off" else 7)
            key = planned.arm.id, right
            if key not in made:
                made[key] = run_sample(planned, ScriptedModel(_RIGHT if right else _WRONG), ended, report)
            sample, runs = made[key]
            return _repeated(sample, planned), runs

        with WorkerPool([LocalWorker(ScriptedModel(_RIGHT), make)], todo, control) as pool:
            yield pool


def _repeated(sample: Sample, planned: Planned) -> Sample:
    return msgspec.structs.replace(
        sample,
        id=planned.id,
        scenario=planned.scenario.id,
        group=planned.scenario.group,
        trial=planned.trial,
        seed=planned.seed,
        decoded=sample.decoded + planned.seed % 7,
        total_ms=sample.total_ms + planned.seed % 1000 / 7,
        time=now(),
    )


def plan_for(folder: Path, samples: int) -> Plan:
    """The plan of so many samples; its suite is written to the folder."""
    suite = folder / "suite.json"
    if not suite.exists():
        scenarios = [
            {
                "id": f"news-{number:04}",
                "group": f"group {number % 25:02}",
                "prompt": f"Search for news, number {number}",
                "expect": {"calls": [{"tools": ["search"], "arguments": {"query": "news"}}]},
            }
            for number in range(SCENARIOS)
        ]
        about = "Many questions for a scripted model."
        suite.write_text(
            json.dumps({"glyphscope_suite": 1, "name": "many", "about": about, "scenarios": scenarios})
        )
    matrix = Matrix(
        suites=(str(suite),),
        models=("scripted",),
        notations=("glyph", "json"),
        constraints=("off", "mask"),
        profiles=("conversation",),
        trials=max(1, samples // (SCENARIOS * ARMS)),
    )
    return plan_of(matrix)


def step(name: str, folder: Path, samples: int) -> None:
    """Make one step in this process. The first run kills it."""
    if name == "plan":
        plan = plan_for(folder, samples)
        assert sum(1 for _ in plan.samples()) == plan.cost.samples
    elif name == "run":
        _evaluate(folder, samples, None)
    elif name == "resume":
        _evaluate(folder, samples, _result(folder))
    elif name == "report":
        summary = publish(_result(folder))
        assert summary.samples == summary.planned == plan_for(folder, samples).cost.samples, summary.samples
    elif name == "open":
        _open(_result(folder))
    elif name == "compare":
        before, after = (ResultFolder.open(path) for path in (_result(folder), folder / "copy"))
        changes = changes_between((before.manifest, before.samples()), (after.manifest, after.samples()))
        print(f"{sum(1 for _ in changes.changes):,} changes")
    elif name == "export":
        (table,) = export_samples(ResultFolder.open(_result(folder)), folder / "samples.csv").files
        print(byte_size(table.stat().st_size))
    elif name == "window":
        _in_window(plan_for(folder, samples), folder / "window")


def _evaluate(folder: Path, samples: int, resume: Path | None) -> None:
    plan = plan_for(folder, samples)
    with closing(evaluate(plan, folder / "out", resume=resume, workers=ScriptedWorkers())) as progress:
        for event in progress:
            if resume is None and isinstance(event, SampleDone) and event.done >= plan.cost.samples // 2:
                os.kill(os.getpid(), signal.SIGKILL)


def _window() -> tuple[QApplication, EvalPage, EvalResultPresenter]:
    """The window's page of a result."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from glyphscope_gui.app import Collector
    from glyphscope_gui.evaluate.page import RESULT, EvalPage
    from glyphscope_gui.evaluate.reading import EvalReading
    from glyphscope_gui.evaluate.result_presenter import EvalResultPresenter, EvalResultsModel
    from glyphscope_gui.shared.named_files import NamedFiles

    app = QApplication([])
    page = EvalPage()
    Collector(lambda: True, page)
    for _ in page.make(EvalResultsModel()):
        pass
    presenter = EvalResultPresenter(page, EvalReading(NamedFiles(), page), page)
    page.resize(1440, 900)
    page.show_view(RESULT)
    page.show()
    app.processEvents()
    return app, page, presenter


def _open(path: Path) -> None:
    """Read a result as the window does, paint its page, and choose another measure: the time of the first two, and the
    longest time for which the window's thread computes without a pause, without and with the last.
    """
    app, page, presenter = _window()
    from glyphscope_gui.evaluate.reading import read_result
    from glyphscope_gui.shared.background import end_work, is_working

    def slices() -> Iterator[float]:
        while is_working(page):
            yield _seconds(app.processEvents)
            time.sleep(0.001)
        yield _seconds(app.processEvents)

    began, cpu = time.monotonic(), time.process_time()
    opened = read_result(path)
    shown, painted = _seconds(lambda: presenter.show(opened.result)), _seconds(app.processEvents)
    took, used = time.monotonic() - began, time.process_time() - cpu
    opening = max(shown, painted, *slices())
    page.result.measure.setCurrentIndex(page.result.measure.findData("total_ms"))
    choosing = max(slices())
    print(
        f"{1000 * took:.0f} ms, {duration(used)} of processor time, blocks {1000 * opening:.0f} ms, another measure "
        f"{1000 * choosing:.0f} ms"
    )
    end_work(page)


def _seconds(work: Callable[[], object]) -> float:
    """The processor time of this thread, in seconds."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _in_window(plan: Plan, out: Path) -> None:
    """Run the evaluation in the window, which shows its result meanwhile."""
    app, page, presenter = _window()
    from glyphscope_gui.evaluate.evaluations import EvalJob, Evaluations
    from glyphscope_gui.shared.background import end_work

    evaluations = Evaluations(lambda *_, **__: ScriptedModel(_RIGHT))
    evaluations.began.connect(lambda result: presenter.show(result, growing=True))
    evaluations.grew.connect(presenter.grow)
    evaluations.ended.connect(app.quit)
    evaluations.begin(EvalJob(plan, out, workers=ScriptedWorkers), lambda _name: DEFAULT_LOAD)
    app.exec()
    end_work(page)


def _copy(path: Path, copy: Path) -> None:
    """Copy a result without its records, with another verdict in every tenth sample."""
    copy.mkdir()
    (copy / "manifest.json").write_bytes((path / "manifest.json").read_bytes())
    with open(path / "samples.jsonl", "rb") as lines, open(copy / "samples.jsonl", "wb") as out:
        for number, line in enumerate(lines):
            right, wrong = b'"ok":true', b'"ok":false'
            words = (right, wrong) if right in line else (wrong, right)
            out.write(line if number % 10 else line.replace(words[0], words[1], 1))


def _result(folder: Path) -> Path:
    (path,) = (folder / "out").iterdir()
    return path


class Measured(NamedTuple):
    """A step: its seconds and those of the processor, the peaks of its private memory and of all that is resident, with
    the pages of files that the system may drop (bytes), and what it printed.
    """

    seconds: float
    cpu: float
    private: int
    resident: int
    printed: str


def _measured(name: str, folder: Path, samples: int) -> Measured:
    command = [sys.executable, "-m", "glyphscope_benchmarks.scale", "--step", name, "--folder", str(folder)]
    began = time.monotonic()
    process = subprocess.Popen([*command, str(samples)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    most = 0
    while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
        most = max(most, private(process.pid))
        time.sleep(LOOK_SECONDS)
    _, status, usage = ended
    seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != SIGNAL.get(name, 0):
        raise SystemExit(f"The step {name} ended with {process.returncode}.")
    cpu = usage.ru_utime + usage.ru_stime
    return Measured(seconds, cpu, most, usage.ru_maxrss * 1024, process.stdout.read())


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


def main() -> None:
    """Run all steps for each number of samples, and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("samples", type=int, nargs="+", help=f"multiples of {SCENARIOS * ARMS:,}")
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        step(given.step, given.folder, given.samples[0])
        return
    print(
        "| samples | step | time | CPU time | private memory | resident |\n|---|---|---|---|---|---|",
        flush=True,
    )
    for samples in given.samples:
        with tempfile.TemporaryDirectory(dir=given.folder) as place:
            folder = Path(place)
            for name in STEPS:
                if name == "compare":
                    _copy(_result(folder), folder / "copy")
                made = _measured(name, folder, samples)
                step_words = f"{name} {made.printed}".rstrip()
                times = f"{duration(made.seconds)} | {duration(made.cpu)}"
                memory = f"{byte_size(made.private)} | {byte_size(made.resident)}"
                print(f"| {samples:,} | {step_words} | {times} | {memory} |", flush=True)
            path = _result(folder)
            report = byte_size((path / REPORT).stat().st_size)
            files = sum(each.is_file() for each in path.rglob("*"))
            print(f"{samples:,}: {files} files, {byte_size(_size(path))}; the report {report}", flush=True)
            assert len(ResultFolder.open(path).tables()) == 0


if __name__ == "__main__":
    main()
