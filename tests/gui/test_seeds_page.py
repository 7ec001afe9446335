"""One setting with several seeds in the window: counted, grouped, stopped, opened at the token where answers differ."""

from __future__ import annotations

import re
import time

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from comparing import variant
from glyphscope.base.errors import ModelError
from glyphscope.models import ScriptedModel
from glyphscope_gui.compare import ANSWER, ANSWERS, DIFFERENCE, RUNS, SHARE, SHARE_ROLE, TOKEN
from glyphscope_gui.runs import TokenPlace
from glyphscope_gui.shared.page_ids import PageId

CALL = '{action="search" query="AI news" max_results=%s}'
FIVES = (3, 6)


class Drawing(ScriptedModel):
    """Writes 5 or 10 by the seed; slowly, if it is to be stopped."""

    seconds = 0.0

    def generate(self, request):
        number = 5 if request.sampling.seed in FIVES else 10
        self._turns = [[character.encode() for character in CALL % number]]
        for item in super().generate(request):
            time.sleep(self.seconds)
            yield item


@pytest.fixture
def make(open_page):
    def build(opener=None):
        page = open_page(PageId.COMPARE, opener or (lambda _name, **_options: Drawing(CALL % 5)))
        page.context.project.set_options(constraint="off")
        page.tabs.tabs.setCurrentWidget(page.seeds_view)
        page.seeds_view.seeds.setText("1-6")
        return page

    return build


def run(qtbot, page):
    page.run()
    assert page.seeds.experiment.is_running
    qtbot.waitUntil(lambda: not page.seeds.experiment.is_running)


def cells(model, row):
    return [model.index(row, column).data() for column in range(model.columnCount())]


@pytest.mark.slow
def test_answers_are_counted_with_their_interval_and_the_token_where_they_diverge(make, qtbot):
    page = make()
    view = page.seeds_view
    assert view.temperature.value() == 0.7, "at 0 every seed would sample the same"
    run(qtbot, page)
    first, second = cells(view.answers_model, 0), cells(view.answers_model, 1)
    assert first[ANSWER] == '✓ search {"query": "AI news", "max_results": 10}'
    assert first[RUNS] == "4 of 6" and second[RUNS] == "2 of 6"
    assert second[DIFFERENCE] == f"character {CALL.index('%')}" and "[" in second[SHARE]
    share = view.answers_model.index(0, SHARE).data(SHARE_ROLE)
    assert share.low < share.share < share.high
    options = [cells(view.options_model, row) for row in range(view.options_model.rowCount())]
    assert [(option[TOKEN], option[ANSWERS]) for option in options] == [("1", "1"), ("5", "2")]
    assert "6 runs, 2 distinct answers" in view.words.text()
    view.answers.grab()
    page.widget.resize(1100, 640)
    QApplication.processEvents()
    options_height = view.options.height_of(view.options_model.rowCount())
    assert view.options.height() >= options_height, "the tokens are in sight, however many answers there are"
    requests = [run.events[0].request for run in page.seeds.experiment.runs.values()]
    assert {request.sampling.seed for request in requests} == set(range(1, 7))
    assert {request.sampling.temperature for request in requests} == {0.7}
    assert page.context.project.options.sampling.temperature == 0, "the playground's settings stay"
    qtbot.waitUntil(lambda: len(page.context.services.history.rows()) == 6)


@pytest.mark.slow
def test_a_seed_opens_its_run_at_the_token_where_its_answer_diverges(make, qtbot):
    page = make()
    run(qtbot, page)
    view, runs = page.seeds_view, page.context.runs
    view.answers.selectRow(1)
    assert all(f'href="{seed}"' in view.runs_label.text() for seed in FIVES)
    with qtbot.waitSignal(runs.ended) as ended:
        view.runs_label.linkActivated.emit(str(FIVES[-1]))
    assert runs.state.started.request.sampling.seed == FIVES[-1]
    assert ended.args[0].at == TokenPlace(0, CALL.index("%"))
    assert page.context.navigator.visits == [(PageId.PLAYGROUND, None)]


@pytest.mark.slow
def test_stop_leaves_only_the_runs_that_ended_in_the_count(make, qtbot):
    Slow = type("Slow", (Drawing,), {"seconds": 0.004})
    page = make(lambda _name, **_options: Slow(CALL % 5))
    view, runs = page.seeds_view, page.seeds.experiment
    page.run()
    qtbot.waitUntil(lambda: page.seeds.result.n == 1)
    assert view.stop_button.isEnabled() and not view.run_button.isEnabled()
    assert page.context.status.activity == "Seeds: run 2 of 6"
    qtbot.waitUntil(lambda: bool(re.fullmatch(r"Seed 2: run 2 of 6, \d+ tokens?", view.turn.text())))
    view.stop_button.click()
    qtbot.waitUntil(lambda: not runs.is_running)
    assert 1 <= page.seeds.result.n < 6 and "Stopped" in view.words.text()
    assert view.run_button.isEnabled() and page.context.status.activity == ""


@pytest.mark.slow
def test_the_setting_of_a_column_is_run_with_its_changes(make, qtbot):
    page = make()
    columns = (
        variant(constraint="off", temperature=1.5, prompt="Find cats"),
        variant(constraint="off"),
    )
    page.comparison.arrange(columns)
    view = page.seeds_view
    assert view.source.count() == 3 and "temperature 1.5" in view.source.itemText(1)
    view.source.setCurrentIndex(1)
    view.source.activated.emit(1)
    assert view.temperature.value() == 1.5 and "Find cats" in view.about.text()
    view.seeds.setText("3")
    run(qtbot, page)
    (made,) = page.seeds.experiment.runs.values()
    assert (made.events[0].request.prompt, made.events[0].request.sampling.temperature) == ("Find cats", 1.5)
    page.comparison.arrange([variant(), variant(notation="json")])
    assert view.source.currentIndex() == 1, "the place stays"
    page.comparison.arrange([variant(), variant(), variant(temperature=1.5)])
    view.source.activated.emit(3)
    assert view.temperature.value() == 1.5
    page.comparison.remove(2)
    assert view.source.currentIndex() == 0 and view.temperature.value() != 1.5, "the playground's again"


@pytest.mark.slow
def test_at_temperature_0_one_seed_is_run(make, qtbot):
    page = make()
    page.seeds_view.temperature.setValue(0)
    run(qtbot, page)
    assert page.seeds.result.n == 1 and "At temperature 0" in page.seeds_view.turn.text()
    assert page.seeds_view.place.text() == "One run"


def test_an_error_in_the_seeds_is_shown_beside_them_and_nothing_runs(make):
    page = make()
    for text, words in (("3-", "seed"), ("", "seed"), ("1-200", "At most 100")):
        page.seeds_view.seeds.setText(text)
        page.run()
        assert words in page.seeds_view.turn.text() and not page.seeds.experiment.is_running


@pytest.mark.slow
def test_a_model_that_cannot_be_opened_is_tried_once(make, qtbot):
    def opener(_name, **_options):
        raise ModelError("There is no such model.", hint="Choose another.")

    page = make(opener)
    qtbot.waitUntil(lambda: not page.context.runs.is_busy)
    run(qtbot, page)
    runs = page.seeds.experiment
    assert (
        sum(each.has_ended for each in runs.runs.values()) == 1
        and "no such model" in page.seeds_view.words.text()
    )
    assert page.seeds_view.answers_model.rowCount() == 0


@pytest.mark.slow
def test_the_labels_show_the_text_of_a_model_as_text(make):
    page = make()
    assert page.seeds_view.place.textFormat() is Qt.TextFormat.PlainText
    assert page.seeds_view.words.textFormat() is Qt.TextFormat.PlainText


@pytest.mark.slow
def test_answers_to_an_earlier_prompt_or_temperature_are_marked(make, qtbot):
    page = make()
    project, view = page.context.project, page.seeds_view
    run(qtbot, page)
    assert "earlier" not in view.turn.text()
    before = project.prompt.user
    project.prompt.set_user("Another prompt")
    assert f"earlier request: “{before}”" in view.turn.text() and "Another prompt" in view.about.text()
    project.prompt.set_user(before)
    view.temperature.setValue(1.5)
    assert "earlier settings" in view.turn.text()
