"""Figures over a part of a result's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from glyphscope.evals.results.figures import MEASURES, ArmSaving, Figures, Measure
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.table import COUNTS, NO_NUMBER, Key, SampleTable, Selection
from glyphscope.evals.statistics import Share, Spread, pass_hat, share, share_of_counts, spread_of

if TYPE_CHECKING:
    import numpy as np

MAX_K = 10
"""pass^k is reported up to this k."""


class CellPart:
    """Some cells of a table: in the order of the manifest's suites, then by name, so that no figure depends on the
    order in which the samples were made. `of` selects some of them.
    """

    def __init__(self, table: SampleTable, numbers: Sequence[int]) -> None:
        self.table, self.numbers = table, numbers

    @classmethod
    def whole(cls, table: SampleTable, manifest: Manifest) -> CellPart:
        """All samples of a result."""
        suites = {suite.name: number for number, suite in enumerate(manifest.suites)}

        def place(number: int) -> tuple[int, str, str, str, int]:
            cell = table.cells[number]
            return suites.get(cell.suite, len(suites)), cell.suite, cell.scenario, cell.arm, number

        return cls(table, sorted((n for n in range(len(table.cells)) if len(table.of_cell(n))), key=place))

    def of(self, numbers: Iterable[int]) -> CellPart:
        return CellPart(self.table, list(numbers))

    def __len__(self) -> int:
        return self.total("n")

    def total(self, name: str) -> int:
        """A sum over the samples, by its name in `COUNTS`."""
        return self._totals[name]

    @cached_property
    def _totals(self) -> dict[str, int]:
        sums = self._counts.view("i8").reshape(-1, len(COUNTS)).sum(axis=0)
        return dict(zip(COUNTS, sums.tolist(), strict=True))

    @cached_property
    def _counts(self) -> np.ndarray:
        import numpy as np

        found: np.ndarray = self.table.counts[np.array(self.numbers, np.int64)]
        return found

    def blocks(self) -> Iterable[Selection]:
        """The rows, in blocks."""
        return self._block if len(self) <= self.table.BLOCK else self.table.blocks(self.numbers)

    @cached_property
    def _block(self) -> list[Selection]:
        return list(self.table.blocks(self.numbers))

    def where(self, column: str, value: int) -> Selection:
        """The rows with that value in a column."""
        import numpy as np

        found = (rows.places[rows[column] == value] for rows in self.blocks())
        return Selection(self.table.rows, np.concatenate([np.empty(0, np.uint32), *found]))

    @cached_property
    def by_key(self) -> dict[Key, list[int]]:
        """The cells of each scenario."""
        found: dict[Key, list[int]] = {}
        for number in self.numbers:
            found.setdefault(self.table.cells[number].key, []).append(number)
        return found

    def of_scenarios(self, name: str) -> dict[Key, int]:
        """A sum over the samples of each scenario."""
        counts = self.table.counts[name].tolist()
        return {key: sum(counts[number] for number in numbers) for key, numbers in self.by_key.items()}

    def counts(self, member: str, *, answered: bool = True) -> dict[str, int]:
        """The failures by reason or code, most frequent first; with `answered` False, only those without an answer."""
        failures = self._failures if answered else self._failed(self.where("answered", 0)["failure"])
        return counted(
            (str(getattr(failure, member)), int(n)) for failure, n in zip(self.table.failures, failures) if n
        )

    def figures(self, *, greedy: bool | None = None) -> Figures:
        """The figures over these samples of one arm.

        Intervals are for scenarios like these: the trials of each are a cluster. If `greedy` is given, the samples
        belong to one scenario, and intervals are for it alone: each trial is a case, but an arm's greedy trials count
        as one.
        """
        ok, answered, decoded = map(self.total, ("ok", "answered", "decoded"))
        clusters = None if greedy is False else self._clusters("arm" if greedy else "key")
        shares = {measure: self._share(measure, clusters) for measure in MEASURES}
        return Figures(
            n=len(self),
            answered=answered,
            **shares,
            failures=self.counts("reason"),
            codes=self.counts("code"),
            pass_k=self._pass_k(),
            decoded=self._spread("decoded"),
            prompt_tokens=self._spread("prompt_tokens"),
            bytes=self._spread("bytes"),
            model_turns=self._spread("model_turns"),
            instructions=self.total("instructions") / answered if answered else 0.0,
            first_token_ms=self._spread("first_token_ms"),
            total_ms=self._spread("total_ms"),
            saving=ArmSaving(
                aborted=self.total("aborted"),
                measured=self.total("measured"),
                decoded=self.total("measured decoded"),
                would_have=self.total("measured decoded") + self.total("measured saved"),
            ),
            scenarios=len({self.table.cells[number].key for number in self.numbers}),
            tokens_per_ok=decoded / ok if ok else None,
        )

    @cached_property
    def _failures(self) -> np.ndarray:
        """The number of samples by first failure."""
        return sum((self._failed(rows["failure"]) for rows in self.blocks()), start=self._failed([]))

    def _failed(self, failures: np.ndarray | list[int]) -> np.ndarray:
        import numpy as np

        return np.bincount(np.asarray(failures, np.int64), minlength=len(self.table.failures))

    def _clusters(self, by: str) -> np.ndarray:
        """The number of each cell's scenario (`by` "key") or arm."""
        import numpy as np

        numbers: dict[Key | str, int] = {}
        cells = (self.table.cells[number] for number in self.numbers)
        return np.fromiter((numbers.setdefault(getattr(cell, by), len(numbers)) for cell in cells), np.int64)

    def _share(self, measure: Measure, clusters: np.ndarray | None) -> Share:
        import numpy as np

        if clusters is None:
            n = self.total(f"{measure} known")
            return share(self.total(measure), n, float(n))
        correct, known = (np.bincount(clusters, self._counts[f"{measure}{kind}"]) for kind in ("", " known"))
        counts = zip(correct.astype(int).tolist(), known.astype(int).tolist())
        return share_of_counts([(right, of) for right, of in counts if of])

    def _spread(self, column: str) -> Spread | None:
        import numpy as np

        answered = (rows[column][rows["answered"] == 1] for rows in self.blocks())
        values = np.concatenate([np.empty(0), *(each[each != NO_NUMBER] for each in answered)])
        values.sort()
        return spread_of(values.data) if len(values) else None

    def _pass_k(self) -> dict[str, float]:
        n, correct = self._counts["answered"].tolist(), self._counts["ok"].tolist()
        shares = {}
        for k in range(1, min(MAX_K, max(n, default=0)) + 1):
            each = [pass_hat(right, of, k) for right, of in zip(correct, n) if of >= k]
            shares[str(k)] = sum(each) / len(each)
        return shares


def counted(words: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The sums of the counts by word, most frequent first, then alphabetically. Empty words do not count."""
    counts: Counter[str] = Counter()
    for word, n in words:
        if word:
            counts[word] += n
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
