"""The tools of the chosen server: their descriptions, their enforcement, and the ticks for the import."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from glyphscope.tools.mcp.listing import ToolChanges
from glyphscope_gui.servers.filtered_list import FilteredList
from glyphscope_gui.servers.tool_model import ANNOTATIONS, ENFORCEMENT, IN_REGISTRY, ServersToolModel, ToolRow
from glyphscope_gui.servers.words import changes_words
from glyphscope_gui.shared.cells import PillDelegate
from glyphscope_gui.shared.labels import ElidedLabel, link, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.theme.sizes import PAD

WIDE = 470
"""Width in pixels from which there is room for a tool's annotations."""
ROOMY = 340
"""Width in pixels from which there is room for the whole text of the import button."""


class ServerTools(FilteredList[ToolRow]):
    """`chosen` carries a ToolRow, or None."""

    model: ServersToolModel

    def __init__(self, model: ServersToolModel, parent: QWidget | None = None) -> None:
        super().__init__(model, tr("Find tools"), parent)
        named(self.filter_edit, "serverToolFilter", tr("Find tools of the server"))
        named(self.table, "serverToolTable", tr("Tools of the server"))
        self.table.setItemDelegateForColumn(ENFORCEMENT, PillDelegate(self.table))
        self.problem = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="problem")
        self.changes = named(ElidedLabel(self, Qt.TextElideMode.ElideRight), "toolChanges")
        tip = tr("Show the changes of the tool list as text")
        self.changes_link = link(tr("Differences"), tip, self, name="toolChangesLink")
        self.count = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint")
        self.all_button = push_button(tr("Select all"), self, role="link", clicked=self._tick_all)
        tip = tr("Add the selected tools to the project; runs call them on this server")
        self.import_button = push_button(
            tr("Import into the registry"), self, name="importToolsButton", tip=tip
        )
        self._lay_out()
        model.checksChanged.connect(self._show_ticked)
        model.modelReset.connect(self._show_ticked)
        self._show_ticked()

    def show_changes(self, changes: ToolChanges | None) -> None:
        """Show the changes in the server's latest list of tools."""
        self.changes.setText(changes_words(changes) if changes else "")
        for widget in (self.changes, self.changes_link):
            widget.setVisible(bool(changes))

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
