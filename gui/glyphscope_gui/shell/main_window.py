"""The window: the header, the rail of pages, the page in the centre, and the docks beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from PySide6.QtCore import QByteArray, QMargins, QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QShowEvent
from PySide6.QtWidgets import QMainWindow, QMenuBar, QMessageBox, QTabBar, QTabWidget, QWidget

from glyphscope_gui.capture.bar import CaptureBar
from glyphscope_gui.capture.presenter import CapturePresenter
from glyphscope_gui.context import AppContext, Page
from glyphscope_gui.help.presenter import HelpPresenter
from glyphscope_gui.history.presenter import HistoryPresenter
from glyphscope_gui.model_picker.picker import ModelPicker
from glyphscope_gui.model_picker.presenter import ModelPresenter
from glyphscope_gui.prompt.presenter import PromptPresenter
from glyphscope_gui.run_settings.header import RunHeader
from glyphscope_gui.runs.recorder import Recorder
from glyphscope_gui.runs.run_controller import RunController
from glyphscope_gui.runs.run_rules import RunRules
from glyphscope_gui.runs.shown_record import ShownRecord
from glyphscope_gui.services import Services
from glyphscope_gui.settings.dialog import SettingsPresenter
from glyphscope_gui.shared.actions import Actions
from glyphscope_gui.shared.background import end_work
from glyphscope_gui.shared.dialogs import ask
from glyphscope_gui.shared.errors import show_error
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, holder, vbox
from glyphscope_gui.shared.page_ids import MenuId, PageId
from glyphscope_gui.shared.tab_order import focus_next
from glyphscope_gui.shell.editing import Editing
from glyphscope_gui.shell.idle_model_presenter import IdleModelPresenter
from glyphscope_gui.shell.menus import fill_menus
from glyphscope_gui.shell.navigation import Navigation, Presentation
from glyphscope_gui.shell.open_files import OpenFiles, dropped_file
from glyphscope_gui.shell.project_dialogs import ProjectDialogs
from glyphscope_gui.shell.record_presenter import RecordBar, RecordPresenter
from glyphscope_gui.shell.side_panels import DockFrame, SidePanels
from glyphscope_gui.shell.status_line import StatusLine
from glyphscope_gui.shell.window_presenter import WindowPresenter
from glyphscope_gui.theme import ThemeManager
from glyphscope_gui.theme.dressing import update_sizes
from glyphscope_gui.theme.sizes import letters

LEFT, RIGHT = 272, 400
"""Initial widths of the sides, in logical pixels at the usual font size."""
NARROW_SIDES = 216, 256
"""The same in a narrow window."""
FIRST_SIZE = QSize(1440, 900)
FRAME = QMargins(4, 40, 4, 4)
"""The maximum number of pixels that the frame of a usual window system has."""
FRAMED_MS = 200
"""Milliseconds in which a usual window system makes the frame."""
NARROW = 1200
"""The width of the window below which the sides are initially narrower."""
BOTH_SIDES = 965
"""The least width of the window, at the usual text size, with room for a page between both sides."""


class MainWindow(FollowsSize, QMainWindow):
    """Makes the context and the pages, and places the pages. Nothing below `shell/` knows the window."""

    def __init__(self, services: Services, themes: ThemeManager) -> None:
        super().__init__()
        self.services = services
        self._leaving = False
        """Whether the user has decided about unsaved edits, so that the window may close."""
        self._is_narrow = False
        self._joined = False
        """Whether both sides share one place for lack of room, not by the user's choice."""
        self._shut = False
        self._framed = QTimer(self, singleShot=True, interval=FRAMED_MS)
        self._framed.timeout.connect(self._stay_on_screen)
        self.setWindowTitle("Glyphscope")
        self.setMinimumSize(QSize(920, 560))
        self.setAcceptDrops(True)
        self.actions_ = Actions(self)
        self.dialogs = ProjectDialogs(services.project, self)
        self.status = StatusLine()
        with themes.undressed() as hidden:
            self._make_context(services, themes)
            self.pages: dict[PageId, Page] = {
                page: import_module(f"glyphscope_gui.{page}").create(self.context) for page in PageId
            }
            self._place_pages()
            self._place_centre()
            self._place_docks()
            self._place_top()
            hidden += self.navigator.behind
        update_sizes(self)
        self.header.restyle()
        for page in self.pages.values():
            self._framed.timeout.connect(page.complete)
        self.statusBar().setSizeGripEnabled(False)
        self.statusBar().addWidget(self.status, 1)
        self._make_presenters()
        self._restore()
        themes.changed.connect(self._restyle)
        self.navigator.shown.connect(lambda _page: self._make_room())  # its docks are as they were left

    def page(self, page: PageId) -> Page:
        return self.pages[page]

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the window to the screen once the window system has made its frame."""
        super().showEvent(event)
        if not event.spontaneous():
            self._framed.start()

    def start(self) -> None:
        """Open the model, and offer the unsaved edits of a crashed program; called once the window is shown."""
        self.presenter.start()
        self.dialogs.offer_leftovers()

    def resume(self) -> None:
        """Open the last project again, then `start`."""
        self.services.project.open_last(self.start)

    def shut_down(self) -> None:
        """Stop timers, runs and threads, close the model's process, and write pending changes."""
        if self._shut:
            return
        self._shut = True
        for page in reversed(self.pages.values()):
            page.close()
        self.services.settings.update(
            geometry=_text(self.saveGeometry()),
            state=_text(self.navigator.first_state()),
            last_project=str(self.services.project.path or ""),
        )
        self.help.close()
        self.panels.history.shut_down()
        self.recorder.keep_unfinished(self.context.runs.unfinished)
        self.context.runs.close()
        end_work(self)
        self.services.close()

    def show_error(self, error: BaseException) -> None:
        show_error(self, error)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about unsaved edits and what is running first; the answers decide whether the window closes."""
        works = [*(page.unfinished for page in self.pages.values()), self.capture.unfinished]
        running = "\n".join(filter(None, works))
        if not self._leaving and not self._shut and (running or self.services.project.is_dirty):
            event.ignore()
            leave = partial(self.dialogs.before_leaving, self._leave)
            close = (tr("Stop and close"), QMessageBox.ButtonRole.DestructiveRole, leave)
            ask(self, "runningQuestion", tr("Close the window?"), running, close) if running else leave()
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

    def _fit(self) -> None:
        self._dock_tabs()
        narrow = self.width() < NARROW
        self.rail.set_slim(narrow)
        self._make_room()
        if narrow != self._is_narrow:
            self.fit_sides()  # otherwise the page alone would lose the width, or get it back
        self._is_narrow = narrow

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus in the order of the layout: top, rail, left docks, page, right docks."""
        centre = self._centre
        sides = [*self._dock_tabs(), *self._visible_docks()]
        left = [part for part in sides if part.x() < centre.x()]
        right = [part for part in sides if part not in left]
        parts = (self._top, self.rail, *left, centre, *right)
        return focus_next(parts, self.focusWidget(), forward=forward) or super().focusNextPrevChild(forward)

    def fit_sides(self) -> None:
        """Fit the widths of the sides to the window and the font, and join the sides if there is no room for both."""
        left = list(self.panels.docks.values())
        joined = bool(self.tabifiedDockWidgets(self.right))
        if self._is_cramped and not joined:
            self._joined = True
            self.tabifyDockWidget(left[-1], self.right)
            left[0].raise_()
        elif self._joined and not self._is_cramped:
            self._joined = False
            if joined:
                self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.right)
        usual = NARROW_SIDES if self.width() < NARROW else (LEFT, RIGHT)
        widths = [round(width * letters(self)) for width in usual]
        sides = (
            [left[0]] if self._joined else [left[0], self.right]
        )  # of joined docks, the last width would be used
        widths[0] = max(widths[0], *(bar.sizeHint().width() for bar in self._dock_tabs()), 0)
        self.resizeDocks(sides, widths[: len(sides)], Qt.Orientation.Horizontal)

    # -- making it ---------------------------------------------------------------------------------------------

    def _make_context(self, services: Services, themes: ThemeManager) -> None:
        """Make the context of the pages, and the panels beside them."""
        self.panels = SidePanels(services, self)
        self._framed.timeout.connect(self.panels.tools.make_recorded)
        self.navigator = Navigation(self, lambda: [*self.panels.docks.values(), self.right], themes.dress)
        runs = RunController(
            services.open_model, self, services.servers.sources, services.settings.options_of
        )
        self.context = AppContext(
            services=services,
            runs=runs,
            rules=RunRules(self),
            record=ShownRecord(runs, services.project, self),
            recorder=Recorder(services.history, services.settings.value.history_limit, self),
            actions=self.actions_,
            navigator=self.navigator,
            panels=self.panels,
            status=self.status,
            themes=themes,
            window=self,
            show_error=self.show_error,
            offer=self._offer,
        )
        self.runs, self.recorder = self.context.runs, self.context.recorder

    def _place_docks(self) -> None:
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.setDocumentMode(True)
        left = list(self.panels.docks.values())
        for dock in left:
            self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
        for dock in left[1:]:
            self.tabifyDockWidget(left[0], dock)
        left[0].raise_()
        beside = next(page.side_panel for page in self.pages.values() if page.side_panel is not None)
        self.right = DockFrame("evidenceDock", tr("Evidence"), beside, self, titled=False)
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.right)

    def _place_pages(self) -> None:
        presentation = Presentation(self, self._chrome, self.actions_.stop)
        self.rail = self.navigator.fill(list(self.pages.values()), presentation)
        self.addToolBar(Qt.ToolBarArea.LeftToolBarArea, self.rail)

    def _place_top(self) -> None:
        self.picker = ModelPicker(self.services.settings, self)
        self.header = RunHeader(self.picker, self.actions_.run, self.actions_.stop, self.actions_.step)
        self._top = top = QWidget(self)
        self._bar = bar = QMenuBar(top)
        of_pages = {menu: self._page_actions(menu) for menu in MenuId}
        for action in (each for actions in of_pages.values() for each in actions):
            if action.shortcutContext() == Qt.ShortcutContext.WindowShortcut:
                self.addAction(action)
        tools = self.panels.tools.actions_
        tools.requestFound.connect(self.dialogs.open_path)
        edit = fill_menus(
            bar,
            self.actions_,
            (tools.undo, tools.redo),
            list(self.rail.actions_.values()),
            [*self._side_actions(), *(dock.toggleViewAction() for dock in self.panels.docks.values())],
            self.services.settings,
            self.dialogs.open_path,
            of_pages,
            (tools.import_file, tools.paste, tools.bundled),
        )
        Editing(self.actions_, edit, self)
        vbox(bar, self.header, parent=top, spacing=0)
        self.setMenuWidget(top)

    def _side_actions(self) -> list[QAction]:
        """The actions that fold and unfold the left and the right side."""
        self.left_action = QAction(tr("&Left panels"), self, checkable=True, checked=True)
        self.left_action.setShortcut("Ctrl+B")
        self.left_action.triggered.connect(self.panels.show_all)
        self.panels.shownChanged.connect(self.left_action.setChecked)
        right = self.right.toggleViewAction()
        right.setText(tr("&Evidence"))
        right.setShortcut("Ctrl+Shift+B")
        return [self.left_action, right]

    def _place_centre(self) -> None:
        self.capture_bar, self.record_bar = CaptureBar(self), RecordBar(self)
        parts = (self.capture_bar, self.record_bar, (self.navigator.stack, 1))
        self._centre = holder(vbox(*parts, spacing=0), self)
        self.setCentralWidget(self._centre)

    def _page_actions(self, menu: MenuId) -> list[QAction]:
        return [action for page in self.pages.values() for action in page.menu_actions.get(menu, ())]

    def _make_presenters(self) -> None:
        context, panels = self.context, self.panels
        self.idle_model = IdleModelPresenter(context)
        self.presenter = WindowPresenter(
            context, self.header, self.status, self.navigator, self.dialogs, self.idle_model
        )
        self.record = RecordPresenter(context, self.record_bar, self.header, self.picker, panels)
        self.models = ModelPresenter(context, self.picker)
        self.settings = SettingsPresenter(context)
        self.prompts = PromptPresenter(context, panels.prompt)
        self.idle_model.ended.connect(lambda read: self.prompts.watch.note(read.prompt))
        self.help = HelpPresenter(context, self._bar, panels.tools.menu)
        panels.tools.unenforcedRequested.connect(self.header.lackingRequested)
        self.history = HistoryPresenter(context, panels.history)
        self.settings.historyCleared.connect(panels.history.refresh)
        self.capture = CapturePresenter(context, self.capture_bar)
        self.capture.recorded.connect(panels.history.refresh)
        self.files = OpenFiles(context, panels.history, self.dialogs, self.start)

    def _restore(self) -> None:
        """Restore the last size and layout, or set the initial ones."""
        settings = self.services.settings.value
        if not settings.geometry or not self.restoreGeometry(_bytes(settings.geometry)):
            self.setGeometry(first_geometry(self.screen().availableGeometry()))
        if not settings.state or not self.restoreState(_bytes(settings.state)):
            self.fit_sides()
        self._joined = self._is_cramped and bool(
            self.tabifiedDockWidgets(self.right)
        )  # as the state does not say why
        self.panels.report_shown()
        self._is_narrow = self.width() < NARROW  # stored widths are for this size
        self._begun = self.size()
        """The initial size: a window that the user resized is not fitted to the screen."""

    def _offer(self, words: str, button: str, do: Callable[[], None]) -> None:
        next(iter(self.pages.values())).offer(words, button, do)

    def _chrome(self) -> list[QWidget]:
        """Everything but the page, which a presentation hides."""
        docks = (*self.panels.docks.values(), self.right)
        return [self._top, self.rail, self.statusBar(), *docks]

    def _visible_docks(self) -> list[DockFrame]:
        """The docks that are visible in the window itself. Qt moves docks behind others out of the visible region."""
        docks = [*self.panels.docks.values(), self.right]
        shown = [dock for dock in docks if dock.isVisible() and not dock.isFloating()]
        return [dock for dock in shown if not dock.visibleRegion().isEmpty()]

    def _dock_tabs(self) -> list[QTabBar]:
        """The tab bars that Qt makes when docks share a place, here with an accessible name."""
        bars = self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        for bar in bars:
            bar.setAccessibleName(tr("Panels at the side"))
        return [bar for bar in bars if bar.isVisible() and bar.count()]

    def _stay_on_screen(self) -> None:
        """Move the window onto the screen, with its frame, unless the user has resized it."""
        if self.windowState() != Qt.WindowState.WindowNoState or self.size() != self._begun:
            return
        fitting = inside_screen(self.geometry(), self.frameGeometry(), self.screen().availableGeometry())
        if fitting != self.geometry():
            self.setGeometry(fitting)
        if self.navigator.is_cut_off:
            self.fit_sides()  # the stored widths are from a larger window

    def _restyle(self, _theme: object) -> None:
        """Update explicit sizes after a change of theme or text size."""
        self.header.restyle()
        self._make_room()

    def _make_room(self) -> None:
        """Join the sides if the window is too narrow for its text size, and separate them when it no longer is."""
        one_side = bool(self.tabifiedDockWidgets(self.right))
        if one_side != self._is_cramped and (self._joined or not one_side) and not self.right.isHidden():
            self.fit_sides()

    @property
    def _is_cramped(self) -> bool:
        return self.width() < BOTH_SIDES * letters(self)

    def _leave(self) -> None:
        self._leaving = True
        self.close()


def first_geometry(free: QRect) -> QRect:
    """The window's geometry, without its frame, at a first start, centred in the screen's `free` area.

    The frame's size is unknown until the window is shown.
    """
    inside = free.marginsRemoved(FRAME)
    size = FIRST_SIZE.boundedTo(inside.size())
    beside = inside.size() - size
    return QRect(inside.topLeft() + QPoint(beside.width() // 2, beside.height() // 2), size)


def inside_screen(window: QRect, frame: QRect, free: QRect) -> QRect:
    """The window's geometry, moved and made smaller so that its `frame` is within the screen's `free` area."""
    around = QMargins(
        window.left() - frame.left(), window.top() - frame.top(),
        frame.right() - window.right(), frame.bottom() - window.bottom(),
    )  # fmt: skip
    inside = free.marginsRemoved(around)
    size = window.size().boundedTo(inside.size())
    furthest = inside.bottomRight() - QPoint(size.width() - 1, size.height() - 1)
    left = max(min(window.left(), furthest.x()), inside.left())
    top = max(min(window.top(), furthest.y()), inside.top())
    return QRect(QPoint(left, top), size)


def _text(data: QByteArray) -> str:
    return bytes(data.toBase64().data()).decode()


def _bytes(text: str) -> QByteArray:
    return QByteArray.fromBase64(QByteArray(text.encode()))
