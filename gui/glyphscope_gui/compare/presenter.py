"""The presenter of the compare page, and its views: columns, two prompts, several seeds."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QTabWidget, QWidget

from glyphscope_gui.compare.ab_page import AbPage
from glyphscope_gui.compare.columns_presenter import ColumnsPresenter
from glyphscope_gui.compare.page import ComparePage
from glyphscope_gui.compare.seeded_presenters import AbPresenter, SeedsPresenter
from glyphscope_gui.compare.seeds_page import SeedsPage
from glyphscope_gui.context import AppContext, Page, Place, PromptsPlace
from glyphscope_gui.runs.run_controller import Phase
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.page_ids import HeaderPart, PageId


class CompareTabs(QWidget):
    """The views of the page: several settings, two prompts, several seeds. The visible one gets the focus."""

    def __init__(
        self, columns: ComparePage, prompts: AbPage, seeds: SeedsPage, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("compareViews")
        self.tabs = QTabWidget(self, documentMode=True)
        self.tabs.setObjectName("compareTabs")
        self.tabs.tabBar().setAccessibleName(tr("Compare settings, two prompts, or seeds"))
        self.tabs.addTab(columns, tr("Side by side"))
        self.tabs.addTab(prompts, tr("Two prompts"))
        self.tabs.addTab(seeds, tr("Seeds"))
        vbox(self.tabs, parent=self)
        self.tabs.currentChanged.connect(lambda _place: self.setFocusProxy(self.tabs.currentWidget()))
        self.setFocusProxy(columns)

    @property
    def shown(self) -> QWidget:
        return self.tabs.currentWidget()

    def show_view(self, view: QWidget) -> None:
        self.tabs.setCurrentWidget(view)

    def minimumSizeHint(self) -> QSize:
        inside = self.shown.minimumSizeHint()
        return QSize(inside.width(), inside.height() + self.tabs.tabBar().sizeHint().height())


class ComparePresenter(Page):
    """`view` compares settings, `ab_view` two prompts, `seeds_view` several seeds; `tabs` shows one of them."""

    id = PageId.COMPARE
    title = tr("Compare")
    tip = tr("Run one prompt under several settings and compare the results")
    can_run = True

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.view = ComparePage(context.project.prompt)
        self.ab_view = AbPage()
        self.seeds_view = SeedsPage()
        self.tabs = self.widget = CompareTabs(self.view, self.ab_view, self.seeds_view)
        self.columns = ColumnsPresenter(context, self.view, self)
        self.comparison = self.columns.comparison
        self.ab = AbPresenter(context, self.ab_view, self)
        self.seeds = SeedsPresenter(context, self.seeds_view, self.comparison, self)
        self.tabs.tabs.currentChanged.connect(lambda _place: self.headerChanged.emit())

    @property
    def header(self) -> frozenset[HeaderPart]:
        """Columns have separate settings; the A/B and the seeds have fields for temperature and seeds."""
        if self.tabs.shown is not self.view:
            return frozenset(HeaderPart) - {HeaderPart.SEED, HeaderPart.RUN}
        return frozenset({HeaderPart.MODEL, HeaderPart.SEED, HeaderPart.SAMPLING})

    def run(self) -> None:
        """Run the shown tab: all columns, both prompts on their seeds, or one setting on its seeds."""
        if self.context.runs.phase is Phase.STEPPING:
            super().run()
        else:
            shown = {self.view: self.columns, self.ab_view: self.ab, self.seeds_view: self.seeds}
            shown[self.tabs.shown].run()

    def go_to(self, place: Place) -> None:
        if isinstance(place, PromptsPlace):
            self.tabs.show_view(self.ab_view)
