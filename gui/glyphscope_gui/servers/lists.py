"""The lists of a server, each with a filter: its tools with the ticks for the import, its resources, its prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtWidgets import QLabel, QWidget

from glyphscope.registry import Tool
from glyphscope.tools.mcp.listing import ToolChanges
from glyphscope.tools.mcp.offers import Offer
from glyphscope_gui.calls.call_texts import hint_words
from glyphscope_gui.servers.words import EnforcementSummary, changes_words
from glyphscope_gui.shared import labels
from glyphscope_gui.shared.cells import PillDelegate
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, hbox, vbox
from glyphscope_gui.shared.plain_table import PlainTable, WholeRows
from glyphscope_gui.shared.table_model import PILL_ROLE, FilteredModel
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme.sizes import PAD

FILTER_FROM = 13
"""Number of rows from which a filter is shown."""
Row = TypeVar("Row")


class FilteredList(FollowsSize, QWidget, Generic[Row]):
    """`chosen` carries the row whose details are shown, or None. A subclass makes `problem` and lays out the parts."""

    chosen = Signal(object)

    problem: QLabel

    def __init__(self, model: FilteredModel[Row], hint: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self._key: object = None
        """The key of the chosen row."""
        self.filter_edit = LineEdit(self, placeholderText=hint, clearButtonEnabled=True)
        self.table = PlainTable(model, 0, self)
        self.table.fit_rows(11, least=3)
        self.rows = WholeRows(self.table, self)
        self.empty = labels.PlainLabel(
            self, role="muted", wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter
        )
        self.filter_edit.textChanged.connect(model.set_filter)
        self.table.selectionModel().currentChanged.connect(self._current_changed)
        model.modelReset.connect(self._keep)

    @property
    def current(self) -> Row | None:
        """The row whose details are shown."""
        return self.model.row(self.table.currentIndex().row())

    def choose(self, key: str) -> None:
        row = self.model.row_of(key)
        if row >= 0:
            self.table.setCurrentIndex(self.model.index(row, 0))

    def show_words(self, empty: str, problem: str) -> None:
        """Set the text in place of an empty list, and the problems of the list."""
        self.empty.setText(empty)
        self.empty.setVisible(self.model.total == 0)
        self.rows.setVisible(self.model.total > 0)
        labels.show_words(self.problem, problem)
        self.filter_edit.setVisible(self.model.total >= FILTER_FROM or bool(self.filter_edit.text()))

    def forget(self) -> None:
        """Clear the choice and the filter, for another server."""
        self._key = None
        self.filter_edit.clear()

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        row = self.model.row(current.row())
        if row is not None:
            self._key = self.model.key_of(row)
            self.chosen.emit(row)

    def _keep(self) -> None:
        """Select the same row in a new list; the first one if none was selected."""
        place = self.model.row_of(self._key) if self._key is not None else 0
        if self.model.row(place) is None:
            self.chosen.emit(None)
        else:
            self.table.setCurrentIndex(self.model.index(place, 0))


NAME, ENFORCEMENT, ANNOTATIONS, IN_REGISTRY = range(4)
"""The columns."""


class ToolRow(NamedTuple):
    """A tool that a server lists, with its annotations (`claims`). `tool` is None if it cannot be used; `problem` says
    why.
    """

    name: str
    tool: Tool | None
    problem: str = ""
    claims: Mapping[str, Any] = {}


class ServersToolModel(FilteredModel[ToolRow]):
    """The checked tools are those to import. `in_registry` says in words whether the registry has a tool."""

    checks = NAME
    titles = (tr("Tool"), tr("Mask"), tr("Annotations"), tr("Registry"))
    tips = (
        tr("Select the tools to import into the registry"),
        tr("How many constraints of its schema the mask enforces, by test; Checks lists each one"),
        tr("The annotations from the server; they are not verified"),
        tr("Whether the tool is in the registry"),
    )
    key = "name"

    def __init__(self, in_registry: Callable[[Tool], str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._in_registry = in_registry
        self._enforcement: dict[str, EnforcementSummary] = {}

    @property
    def ticked(self) -> tuple[Tool, ...]:
        """The ticked tools in the order of the list."""
        return tuple(row.tool for row in self._all if row.tool is not None and self.is_checked(row))

    @property
    def usable(self) -> int:
        return sum(row.tool is not None for row in self._all)

    def show(self, rows: Sequence[ToolRow], *, keep: bool) -> None:
        """Show the tools of a server; `keep` keeps the ticks, for a new list of the same server."""
        self._checked = self._checked & {row.name for row in rows} if keep else set()
        if not keep:
            self._enforcement = {}
        self._show_all(rows)
        self.checksChanged.emit()

    def set_enforcement(self, enforcement: Mapping[str, EnforcementSummary]) -> None:
        """Set the enforcement computed so far, by tool."""
        self._enforcement = dict(enforcement)
        self._changed(column=ENFORCEMENT)

    def refresh_registry(self) -> None:
        """Update the marks of imported tools after a change of the registry."""
        self._changed(column=IN_REGISTRY)

    def tick_all(self, ticked: bool) -> None:
        """Tick or untick all visible tools, as limited by the filter."""
        names = {row.name for row in self._rows if row.tool is not None}
        self._checked = self._checked | names if ticked else self._checked - names
        self._changed(column=NAME)
        self.checksChanged.emit()

    def words(self, row: ToolRow, column: int) -> str:
        if column == NAME:
            return row.name
        if column == ENFORCEMENT:
            pill = self._pill(row)
            return pill[0] if pill else ""
        if row.tool is None:
            return ""
        return hint_words(row.claims) if column == ANNOTATIONS else self._in_registry(row.tool)

    def can_check(self, row: ToolRow) -> bool:
        return row.tool is not None

    def color(self, row: ToolRow, column: int) -> str:
        return "text-faint" if row.tool is None else "text" if column == NAME else "text-muted"

    def extra(self, row: ToolRow, column: int, role: int) -> Any:
        return self._pill(row) if role == PILL_ROLE and column == ENFORCEMENT else None

    def tip(self, row: ToolRow, column: int) -> str:
        if column == ENFORCEMENT and row.tool is not None:
            enforcement = self._enforcement.get(row.name)
            return enforcement.tip if enforcement else tr("Tested when the tool is selected.")
        if column == ANNOTATIONS:
            claims = "\n".join(f"{key}: {value}" for key, value in row.claims.items())
            return f"{claims}\n" + tr("Annotations from the server; not verified.") if claims else ""
        lines = [row.tool.description[:600] if row.tool else "", row.problem]
        return "\n".join(line for line in lines if line)

    def searched(self, row: ToolRow) -> str:
        return f"{row.name}\n{row.tool.description if row.tool else ''}"

    def _pill(self, row: ToolRow) -> tuple[str, str] | None:
        """The words and the role of the pill for PILL_ROLE."""
        if row.tool is None:
            return tr("cannot be used"), "impossible"
        enforcement = self._enforcement.get(row.name)
        return (enforcement.words, enforcement.role) if enforcement else None


WIDE = 470
"""Width in pixels from which there is room for a tool's annotations."""
ROOMY = 340
"""Width in pixels from which there is room for the whole text of the import button."""


class ServerTools(FilteredList[ToolRow]):
    """`chosen` carries a ToolRow, or None."""

    model: ServersToolModel

    def __init__(self, model: ServersToolModel, parent: QWidget | None = None) -> None:
        super().__init__(model, tr("Find tools"), parent)
        labels.named(self.filter_edit, "serverToolFilter", tr("Find tools of the server"))
        labels.named(self.table, "serverToolTable", tr("Tools of the server"))
        self.table.setItemDelegateForColumn(ENFORCEMENT, PillDelegate(self.table))
        self.problem = labels.ElidedLabel(self, Qt.TextElideMode.ElideRight, role="problem")
        self.changes = labels.named(labels.ElidedLabel(self, Qt.TextElideMode.ElideRight), "toolChanges")
        tip = tr("Show the changes of the tool list as text")
        self.changes_link = labels.link(tr("Differences"), tip, self, name="toolChangesLink")
        self.count = labels.ElidedLabel(self, Qt.TextElideMode.ElideRight, role="hint")
        self.all_button = labels.push_button(tr("Select all"), self, role="link", clicked=self._tick_all)
        tip = tr("Add the selected tools to the project; runs call them on this server")
        self.import_button = labels.push_button(
            tr("Import into the registry"), self, name="importToolsButton", tip=tip
        )
        self.import_button.setAccessibleName(
            tr("Import into the registry")
        )  # also where its words are shorter
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
        vbox(top, (self.rows, 1), (self.empty, 1), inside, changed, foot, parent=self, spacing=0)
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
        words = tr("{ticked:,} of {usable:,} selected", ticked=ticked, usable=usable) if usable else ""
        self.count.set_forms(
            words, tr("{ticked:,} of {usable:,}", ticked=ticked, usable=usable), f"{ticked:,}"
        )


ADDRESS, TYPE = 1, 2
"""The columns of resources and prompts after NAME."""


class OfferModel(FilteredModel[Offer]):
    key = "address"
    titles = (tr("Name"), tr("URI"), tr("Type"))
    tips = (
        tr("The title from the server"),
        tr("The URI, or the URI template"),
        tr("The declared MIME type"),
    )

    def show(self, offers: Sequence[Offer]) -> None:
        self._show_all(tuple(offers))

    def words(self, row: Offer, column: int) -> str:
        return (row.title or row.address, row.address, _type(row))[column]

    def tip(self, row: Offer, column: int) -> str:
        return f"{row.address}\n{row.description[:600]}".strip()

    def color(self, row: Offer, column: int) -> str:
        return "text" if column == NAME else "text-muted"

    def searched(self, row: Offer) -> str:
        return f"{row.address}\n{row.title}\n{row.description}"


class PromptModel(OfferModel):
    titles = (tr("Title"), tr("Name"), tr("Arguments"))
    tips = (
        tr("The title from the server"),
        tr("The name of the prompt"),
        tr("The arguments; * marks required ones"),
    )


def _type(offer: Offer) -> str:
    if offer.kind != "prompt":
        return offer.mime or (tr("template") if offer.kind == "template" else "")
    return ", ".join(f"{each.name}*" if each.required else each.name for each in offer.arguments)


class OfferTable(FilteredList[Offer]):
    """`chosen` carries an Offer, or None."""

    model: OfferModel

    def __init__(self, model: OfferModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(model, tr("Filter"), parent)
        self.filter_edit.setAccessibleName(tr("Filter: {list}", list=name))
        labels.named(self.table, "offerTable", name)
        self.problem = labels.words_label(role="problem", parent=self)
        column = vbox(parent=self, margins=(0, 0, 0, 4), spacing=4)
        for widget in (self.filter_edit, self.problem):
            inside = vbox(widget, margins=(PAD - 5, 6, PAD - 5, 0))
            column.addLayout(inside)
        column.addWidget(self.rows, 1)
        column.addWidget(self.empty, 1)
        self.show_words("", "")

    def _fit(self) -> None:
        wide = self.width() >= WIDE
        self.table.setColumnHidden(ADDRESS, not wide)
        self.table.setColumnWidth(ADDRESS, self.width() // 3)
        self.table.fit_column(TYPE, "application/json")
