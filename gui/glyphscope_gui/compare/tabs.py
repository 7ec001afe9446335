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
    """The focus goes to the visible view."""

    def __init__(
        self, columns: ComparePage, prompts: AbPage, seeds: SeedsPage, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("compareViews")
        self._prompts, self._seeds = prompts, seeds
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
    def shows_prompts(self) -> bool:
        return self.tabs.currentWidget() is self._prompts

    @property
    def shows_seeds(self) -> bool:
        return self.tabs.currentWidget() is self._seeds

    def show_prompts(self) -> None:
        self.tabs.setCurrentWidget(self._prompts)

    def minimumSizeHint(self) -> QSize:
        inside = self.tabs.currentWidget().minimumSizeHint()
        return QSize(inside.width(), inside.height() + self.tabs.tabBar().sizeHint().height())
