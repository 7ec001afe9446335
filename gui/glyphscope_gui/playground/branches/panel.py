"""The shown run as a branch: its place in the parent run, its cost, and the dropped constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtWidgets import QLabel, QWidget

from glyphscope_gui.shared.labels import named, show_words, words_label
from glyphscope_gui.shared.layouts import vbox


class CostLine(NamedTuple):
    """A sentence on the cost of a relaxation; `broken`: it names a violation in the call."""

    words: str
    broken: bool = False


class BranchPanel(QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("branchPanel")
        self.where = words_label(role="", name="branchWhere")
        self.usage = words_label(name="branchUsage")
        self.cost = named(QWidget(), "branchCost")
        self.cost_lines = vbox(parent=self.cost, spacing=6)
        column = vbox(parent=self, spacing=8)
        for part in (self.where, self.usage, self.cost):
            column.addWidget(part)
            part.hide()

    def show_where(self, words: str) -> None:
        """Show the place in the parent run; empty if the run is not a branch."""
        self._show_words(self.where, words)

    def show_usage(self, words: str) -> None:
        self._show_words(self.usage, words)

    def show_cost(self, lines: Sequence[CostLine]) -> None:
        """Show the cost of a dropped constraint, a label for each line."""
        for label in self._cost_labels():
            self.cost_lines.removeWidget(label)
            label.deleteLater()
        for line in lines:
            words = f"✕ {line.words}" if line.broken else line.words
            label = words_label(words, "problem" if line.broken else "muted", selectable=True)
            self.cost_lines.addWidget(label)
        self.cost.setAccessibleName(" ".join(line.words for line in lines))
        self.cost.setVisible(bool(lines))

    @property
    def cost_words(self) -> str:
        """The shown cost, one sentence per line."""
        return "\n".join(label.text() for label in self._cost_labels())

    def _cost_labels(self) -> list[QLabel]:
        items = [self.cost_lines.itemAt(index) for index in range(self.cost_lines.count())]
        widgets = [item.widget() for item in items if item is not None]
        return [widget for widget in widgets if isinstance(widget, QLabel)]

    def _show_words(self, label: QLabel, words: str) -> None:
        show_words(label, words)
        label.setAccessibleName(words)
