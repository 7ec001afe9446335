"""The changes between two results: a line for each arm, then every sample whose outcome changed."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.results.changes import ArmChange, Change, ChangeKind, Changes
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import p_words
from glyphscope_gui.evaluate.words import WIDEST_ARM, WIDEST_REASON, arm_labels, why_words
from glyphscope_gui.shared.labels import named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Standard
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import TableModel

CHANGE, SCENARIO, ARM, BEFORE, AFTER = range(5)
WORDS: dict[ChangeKind, str] = {
    "regression": tr("✕ regression"),
    "fix": tr("✓ fixed"),
    "other": tr("failure reason changed"),
}


class ChangesModel(TableModel[Change]):
    """A row for each change, regressions first."""

    speaks_titles = True
    titles = (tr("Change"), tr("Scenario"), tr("Arm"), tr("Before"), tr("After"))

    def __init__(self, changes: Changes, labels: dict[str, str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows = changes.changes
        self._labels = labels

    def words(self, row: Change, column: int) -> str:
        sample = row.after
        return (
            WORDS[row.kind],
            sample.scenario if sample.trial == 1 else f"{sample.scenario} · {sample.trial}",
            self._labels.get(sample.arm, sample.arm),
            _result_words(row.before),
            _result_words(row.after),
        )[column]

    def tip(self, row: Change, column: int) -> str:
        if column not in (BEFORE, AFTER):
            return ""
        sample = row.before if column == BEFORE else row.after
        detail = sample.failures[0].detail if sample.failures else ""
        return "\n".join(part for part in (detail, sample.text[:800]) if part)

    def color(self, row: Change, column: int) -> str:
        if column not in (CHANGE, BEFORE, AFTER):
            return ""
        good = {CHANGE: row.kind == "fix", BEFORE: row.before.ok, AFTER: row.after.ok}[column]
        return "holds" if good else "impossible"


def _result_words(sample: Sample) -> str:
    """The reason of the failure; a sample that could not be read has the error as its text."""
    return why_words(sample) or (tr("✓ correct") if sample.ok else sample.text)


class ChangesTable(PlainTable):
    """`openRequested` carries the sample after the change, whose run is requested."""

    openRequested = Signal(object)

    def __init__(self, model: ChangesModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=AFTER, parent=parent)
        description = tr("Enter opens the later run.")
        named(self, "evalChanges", tr("Changes, regressions first"), description=description)
        for column, widest in (
            (CHANGE, WORDS["regression"]),
            (SCENARIO, "missing_workspace_id"),
            (ARM, WIDEST_ARM),
            (BEFORE, WIDEST_REASON),
        ):
            self.fit_column(column, widest)
        self.on_open(lambda index: self.openRequested.emit(model.rows[index.row()].after))


class ChangesDialog(PlainDialog):
    """`runRequested` carries a sample of the second result."""

    runRequested = Signal(object)

    def __init__(
        self, changes: Changes, arms: list[Arm], before: str, after: str, parent: QWidget | None = None
    ) -> None:
        title = tr("Changes from {before} to {after}", before=before, after=after)
        super().__init__("changesDialog", title, parent)
        labels = arm_labels(arms)
        unchanged = () if changes.changes else (tr("Every scenario has the same verdict in both results."),)
        lines = [*(_arm_words(arm, labels) for arm in changes.arms), *changes.notes, *unchanged]
        self.summary = words_label("\n".join(lines), "", self, name="changesSummary")
        self.table = ChangesTable(ChangesModel(changes, labels, self), self)
        buttons = self.button_box(Standard.Close)
        vbox(self.summary, (self.table, 1), buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        self.resize(900, 520)
        self.table.openRequested.connect(self._open)
        self.table.setVisible(bool(changes.changes))
        if changes.changes:
            self.table.selectRow(0)

    def _open(self, sample: object) -> None:
        self.runRequested.emit(sample)
        self.accept()


def _arm_words(arm: ArmChange, labels: dict[str, str]) -> str:
    """Such as `GLYPH · mask: 7 → 9 of 12 right, 1 regression, 3 fixed, p = 0.62`."""
    names = dict.fromkeys(labels.get(name, name) for name in (arm.before, arm.after))
    return tr(
        "{arm}: {before} → {after} of {pairs} correct, {regressions}, {fixes}, McNemar {p}",
        arm=" → ".join(names),
        before=arm.right_before,
        after=arm.right_after,
        pairs=arm.pairs,
        regressions=tr("%n regression(s)", "", arm.regressions),
        fixes=tr("{n} fixed", n=arm.fixes),
        p=p_words(arm.p),
    )
