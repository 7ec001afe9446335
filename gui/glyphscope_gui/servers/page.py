"""The servers' page: the servers, their tools, manual calls, and the messages exchanged."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from glyphscope_gui.servers.card import ServerCard
from glyphscope_gui.servers.demo_effects import DemoEffects
from glyphscope_gui.servers.list_view import ServerList, ServersListModel
from glyphscope_gui.servers.log import ServerLog
from glyphscope_gui.servers.log_model import ServersLogModel
from glyphscope_gui.servers.offer_list import OfferList, OfferModel, PromptModel
from glyphscope_gui.servers.question_card import QuestionCard
from glyphscope_gui.servers.tool_model import ServersToolModel
from glyphscope_gui.servers.tool_panel import PROMPT, RESOURCE, ToolPanel
from glyphscope_gui.servers.tools import ServerTools
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.labels import link, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, holder, splitter, stack, vbox
from glyphscope_gui.shared.notice_banner import NoticeBanner
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.theme.sizes import GAP, is_crowded

SIDE_BY_SIDE = 800
"""Pixels of width of the window, at the usual text size, from which tools and their panel are side by side."""
KINDS = (
    ("tools", tr("Tools"), tr("Tools of the server")),
    ("resources", tr("Resources"), tr("Resources and resource templates of the server")),
    ("prompts", tr("Prompts"), tr("Prompts of the server")),
)
WIDE = 1180
"""Width in pixels from which the list of servers has its full width."""
LIST_WIDTH, SLIM_LIST_WIDTH = 236, 176


class ServersPage(FollowsSize, QWidget):
    """Places the parts; `presenter.py` connects them."""

    def __init__(self, servers: ServersListModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        servers.setParent(self)
        named(self, "serversPage", tr("Servers"))
        self.notice = NoticeBanner(self)
        self.list = ServerList(servers, self)
        tip = tr("Add a server by its command line or address")
        self.add_button = link(tr("Add…"), tip, name="addServerButton")
        tip = tr("Import servers from an mcpServers file or pasted text")
        self.import_button = link(tr("Import…"), tip, name="importServersButton")
        self.card = ServerCard(self)
        self.tools = ServerTools(ServersToolModel(self), self)
        self.panel = ToolPanel(parent=self)
        self.question = QuestionCard(self)
        self.kinds = named(Segmented(KINDS, small=True), "offerKinds", tr("Tools, resources or prompts"))
        self.resources = OfferList(OfferModel(self), tr("Resources of the server"), self)
        self.resource = ToolPanel(RESOURCE, self)
        self.prompts = OfferList(PromptModel(self), tr("Prompts of the server"), self)
        self.prompt = ToolPanel(PROMPT, self)
        self.log = ServerLog(ServersLogModel(self), self)
        self.effects = DemoEffects(self)
        self._wide: bool | None = None
        self._lay_out()
        self.setFocusProxy(self.list)

    def show_demo(self, demo: bool) -> None:
        """Show the effects of the demo tools at the bottom, or a server's log."""
        self.below.setCurrentWidget(self.effects if demo else self.log)

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
        self.tools_card = Card(tr("Offers"), self._lists, actions=(self.kinds,), padded=False)
        self.tools_card.heading.title.hide()  # the segments name it
        self._lists.setMinimumWidth(256)  # set on the card itself, it would cut off the segments
        self.kinds.chosen.connect(self.show_kind)
        self.below = stack(self.effects, self.log)
        self.middle = splitter(Qt.Orientation.Horizontal, (self.tools_card, self._panels), (4, 5))
        self.rows = splitter(Qt.Orientation.Vertical, (self.middle, self.below), (5, 2))
        right = holder(vbox(self.card, self.question, (self.rows, 1), spacing=GAP), self)
        self.columns = splitter(Qt.Orientation.Horizontal, (self.list_card, right), (0, 1))
        vbox(self.notice, (self.columns, 1), parent=self, margins=GAP, spacing=GAP)

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
