"""The panels on the left that all pages share: tools, prompt, history; and the frame of a movable dock."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from glyphscope.events import RunRequest
from glyphscope.registry import ToolRegistry
from glyphscope_gui.history.dock import HistoryDock
from glyphscope_gui.prompt.dock import MESSAGES, RENDERED, PromptDock
from glyphscope_gui.services import Services
from glyphscope_gui.shared.labels import PlainLabel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.page_ids import PanelId
from glyphscope_gui.shared.verdict import EnforcementMap
from glyphscope_gui.tools.dock import ToolsDock
from glyphscope_gui.tools.tree import Item


class SidePanels(QObject):
    """Makes the docks; `argumentSelected` carries the names of a tool and of an argument, or None, `shownChanged`
    whether any of the docks is shown.
    """

    argumentSelected = Signal(str, object)
    shownChanged = Signal(bool)

    def __init__(self, services: Services, window: QMainWindow) -> None:
        super().__init__(window)
        self.tools = ToolsDock(services.project.tools)
        services.settings.remember(self.tools.section, "tool")
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
            shown = self.docks[panel].toggleViewAction()
            shown.toggled.connect(lambda _on: self.report_shown())
            # shown by the user, it is in front of the others
            shown.triggered.connect(lambda on, panel=panel: self.reveal(panel) if on else None)
        self._folded: list[DockFrame] = []
        """The docks that were hidden together, the one in front last."""
        self.tools.tree.itemSelected.connect(self._tool_selected)

    def show_all(self, shown: bool) -> None:
        """Hide all docks, or show again those that were hidden together."""
        docks = list(self.docks.values())
        if shown:
            for dock in self._folded or docks:
                dock.show()
            (self._folded or docks[:1])[-1].raise_()
            return
        open_ones = [dock for dock in docks if not dock.isHidden()]
        self._folded = sorted(open_ones, key=lambda dock: not dock.visibleRegion().isEmpty())
        for dock in open_ones:
            dock.hide()

    def report_shown(self) -> None:
        """Emit `shownChanged`, also after the arrangement of the docks was restored."""
        self.shownChanged.emit(not all(dock.isHidden() for dock in self.docks.values()))

    def reveal(self, panel: PanelId) -> None:
        dock = self.docks[panel]
        dock.show()
        dock.raise_()

    def reveal_argument(self, tool: str, argument: str | None, *, focus: bool = False) -> None:
        self.reveal(PanelId.TOOLS)
        self.tools.show_argument(tool, argument)
        if focus:
            self.tools.tree.setFocus(Qt.FocusReason.OtherFocusReason)

    def import_tools(self, path: Path) -> None:
        self.reveal(PanelId.TOOLS)
        self.tools.actions_.read_file(path)

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

    def show_unenforced(self, count: int) -> None:
        self.tools.show_unenforced(count)

    def _tool_selected(self, item: Item | None) -> None:
        if item is not None:
            self.argumentSelected.emit(item.tool, item.argument)


class _NoTitle(QWidget):
    """A title bar of size 0; the size hint of a bare QWidget is negative."""

    def sizeHint(self) -> QSize:
        return QSize(0, 0)

    minimumSizeHint = sizeHint


class DockFrame(QDockWidget):
    """A page in a dock. Its title is shown only if no tab shows it: alone at a side, or floating."""

    def __init__(
        self, name: str, title: str, page: QWidget, window: QMainWindow, *, titled: bool = True
    ) -> None:
        super().__init__(title, window)
        self.setObjectName(name)
        self.setAllowedAreas(Qt.DockWidgetArea.LeftDockWidgetArea | Qt.DockWidgetArea.RightDockWidgetArea)
        self._titled = titled
        self._bar = PlainLabel(title, self, role="title")
        self._bar.setContentsMargins(14, 8, 14, 8)
        self._bar.hide()
        self._none = _NoTitle(self)
        self.setTitleBarWidget(self._none)
        self.setWidget(page)
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._fit_title)
        self.dockLocationChanged.connect(self._moved)
        self.topLevelChanged.connect(self._moved)
        self.visibilityChanged.connect(self._moved)

    def _moved(self, _where: object) -> None:
        """The neighbours are known only after the move."""
        self._later.start()

    def _fit_title(self) -> None:
        window = self.parentWidget()
        alone = isinstance(window, QMainWindow) and not window.tabifiedDockWidgets(self)
        if self.isFloating():
            bar: QWidget | None = None
        else:
            bar = self._bar if alone and self._titled else self._none
        if self.titleBarWidget() is not bar:
            self._bar.setVisible(bar is self._bar)
            self.setTitleBarWidget(bar)  # type: ignore[arg-type] # None is Qt's own bar; the stubs lack it
