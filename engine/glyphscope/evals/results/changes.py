"""Two results of the same scenarios, before and after a change: regressions first.

Arms are paired by their ids; if each result has one arm left (another model, another setting), these two are a pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.pairs import Table, scenario_test
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.sample import Sample

ChangeKind: TypeAlias = Literal["regression", "fix", "other"]
_ORDER: tuple[ChangeKind, ...] = ("regression", "fix", "other")


class Change(msgspec.Struct, frozen=True, kw_only=True):
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


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """`changes` are regressions, then fixes, then samples wrong for another reason. `notes` are for the reader."""

    arms: tuple[ArmChange, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    @property
    def regressions(self) -> int:
        return sum(arm.regressions for arm in self.arms)


def changes_between(
    before: tuple[Manifest, Sequence[Sample]], after: tuple[Manifest, Sequence[Sample]]
) -> Changes:
    """The changes in the samples that both results have: of the same suite, scenario and trial."""
    arms, notes = _paired(before[0].arms, after[0].arms)
    arm_changes: list[ArmChange] = []
    changes: list[Change] = []
    for one, other in arms:
        pairs = list(_pairs(one.id, before[1], other.id, after[1]))
        arm_changes.append(_arm_change(one.id, other.id, pairs))
        changes += [change for pair in pairs if (change := _change(*pair)) is not None]
    changes.sort(key=lambda change: _ORDER.index(change.kind))
    return Changes(
        arms=tuple(arm_changes), changes=tuple(changes), notes=(*notes, *_suite_notes(before[0], after[0]))
    )


def _paired(before: Sequence[Arm], after: Sequence[Arm]) -> tuple[list[tuple[Arm, Arm]], list[str]]:
    there = {arm.id: arm for arm in after}
    pairs = [(arm, there[arm.id]) for arm in before if arm.id in there]
    known = {arm.id for arm, _ in pairs}
    gone, new = ([arm for arm in arms if arm.id not in known] for arms in (before, after))
    if len(gone) == len(new) == 1:
        return [*pairs, (gone[0], new[0])], []
    notes = [f"Only in the first result: {arm.id}." for arm in gone]
    return pairs, notes + [f"Only in the second result: {arm.id}." for arm in new]


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


def _pairs(
    one: str, before: Sequence[Sample], other: str, after: Sequence[Sample]
) -> Iterator[tuple[Sample, Sample]]:
    there = {_key(sample): sample for sample in before if sample.arm == one and sample.answered}
    for sample in after:
        if sample.arm == other and sample.answered and (match := there.get(_key(sample))) is not None:
            yield match, sample


def _key(sample: Sample) -> tuple[str, str, int]:
    return sample.suite, sample.scenario, sample.trial


def _arm_change(before: str, after: str, pairs: list[tuple[Sample, Sample]]) -> ArmChange:
    scenarios: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    for one, other in pairs:
        scenarios.setdefault((one.suite, one.scenario), []).append((one.ok, other.ok))
    return ArmChange(
        before=before,
        after=after,
        pairs=len(pairs),
        right_before=sum(one.ok for one, _ in pairs),
        right_after=sum(other.ok for _, other in pairs),
        regressions=sum(one.ok and not other.ok for one, other in pairs),
        fixes=sum(other.ok and not one.ok for one, other in pairs),
        p=scenario_test(map(Table.of, scenarios.values())).p,
    )


def _change(before: Sample, after: Sample) -> Change | None:
    if before.ok and after.ok:
        return None
    if before.ok != after.ok:
        return Change(kind="regression" if before.ok else "fix", before=before, after=after)
    if _reason(before) == _reason(after):
        return None
    return Change(kind="other", before=before, after=after)


def _reason(sample: Sample) -> tuple[str, str]:
    return (sample.failures[0].reason, sample.failures[0].code) if sample.failures else ("", "")
