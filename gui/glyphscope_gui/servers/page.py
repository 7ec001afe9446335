"""The page of MCP: the list of servers, their tools, manual calls, and the messages exchanged."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QObject, QSize, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from glyphscope.base.visible import visible
from glyphscope.registry import Tool
from glyphscope_gui.mcp.servers import DEMO, ServersController
from glyphscope_gui.servers.card import ServerCard
from glyphscope_gui.servers.demo_effects import DemoEffects
from glyphscope_gui.servers.lists import OfferModel, OfferTable, PromptModel, ServersToolModel, ServerTools
from glyphscope_gui.servers.log import ServerLog
from glyphscope_gui.servers.questions import ServerQuestionCard
from glyphscope_gui.servers.tool_panel import PROMPT, RESOURCE, ToolPanel
from glyphscope_gui.servers.words import StateWords, demo_words, state_words
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.cells import LinesDelegate
from glyphscope_gui.shared.labels import link, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, holder, splitter, stack, vbox
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.table_model import CellLine, ListModel
from glyphscope_gui.theme.sizes import GAP, is_crowded

DEMO_TITLE = tr("Demo tools")


class ServersListModel(ListModel[str]):
    """A row for each server, by its name."""

    def __init__(self, servers: ServersController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._servers = servers
        self._reset()
        servers.listChanged.connect(self._reset)
        servers.stateChanged.connect(self._state_changed)

    def words(self, row: str, column: int) -> str:
        return DEMO_TITLE if row == DEMO else row

    def spoken(self, row: str, column: int) -> str:
        return f"{self.words(row, column)}: {self._state(row).words}"

    def tip(self, row: str, column: int) -> str:
        source = self._servers.get(row)
        if source is None:
            return tr("The tools bundled with Glyphscope. They have no effect outside this computer.")
        return source.problem or visible(source.identity, spaces=True)

    def lines(self, row: str) -> tuple[CellLine, ...]:
        """The name, with the sign of the state, and the state in words."""
        state = self._state(row)
        role = state.role if state.role != "holds" else "text-muted"
        name = CellLine(self.words(row, 0), small=False, sign=state.sign, sign_role=state.role)
        return name, CellLine(state.words, role)

    def _state(self, name: str) -> StateWords:
        source = self._servers.get(name)
        return demo_words(len(self._servers.demo.tools())) if source is None else state_words(source)

    def _reset(self) -> None:
        self.show_rows([DEMO, *(source.name for source in self._servers.known)])

    def _state_changed(self, name: str) -> None:
        if (row := self.row_of(name)) >= 0:
            self._changed(row, row + 1)


class ServerList(PlainList):
    """`chosen` carries the name of the shown server."""

    chosen = Signal(str)

    def __init__(self, model: ServersListModel, parent: QWidget | None = None) -> None:
        super().__init__(model, "serverList", tr("Servers"), parent, uniformItemSizes=True)
        self._model = model
        self.current = ""
        self.setItemDelegate(LinesDelegate(self))
        self.setMouseTracking(True)
        self.selectionModel().currentChanged.connect(self._current_changed)
        model.modelReset.connect(self._keep)

    def choose(self, name: str) -> None:
        self.setCurrentIndex(self._model.index(self._model.row_of(name), 0))

    def sizeHint(self) -> QSize:
        return QSize(220, 200)

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        name = self._model.row(current.row())
        if name is not None and name != self.current:
            self.current = name
            self.chosen.emit(name)

    def _keep(self) -> None:
        """Select the same server after the list has changed, or the first if it was removed."""
        self.choose(self.current if self._model.row_of(self.current) >= 0 else DEMO)


SIDE_BY_SIDE = 860
"""Pixels of width of the window, at the usual text size, from which tools and their panel are side by side."""
KINDS = (
    ("tools", tr("Tools"), tr("Tools of the server")),
    ("resources", tr("Resources"), tr("Resources and resource templates of the server")),
    ("prompts", tr("Prompts"), tr("Prompts of the server")),
)
WIDE = 1180
"""Width in pixels from which the list of servers has its full width."""
LIST_WIDTH, SLIM_LIST_WIDTH = 236, 176
_ANY_HEIGHT = 16_777_215
"""Qt's greatest height."""


class ServersPage(FollowsSize, QWidget):
    """Places the parts; `presenter.py` connects them. `in_registry` says in words whether the registry has a tool."""

    def __init__(
        self, servers: ServersController, in_registry: Callable[[Tool], str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        named(self, "serversPage", tr("MCP"))
        self.notice = NoticeBanner(self)
        self.list = ServerList(ServersListModel(servers, self), self)
        tip = tr("Add a server by its command line or address")
        self.add_button = link(tr("Add…"), tip, name="addServerButton")
        tip = tr("Import servers from an mcpServers file or pasted text")
        self.import_button = link(tr("Import…"), tip, name="importServersButton")
        self.card = ServerCard(self)
        self.tools = ServerTools(ServersToolModel(in_registry, self), self)
        self.panel = ToolPanel(parent=self)
        self.question = ServerQuestionCard(self)
        self.kinds = named(Segmented(KINDS, small=True), "offerKinds", tr("Tools, resources or prompts"))
        self.resources = OfferTable(OfferModel(self), tr("Resources of the server"), self)
        self.resource = ToolPanel(RESOURCE, self)
        self.prompts = OfferTable(PromptModel(self), tr("Prompts of the server"), self)
        self.prompt = ToolPanel(PROMPT, self)
        self.log = ServerLog(self)
        self.effects = DemoEffects(self)
        self._wide: bool | None = None
        self._lay_out()
        self.log.folded.connect(self._fit_log)
        self.log.set_folded(True)
        self.setFocusProxy(self.list)

    def show_demo(self, demo: bool) -> None:
        """Show the effects of the demo tools at the bottom, or a server's log."""
        self.below.setCurrentWidget(self.effects if demo else self.log)
        self._fit_log(self.log.is_folded)

    def _fit_log(self, folded: bool) -> None:
        """Leave the room to the tools while only the heading of the log is shown."""
        low = folded and self.below.currentWidget() is self.log
        self.below.setMaximumHeight(self.log.sizeHint().height() if low else _ANY_HEIGHT)

    def show_kind(self, kind: str) -> None:
        """Show the tools, the resources or the prompts of the server."""
        self.kinds.set_value(kind)
        for parts in (self._lists, self._panels):
            parts.setCurrentIndex(self.kinds.place(kind))

    def showEvent(self, event: QShowEvent) -> None:
        """Align the heights of both headings with the present font."""
        super().showEvent(event)
        self.tools_card.heading.setMinimumHeight(self.panel.heading.sizeHint().height())

    def _lay_out(self) -> None:
        self.list_card = Card(
            tr("Servers"), self.list, actions=(self.add_button, self.import_button), padded=False
        )
        self._lists = stack(self.tools, self.resources, self.prompts)
        self._panels = stack(self.panel, self.resource, self.prompt)
        self.tools_card = Card(tr("Features"), self._lists, actions=(self.kinds,), padded=False)
        self._lists.setMinimumWidth(256)  # set on the card itself, it would cut off the segments
        self.kinds.chosen.connect(self.show_kind)
        self.below = stack(self.effects, self.log)
        self.middle = splitter(Qt.Orientation.Horizontal, (self.tools_card, self._panels), (4, 5))
        self.rows = splitter(Qt.Orientation.Vertical, (self.middle, self.below), (5, 2))
        right = holder(vbox(self.card, self.question, (self.rows, 1), spacing=GAP), self)
        self.columns = splitter(Qt.Orientation.Horizontal, (self.list_card, right), (0, 1))
        vbox((self.columns, 1), parent=self, margins=GAP, spacing=GAP)

    def _fit(self) -> None:
        """Set widths that suit the window; the user's widths stay until it changes between wide and narrow."""
        wide = self.width() >= WIDE
        crowded = is_crowded(self, SIDE_BY_SIDE)
        beside = Qt.Orientation.Vertical if crowded else Qt.Orientation.Horizontal
        if beside != self.middle.orientation():  # with large text, the tools are above their panel
            self.middle.setOrientation(beside)
        if wide == self._wide:
            return
        self._wide = wide
        left = LIST_WIDTH if wide else SLIM_LIST_WIDTH
        rest = self.width() - left - 3 * GAP
        self.columns.setSizes([left, rest])
        share = 0.44 if wide else 0.42
        self.middle.setSizes([round(rest * share), round(rest * (1 - share))])
        upper = 0.66 if wide else 0.7
        self.rows.setSizes([round(self.height() * upper), round(self.height() * (1 - upper))])
