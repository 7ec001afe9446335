"""Failures by reason: a click shows the runs behind a line."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView, QWidget

from glyphscope_gui.evaluate.failures_model import COUNT, REASON, EvalFailuresModel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import Index

FEW = 3
"""So many reasons are shown with their parts at once."""


class EvalFailures(QTreeView):
    """`chosen` carries the words of the line and the samples behind it."""

    chosen = Signal(str, object)

    def __init__(self, model: EvalFailuresModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._failures = model
        self.setObjectName("evalFailures")
        self.setAccessibleName(tr("Failures by reason"))
        self.setAccessibleDescription(
            tr("Selecting a line shows its runs; Right and Left expand and collapse it.")
        )
        self.setModel(model)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setIndentation(16)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        head = self.header()
        head.setStretchLastSection(False)
        head.setSectionsMovable(False)
        head.setMinimumSectionSize(40)
        head.setSectionResizeMode(REASON, QHeaderView.ResizeMode.Stretch)
        head.setSectionResizeMode(COUNT, QHeaderView.ResizeMode.Fixed)
        head.resizeSection(COUNT, self.fontMetrics().horizontalAdvance(tr("Samples")) + 26)
        self._open: set[str] = set()
        model.modelAboutToBeReset.connect(self._keep)
        model.modelReset.connect(self._reset)
        self.clicked.connect(self._notify)

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if current.isValid() and self.hasFocus():
            self._notify(current)

    def _notify(self, index: Index) -> None:
        above = index.parent()
        words = self._failures.words(index)
        whole = f"{self._failures.words(above)}: {words}" if above.isValid() else words
        self.chosen.emit(whole, self._failures.samples(index))

    def _roots(self) -> list[QModelIndex]:
        return [self._failures.index(row, REASON) for row in range(self._failures.rowCount())]

    def _keep(self) -> None:
        """What the user sees of the reasons, by their words."""
        self._open = {self._failures.words(root) for root in self._roots() if self.isExpanded(root)}

    def _reset(self) -> None:
        """The same reasons stay open while a result grows; a few are open from the beginning."""
        roots = self._roots()
        for root in roots:
            if len(roots) <= FEW or self._failures.words(root) in self._open:
                self.expand(root)
