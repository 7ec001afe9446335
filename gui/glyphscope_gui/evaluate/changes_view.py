"""What changed between two results: a line for each arm, then every sample that came out differently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QWidget

from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.results.changes import ArmChange, Change, ChangeKind, Changes
from glyphscope.evals.results.words import p_words
from glyphscope_gui.evaluate.words import arm_labels, why_words
from glyphscope_gui.shared.labels import words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.plain_text import plain_data, plain_tip
from glyphscope_gui.shared.table_model import Index, TableModel
from glyphscope_gui.theme import theme

CHANGE, SCENARIO, ARM, BEFORE, AFTER = range(5)
WORDS: dict[ChangeKind, str] = {
    "regression": tr("✕ regression"),
    "fix": tr("✓ fixed"),
    "other": tr("failure reason changed"),
}


class ChangesModel(TableModel):
    """A row for each change, regressions first."""

    titles = (tr("Change"), tr("Scenario"), tr("Arm"), tr("Before"), tr("After"))
    figures = frozenset[int]()

    def __init__(self, changes: Changes, labels: dict[str, str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[Change] = changes.changes
        self._labels = labels

    def change(self, row: int) -> Change:
        return self._rows[row]

    @plain_data
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        change, column = self._rows[index.row()], index.column()
        sample = change.before if column == BEFORE else change.after
        if role == Qt.ItemDataRole.DisplayRole:
            return (
                WORDS[change.kind],
                sample.scenario if sample.trial == 1 else f"{sample.scenario} · {sample.trial}",
                self._labels.get(sample.arm, sample.arm),
                why_words(change.before) or tr("✓ correct"),
                why_words(change.after) or tr("✓ correct"),
            )[column]
        if role == Qt.ItemDataRole.ForegroundRole and column in (CHANGE, BEFORE, AFTER):
            good = change.kind == "fix" if column == CHANGE else sample.ok
            return theme().color("holds" if good else "impossible")
        if role == Qt.ItemDataRole.ToolTipRole and column in (BEFORE, AFTER):
            detail = sample.failures[0].detail if sample.failures else ""
            return plain_tip("\n".join(part for part in (detail, sample.text[:800]) if part)) or None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self.titles[column]}: {self.data(index)}"
        return None


class ChangesTable(PlainTable):
    """`opened` carries the sample after the change, whose run is wanted."""

    opened = Signal(object)

    def __init__(self, model: ChangesModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=AFTER, parent=parent)
        self._changes = model
        self.setObjectName("evalChanges")
        self.setAccessibleName(tr("Changes, regressions first"))
        self.setAccessibleDescription(tr("Enter opens the later run."))
        self.fit_column(CHANGE, tr("✕ regression"))
        for column, widest in (
            (SCENARIO, "missing_workspace_id"),
            (ARM, "GLYPH · no constraint"),
            (BEFORE, "WRONG_ARGUMENTS /max_results"),
        ):
            self.fit_column(column, widest)
        self.doubleClicked.connect(self._open)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._open(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _open(self, index: QModelIndex) -> None:
        self.opened.emit(self._changes.change(index.row()).after)


class ChangesDialog(QDialog):
    """`runRequested` carries a sample of the second result. Opened with `open()`; it deletes itself."""

    runRequested = Signal(object)

    def __init__(
        self, changes: Changes, arms: list[Arm], before: str, after: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("changesDialog")
        self.setWindowTitle(tr("Changes from {before} to {after}", before=before, after=after))
        labels = arm_labels(arms)
        self.summary = words_label(role="", parent=self, name="changesSummary")
        self.summary.setText("\n".join([*(_arm_words(arm, labels) for arm in changes.arms), *changes.notes]))
        self.table = ChangesTable(ChangesModel(changes, labels, self), self)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        vbox(self.summary, (self.table, 1), buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        self.resize(900, 520)
        self.table.opened.connect(self._open)
        self.finished.connect(self.deleteLater)
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
