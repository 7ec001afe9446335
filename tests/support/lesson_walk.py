"""A walk through a lesson on its page, from its first step to its last: used without a model and with one."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QWidget

from glyphscope.lessons import LessonPlace
from glyphscope_gui.lessons import LessonExperiment, LessonQuestion, LessonRun, LessonsPresenter


def open_in(qtbot: Any, lessons: LessonsPresenter, place: LessonPlace) -> None:
    """Open the lesson, at its first step."""
    lessons.open(place)
    qtbot.waitUntil(
        lambda: lessons.opened is not None and lessons.opened.place == place and not lessons.is_busy,
        timeout=10_000,
    )
    lessons.show_slide(0)


def wrong_for(card: LessonQuestion) -> int:
    """Return a wrong answer."""
    sheet = card.sheet
    everything = range(len(sheet.text) if sheet.kind == "character" else len(sheet.choices))
    return next(number for number in everything if number not in sheet.right)


def answer(card: LessonQuestion, *, right: bool) -> None:
    """Choose the right answer, or a wrong one, and reveal it."""
    for number in card.sheet.right if right else {wrong_for(card)}:
        card.choose(number)
    card.reveal()
    assert card.result.text().startswith("✓" if right else "✕")


def look_through(run: LessonRun) -> None:
    """Step through a run from its first token: a step forward, to the end, back to the first, and to the end again."""
    player = run.player
    player.go(player.first)
    player.step(1)
    assert player.place == player.first + 1
    player.go(player.last)
    assert run.choice.stage.tokens
    ended = run.player.state.finished is not None
    player.go(player.first)
    assert player.place == player.first
    player.go(player.last)
    assert (player.state.finished is not None) is ended


def take_step(lessons: LessonsPresenter, *, right: bool = True) -> list[LessonExperiment]:
    """Do everything that the step shows, with its runs and questions; return its experiments."""
    assert lessons.opened is not None
    opened, slide = lessons.opened, lessons.slides[lessons.at]
    active = lessons.view.reader.active
    assert len(active) == sum(hasattr(part, "run") or hasattr(part, "options") for part in slide.parts), slide
    for part in active:
        if isinstance(part, LessonRun):
            look_through(part)
        elif isinstance(part, LessonQuestion):
            answer(part, right=right)
    assert opened.lesson.title
    return [part for part in active if isinstance(part, LessonExperiment)]


def look_through_step(qtbot: Any, lessons: LessonsPresenter) -> None:
    """Page through a step, and play or answer each part: it is in sight with its text, before and after it."""
    reader, seen = lessons.view.reader, []
    while True:
        for part in parts_in_sight(qtbot, lessons):
            seen.append(part)
            if isinstance(part, LessonQuestion):
                part.choose(0)
                part.reveal()
            else:
                part.play() if isinstance(part, LessonExperiment) else part.player.play()
                player = getattr(part, "run", part).player
                player.go(player.last)
            assert part in parts_in_sight(qtbot, lessons), "it stays in sight"
        if not reader.turn(1):
            break
    assert seen == reader.active and len(seen) <= 1, "a part is on one screen"


def parts_in_sight(qtbot: Any, lessons: LessonsPresenter) -> list[QWidget]:
    """The parts on the screen, all of which is in the reader's viewport."""
    for _ in range(6):
        qtbot.wait(2)  # parts grow, and screens are divided again
    viewport = lessons.view.reader.viewport()
    room = viewport.rect()
    for widget in lessons.view.reader.widget().findChildren(
        QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly
    ):
        if widget.isVisible():
            at = widget.mapTo(viewport, widget.rect().topLeft())
            assert room.contains(widget.rect().translated(at)), (
                lessons.opened,
                lessons.at,
                widget.objectName(),
            )
    return [part for part in lessons.view.reader.active if part.isVisible()]


class _LayoutRequests(QObject):
    """Counts how often another layout of the widget is asked for."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.seen = 0
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        self.seen += event.type() == QEvent.Type.LayoutRequest
        return False


def layout_requests(qtbot: Any, widget: QWidget) -> int:
    """Count the layouts of the widget that are asked for while nothing happens."""
    requests = _LayoutRequests(widget)
    qtbot.wait(10)
    return requests.seen
