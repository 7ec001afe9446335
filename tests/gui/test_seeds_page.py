"""One setting with several seeds in the window: counted, grouped, stopped, opened at the token where answers differ."""

from __future__ import annotations

import time

import pytest

from comparing import variant
from glyphscope.base.errors import ModelError
from glyphscope.events import Answer
from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.compare import SHARE, SHARE_ROLE
from glyphscope_gui.runs import TokenPlace
from glyphscope_gui.shared.page_ids import HeaderPart, PageId
from on_screen import Screen

CALL = '{action="search" query="AI news" max_results=%s}'
FIVES = (3, 6)
RUN, SEEDS, HEAT, SETTING = "Run seeds", "Seeds", "Temperature", "Setting"
ANSWERS, TOKENS = "Answers, most frequent first", "Tokens at which the answers diverge"


class Drawing(ScriptedModel):
    """Writes 5 or 10 by the seed; slowly, if it is to be stopped."""

    def __init__(self, seconds=0.0):
        super().__init__(CALL % 5)
        self.seconds, self.asked = seconds, []

    def generate(self, request):
        self.asked.append(request)
        number = 5 if request.sampling.seed in FIVES else 10
        self._turns = [[character.encode() for character in CALL % number]]
        for item in super().generate(request):
            time.sleep(self.seconds)
            yield item


@pytest.fixture
def make(open_page, qtbot):
    """Make the compare page, which shows the seeds, with a model or an error in its place."""

    def build(model=None):
        def opener(_name, **_options):
            if isinstance(model, Exception):
                raise model
            return model or Drawing()

        page = open_page(PageId.COMPARE, opener)
        page.context.project.set_options(constraint="off")
        qtbot.waitUntil(lambda: not page.context.runs.is_busy)
        screen = Screen(qtbot, page.widget)
        screen.choose("Compare settings, two prompts, or seeds", "Seeds")
        screen.write(SEEDS, "1-6")
        return page, screen

    return build


def run(page, screen):
    page.run()
    assert not screen.can(RUN)
    screen.until_can(RUN)


@pytest.mark.slow
def test_answers_are_counted_and_a_seed_opens_its_run_at_the_token_where_they_diverge(make, qtbot):
    model = Drawing()
    page, screen = make(model)
    assert screen.find(HEAT).value() == 0.7, "at 0 every seed would sample the same"
    run(page, screen)
    first, second = screen.rows(ANSWERS)
    at = CALL.index("%")
    assert first[1] == '✓ search {"query": "AI news", "max_results": 10}'
    assert (first[2], second[2]) == ("4 of 6", "2 of 6")
    assert "[" in second[3] and second[4] == f"character {at}"
    answers = screen.find(ANSWERS)
    share = answers.model().index(0, SHARE).data(SHARE_ROLE)
    assert share.low < share.share < share.high
    assert [(row[0], row[4]) for row in screen.rows(TOKENS)] == [("1", "1"), ("5", "2")]
    assert "6 runs, 2 distinct answers" in screen
    answers.grab()
    page.widget.resize(1100, 640)
    qtbot.wait(1)
    options = screen.find(TOKENS)
    assert options.height() >= options.height_of(2), "the tokens are in sight, however many answers there are"
    assert {request.sampling.seed for request in model.asked} == set(range(1, 7))
    assert {request.sampling.temperature for request in model.asked} == {0.7}
    assert page.context.project.options.sampling.temperature == 0, "the playground's settings stay"
    qtbot.waitUntil(lambda: len(page.context.services.history.rows()) == 6)

    screen.choose(ANSWERS, "2 of 6")
    links = next(words for words in screen.texts() if words.startswith("Open the run of seed"))
    assert all(f'href="{seed}"' in links for seed in FIVES)
    label = page.seeds_view.runs_label
    with qtbot.waitSignal(page.context.runs.ended) as ended:
        label.linkActivated.emit(str(FIVES[-1]))
    assert page.context.runs.state.started.request.sampling.seed == FIVES[-1]
    assert ended.args[0].at == TokenPlace(0, at)
    assert page.context.navigator.visits == [(PageId.PLAYGROUND, None)]


def test_the_page_says_what_it_runs_and_the_bar_above_has_no_settings_of_its_own(make):
    page, screen = make()
    assert page.header == {HeaderPart.MODEL}
    assert "GLYPH · no constraint · direct · “" in screen
    page.context.project.set_options(answer=Answer("choice", "yes\nno"))
    assert "direct · choice yes" in screen, "an answer that is not a call is a setting, too"


@pytest.mark.slow
def test_stop_leaves_only_the_runs_that_ended_in_the_count(make, qtbot):
    page, screen = make(Drawing(0.004))
    page.run()
    screen.until("Seed 2: run 2 of 6, ")
    assert screen.rows(ANSWERS)[0][2] == "1 of 1"
    assert page.context.status.activity == "Seeds: run 2 of 6" and not screen.can(RUN)
    screen.press("Stop")
    screen.until_can(RUN)
    assert "Stopped: the figures cover the finished runs." in screen
    (row,) = screen.rows(ANSWERS)
    assert int(row[2].split(" of ")[1]) < 6 and page.context.status.activity == ""


@pytest.mark.slow
def test_the_setting_of_a_column_is_run_with_its_changes(make):
    model = Drawing()
    page, screen = make(model)
    warm = variant(constraint="off", temperature=1.5, prompt="Find cats")
    page.comparison.arrange([warm, variant(constraint="off")])
    screen.choose(SETTING, "Column 1: temperature 1.5")
    assert screen.find(HEAT).value() == 1.5 and "“Find cats”" in screen
    screen.write(SEEDS, "3")
    run(page, screen)
    (request,) = model.asked
    assert "Find cats" in request.prompt and request.sampling.temperature == 1.5
    page.comparison.arrange([variant(), variant(notation="json")])
    assert screen.read(SETTING).startswith("Column 1"), "the place stays"
    page.comparison.arrange([variant(), variant(), variant(temperature=1.5)])
    screen.choose(SETTING, "Column 3")
    page.comparison.remove(2)
    assert screen.read(SETTING) == "Playground" and screen.find(HEAT).value() != 1.5


@pytest.mark.slow
def test_at_temperature_0_one_seed_is_run(make):
    page, screen = make()
    screen.write(HEAT, 0)
    run(page, screen)
    assert "At temperature 0" in screen and "One run" in screen and len(screen.rows(ANSWERS)) == 1


@pytest.mark.parametrize(("text", "words"), [("3-", "seed"), ("", "seed"), ("1-200", "At most 100")])
def test_an_error_in_the_seeds_is_shown_beside_them_and_nothing_runs(make, text, words):
    page, screen = make()
    screen.write(SEEDS, text)
    page.run()
    assert words in page.seeds_view.turn.text() and screen.can(RUN)


@pytest.mark.slow
def test_a_model_that_cannot_be_opened_is_tried_once(make):
    page, screen = make(ModelError("There is no such model.", hint="Choose another."))
    run(page, screen)
    assert "1 run failed" in screen and "There is no such model." in screen
    assert screen.rows(ANSWERS) == []


@pytest.mark.slow
def test_answers_to_an_earlier_prompt_or_temperature_are_marked(make):
    page, screen = make()
    prompt = page.context.project.prompt
    run(page, screen)
    assert "earlier" not in screen
    before = prompt.user
    prompt.set_user("Another prompt")
    assert f"earlier request: “{before}”" in screen and "“Another prompt”" in screen
    prompt.set_user(before)
    screen.write(HEAT, 1.5)
    assert "earlier settings" in screen
