"""The parts of a sample that figures need, and figures over them. Rows are small: a million of them fit in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from glyphscope.evals.results.figures import MEASURES, Figures, Measure, Saving
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.statistics import Share, Spread, pass_hat, share_of, spread

MOST_K = 10
"""pass^k is reported up to this k."""

Key = tuple[str, str]
"""Suite and scenario."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """A sample without its texts. `answer` identifies a text; `reason` is empty if nothing failed."""

    arm: str
    suite: str
    scenario: str
    trial: int
    group: str
    level: str
    control: bool
    answered: bool
    ok: bool
    parsed: bool | None
    valid: bool
    right_tool: bool | None
    right_arguments: bool | None
    reason: str
    code: str
    answer: int
    decoded: int
    prompt_tokens: int
    bytes: int
    instructions: int
    first_token_ms: float
    total_ms: float
    aborted: bool
    saved: int | None

    @property
    def key(self) -> Key:
        return self.suite, self.scenario


def row_of(sample: Sample) -> Row:
    first = sample.failures[0] if sample.failures else None
    return Row(
        sample.arm, sample.suite, sample.scenario, sample.trial, sample.group, sample.level, sample.control,
        sample.answered, sample.ok, sample.parsed, sample.valid, sample.right_tool, sample.right_arguments,
        first.reason if first else "", first.code if first else "", hash(sample.text), sample.decoded,
        sample.prompt_tokens, sample.bytes, sample.instructions, sample.first_token_ms, sample.total_ms,
        sample.stopped_at is not None, sample.saved,
    )  # fmt: skip


def rows_of(samples: Iterable[Sample]) -> list[Row]:
    """The rows in the samples' order; of a sample that was made again, only the last one counts."""
    return list({sample.id: row_of(sample) for sample in samples}.values())


def counted(words: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The sums of the counts by word, most frequent first, then alphabetically. Empty words do not count."""
    counts: Counter[str] = Counter()
    for word, n in words:
        if word:
            counts[word] += n
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def figures(rows: Sequence[Row], *, greedy: bool | None = None) -> Figures:
    """The figures over these rows of one arm.

    Intervals are for scenarios like these: the trials of each are a cluster. If `greedy` is given, the rows belong to
    one scenario, and intervals are for it alone: each trial is a case, but an arm's greedy trials count as one.
    """
    answered = [row for row in rows if row.answered]
    ok = sum(row.ok for row in answered)
    decoded = sum(row.decoded for row in answered)
    shares = {measure: _share(answered, measure, greedy) for measure in MEASURES}
    return Figures(
        n=len(rows),
        answered=len(answered),
        **shares,
        failures=counted((row.reason, 1) for row in rows),
        codes=counted((row.code, 1) for row in rows),
        pass_k=_pass_k(answered),
        decoded=_spread([row.decoded for row in answered]),
        prompt_tokens=_spread([row.prompt_tokens for row in answered]),
        bytes=_spread([row.bytes for row in answered]),
        instructions=sum(row.instructions for row in answered) / len(answered) if answered else 0.0,
        first_token_ms=_spread([row.first_token_ms for row in answered]),
        total_ms=_spread([row.total_ms for row in answered]),
        saving=_saving(rows),
        scenarios=len({row.key for row in rows}),
        tokens_per_ok=decoded / ok if ok else None,
    )


def _share(rows: Sequence[Row], measure: Measure, greedy: bool | None) -> Share:
    return share_of(
        (row.key if greedy is None else row.arm if greedy else number, value)
        for number, row in enumerate(rows)
        if (value := getattr(row, measure)) is not None
    )


def _pass_k(rows: Sequence[Row]) -> dict[str, float]:
    counts: dict[tuple[str, str, str], list[int]] = {}
    for row in rows:
        count = counts.setdefault((row.arm, row.suite, row.scenario), [0, 0])
        count[0] += row.ok
        count[1] += 1
    most = min(MOST_K, max((n for _, n in counts.values()), default=0))
    shares = {}
    for k in range(1, most + 1):
        each = [pass_hat(correct, n, k) for correct, n in counts.values() if n >= k]
        shares[str(k)] = sum(each) / len(each)
    return shares


def _spread(values: list[int] | list[float]) -> Spread | None:
    return spread(values) if values else None


def _saving(rows: Sequence[Row]) -> Saving:
    aborted = [row for row in rows if row.aborted]
    measured = [(row.decoded, row.saved) for row in aborted if row.saved is not None]
    decoded = sum(tokens for tokens, _ in measured)
    would_have = decoded + sum(saved for _, saved in measured)
    return Saving(aborted=len(aborted), measured=len(measured), decoded=decoded, would_have=would_have)
