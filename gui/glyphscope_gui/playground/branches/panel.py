"""The shown run as a branch: its place in the parent run, its cost, the dropped constraints, and the user's
name and note.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from glyphscope_gui.playground.branches.tree import MAX_NAME
from glyphscope_gui.shared.labels import PlainLabel, named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import grid_layout, vbox
from glyphscope_gui.shared.text_edits import LineEdit

MAX_NOTE = 2000
"""Characters."""


class CostLine(NamedTuple):
    """A sentence on the cost of a relaxation; `broken`: it names a violation in the call."""

    words: str
    broken: bool = False


class BranchPanel(QWidget):
    """`nameRequested` and `noteRequested` carry the run and the user's text, once it is complete."""

    nameRequested = Signal(str, str)
    noteRequested = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("branchPanel")
        self.where = words_label(role="", name="branchWhere")
        self.usage = words_label(name="branchUsage")
        self.cost = named(QWidget(), "branchCost")
        self.cost_lines = vbox(parent=self.cost, spacing=6)
        self.name_edit = _edit("branchNameEdit", tr("Name of this run"), tr("No name"), MAX_NAME)
        self.note_edit = _edit("branchNoteEdit", tr("Note on this run"), tr("No note"), MAX_NOTE)
        self._run = ""
        self.name_edit.editingFinished.connect(self._name)
        self.note_edit.editingFinished.connect(self._note)
        grid = grid_layout(spacing=(8, 6))
        for row, (words, edit) in enumerate(((tr("Name"), self.name_edit), (tr("Note"), self.note_edit))):
            label = PlainLabel(words, role="muted")
            grid.addWidget(label, row, 0)
            grid.addWidget(edit, row, 1)
        column = vbox(parent=self, spacing=8)
        for part in (self.where, self.usage, self.cost):
            column.addWidget(part)
            part.hide()
        column.addLayout(grid)

    def show_run(self, run: str, where: str, name: str, note: str) -> None:
        """Show that run; `where` is empty if it is not a branch. Edits in progress are kept; those of another run are
        committed first.
        """
        if run != self._run:
            self.commit_edits()
        is_other, self._run = run != self._run, run
        self._show_words(self.where, where)
        for edit, text in ((self.name_edit, name), (self.note_edit, note)):
            if edit.text() != text and (is_other or not edit.isModified()):
                edit.setText(text)

    def commit_edits(self) -> None:
        """Emit the edits in progress of the shown run, which would otherwise be lost."""
        for edit, commit in ((self.name_edit, self._name), (self.note_edit, self._note)):
            if edit.isModified():
                commit()

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

    def set_editable(self, editable: bool) -> None:
        """Set whether the texts can be edited: not during the run, as it is not in the history yet."""
        for edit in (self.name_edit, self.note_edit):
            edit.setReadOnly(not editable)

    def _name(self) -> None:
        self.name_edit.setModified(False)
        self.nameRequested.emit(self._run, self.name_edit.text().strip())

    def _note(self) -> None:
        self.note_edit.setModified(False)
        self.noteRequested.emit(self._run, self.note_edit.text().strip())

    def _show_words(self, label: QLabel, words: str) -> None:
        show_words(label, words)
        label.setAccessibleName(words)


def _edit(name: str, words: str, empty: str, longest: int) -> QLineEdit:
    return named(LineEdit(placeholderText=empty, maxLength=longest), name, words)
