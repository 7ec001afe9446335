"""Every lesson with the embedded model: its live experiments produce the events of its recordings."""

from __future__ import annotations

import pytest

from examples import some
from glyphscope.lessons import bundled_lessons, find_lesson
from glyphscope.runs import NonInteractive, run_state
from glyphscope.runs.strategies import run
from glyphscope.tools.demo import DemoTools
from glyphscope_gui.lessons import LessonExperiment
from glyphscope_gui.shared.page_ids import PageId
from lesson_walk import open_in, take_step

pytestmark = [pytest.mark.model, pytest.mark.slow]
LONG = 240_000


@pytest.fixture
def host():
    tools = DemoTools()
    yield NonInteractive({"demo": tools})
    tools.close()


def texts(state):
    return [stage.text for stage in state.stages]


def test_experiments_of_every_lesson_equal_their_recordings(model, host):
    for place in bundled_lessons():
        lesson = place.read()
        assert lesson.experiments, place.name
        for experiment in some(lesson.experiments, 3):
            if lesson.runs[experiment.run].native:
                continue  # the template of the embedded model describes no tools
            live = run_state(run(lesson.runs[experiment.run], model, host))
            recorded = run_state(place.events(experiment.run))
            assert texts(live) == texts(recorded) and live.outcome == recorded.outcome, experiment.run


def test_a_lesson_is_completed_in_the_window_with_a_model(window, qtbot):
    window.start()
    qtbot.waitUntil(lambda: window.runs.model.phase == "ready", timeout=LONG)
    window.navigator.show(PageId.LESSONS)
    lessons, place = window.page(PageId.LESSONS), find_lesson("mask")
    open_in(qtbot, lessons, place)
    for number in range(len(lessons.slides)):
        lessons.show_slide(number)
        for card in take_step(lessons):
            live_equals_recorded(qtbot, window, place, card)
    lesson = lessons.opened.lesson
    assert lessons.progress.of(place.key).is_done(len(lesson.steps), len(lesson.questions))


def live_equals_recorded(qtbot, window, place, card: LessonExperiment):
    assert card.live_button.isEnabled()
    card.live_button.click()
    qtbot.waitUntil(lambda: card.state.finished is not None and not card.is_running, timeout=LONG)
    qtbot.waitUntil(lambda: not window.runs.is_busy)
    recorded = run_state(place.events(card.part.run))
    assert card.run.source.text().startswith("Live:")
    assert texts(card.state) == texts(recorded) and card.difference.text()
