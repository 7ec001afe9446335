"""The runs of a report: which samples of each cell it lists, where each of them went wrong, and the records inside it.

A report does not grow with its samples: it lists so many of each cell, the wrong ones first, and contains the runs of
some of those. Where a server sends the page, it reads the other records from the result's folder, and the rest of the
lists from the files beside the page (`files_beside`).
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.pointer import follow, steps_of
from glyphscope.base.shorten import json_excerpt, shorten
from glyphscope.evals.results.measuring import CellPart
from glyphscope.evals.results.report_parts import (
    CellKey,
    cell_places,
    grouped,
    link_of,
    reason_words,
    verdict_sign,
)
from glyphscope.evals.results.sample import Sample, SampleFailure
from glyphscope.evals.results.table import Samples, Selection
from glyphscope.evals.results.wrong_token import BadToken, bad_token, bad_turn
from glyphscope.events.encoding import encode_json
from glyphscope.runs import RunState, run_state
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports.run_page import run_data
from glyphscope.store.records import parse_record

MAX_PER_CELL = 100
"""Samples that are listed for one cell of the matrix."""
MAX_LISTED = 1_000
"""Samples that are listed in all, but at least one of each cell."""
MAX_EMBEDDED = 250
"""Records inside a report."""
MAX_BYTES = 5_000_000
"""Bytes of runs inside a report, as they are in it."""
MAX_EXPLAINED = 10_000
"""Tokens of the listed runs whose masked alternatives are explained: 1 ms each, 5 ms after reasoning."""
PORTION = 5_000
"""Samples in a file beside the report."""
_CONTEXT = 24
"""Characters of the text shown before and after the first difference."""
_MAX_LENGTH = 60
"""Characters of a wrong value, and of a keyword with its value."""
_OWN = frozenset({"Prompt", "Seed"})
"""The settings in which runs of one arm differ."""
_SHARED = ("sampling", "tools", "allowed", "name_path", "args_path")
"""The parts of a run's data that most runs of one arm have in common, beside their settings."""

ReadRecord: TypeAlias = Callable[[str], bytes]
"""Returns a record by its name in a sample. Raises GlyphscopeError."""


@dataclass(frozen=True)
class RunDifference:
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
class ListedRuns:
    """A sample in a list: its verdict as a sign and in words, and the links to the records of its turns.

    `number` identifies its run on the page. `turn` (from 1) is the one that is opened. `difference` is None if it is
    right, if no token is the cause, or if its record could not be read. `shared` is the place of its common parts.
    """

    sample: Sample
    number: int
    sign: str
    kind: str
    words: str
    links: tuple[str, ...]
    turn: int
    difference: RunDifference | None = None
    shared: int | None = None


@dataclass
class ReportRuns:
    """The listed samples by cell, and the rows of the rest in the order in which they continue the list.

    Of the runs by number: those inside the page, each with its data and its record, and the data of the listed ones
    that are not inside. `shared` are the parts of the data that are common to several runs.
    """

    cells: dict[CellKey, list[ListedRuns]]
    rest: dict[CellKey, Selection]
    inside: dict[int, str] = field(default_factory=dict)
    outside: dict[int, dict[str, Any]] = field(default_factory=dict)
    shared: list[dict[str, Any]] = field(default_factory=list)

    @property
    def listed(self) -> list[ListedRuns]:
        """All of them, cell by cell."""
        return [each for listed in self.cells.values() for each in listed]

    @property
    def bytes(self) -> int:
        """The bytes of the runs inside the page, as they are in it."""
        return sum(map(len, self.inside.values()))


def runs_of(whole: CellPart, samples: Samples, read: ReadRecord | None = None) -> ReportRuns:
    """The lists of each cell, and the runs as `read` returns their records; without it, none is inside the page."""
    rows = {cell: _in_turn(whole, numbers) for cell, numbers in grouped(whole).items()}
    most = _shared_out([len(of) for of in rows.values()])
    numbers = count()
    cells = {
        cell: [_listed(sample, next(numbers)) for sample in samples.at(of.where(slice(most)).copied())]
        for cell, of in rows.items()
    }
    runs = ReportRuns(cells, {cell: of.where(slice(most, None)) for cell, of in rows.items()})
    if read is not None:
        _add_runs(runs, read)
    return runs


def _in_turn(whole: CellPart, numbers: Sequence[int]) -> Selection:
    """The rows of these cells of the table in the order of their list: wrong ones, those without an answer, right ones.
    Among them one of each reason comes first, then a second of each, and first trials before others, so that a list
    begins with different failures of different scenarios.
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
    return rows.where(np.lexsort((ranks, kinds)))


def _shared_out(sizes: Sequence[int]) -> int:
    """How many samples of each cell are listed on the page, so that there are at most MAX_LISTED."""
    most = MAX_PER_CELL
    while most > 1 and sum(min(size, most) for size in sizes) > MAX_LISTED:
        most -= 1
    return most


def _listed(sample: Sample, number: int) -> ListedRuns:
    sign, kind = verdict_sign(sample.ok, sample.answered)
    words = _failure_words(sample.failures[0]) if sample.failures else "correct" if sample.ok else "incorrect"
    return ListedRuns(sample, number, sign, kind, words, tuple(map(link_of, sample.runs)), bad_turn(sample))


def _failure_words(failure: SampleFailure) -> str:
    return reason_words(failure.reason, failure.code)


def _add_runs(runs: ReportRuns, read: ReadRecord) -> None:
    """Read the listed runs in the order in which they may be inside: the first of each cell, then the second."""
    common = _Common(runs.shared)
    for listed in _by_rank(runs.cells.values()):
        if not listed.links or not listed.links[listed.turn - 1]:
            continue
        with suppress(GlyphscopeError):
            record = read(listed.sample.runs[listed.turn - 1])
            data = _data(listed, record, common)
            if len(runs.inside) < MAX_EMBEDDED and runs.bytes < MAX_BYTES:
                run = gzip.compress(encode_json(data) + b"\n" + record, 9, mtime=0)
                text = b64encode(run).decode()
                if runs.bytes + len(text) <= MAX_BYTES:
                    runs.inside[listed.number] = text
                    continue
            runs.outside[listed.number] = data


def _by_rank(cells: Iterable[Sequence[ListedRuns]]) -> list[ListedRuns]:
    """Wrong samples first, then by their place in the list of their cell."""
    ranked = [(each.sample.ok, rank, each.number, each) for of in cells for rank, each in enumerate(of)]
    return [each for *_, each in sorted(ranked, key=lambda place: place[:3])]


class _Common:
    """The common parts of runs: those of their data that are on the page once, the parsed registry, and the number of
    tokens whose masked alternatives may still be explained.
    """

    def __init__(self, shared: list[dict[str, Any]]) -> None:
        self._tokens = MAX_EXPLAINED
        self._shared = shared
        self._places: dict[str, int] = {}
        self._like: RecordedRun | None = None

    def run(self, record: bytes, where: str) -> RecordedRun:
        run = RecordedRun(parse_record(record, where).events, where, self._like)
        if self._like is None or self._like.request.registry != run.request.registry:
            self._like = run
        return run

    def explains(self, state: RunState) -> bool:
        """Whether the alternatives of that run are explained."""
        tokens = sum(len(stage.tokens) for stage in state.stages)
        if tokens > self._tokens:
            return False
        self._tokens -= tokens
        return True

    def place(self, parts: dict[str, Any]) -> int:
        """The place of these parts in `shared`."""
        place = self._places.setdefault(repr(parts), len(self._shared))
        if place == len(self._shared):
            self._shared.append(parts)
        return place


def _data(listed: ListedRuns, record: bytes, common: _Common) -> dict[str, Any]:
    """The run as the page's script needs it."""
    run = common.run(record, listed.sample.id)
    state = run_state(run.events)
    explained = common.explains(state)
    data = run_data(run, state, reasons=explained)
    settings = data["settings"]
    parts = {name: data.pop(name) for name in _SHARED}
    listed.shared = common.place({**parts, "settings": [pair for pair in settings if pair[0] not in _OWN]})
    data["settings"] = [pair for pair in settings if pair[0] in _OWN]
    bad = bad_token(state, listed.sample, listed.turn)
    if bad is not None:
        listed.difference = _difference(run, state, bad)
    failures = [each for each in listed.sample.failures if each.turn == listed.turn]
    return {
        **data,
        "shared": listed.shared,
        "explained": explained,
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


def _difference(run: RecordedRun, state: RunState, bad: BadToken) -> RunDifference:
    stage = state.stages[bad.stage]
    text = stage.text
    before, after = text[: bad.start], text[bad.end :]
    return RunDifference(
        before=shorten(before, _CONTEXT, keep="end"),
        at=shorten(text[bad.start : bad.end], _MAX_LENGTH),
        after=shorten(after, _CONTEXT),
        token=stage.tokens[bad.token].step.index,
        char=bad.start,
        keyword=_keyword(run, stage.tool.name if stage.tool is not None else "", bad.rule),
    )


def _keyword(run: RecordedRun, tool: str, rule: str) -> str:
    """`maximum: 100`; of a grammar, the name of the rule."""
    with suppress(GlyphscopeError):
        for each in run.enforced.tools:
            if each.name == tool and rule and (found := follow(each.parameters, rule)) is not None:
                return f"{steps_of(rule)[-1]}: {json_excerpt(found[1], _MAX_LENGTH)}"
    return (steps_of(rule) or (rule,))[-1]


# the files beside the report


class _Row(NamedTuple):
    """A sample of the rest: `failure` is its first one, as (reason, argument, detail)."""

    scenario: str
    trial: int
    sign: str
    kind: str
    words: str
    turn: int
    links: tuple[str, ...]
    failure: tuple[str, str, str] | None


def files_beside(runs: ReportRuns, samples: Samples) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the files: of each cell the data of its listed runs that are not inside the page, and
    the rest of its list in portions. Each is read when the page shows it.
    """
    for (cell, listed), place in zip(runs.cells.items(), cell_places(runs.cells).values()):
        rest, outside = runs.rest[cell], runs.outside
        data = {str(each.number): outside[each.number] for each in listed if each.number in outside}
        shared = {each.shared for each in listed if each.shared is not None}
        for number, start in enumerate(range(0, len(rest) or bool(data), PORTION), 1):
            rows = samples.at(rest.where(slice(start, start + PORTION)).copied())
            content = {
                "shared": next(iter(shared)) if len(shared) == 1 else None,
                "runs": data if number == 1 else {},
                "rows": list(map(_row, rows)),
            }
            yield f"{place}-{number}.json.gz", gzip.compress(encode_json(content), 6, mtime=0)


def _row(sample: Sample) -> _Row:
    each = _listed(sample, 0)
    first = next(iter(sample.failures), None)
    failure = None if first is None else (first.reason, first.path, shorten(first.detail, 300))
    return _Row(
        sample.scenario, sample.trial, each.sign, each.kind, each.words, each.turn, each.links, failure
    )
