"""The user's words on a run: name, tags, score and note."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from glyphscope.sessions import HistoryRow
from glyphscope.sessions.history_search import MAX_SCORE, tags_of
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import grid_layout
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.text_edits import LineEdit

MAX_NAME, MAX_NOTE, MAX_TAGS_LENGTH = 120, 2000, 400
"""Characters."""


class RunDetails(QWidget):
    """Hidden while no run is chosen. `described` carries the id of a run and a dict for `History.describe`, once the
    user has finished a field.
    """

    described = Signal(str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("runDetails")
        self._row: HistoryRow | None = None
        self.name_edit = self._edit("runNameEdit", tr("Name of the run"), tr("No name"), MAX_NAME)
        self.tags_edit = self._edit("runTagsEdit", tr("Tags of the run"), tr("No tags"), MAX_TAGS_LENGTH)
        self.tags_edit.setToolTip(tr("Separated by spaces. Search for one with #tag"))
        self.note_edit = self._edit("runNoteEdit", tr("Note on the run"), tr("No note"), MAX_NOTE)
        scores = [("0", "–", tr("No score"))]
        scores += [
            (str(n), str(n), tr("{score} of {most}", score=n, most=MAX_SCORE))
            for n in range(1, MAX_SCORE + 1)
        ]
        self.score = named(Segmented(tuple(scores), small=True, parent=self), "runScore")
        self.score.setAccessibleName(tr("Score of the run, 1 (bad) to 5 (good)"))
        grid = grid_layout(self, spacing=(8, 4), stretch=1)
        rows = (
            (tr("Name"), self.name_edit), (tr("Tags"), self.tags_edit),
            (tr("Score"), self.score), (tr("Note"), self.note_edit),
        )  # fmt: skip
        for place, (words, widget) in enumerate(rows):
            label = PlainLabel(words, self, role="muted")
            grid.addWidget(label, place, 0)
            grid.addWidget(widget, place, 1)
        for edit, read in (
            (self.name_edit, lambda: {"name": self.name_edit.text().strip()}),
            (self.tags_edit, lambda: {"tags": tags_of([self.tags_edit.text()])}),
            (self.note_edit, lambda: {"note": self.note_edit.text().strip()}),
        ):
            edit.editingFinished.connect(lambda edit=edit, read=read: self._finish(edit, read))
        self.score.chosen.connect(lambda value: self._describe({"score": int(value)}))
        self.hide()

    def show_run(self, row: HistoryRow | None) -> None:
        """Show a run. Unsaved edits of another run are saved first; those of the same run are not replaced."""
        if row is None or self._row is None or row.id != self._row.id:
            self.finish()
            for edit in (self.name_edit, self.tags_edit, self.note_edit):
                edit.setModified(False)
        self._row = row
        self.setVisible(row is not None)
        if row is None:
            return
        for edit, text in (
            (self.name_edit, row.name),
            (self.tags_edit, " ".join(row.tags)),
            (self.note_edit, row.note),
        ):
            if edit.text() != text and not edit.isModified():
                edit.setText(text)
        self.score.set_value(str(row.score))

    def finish(self) -> None:
        """Save the edit in progress."""
        for edit in (self.name_edit, self.tags_edit, self.note_edit):
            if edit.isModified():
                edit.editingFinished.emit()

    def _finish(self, edit: QLineEdit, read: Callable[[], dict[str, Any]]) -> None:
        if edit.isModified():
            edit.setModified(False)
            self._describe(read())

    def _describe(self, what: dict[str, Any]) -> None:
        row = self._row
        if row is not None and any(getattr(row, key) != value for key, value in what.items()):
            self._row = row._replace(**what)
            self.described.emit(row.id, what)

    def _edit(self, name: str, words: str, empty: str, longest: int) -> QLineEdit:
        return named(LineEdit(self, placeholderText=empty, maxLength=longest), name, words)
