"""Figures over a part of a result's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from glyphscope.evals.results.figures import MEASURES, Figures, Measure, Saving
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.table import NO_NUMBER, Key, Selection, Table
from glyphscope.evals.statistics import Share, Spread, pass_hat, share, share_of_counts, spread

if TYPE_CHECKING:
    import numpy as np

MAX_K = 10
"""pass^k is reported up to this k."""


class Part:
    """Some cells of a table: in the order of the manifest's suites, then by name, so that no figure depends on the
    order in which the samples were made. `of` selects some of them.
    """

    def __init__(self, table: Table, numbers: Sequence[int]) -> None:
        self.table, self.numbers = table, numbers

    @classmethod
    def whole(cls, table: Table, manifest: Manifest) -> Part:
        """All samples of a result."""
        suites = {suite.name: number for number, suite in enumerate(manifest.suites)}

        def place(number: int) -> tuple[int, str, str, str, int]:
            cell = table.cells[number]
            return suites.get(cell.suite, len(suites)), cell.suite, cell.scenario, cell.arm, number

        return cls(table, sorted((n for n in range(len(table.cells)) if len(table.of_cell(n))), key=place))

    def of(self, numbers: Iterable[int]) -> Part:
        return Part(self.table, list(numbers))

    @cached_property
    def rows(self) -> Selection:
        return self.table.of_cells(self.numbers)

    @cached_property
    def answered(self) -> Selection:
        return self.rows.where(self.rows["answered"] == 1)

    def __len__(self) -> int:
        return len(self.rows)

    def counts(self, member: str, rows: Selection | None = None) -> dict[str, int]:
        """The failures by reason or code, most frequent first; of `rows`, if given."""
        import numpy as np

        numbers = np.bincount(
            (self.rows if rows is None else rows)["failure"], minlength=len(self.table.failures)
        )
        return counted(
            (str(getattr(failure, member)), int(n)) for failure, n in zip(self.table.failures, numbers) if n
        )

    def clusters(self, by: str) -> np.ndarray:
        """By the number of a cell, the number of its scenario (`by` "key") or its arm, in the order of the cells."""
        import numpy as np

        numbers: dict[Key | str, int] = {}
        found = np.zeros(len(self.table.cells), np.int64)
        for number in self.numbers:
            found[number] = numbers.setdefault(getattr(self.table.cells[number], by), len(numbers))
        return found

    def figures(self, *, greedy: bool | None = None) -> Figures:
        """The figures over these samples of one arm.

        Intervals are for scenarios like these: the trials of each are a cluster. If `greedy` is given, the samples
        belong to one scenario, and intervals are for it alone: each trial is a case, but an arm's greedy trials count
        as one.
        """
        rows = self.answered
        ok, decoded = int(rows["ok"].sum()), int(rows["decoded"].sum())
        clusters = None if greedy is False else self.clusters("arm" if greedy else "key")[rows["cell"]]
        shares = {measure: _share(rows, measure, clusters) for measure in MEASURES}
        return Figures(
            n=len(self.rows),
            answered=len(rows),
            **shares,
            failures=self.counts("reason"),
            codes=self.counts("code"),
            pass_k=self._pass_k(),
            decoded=_spread(rows["decoded"]),
            prompt_tokens=_spread(rows["prompt_tokens"]),
            bytes=_spread(rows["bytes"]),
            instructions=int(rows["instructions"].sum()) / len(rows) if len(rows) else 0.0,
            first_token_ms=_spread(rows["first_token_ms"]),
            total_ms=_spread(rows["total_ms"]),
            saving=self._saving(),
            scenarios=len({self.table.cells[number].key for number in self.numbers}),
            tokens_per_ok=decoded / ok if ok else None,
        )

    def _pass_k(self) -> dict[str, float]:
        import numpy as np

        cells, ok, number = self.answered["cell"], self.answered["ok"], len(self.table.cells)
        n = np.bincount(cells, minlength=number)[self.numbers].tolist()
        correct = np.bincount(cells, ok, number).astype(int)[self.numbers].tolist()
        shares = {}
        for k in range(1, min(MAX_K, max(n, default=0)) + 1):
            each = [pass_hat(right, of, k) for right, of in zip(correct, n) if of >= k]
            shares[str(k)] = sum(each) / len(each)
        return shares

    def _saving(self) -> Saving:
        aborted = self.rows.where(self.rows["aborted"] == 1)
        measured = aborted.where(aborted["saved"] != NO_NUMBER)
        decoded = int(measured["decoded"].sum())
        return Saving(
            aborted=len(aborted),
            measured=len(measured),
            decoded=decoded,
            would_have=decoded + int(measured["saved"].sum()),
        )


def counted(words: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The sums of the counts by word, most frequent first, then alphabetically. Empty words do not count."""
    counts: Counter[str] = Counter()
    for word, n in words:
        if word:
            counts[word] += n
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _share(rows: Selection, measure: Measure, clusters: np.ndarray | None) -> Share:
    import numpy as np

    values = rows[measure]
    known = values >= 0
    values = values[known]
    if clusters is None:
        return share(int(values.sum()), len(values), float(len(values)))
    groups = clusters[known]
    n = np.bincount(groups)
    correct = np.bincount(groups, values, len(n)).astype(int)
    return share_of_counts([(right, of) for right, of in zip(correct.tolist(), n.tolist()) if of])


def _spread(values: np.ndarray) -> Spread | None:
    return spread(values.tolist()) if len(values) else None
