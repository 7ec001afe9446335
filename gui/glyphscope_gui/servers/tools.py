"""The tools of the chosen server: their descriptions, how much of them is enforced, and which are to be imported."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QWidget

from glyphscope.tools.mcp.changes import ToolChanges
from glyphscope_gui.servers.tool_model import (
    ANNOTATIONS,
    ENFORCEMENT,
    IN_REGISTRY,
    NAME,
    ServersToolModel,
    ToolRow,
)
from glyphscope_gui.servers.words import changes_words
from glyphscope_gui.shared.cells import PillDelegate
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, link, named, push_button, show_words
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, hbox, vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme.sizes import PAD

WIDE = 470
"""Pixels from which on there is room for a tool's annotations."""
ROOMY = 340
"""Pixels from which on there is room for the whole text of the import button."""
FILTER_FROM = 13
"""Tools from which on there is a search field."""


class ServerTools(FollowsSize, QWidget):
    """`chosen` carries the ToolRow that is shown beside, or None; `importRequested` is for the ticked ones,
    `changesRequested` for the differences of the last two lists.
    """

    chosen = Signal(object)
    importRequested = Signal()
    changesRequested = Signal()

    def __init__(self, model: ServersToolModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self._name = ""
        self.filter_edit = LineEdit(self, placeholderText=tr("Find tools"), clearButtonEnabled=True)
        named(self.filter_edit, "serverToolFilter", tr("Find tools of the server"))
        self.table = named(PlainTable(model, NAME, self), "serverToolTable", tr("Tools of the server"))
        self.table.setItemDelegateForColumn(ENFORCEMENT, PillDelegate(self.table))
        self.table.fit_rows(11, least=3)
        self.empty = PlainLabel(self, role="muted", wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter)
        self.problem = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="problem")
        self.changes = named(ElidedLabel(self, Qt.TextElideMode.ElideRight), "toolChanges")
        self.changes_link = link(tr("Differences"), tr("Show the changes of the tool list as text"), self)
        self.changes_link.setObjectName("toolChangesLink")
        self.changes_link.clicked.connect(self.changesRequested)
        self.count = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint")
        self.all_button = push_button(tr("Select all"), self, role="link", clicked=self._tick_all)
        self.import_button = push_button(tr("Import into the registry"), self, name="importToolsButton")
        self.import_button.setToolTip(
            tr("Add the selected tools to the project; runs call them on this server")
        )
        self._lay_out()
        self.filter_edit.textChanged.connect(model.set_filter)
        self.table.selectionModel().currentChanged.connect(self._current_changed)
        self.import_button.clicked.connect(self.importRequested)
        model.tickedChanged.connect(self._show_ticked)
        model.modelReset.connect(self._keep)
        self._show_ticked()

    @property
    def current(self) -> ToolRow | None:
        return self.model.row(self.table.currentIndex().row())

    def choose(self, name: str) -> None:
        row = self.model.row_of(name)
        if row >= 0:
            self.table.setCurrentIndex(self.model.index(row, NAME))

    def show_words(self, empty: str, problem: str) -> None:
        """The text in place of an empty list, and the problems of the list."""
        none = self.model.rowCount() == 0 and not self.filter_edit.text()
        self.empty.setText(empty)
        self.empty.setVisible(none)
        self.table.setVisible(not none)
        show_words(self.problem, problem)
        self.filter_edit.setVisible(self.model.rowCount() >= FILTER_FROM or bool(self.filter_edit.text()))

    def show_changes(self, changes: ToolChanges | None) -> None:
        """Show the changes in the server's latest list of tools."""
        self.changes.setText(changes_words(changes) if changes else "")
        for widget in (self.changes, self.changes_link):
            widget.setVisible(bool(changes))

    def forget(self) -> None:
        """Clear the choice and the search, for another server."""
        self._name = ""
        self.filter_edit.clear()

    # -- inside ------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        top = hbox(self.filter_edit, margins=(PAD - 5, 8, PAD - 5, 0))
        foot = hbox(
            (self.count, 1), self.all_button, self.import_button, margins=(PAD - 5, 6, PAD - 8, 2), spacing=8
        )
        inside = hbox(self.problem, margins=(PAD - 5, 4, PAD - 5, 0))
        changed = hbox((self.changes, 1), self.changes_link, margins=(PAD - 5, 4, PAD - 8, 0))
        self.show_changes(None)
        vbox(top, (self.table, 1), (self.empty, 1), inside, changed, foot, parent=self, spacing=0)
        self._fit()

    def _fit(self) -> None:
        table, wide = self.table, self.width() >= WIDE
        roomy = max(ROOMY, 16 * self.fontMetrics().height())  # the words of the buttons
        some, whole = (
            tr("{enforced} of {total} enforced", enforced=4, total=10),
            tr("{total} enforced", total=10),
        )
        table.fit_column(ENFORCEMENT, some if wide else whole)
        says = ", ".join((tr("not read-only"), tr("closed world")))
        table.fit_column(ANNOTATIONS, says[:28])
        table.fit_column(IN_REGISTRY, tr("imported, changed") if wide else tr("imported"))
        table.give_way(ANNOTATIONS, ENFORCEMENT, IN_REGISTRY)
        self.import_button.setText(tr("Import into the registry") if self.width() > roomy else tr("Import"))

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        row = self.model.row(current.row())
        if row is not None:
            self._name = row.name
            self.chosen.emit(row)

    def _keep(self) -> None:
        """Select the same tool in another list; the first one where there was none."""
        at = self.model.row_of(self._name) if self._name else 0
        if 0 <= at < self.model.rowCount():
            self.table.setCurrentIndex(self.model.index(at, NAME))
        else:
            self.chosen.emit(None)
        self._show_ticked()

    def _tick_all(self) -> None:
        shown = self.model.rowCount()
        ticked = len(self.model.ticked)
        self.model.tick_all(not ticked or ticked < min(shown, self.model.usable))

    def _show_ticked(self) -> None:
        ticked, usable = len(self.model.ticked), self.model.usable
        self.all_button.setText(tr("Select none") if ticked and ticked >= usable else tr("Select all"))
        self.all_button.setEnabled(usable > 0)
        self.import_button.setEnabled(ticked > 0)
        self.count.setText(
            tr("{ticked:,} of {usable:,} selected", ticked=ticked, usable=usable) if usable else ""
        )
