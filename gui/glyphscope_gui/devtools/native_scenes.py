"""What the pictures of native turns show: the turn with the calls, from its beginning."""

from __future__ import annotations

from PySide6.QtCore import QEventLoop, QTimer

from glyphscope_gui.playground.presenter import PlaygroundPresenter
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell import Window


def show_first_turn(window: Window) -> None:
    """The first turn of a conversation, at its top."""
    page = window.page(PageId.PLAYGROUND)
    assert isinstance(page, PlaygroundPresenter)
    page.stages.choice.choose(0)
    loop = QEventLoop()
    QTimer.singleShot(300, loop.quit)
    loop.exec()
    for view in (page.view.stream, page.view.timeline.table):
        view.verticalScrollBar().setValue(0)
