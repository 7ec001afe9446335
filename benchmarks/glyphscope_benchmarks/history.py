"""Earlier full runs of the bench: one line of JSON each in the user's data folder, and commits side by side."""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from rich.table import Table
from rich.text import Text

from glyphscope.base.errors import StorageError
from glyphscope.base.figures import UNKNOWN
from glyphscope.base.inputs import read_file, storage_error
from glyphscope.events import LoadOptions
from glyphscope.store.folders import places
from glyphscope_benchmarks.report import Machine, Report, unit_text, value_text

SHOWN = 4
"""The number of commits side by side, the newest ones: as many as fit beside the names."""
MAX_BYTES = 64_000_000
"""The maximum bytes of the file that are read: some thousand runs."""

_ROOT = Path(__file__).parents[2]
Change: TypeAlias = Literal["slower", "faster", "not significant"]


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a run: the median and the extremes of its repeats."""

    name: str
    unit: str
    better: Literal["lower", "higher"]
    minimum: float
    measured: float
    maximum: float
    repeats: int


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the file. `commit` ends with `+` if the checkout had changes, and is empty without git.

    `date` is in UTC and ISO 8601; `model` is the SHA-256 of its file, empty without one.
    """

    commit: str
    date: str
    machine: Machine
    versions: dict[str, str]
    model: str
    load: LoadOptions | None
    figures: list[Past]

    def is_comparable(self, other: Entry) -> bool:
        """Whether a difference is due to the commits: the same processor, model file and load options."""
        ours, theirs = self.machine, other.machine
        same_machine = (ours.processor, ours.cores) == (theirs.processor, theirs.cores)
        return same_machine and (self.model, self.load) == (other.model, other.load)


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a commit: figures by name, each with the spread over all runs. `load` is their highest load."""

    commit: str
    date: str
    runs: int
    load: float | None
    figures: dict[str, Past]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `glyphscope bench --compare --json`, oldest commit first.

    `changes` has, for each figure, its change from each commit to the next; None if one of them lacks it.
    """

    file: str
    machine: Machine | None
    commits: list[Column]
    changes: dict[str, list[Change | None]]
    problems: list[str]


def history_file() -> Path:
    return places().data / "bench.jsonl"


def entry(found: Report) -> Entry:
    """The line of this run."""
    return Entry(
        commit=_commit(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=found.machine,
        versions=found.versions,
        model=found.model.sha256 if found.model else "",
        load=found.model.load if found.model else None,
        figures=[
            Past(
                name=figure.name,
                unit=figure.unit,
                better=figure.better,
                minimum=figure.minimum,
                measured=figure.measured,
                maximum=figure.maximum,
                repeats=figure.repeats,
            )
            for figure in found.figures
            if figure.measured is not None and figure.minimum is not None and figure.maximum is not None
        ],
    )


def append(run: Entry, path: Path) -> None:
    """Append the line, on a new line if the last one was cut off. Raises StorageError."""
    line = msgspec.json.encode(run) + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:
            if file.tell() and not _ends_with_newline(path):
                line = b"\n" + line
            written = file.write(line)
        if written != len(line):
            raise StorageError("The disk is full.", where=str(path))
    except OSError as error:
        raise storage_error(error, path, "written") from error


def read(path: Path) -> tuple[list[Entry], list[str]]:
    """The runs, oldest first, and the problems of unusable lines. Raises StorageError."""
    if not path.exists():
        return [], []
    hint = "Move it away, or delete its oldest lines."
    data = read_file(path, MAX_BYTES, "a history of the bench", hint=hint)
    runs, problems = [], []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            runs.append(msgspec.json.decode(line, type=Entry))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.append(f"{path}, line {number}: not a run of the bench, so it is ignored ({error}).")
    return runs, problems


def compare(runs: Sequence[Entry], problems: Sequence[str], path: Path) -> Comparison:
    """The newest commits, from the runs that are comparable with the last one."""
    runs = [run for run in runs if run.is_comparable(runs[-1])]
    by_commit: dict[str, list[Entry]] = {}
    for run in runs:
        # runs with uncommitted changes, or without git, may be of different code
        key = run.commit if run.commit and not run.commit.endswith("+") else f"{run.commit} {run.date}"
        by_commit.setdefault(key, []).append(run)
    columns = [_column(same) for same in list(by_commit.values())[-SHOWN:]]
    names = dict.fromkeys(name for column in reversed(columns) for name in column.figures)
    return Comparison(
        file=str(path),
        machine=runs[-1].machine if runs else None,
        commits=columns,
        changes={
            name: [
                change(before.figures.get(name), after.figures.get(name))
                for before, after in pairwise(columns)
            ]
            for name in names
        },
        problems=list(problems),
    )


def change(before: Past | None, after: Past | None) -> Change | None:
    """The change; overlapping spreads are not significant."""
    if before is None or after is None:
        return None
    if before.minimum <= after.maximum and after.minimum <= before.maximum:
        return "not significant"
    return "faster" if (after.measured < before.measured) == (after.better == "lower") else "slower"


def comparison_table(found: Comparison) -> Table:
    """A row for each figure: median and spread for each commit, and significant changes."""
    lines = Table(box=None, header_style="bold", pad_edge=False)
    lines.add_column("figure", overflow="fold")
    for column in found.commits:
        load = "" if column.load is None else f"\nload {column.load:.1f}"
        title = f"{_short(column.commit)}\n{column.date[:10]}{load}"
        lines.add_column(title, justify="right", no_wrap=True)
    for name, changes in found.changes.items():
        cells = [
            _cell(column.figures.get(name), change) for column, change in zip(found.commits, [None, *changes])
        ]
        lines.add_row(name, *cells)
    return lines


def comparison_notes(found: Comparison) -> list[str]:
    """How to read the table."""
    if not found.commits:
        return [f"No full run yet in {found.file}. Run `make bench` to add one."]
    notes = [
        "Median, minimum–maximum. slower, faster: compared with the commit before; where nothing is said, the "
        "spreads overlap, and the difference is not significant."
    ]
    if len(found.commits) == 1:
        notes.append("Only one commit was measured on this machine: there is nothing to compare yet.")
    return notes


def _column(runs: Sequence[Entry]) -> Column:
    by_name: dict[str, list[Past]] = {}
    for run in runs:
        for figure in run.figures:
            by_name.setdefault(figure.name, []).append(figure)
    loads = [run.machine.load for run in runs if run.machine.load is not None]
    return Column(
        commit=runs[-1].commit,
        date=runs[-1].date,
        runs=len(runs),
        load=max(loads, default=None),
        figures={name: _merged(figures) for name, figures in by_name.items()},
    )


def _merged(figures: Sequence[Past]) -> Past:
    return msgspec.structs.replace(
        figures[-1],
        minimum=min(figure.minimum for figure in figures),
        measured=statistics.median(figure.measured for figure in figures),
        maximum=max(figure.maximum for figure in figures),
        repeats=sum(figure.repeats for figure in figures),
    )


def _cell(figure: Past | None, change: Change | None) -> Text:
    if figure is None:
        return Text(UNKNOWN, style="dim")
    cell = Text(f"{value_text(figure.measured)} {unit_text(figure.unit)}")
    cell.append(f"\n{value_text(figure.minimum)}–{value_text(figure.maximum)}", "dim")
    if change in ("slower", "faster"):
        cell.append(f"\n{change}", "bold red" if change == "slower" else "green")
    return cell


def _short(commit: str) -> str:
    return commit[:8] + "+" * commit.endswith("+") if commit else "no git"


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def _commit() -> str:
    head = _git("rev-parse", "HEAD")
    return head + "+" if head and _git("status", "--porcelain", "--untracked-files=no") else head


def _git(*arguments: str) -> str:
    """Git's output; empty without git, or outside the project's repository."""
    try:
        done = subprocess.run(
            ["git", "-C", str(_ROOT), *arguments], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
