"""Two results of the same scenarios, before and after a change: regressions first.

Arms are paired by their ids; if each result has one arm left (another model, another setting), these two are a pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.results.comparing import pairs_of, tables_of
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.measuring import CellPart
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.table import ReadList, Samples, SampleTable
from glyphscope.evals.results.words import arm_labels
from glyphscope.evals.statistics import scenario_test, sum_of

if TYPE_CHECKING:
    import numpy as np

ChangeKind: TypeAlias = Literal["regression", "fix", "other"]
_ORDER: tuple[ChangeKind, ...] = ("regression", "fix", "other")
"""A regression has ok 0 now, a fix 1."""


class SampleChange(msgspec.Struct, frozen=True, kw_only=True):
    """A sample with another result: right before and wrong now, the reverse, or wrong for another reason."""

    kind: ChangeKind
    before: Sample
    after: Sample


class ArmChange(msgspec.Struct, frozen=True, kw_only=True):
    """An arm in both results. `pairs` samples were answered in both; `p` is McNemar's, over scenarios."""

    before: str
    after: str
    pairs: int
    right_before: int
    right_after: int
    regressions: int
    fixes: int
    p: float


class ResultChanges(NamedTuple):
    """`changes` are regressions, then fixes, then samples wrong for another reason, each read when it is used. `notes`
    are for the reader.
    """

    arms: tuple[ArmChange, ...]
    changes: Sequence[SampleChange]
    notes: tuple[str, ...] = ()

    @property
    def regressions(self) -> int:
        return sum(arm.regressions for arm in self.arms)


class _Changed(NamedTuple):
    """Changes: their kinds as places in _ORDER, and the places of their samples in the tables of both results."""

    kinds: np.ndarray
    before: np.ndarray
    after: np.ndarray


def changes_between(before: tuple[Manifest, Samples], after: tuple[Manifest, Samples]) -> ResultChanges:
    """The changes in the samples that both results have: of the same suite, scenario and trial."""
    (one, first), (other, second) = before, after
    pairs, notes = _paired(one.arms, other.arms)
    found = [_compared(old.id, first.table, new.id, second.table) for old, new in pairs]
    return ResultChanges(
        arms=tuple(arm for arm, _ in found),
        changes=_listed([changed for _, changed in found], first, second),
        notes=(*notes, *_suite_notes(one, other), *dict.fromkeys(_model_notes(pairs, one, other))),
    )


def _paired(before: Sequence[Arm], after: Sequence[Arm]) -> tuple[list[tuple[Arm, Arm]], list[str]]:
    there = {arm.id: arm for arm in after}
    pairs = [(arm, there[arm.id]) for arm in before if arm.id in there]
    known = {arm.id for arm, _ in pairs}
    gone, new = ([arm for arm in arms if arm.id not in known] for arms in (before, after))
    if len(gone) == len(new) == 1:
        return [*pairs, (gone[0], new[0])], []
    labels = arm_labels([*{arm.id: arm for arm in (*before, *after)}.values()])
    notes = [f"Only in the first result: {labels[arm.id]}." for arm in gone]
    return pairs, notes + [f"Only in the second result: {labels[arm.id]}." for arm in new]


def _suite_notes(before: Manifest, after: Manifest) -> Iterator[str]:
    digests = {suite.name: suite.digest for suite in before.suites}
    for suite in after.suites:
        if digests.get(suite.name, suite.digest) != suite.digest:
            yield f'The suite "{suite.name}" or its selected scenarios differ: those with the same id are compared.'
    if set(before.judges) != set(after.judges):
        names = [", ".join(manifest.judges) or "none" for manifest in (before, after)]
        yield f"The judges differ ({names[0]}; {names[1]}): some changes may come from the judge."
    if before.seed != after.seed:
        yield f"The seeds differ ({before.seed}, {after.seed}): some changes may be due to chance."
    if before.sequence_count != after.sequence_count:
        counts = f"{before.sequence_count}, {after.sequence_count}"
        yield f"The batch sizes differ ({counts}): some changes may come from the last digits."


def _model_notes(pairs: Sequence[tuple[Arm, Arm]], before: Manifest, after: Manifest) -> Iterator[str]:
    """The differences of models that arms with the same id do not show, and of versions."""
    for old, new in pairs:
        one, other = before.models.get(old.model), after.models.get(new.model)
        if one is None or other is None or old.id != new.id:
            continue
        if one.sha256 != other.sha256:
            hashes = (each[:8] or "unknown" for each in (one.sha256, other.sha256))
            yield f"The file of {one.name} differs (SHA-256 {'; '.join(hashes)})."
        elif not one.sha256 and old.model != new.model:
            yield f"The models of the same name differ ({old.model}; {new.model})."
        if one.server != other.server:
            yield f"The server of {one.name} differs ({one.server or 'none'}; {other.server or 'none'})."
    differ = [
        f"{name} {version}; {after.versions[name]}"
        for name, version in before.versions.items()
        if after.versions.get(name, version) != version
    ]
    if differ:
        yield f"The versions differ ({', '.join(differ)})."


def _compared(before: str, first: SampleTable, after: str, second: SampleTable) -> tuple[ArmChange, _Changed]:
    import numpy as np

    reasons: dict[tuple[str, str], int] = {}
    one_reason, other_reason = (
        np.array([reasons.setdefault(each[:2], len(reasons)) for each in table.failures])
        for table in (first, second)
    )
    counts, found = [], [_Changed(*(np.empty(0, kind) for kind in (np.uint8, np.uint32, np.uint32)))]
    for paired in pairs_of(_of_arm(first, before), _of_arm(second, after)):
        was, now = paired.first, paired.second
        counts.append(paired.tables("ok"))
        kinds = np.where(was["ok"] != now["ok"], now["ok"], 2).astype(np.uint8)
        other = one_reason[was["failure"]] != other_reason[now["failure"]]
        changed = (kinds < 2) | ((now["ok"] == 0) & other)
        found.append(_Changed(kinds[changed], was.places[changed], now.places[changed]))
    tables = tables_of(counts)
    total = sum_of(tables)
    arm = ArmChange(
        before=before,
        after=after,
        pairs=total.pairs,
        right_before=total.both + total.only_first,
        right_after=total.both + total.only_second,
        regressions=total.only_first,
        fixes=total.only_second,
        p=scenario_test(tables).p,
    )
    return arm, _Changed(*map(np.concatenate, zip(*found, strict=True)))


def _of_arm(table: SampleTable, arm: str) -> CellPart:
    return CellPart(table, [number for number, cell in enumerate(table.cells) if cell.arm == arm])


def _listed(found: Sequence[_Changed], first: Samples, second: Samples) -> Sequence[SampleChange]:
    """All changes by kind, then by arm, in the order of the later samples."""
    import numpy as np

    if not found:
        return ()
    kinds, before, after = map(np.concatenate, zip(*found, strict=True))
    arms = np.repeat(np.arange(len(found)), [len(each.kinds) for each in found])

    def read(places: np.ndarray) -> list[SampleChange]:
        old = first.at(first.table.rows[before[places]])
        new = second.at(second.table.rows[after[places]])
        return [
            SampleChange(kind=_ORDER[kind], before=one, after=other)
            for kind, one, other in zip(kinds[places].tolist(), old, new, strict=True)
        ]

    return ReadList(np.lexsort((second.table.rows["start"][after], arms, kinds)), read)
