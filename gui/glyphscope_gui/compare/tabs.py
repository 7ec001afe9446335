"""The compare page's two questions, each a view of its own: several ways of asking, and two prompts."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from glyphscope_gui.compare.ab_page import AbPage
from glyphscope_gui.compare.page import ComparePage
from glyphscope_gui.shared.language import tr


class CompareTabs(QWidget):
    """The focus goes to the view that is in sight."""

    def __init__(self, ways: ComparePage, prompts: AbPage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("compareViews")
        self._prompts = prompts
        self.tabs = QTabWidget(self)
        self.tabs.setObjectName("compareTabs")
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName(tr("Compare ways of asking, or two prompts"))
        self.tabs.addTab(ways, tr("Side by side"))
        self.tabs.addTab(prompts, tr("Two prompts"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.tabs)
        self.tabs.currentChanged.connect(lambda _place: self.setFocusProxy(self.tabs.currentWidget()))
        self.setFocusProxy(ways)

    @property
    def shows_prompts(self) -> bool:
        return self.tabs.currentWidget() is self._prompts

    def show_prompts(self) -> None:
        self.tabs.setCurrentWidget(self._prompts)

    def minimumSizeHint(self) -> QSize:
        inside = self.tabs.currentWidget().minimumSizeHint()
        return QSize(inside.width(), inside.height() + self.tabs.tabBar().sizeHint().height())
