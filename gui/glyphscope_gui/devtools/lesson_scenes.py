"""What the picture of the Lessons page shows: a recorded run in the middle of being watched."""

from __future__ import annotations

from PySide6.QtCore import QEventLoop, Qt, QTimer

from glyphscope.lessons import find_lesson
from glyphscope_gui.lessons.presenter import LessonsPresenter
from glyphscope_gui.lessons.run import LessonRun
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell import Window

LESSON, SLIDE, TOKENS = "mask", 2, 7


def show_lesson(window: Window) -> None:
    """The run under the mask, some tokens in."""
    window.navigator.show(PageId.LESSONS)
    lessons = window.page(PageId.LESSONS)
    assert isinstance(lessons, LessonsPresenter)
    lessons.open(find_lesson(LESSON))
    while lessons.is_busy or lessons.opened is None:
        _pause(100)
    lessons.show_slide(SLIDE)
    _pause(300)
    run = lessons.view.findChild(LessonRun)
    assert run is not None
    for key in (Qt.Key.Key_Home, *[Qt.Key.Key_Right] * TOKENS):
        run.press(key, Qt.KeyboardModifier.NoModifier)


def _pause(ms: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(ms, loop.quit)
    loop.exec()
