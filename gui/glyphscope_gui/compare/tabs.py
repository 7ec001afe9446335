"""The views of the compare page: several settings, two prompts, several seeds."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QTabWidget, QWidget

from glyphscope_gui.compare.ab_page import AbPage
from glyphscope_gui.compare.page import ComparePage
from glyphscope_gui.compare.seeds_page import SeedsPage
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox


class CompareTabs(QWidget):
    """The visible view gets the focus."""

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
