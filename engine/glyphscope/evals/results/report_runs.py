"""The runs of a report: which samples of each cell it lists, where each of them went wrong, and the records inside it.

A report does not grow with its samples: it lists so many of each cell, the wrong ones first, and contains the records
of some of those. The page reads the other records from the result's folder where a server sends it.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.results.bad_token import BadToken, bad_token, bad_turn
from glyphscope.evals.results.measuring import Part
from glyphscope.evals.results.report_parts import (
    CellKey,
    grouped,
    link_of,
    reason_words,
    verdict_sign,
)
from glyphscope.evals.results.sample import Failure, Sample
from glyphscope.evals.results.table import Rows, Samples
from glyphscope.registry.pointer import follow, steps_of
from glyphscope.runs import RunState, run_state
from glyphscope.sessions.exports import RecordedRun
from glyphscope.sessions.exports.html_page import run_data
from glyphscope.sessions.records import parse_record
from glyphscope.text.shorten import json_excerpt, shorten

MAX_PER_CELL = 100
"""Samples that are listed for one cell of the matrix."""
MAX_LISTED = 1_000
"""Samples that are listed in all, but at least one of each cell."""
MAX_EMBEDDED = 250
"""Records inside a report."""
MAX_BYTES = 5_000_000
"""Bytes of records inside a report, as they are in it."""
_CONTEXT = 24
"""Characters of the text shown before and after the first difference."""
_MAX_LENGTH = 60
"""Characters of a wrong value, and of a keyword with its value."""
_OWN = frozenset({"Prompt", "Seed"})
"""The settings in which runs of one arm differ."""

ReadRecord: TypeAlias = Callable[[str], bytes]
"""Returns a record by its name in a sample. Raises GlyphscopeError."""


@dataclass(frozen=True)
class Difference:
    """Where a run went wrong: `before`, `at` and `after` are an excerpt of its text, `at` the wrong part, empty at the
    end of the text. `token` is the token's index in the run and `char` the character's in its stage, both from 0.
    `keyword` is the violated keyword with its value, empty if there is none.
    """

    before: str
    at: str
    after: str
    token: int
    char: int
    keyword: str


@dataclass
class Listed:
    """A sample in a list: its verdict as a sign and in words, and the links to the records of its turns.

    `number` identifies its run on the page. `turn` (from 1) is the one that is opened. `difference` is None if it is
    right, if no token is the cause, or if its record could not be read.
    """

    sample: Sample
    number: int
    sign: str
    kind: str
    words: str
    links: tuple[str, ...]
    turn: int
    difference: Difference | None = None


@dataclass
class ReportRuns:
    """The listed samples by cell, the data of their runs for the page, and the records inside it by number."""

    cells: dict[CellKey, list[Listed]]
    data: dict[str, Any] = field(default_factory=lambda: {"shared": [], "runs": {}})
    records: dict[int, str] = field(default_factory=dict)

    @property
    def listed(self) -> list[Listed]:
        """All of them, cell by cell."""
        return [each for listed in self.cells.values() for each in listed]

    @property
    def bytes(self) -> int:
        """The bytes of the records inside the page, as they are in it."""
        return sum(map(len, self.records.values()))


def runs_of(whole: Part, samples: Samples, read: ReadRecord | None = None) -> ReportRuns:
    """The lists of each cell, and the runs as `read` returns their records; without it, none is inside the page."""
    chosen = {cell: _in_turn(whole, numbers) for cell, numbers in grouped(whole).items()}
    most = _shared_out([len(rows) for rows in chosen.values()])
    numbers = count()
    cells = {
        cell: [_listed(sample, next(numbers)) for sample in samples.at(rows[:most])]
        for cell, rows in chosen.items()
    }
    runs = ReportRuns(cells)
    if read is not None:
        _add_runs(runs, read)
    return runs


def _in_turn(whole: Part, numbers: Sequence[int]) -> Rows:
    """The rows that are listed of these cells of the table: wrong ones, those without an answer, right ones. Among them
    one of each reason comes first, then a second of each, and first trials before others, so that a list begins with
    different failures of different scenarios.
    """
    import numpy as np

    rows = whole.table.of_cells(numbers)
    rows = rows.where(rows["trial"].argsort(kind="stable"))
    kinds = np.where(rows["ok"] == 1, 2, np.where(rows["answered"] == 1, 0, 1))
    known: dict[str, int] = {}
    by_failure = [known.setdefault(failure.reason, len(known)) for failure in whole.table.failures]
    reasons = np.array(by_failure)[rows["failure"]]
    ranks = np.zeros(len(rows), np.int64)
    for reason in np.unique(reasons):
        of = reasons == reason
        ranks[of] = np.arange(of.sum())
    return rows.where(np.lexsort((ranks, kinds))[:MAX_PER_CELL]).copied()


def _shared_out(sizes: Sequence[int]) -> int:
    """How many samples of each cell are listed, so that there are at most MAX_LISTED."""
    most = MAX_PER_CELL
    while most > 1 and sum(min(size, most) for size in sizes) > MAX_LISTED:
        most -= 1
    return most


def _listed(sample: Sample, number: int) -> Listed:
    sign, kind = verdict_sign(sample.ok, sample.answered)
    words = _failure_words(sample.failures[0]) if sample.failures else "correct" if sample.ok else "incorrect"
    return Listed(sample, number, sign, kind, words, tuple(map(link_of, sample.runs)), bad_turn(sample))


def _failure_words(failure: Failure) -> str:
    return reason_words(failure.reason, failure.code)


def _add_runs(runs: ReportRuns, read: ReadRecord) -> None:
    """Read the listed runs in the order in which they may be inside: the first of each cell, then the second."""
    common = _Common(runs.data["shared"])
    for listed in _by_rank(runs.cells.values()):
        if not listed.links or not listed.links[listed.turn - 1]:
            continue
        full = len(runs.records) >= MAX_EMBEDDED or runs.bytes >= MAX_BYTES
        if full and listed.sample.ok:
            continue  # it has no place to open at
        with suppress(GlyphscopeError):
            record = read(listed.sample.runs[listed.turn - 1])
            runs.data["runs"][str(listed.number)] = _data(listed, record, common)
            text = "" if full else b64encode(gzip.compress(record, 9, mtime=0)).decode()
            if not full and runs.bytes + len(text) <= MAX_BYTES:
                runs.records[listed.number] = text


def _by_rank(cells: Iterable[Sequence[Listed]]) -> list[Listed]:
    """Wrong samples first, then by their place in the list of their cell."""
    ranked = [(each.sample.ok, rank, each.number, each) for of in cells for rank, each in enumerate(of)]
    return [each for *_, each in sorted(ranked, key=lambda place: place[:3])]


class _Common:
    """The common parts of runs: those of their data that are on the page once, and the parsed registry."""

    def __init__(self, shared: list[dict[str, Any]]) -> None:
        self._shared = shared
        self._places: dict[str, int] = {}
        self._like: RecordedRun | None = None

    def run(self, record: bytes, where: str) -> RecordedRun:
        run = RecordedRun(parse_record(record, where).events, where, self._like)
        if self._like is None or self._like.request.registry != run.request.registry:
            self._like = run
        return run

    def place(self, **parts: Any) -> int:
        """The place of these parts in `shared`."""
        place = self._places.setdefault(repr(parts), len(self._shared))
        if place == len(self._shared):
            self._shared.append(parts)
        return place


def _data(listed: Listed, record: bytes, common: _Common) -> dict[str, Any]:
    """The run as the page's script needs it."""
    run = common.run(record, listed.sample.id)
    state = run_state(run.events)
    data = run_data(run, state, reasons=False)
    settings = data["settings"]
    place = common.place(tools=data.pop("tools"), settings=[pair for pair in settings if pair[0] not in _OWN])
    data["settings"] = [pair for pair in settings if pair[0] in _OWN]
    bad = bad_token(state, listed.sample, listed.turn)
    if bad is not None:
        listed.difference = _difference(run, state, bad)
    failures = [each for each in listed.sample.failures if each.turn == listed.turn]
    return {
        **data,
        "shared": place,
        "sign": listed.sign,
        "kind": listed.kind,
        "verdict": listed.words,
        "failures": [
            {"words": _failure_words(each), "path": each.path, "detail": shorten(each.detail, 500)}
            for each in failures[:5]
        ],
        "keyword": listed.difference.keyword if listed.difference else "",
        "place": None if bad is None else [bad.stage, bad.token],
    }


def _difference(run: RecordedRun, state: RunState, bad: BadToken) -> Difference:
    stage = state.stages[bad.stage]
    text = stage.text
    before, after = text[: bad.start], text[bad.end :]
    return Difference(
        before=shorten(before, _CONTEXT, keep="end"),
        at=shorten(text[bad.start : bad.end], _MAX_LENGTH),
        after=shorten(after, _CONTEXT),
        token=stage.tokens[bad.token].step.index,
        char=bad.start,
        keyword=_keyword(run, stage.tool.name if stage.tool is not None else "", bad.rule),
    )


def _keyword(run: RecordedRun, tool: str, rule: str) -> str:
    """`maximum: 100`"""
    with suppress(GlyphscopeError):
        for each in run.enforced.tools:
            if each.name == tool and rule and (found := follow(each.parameters, rule)) is not None:
                return f"{steps_of(rule)[-1]}: {json_excerpt(found[1], _MAX_LENGTH)}"
    return steps_of(rule)[-1] if rule else ""
