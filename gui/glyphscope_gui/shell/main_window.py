"""The window: the header, the rail of pages, the page in the centre, and the docks beside it."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QMenuBar, QTabBar, QTabWidget, QVBoxLayout, QWidget

from glyphscope_gui.compare.ab_page import AbPage
from glyphscope_gui.compare.ab_presenter import AbWiring
from glyphscope_gui.compare.page import ComparePage
from glyphscope_gui.compare.presenter import COMPARE, CompareWiring
from glyphscope_gui.compare.tabs import CompareTabs
from glyphscope_gui.evaluate.page import EvalPage
from glyphscope_gui.evaluate.presenter import EVALUATE, EvalWiring
from glyphscope_gui.grammar.examples_model import GrammarExamplesModel
from glyphscope_gui.grammar.page import GrammarPage
from glyphscope_gui.grammar.presenter import PAGE, PLAYGROUND, GrammarWiring
from glyphscope_gui.history.dock import HistoryDock
from glyphscope_gui.history.export_dialog import ExportMenu
from glyphscope_gui.lessons.page import LessonPage
from glyphscope_gui.lessons.presenter import LESSONS, LessonWiring
from glyphscope_gui.model_picker.picker import ModelPicker
from glyphscope_gui.model_picker.presenter import ModelsWiring
from glyphscope_gui.playground.branches.presenter import BranchWiring
from glyphscope_gui.playground.evidence_dock import EvidenceDock
from glyphscope_gui.playground.explain_presenter import ExplainWiring
from glyphscope_gui.playground.header import Header
from glyphscope_gui.playground.rules_presenter import RulesWiring
from glyphscope_gui.playground.run_page import RunPage
from glyphscope_gui.playground.stage_presenter import StrategyWiring
from glyphscope_gui.prompt.dock import PromptDock
from glyphscope_gui.prompt.presenter import PromptWiring
from glyphscope_gui.runs.recorder import Recorder
from glyphscope_gui.runs.run_controller import RunController
from glyphscope_gui.servers.demo_effects_presenter import EffectsWiring
from glyphscope_gui.servers.list_model import ServersListModel
from glyphscope_gui.servers.page import ServersPage
from glyphscope_gui.servers.presenter import SERVERS, ServersWiring
from glyphscope_gui.settings.presenter import SettingsWiring
from glyphscope_gui.shared.errors import show_error
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.tab_order import go_on
from glyphscope_gui.shell.actions import Actions
from glyphscope_gui.shell.dock_frame import DockFrame
from glyphscope_gui.shell.menus import fill_menus
from glyphscope_gui.shell.open_files import FilesWiring, dropped_file
from glyphscope_gui.shell.page_rail import PageRail, PageSpec
from glyphscope_gui.shell.pages import Pages
from glyphscope_gui.shell.project_dialogs import ProjectDialogs
from glyphscope_gui.shell.services import Parts
from glyphscope_gui.shell.status_line import StatusLine
from glyphscope_gui.shell.window_presenter import Wiring
from glyphscope_gui.theme import ThemeManager
from glyphscope_gui.theme.sizes import is_crowded, letters
from glyphscope_gui.tools.tools_dock import ToolsDock

LEFT, RIGHT = 292, 336
"""Widths the sides begin with, in logical pixels at the usual font size."""
FIRST_SIZE = QSize(1440, 900)
NARROW = 1200
"""Below this width of the window the sides begin smaller."""
PAGES = (
    PageSpec(PLAYGROUND, tr("Playground"), tr("Run a prompt, and see the call being written")),
    PageSpec(PAGE, tr("Grammar"), tr("See, write, test and trust a grammar")),
    PageSpec(
        SERVERS,
        tr("Servers"),
        tr("Connect MCP servers, call their tools by hand, and see what the demo tools did"),
    ),
    PageSpec(
        EVALUATE,
        tr("Evaluate"),
        tr("Ask suites of prompts in several ways, and count how often each is right"),
    ),
    PageSpec(
        COMPARE, tr("Compare"), tr("Ask the same in several ways, and see where the answers part"), key=5
    ),
    PageSpec(
        LESSONS, tr("Lessons"), tr("Learn and teach constrained decoding, from recordings or live"), key=6
    ),
)


class MainWindow(QMainWindow):
    """Makes and places the parts; `Wiring` connects them, and no two of them know each other."""

    def __init__(self, parts: Parts, themes: ThemeManager) -> None:
        super().__init__()
        self.parts = parts
        self.themes = themes
        self._leaving = False
        self._shut = False
        self.setWindowTitle("Glyphscope")
        self.setMinimumSize(QSize(920, 560))
        self.setAcceptDrops(True)
        self.runs = RunController(parts.open_model, self, parts.sources)
        self.recorder = Recorder(parts.history, parts.settings.value.history_limit, self)
        self.dialogs = ProjectDialogs(parts.project, self)
        self.actions_ = Actions(self)
        self._make_views()
        self._place_docks()
        self._place_pages()
        self._place_top()
        self.setCentralWidget(self.pages.stack)
        self.statusBar().setSizeGripEnabled(False)
        self.statusBar().addWidget(self.status, 1)
        self.grammar = GrammarWiring(self, self.grammar_page, self.examples)
        self.wiring = Wiring(self)
        self.models = ModelsWiring(self)
        self.files = FilesWiring(self, self.exports)
        self.settings = SettingsWiring(self)
        self.strategies = StrategyWiring(self)
        self.rules = RulesWiring(self)
        self.prompts = PromptWiring(self)
        self.branches = BranchWiring(self)
        self.explaining = ExplainWiring(self)
        self.servers = ServersWiring(self, self.servers_page)
        self.effects = EffectsWiring(self, self.servers_page.effects, SERVERS)
        self.compare = CompareWiring(self, self.compare_page)
        self.ab = AbWiring(self, self.ab_page)
        self.evaluate = EvalWiring(self, self.eval_page)
        self.lessons = LessonWiring(self, self.lesson_page)
        self._restore()

    def start(self) -> None:
        """After the window is shown: open the model, offer what a crash left."""
        self.wiring.start()
        self.dialogs.offer_leftovers()

    def shut_down(self) -> None:
        """Stop timers, runs and threads, close the model's process, and write what waits to be written."""
        if self._shut:
            return
        self._shut = True
        self.lessons.close()  # a lecture is over: the window does not begin in it again
        self.parts.settings.update(geometry=_text(self.saveGeometry()), state=_text(self.pages.first_state()))
        self.wiring.close()
        self.models.close()
        self.settings.close()
        self.strategies.close()
        self.rules.close()
        self.prompts.close()
        self.branches.close()
        self.explaining.close()
        self.grammar.close()
        self.servers.close()
        self.effects.close()
        self.compare.close()
        self.ab.close()
        self.evaluate.close()
        self.runs.close()
        self.picker.shut_down()
        self.history_page.shut_down()
        self.tools_page.shut_down()
        self.recorder.close()
        self.parts.close()

    def tell_error(self, error: BaseException) -> None:
        show_error(self, error)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Unsaved edits are asked about first; the answer closes the window, or not."""
        if not self._leaving and not self._shut and self.parts.project.is_dirty:
            event.ignore()
            self.dialogs.before_leaving(self._leave)
            return
        self.shut_down()
        super().closeEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_file(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = dropped_file(event.mimeData())
        if path:
            event.acceptProposedAction()
            self.files.open_file(path)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._dock_tabs()
        self.rail.set_slim(event.size().width() < NARROW)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """In the order in which the window is read."""
        sides = [*self._dock_tabs(), *self._docks()]
        left = [part for part in sides if part.x() < self.pages.stack.x()]
        right = [part for part in sides if part not in left]
        parts = (self.menuWidget(), self.rail, *left, self.pages.stack, *right)
        return go_on(parts, self.focusWidget(), forward=forward) or super().focusNextPrevChild(forward)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "header"):
            self.header.restyle()
            if is_crowded(self) and not self.tabifiedDockWidgets(self.right):
                self.fit_sides()  # larger letters were chosen

    # -- inside ------------------------------------------------------------------------------------------------

    def _docks(self) -> list[DockFrame]:
        """Those in sight in the window itself; what is behind another is only moved out of sight by Qt."""
        docks = [dock for dock in (*self.left, self.right) if dock.isVisible() and not dock.isFloating()]
        return [dock for dock in docks if not dock.visibleRegion().isEmpty()]

    def _dock_tabs(self) -> list[QTabBar]:
        """Qt makes them when docks share a place; they have no name by themselves."""
        bars = self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        for bar in bars:
            bar.setAccessibleName(tr("Panels at the side"))
        return [bar for bar in bars if bar.isVisible() and bar.count()]

    def _leave(self) -> None:
        self._leaving = True
        self.close()

    def _make_views(self) -> None:
        parts = self.parts
        self.picker = ModelPicker(parts.settings, self)
        self.header = Header(self.picker, self.actions_.run, self.actions_.stop, self.actions_.step)
        self.tools_page = ToolsDock(parts.document)
        self.tools_page.setObjectName("tools")
        self.prompt_page = PromptDock(parts.prompt)
        self.prompt_page.setObjectName("prompt")
        self.history_page = HistoryDock(parts.history)
        self.history_page.setObjectName("history")
        self.page = RunPage(parts.prompt)
        self.examples = GrammarExamplesModel(parts.project.grammar)
        self.grammar_page = GrammarPage(self.examples)
        self.servers_page = ServersPage(ServersListModel(parts.servers))
        self.eval_page = EvalPage()
        self.compare_page = ComparePage(parts.prompt)
        self.ab_page = AbPage()
        self.compare_tabs = CompareTabs(self.compare_page, self.ab_page)
        self.lesson_page = LessonPage()
        self.evidence = EvidenceDock()
        self.status = StatusLine()

    def _place_docks(self) -> None:
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.setDocumentMode(True)
        self.left = [
            DockFrame("toolsDock", tr("Tools"), self.tools_page, self),
            DockFrame("promptDock", tr("Prompt"), self.prompt_page, self),
            DockFrame("historyDock", tr("History"), self.history_page, self),
        ]
        self.right = DockFrame("evidenceDock", tr("Evidence"), self.evidence, self, titled=False)
        for dock in self.left:
            self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
        for dock in self.left[1:]:
            self.tabifyDockWidget(self.left[0], dock)
        self.left[0].raise_()
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.right)

    def _place_pages(self) -> None:
        self.rail = PageRail(PAGES, self)
        self.addToolBar(Qt.ToolBarArea.LeftToolBarArea, self.rail)
        self.pages = Pages(self, self.rail, lambda: [*self.left, self.right])
        views = (
            self.page,
            self.grammar_page,
            self.servers_page,
            self.eval_page,
            self.compare_tabs,
            self.lesson_page,
        )
        for spec, page in zip(PAGES, views, strict=True):
            self.pages.add(spec.name, page)

    def _place_top(self) -> None:
        top = QWidget(self)
        column = QVBoxLayout(top)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        bar = QMenuBar(top)
        panels = [dock.toggleViewAction() for dock in (*self.left, self.right)]
        undo = self.parts.document.undo_stack
        pages = list(self.rail.actions_.values())
        self.exports = ExportMenu(tr("E&xport run"), bar)
        open_project = self.dialogs.open_path
        fill_menus(bar, self.actions_, undo, pages, panels, self.parts.settings, open_project, self.exports)
        column.addWidget(bar)
        column.addWidget(self.header)
        self.setMenuWidget(top)

    def _restore(self) -> None:
        """Size and places of the last time, or those that suit a first start."""
        settings = self.parts.settings.value
        if not settings.geometry or not self.restoreGeometry(_bytes(settings.geometry)):
            self.resize(FIRST_SIZE.boundedTo(self.screen().availableSize()))
        if not settings.state or not self.restoreState(_bytes(settings.state)):
            self.fit_sides()

    def fit_sides(self) -> None:
        """The sides as wide as suits the window and the font; with large letters only one side."""
        if is_crowded(self) and not self.tabifiedDockWidgets(self.right):
            self.tabifyDockWidget(self.left[-1], self.right)
            self.left[0].raise_()
        scale = letters(self) * (0.74 if self.width() < NARROW else 1)
        widths = [round(LEFT * scale), round(RIGHT * scale)]
        self.resizeDocks([self.left[0], self.right], widths, Qt.Orientation.Horizontal)


def _text(data: QByteArray) -> str:
    return bytes(data.toBase64().data()).decode()


def _bytes(text: str) -> QByteArray:
    return QByteArray.fromBase64(QByteArray(text.encode()))
