"""The history: runs, newest first, with search; a click opens a run, and deletion can be undone."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QLineEdit, QMenu, QPushButton, QWidget

from glyphscope.base.shorten import shorten
from glyphscope.store import History, HistoryRow
from glyphscope.store.history_search import MAX_SCORE, tags_of
from glyphscope_gui.history.model import HistoryModel
from glyphscope_gui.runs.copy_menu import CopyMenu
from glyphscope_gui.shared.background import Background, end_work
from glyphscope_gui.shared.cells import LinesDelegate
from glyphscope_gui.shared.labels import PlainLabel, named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import grid_layout, hbox, vbox
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.text_edits import LineEdit

SEARCH_DELAY_MS = 150
MAX_COMPARED = 4
"""The columns of the compare page."""
UNDO_MS = 8000
"""Time during which the deletion of a run can be undone; it is permanent only afterwards."""

_MAX_SHOWN = 60
"""Characters of an unsuccessful search that are shown."""
_EMPTY = tr("No runs yet.\n\nPress Run: each run is saved here and can be opened again.")


class HistoryDock(QWidget):
    """The list of runs, their details, and the undo bar. It reads and writes in the background.

    `runOpened`, `saveRequested` and `suiteRequested` carry a run's id, `exportRequested` and `copyRequested` an
    form's name too, `compareRequested` the ids of several runs, `described` the id of a run whose name, tags, note or
    score the user edited; `notified` carries a sentence.
    """

    runOpened = Signal(object)
    saveRequested = Signal(str)
    exportRequested = Signal(str, str)
    copyRequested = Signal(str, str)
    suiteRequested = Signal(str)
    compareRequested = Signal(object)
    described = Signal(str)
    notified = Signal(object)

    def __init__(self, history: History, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("history")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._history = history
        self._background = Background(self)
        self._deleted: list[str] = []
        self._timer = QTimer(self, singleShot=True, interval=SEARCH_DELAY_MS)
        self._timer.timeout.connect(self.refresh)
        self._undo_timer = QTimer(self, singleShot=True, interval=UNDO_MS)
        self._undo_timer.timeout.connect(self._delete_for_good)
        self.model = HistoryModel(self)
        hint = tr("Find runs: words, #tag, score>=3")
        self.search_edit = LineEdit(self, placeholderText=hint, clearButtonEnabled=True)
        named(self.search_edit, "historySearch", tr("Find runs"))
        self.list = self._make_list()
        self.empty = words_label(_EMPTY, parent=self, name="historyEmpty")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.empty.setContentsMargins(12, 40, 12, 12)
        self.details = RunDetails(self)
        self._undo_bar = QWidget(self)
        self._undo_words = PlainLabel(self._undo_bar)
        self.undo_button = QPushButton(tr("Undo"), self._undo_bar)
        self._undo_bar.hide()
        self._lay_out()
        self.search_edit.textChanged.connect(lambda _words: self._timer.start())
        self.undo_button.clicked.connect(self.undo_delete)
        self.details.described.connect(self._describe)
        self.list.selectionModel().currentChanged.connect(lambda *_: self.details.show_run(self._current()))
        self.refresh()

    # -- what can be done --------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Load the rows again, such as after a run."""
        self._timer.stop()
        history, words = self._history, self.search_edit.text()
        self._background.start("rows", lambda: history.rows(words), self._show_rows, self._notify)

    def open_current(self) -> None:
        self.ask_with_current(self.runOpened)

    def ask_with_current(self, signal: SignalInstance, *form: str) -> None:
        """Emit one of the signals that carry a run, if one is selected."""
        row = self._current()
        if row is not None:
            signal.emit(row.id, *form)

    def delete_current(self) -> None:
        """Remove the run from the list; for some seconds, that can be undone."""
        row = self._current()
        if row is None:
            return
        self._deleted.append(row.id)
        self._undo_words.setText(tr("%n run(s) deleted.", "", len(self._deleted)))
        self._undo_bar.show()
        self._undo_timer.start()
        index = self.list.currentIndex().row()
        self.model.show_rows([other for other in self.model.rows if other.id != row.id])
        self.list.setCurrentIndex(self.model.index(min(index, self.model.rowCount() - 1), 0))
        self._show_empty()

    def undo_delete(self) -> None:
        """Show the deleted runs again."""
        self._deleted.clear()
        self._undo_timer.stop()
        self._undo_bar.hide()
        self.refresh()

    def pin_current(self) -> None:
        row = self._current()
        if row is not None:
            history, run, pinned = self._history, row.id, not row.pinned
            self._background.start(
                "pin", lambda: history.pin(run, pinned), lambda _: self.refresh(), self._notify
            )

    def _describe(self, run: str, fields: dict[str, Any]) -> None:
        """Save edited fields of a run: keyword arguments of `History.describe`."""
        history = self._history

        def done(_nothing: object) -> None:
            self.refresh()
            self.described.emit(run)

        self._background.start(
            f"describe {run} {[*fields]}", lambda: history.describe(run, **fields), done, self._notify
        )

    def shut_down(self) -> None:
        """Complete pending saves and deletions; the owner calls it when it closes."""
        self.details.finish()
        if self._undo_timer.isActive():
            self._delete_for_good()
        end_work(self)

    def _make_list(self) -> PlainList:
        description = tr(
            "Enter opens a run, Delete deletes it, P pins it, S saves it, A adds it to a suite, C compares several."
        )
        words = tr("Runs, newest first")
        view = PlainList(
            self.model, "historyList", words, self, description=description, uniformItemSizes=True
        )
        view.setItemDelegate(LinesDelegate(view))
        view.setMouseTracking(True)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self._show_menu)
        view.setSelectionMode(PlainList.SelectionMode.ExtendedSelection)
        view.clicked.connect(self._clicked)
        self._actions = []
        for text, keys, slot in (
            (tr("Open"), ("Enter", "Return"), self.open_current),
            (tr("Pin"), ("P",), self.pin_current),
            (tr("Save run…"), ("S",), lambda: self.ask_with_current(self.saveRequested)),
            (tr("Add to a suite…"), ("A",), lambda: self.ask_with_current(self.suiteRequested)),
            (tr("Compare"), ("C",), self._compare),
            (tr("Delete"), ("Del",), self.delete_current),
        ):
            action = QAction(text, view, shortcutContext=Qt.ShortcutContext.WidgetShortcut)
            action.setShortcuts([QKeySequence(key) for key in keys])
            action.triggered.connect(slot)
            view.addAction(action)
            self._actions.append(action)
        self._compare_action = self._actions[-2]
        few = tr(
            "Select two to {most} runs to compare them: Ctrl or Shift selects several", most=MAX_COMPARED
        )
        self._compare_action.setToolTip(few)
        self._compare_action.setEnabled(False)
        view.selectionModel().selectionChanged.connect(
            lambda *_: self._compare_action.setEnabled(2 <= len(self._selected()) <= MAX_COMPARED)
        )
        return view

    def _selected(self) -> list[str]:
        """The ids of the selected runs, in the list's order."""
        rows = sorted(index.row() for index in self.list.selectionModel().selectedIndexes())
        return [row.id for row in map(self.model.row, rows) if row is not None]

    def _compare(self) -> None:
        self.compareRequested.emit(self._selected())

    def _clicked(self) -> None:
        """Open the run, unless several are being selected."""
        if QGuiApplication.keyboardModifiers() == Qt.KeyboardModifier.NoModifier:
            self.open_current()

    def _lay_out(self) -> None:
        hbox((self._undo_words, 1), self.undo_button, parent=self._undo_bar)
        parts = (self.search_edit, (self.list, 1), (self.empty, 1), self.details, self._undo_bar)
        vbox(*parts, parent=self, margins=(10, 12, 10, 10), spacing=8)

    def _current(self) -> HistoryRow | None:
        return self.model.row(self.list.currentIndex().row())

    def _show_rows(self, rows: list[HistoryRow]) -> None:
        current = self._current()
        self.model.show_rows([row for row in rows if row.id not in self._deleted])
        place = self.model.row_of(current.id) if current else -1
        if place >= 0:
            self.list.setCurrentIndex(self.model.index(place, 0))
        self.details.show_run(self._current())
        self._show_empty()
        notice = self._history.take_notice()
        if notice:
            self.notified.emit(notice)

    def _show_empty(self) -> None:
        none = self.model.rowCount() == 0
        words = shorten(self.search_edit.text(), _MAX_SHOWN)
        self.empty.setText(tr("No run matches “{words}”.", words=words) if words else _EMPTY)
        self.empty.setVisible(none)
        self.list.setVisible(not none)

    def _delete_for_good(self) -> None:
        self._undo_timer.stop()
        self._undo_bar.hide()
        history, deleted = self._history, tuple(self._deleted)
        self._background.start(
            "delete",
            lambda: history.delete(*deleted),
            lambda _: self._forget(deleted),
            lambda error: self._not_deleted(deleted, error),
        )

    def _forget(self, runs: tuple[str, ...]) -> None:
        self._deleted = [run for run in self._deleted if run not in runs]

    def _not_deleted(self, runs: tuple[str, ...], error: BaseException) -> None:
        """Show again the runs that could not be deleted."""
        self._forget(runs)
        self.refresh()
        self._notify(error)

    def _notify(self, error: BaseException) -> None:
        self.notified.emit(str(error))
        self._show_empty()

    def _show_menu(self, place: QPoint) -> None:
        index: QModelIndex = self.list.indexAt(place)
        if not index.isValid():
            return
        if not self.list.selectionModel().isSelected(index):
            self.list.setCurrentIndex(index)
        menu = QMenu(self, toolTipsVisible=True)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions(self._actions)
        share = QAction(tr("E&xport run…"), menu)
        share.triggered.connect(lambda _checked=False: self.ask_with_current(self.exportRequested, "html"))
        menu.insertAction(self._actions[-1], share)
        copies = CopyMenu(menu)
        copies.copyRequested.connect(partial(self.ask_with_current, self.copyRequested))
        menu.insertMenu(self._actions[-1], copies)
        menu.popup(self.list.viewport().mapToGlobal(place))


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
        numbers = range(1, MAX_SCORE + 1)
        scores = [(str(n), str(n), tr("{score} of {most}", score=n, most=MAX_SCORE)) for n in numbers]
        self.score = Segmented([("0", "–", tr("No score")), *scores], small=True, parent=self)
        named(self.score, "runScore", tr("Score of the run, 1 (bad) to 5 (good)"))
        grid = grid_layout(self, spacing=(8, 4), stretch=1)
        rows = (
            (tr("Name"), self.name_edit), (tr("Tags"), self.tags_edit),
            (tr("Score"), self.score), (tr("Note"), self.note_edit),
        )  # fmt: skip
        for index, (words, widget) in enumerate(rows):
            grid.addWidget(PlainLabel(words, self, role="muted"), index, 0)
            grid.addWidget(widget, index, 1)
        self._edits = {"name": self.name_edit, "tags": self.tags_edit, "note": self.note_edit}
        for name, edit in self._edits.items():
            edit.editingFinished.connect(partial(self._finish, name))
        self.score.chosen.connect(lambda value: self._describe({"score": int(value)}))
        self.hide()

    def show_run(self, row: HistoryRow | None) -> None:
        """Show a run. Unsaved edits of another run are saved first; those of the same run are not replaced."""
        if row is None or self._row is None or row.id != self._row.id:
            self.finish()
            for edit in self._edits.values():
                edit.setModified(False)
        self._row = row
        self.setVisible(row is not None)
        if row is None:
            return
        for name, edit in self._edits.items():
            text = " ".join(row.tags) if name == "tags" else getattr(row, name)
            if edit.text() != text and not edit.isModified():
                edit.setText(text)
        self.score.set_value(str(row.score))

    def finish(self) -> None:
        """Save the edit in progress."""
        for name in self._edits:
            self._finish(name)

    def _finish(self, name: str) -> None:
        edit = self._edits[name]
        if edit.isModified():
            edit.setModified(False)
            text = edit.text().strip()
            self._describe({name: tags_of([text]) if name == "tags" else text})

    def _describe(self, what: dict[str, Any]) -> None:
        row = self._row
        if row is not None and any(getattr(row, key) != value for key, value in what.items()):
            self._row = row._replace(**what)
            self.described.emit(row.id, what)

    def _edit(self, name: str, words: str, empty: str, longest: int) -> QLineEdit:
        return named(LineEdit(self, placeholderText=empty, maxLength=longest), name, words)
