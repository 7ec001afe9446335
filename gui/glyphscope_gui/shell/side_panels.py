"""The panels on the left that all pages share: tools, prompt, history."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QMainWindow

from glyphscope.events import RunRequest
from glyphscope.registry import ToolRegistry
from glyphscope_gui.history.dock import HistoryDock
from glyphscope_gui.prompt.dock import MESSAGES, RENDERED, PromptDock
from glyphscope_gui.services import Services
from glyphscope_gui.shared.enforcement_badge import EnforcementMap
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PanelId
from glyphscope_gui.shell.dock_frame import DockFrame
from glyphscope_gui.tools.dock import ToolsDock
from glyphscope_gui.tools.registry_tree_model import Item


class SidePanels(QObject):
    """Makes the docks; `argumentSelected` carries the names of a tool and of an argument, or None."""

    argumentSelected = Signal(str, object)

    def __init__(self, services: Services, window: QMainWindow) -> None:
        super().__init__(window)
        self.tools = ToolsDock(services.project.tools)
        self.prompt = PromptDock(services.project.prompt)
        self.history = HistoryDock(services.history)
        self.docks: dict[PanelId, DockFrame] = {}
        for panel, title, widget in (
            (PanelId.TOOLS, tr("Tools"), self.tools),
            (PanelId.PROMPT, tr("Prompt"), self.prompt),
            (PanelId.HISTORY, tr("History"), self.history),
        ):
            widget.setObjectName(panel.name.lower())
            self.docks[panel] = DockFrame(panel.value, title, widget, window)
        self.tools.tree.itemSelected.connect(self._tool_selected)

    def reveal(self, panel: PanelId) -> None:
        dock = self.docks[panel]
        dock.show()
        dock.raise_()

    def reveal_argument(self, tool: str, argument: str | None, *, focus: bool = False) -> None:
        self.reveal(PanelId.TOOLS)
        self.tools.show_argument(tool, argument)
        if focus:
            self.tools.tree.setFocus(Qt.FocusReason.OtherFocusReason)

    def reveal_rendered_prompt(self) -> None:
        self.reveal(PanelId.PROMPT)
        self.prompt.tabs.setCurrentIndex(RENDERED)

    def reveal_messages(self) -> None:
        self.reveal(PanelId.PROMPT)
        self.prompt.tabs.setCurrentIndex(MESSAGES)

    def show_record(self, request: RunRequest | None, registry: ToolRegistry | None) -> None:
        """Show the tools and prompt of a record, read-only; None shows the project's again."""
        self.tools.show_record(registry)
        self.prompt.show_record(request)

    def show_enforcement(self, badges: EnforcementMap) -> None:
        self.tools.set_enforcement(badges)

    def _tool_selected(self, item: Item | None) -> None:
        if item is not None:
            self.argumentSelected.emit(item.tool, item.argument)
