"""The sampling panel, its view of the current run, and the parts of the top bar that each page has."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget

from fake_context import scripted
from glyphscope.events import (
    Alternative,
    ModelInfo,
    RunRequest,
    Sampling,
    StageStarted,
    StopStringFound,
    Token,
    TokenStep,
)
from glyphscope.models import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope_gui.run_settings import SamplingSettings, effect_of
from glyphscope_gui.runs import ShownStage, StreamView
from glyphscope_gui.runs.alternatives_table import FINAL, TEXT, AlternativesModel
from glyphscope_gui.shared.page_ids import HeaderPart, PageId

GOOD = '{action="search" query="AI news" max_results=10}'
WARM = Sampling(temperature=0.8, top_k=7, top_p=0.9, min_p=0.1, repeat_penalty=1.1, seed=3)


@pytest.fixture
def panel(qtbot):
    made = SamplingSettings()
    qtbot.addWidget(made)
    made.said = []
    made.optionsChosen.connect(made.said.append)
    return made


def options(**changes):
    return RunRequest(**{"prompt": "", "registry": {}, **changes})


def drawn_run(*left):
    """Return a run whose tokens were sampled with these figures."""
    events = list(run(options(registry=default_registry().to_document(), sampling=WARM), ScriptedModel("")))
    state = run_state([events[0], StageStarted(stage="call", title="Call", kind="call")])
    for index, (allowed, figures) in enumerate(left):
        step = TokenStep(index=index, id=1, data=b"a", text="a", allowed=allowed, left=figures)
        state.present.tokens.append(Token(step=step, start=index, end=index + 1))
    return state


def test_every_value_is_shown_and_showing_it_changes_nothing(panel):
    panel.show_options(options(sampling=WARM, max_tokens=99, stop=("\n\n", "END")))
    fields = panel._fields
    assert {name: field.value() for name, field in fields.items()} == {
        "top_k": 7, "top_p": 0.9, "min_p": 0.1, "repeat_penalty": 1.1, "repeat_last_n": 64,
    }  # fmt: skip
    assert (panel.max_tokens.value(), panel.stop.toPlainText()) == (99, "\\n\\n\nEND")
    assert panel.said == [] and panel.greedy_note.isHidden()
    panel.show_options(options())
    assert panel.said == [] and not panel.greedy_note.isHidden(), "at temperature 0 filters have no effect"
    assert not fields["repeat_last_n"].isEnabled()


def test_an_edit_changes_one_value_and_keeps_the_others(panel):
    panel.show_options(options(sampling=WARM))
    panel._fields["min_p"].setValue(0.25)
    assert panel.said.pop() == {"sampling": Sampling(**{**_values(WARM), "min_p": 0.25})}
    panel.max_tokens.setValue(7)
    assert panel.said.pop() == {"max_tokens": 7}
    panel.stop.setPlainText("\\n\nEND\n")
    assert panel.said.pop() == {"stop": ("\n", "END")}
    panel.stop.setPlainText("x" * 201)
    assert panel.said == [] and panel.stop.property("refused") and "200" in panel.stop.toolTip()


def _values(sampling):
    return {name: getattr(sampling, name) for name in Sampling.__struct_fields__}


def test_a_preset_keeps_the_seed_and_knows_what_is_recommended_for_the_model(panel):
    panel.show_model(ModelInfo(name="Qwen3-8B"))
    panel.show_options(options(sampling=WARM))
    assert panel.preset_note.text() == "Custom"
    actions = {action.text(): action for action in panel.presets_button.menu().actions()}
    assert all(action.toolTip() for action in actions.values())
    actions["Recommended for the model"].trigger()
    sampling = panel.said.pop()["sampling"]
    assert (sampling.temperature, sampling.top_k, sampling.top_p, sampling.seed) == (0.7, 20, 0.8, 3)
    assert "Qwen3" in panel.preset_note.text()
    actions["Creative"].trigger()
    assert panel.preset_note.text() == "Creative"


def test_each_filter_shows_how_many_tokens_it_left_in_the_run(panel):
    state = drawn_run((900, (40, 6, 1)), (900, (40, 8, 4)), (1000, (40, 10, 5)), (1, ()))
    effect = effect_of(state)
    assert (effect.sampled, effect.allowed, effect.top_p, effect.min_p, effect.single) == (3, 900, 8, 4, 1)
    panel.show_run(state)
    panel._show_effect()
    assert [label.text() for label in panel.effects.values()] == [
        "40 of 900 left",
        "8 left",
        "4 left",
        "4 used",
    ]
    assert "3 tokens" in panel.run_note.text() and "top-k 7" in panel.run_note.text()


def test_a_run_without_sampled_tokens_says_so(panel):
    panel.show_run(drawn_run((1, ())))
    panel._show_effect()
    assert panel.run_note.text().startswith("No token of the run shown was sampled")
    assert [label.text() for label in panel.effects.values()] == ["", "", "", "1 used"]


def test_an_alternative_names_the_filter_that_removed_it(qtbot):
    model = AlternativesModel()
    rows = (
        Alternative(1, b"a", "a", 0.6, 1.0, True),
        Alternative(2, b"b", "b", 0.3, 0.0, True, "top-p"),
        Alternative(3, b"c", "c", 0.1, 0.0, False),
    )
    model.show(rows, ["", "", ""], 1)
    assert [model.index(row, FINAL).data() for row in range(3)] == ["100.0%", "top-p", "–"]
    assert "removed by top-p" in model.index(1, TEXT).data(Qt.ItemDataRole.ToolTipRole)
    assert "removed by top-p" in model.index(1, TEXT).data(Qt.ItemDataRole.AccessibleTextRole)


def test_a_stop_string_is_crossed_out_behind_the_answer(qtbot):
    asked = options(registry=default_registry().to_document(), constraint="off", stop=(" max",))
    events = list(run(asked, ScriptedModel([GOOD])))
    state, view = run_state(events), StreamView()
    qtbot.addWidget(view)
    view.show_stage(ShownStage(state, state.present))
    masked = [each for each in view.extraSelections() if each.format.fontStrikeOut()]
    assert any(isinstance(event, StopStringFound) for event in events)
    assert [each.cursor.selectedText() for each in masked] == [" max_results=10}"]
    assert view.decided_characters == (), "the end of the answer is not a character of the stop string"


# -- the top bar -----------------------------------------------------------------------------------------------

PARTS = {
    "modelPicker": HeaderPart.MODEL,
    "notationPicker": HeaderPart.CALL,
    "constraintPicker": HeaderPart.CALL,
    "strategyPicker": HeaderPart.STRATEGY,
    "seedSpin": HeaderPart.SEED,
    "samplingButton": HeaderPart.SAMPLING,
    "runButton": HeaderPart.RUN,
    "stepButton": HeaderPart.RUN,
}
SHOWN = {
    PageId.PLAYGROUND: set(HeaderPart),
    PageId.GRAMMAR: {HeaderPart.MODEL, HeaderPart.CALL, HeaderPart.RUN},
    PageId.SERVERS: set(),
    PageId.EVALUATE: {HeaderPart.MODEL},
    PageId.COMPARE: {HeaderPart.MODEL, HeaderPart.SEED, HeaderPart.SAMPLING},
    PageId.TEMPLATE: {HeaderPart.MODEL},
    PageId.LESSONS: {HeaderPart.MODEL},
}


@pytest.mark.slow
@pytest.mark.qt_log_ignore("does not support (raise|grabbing)", extend=True)
def test_the_top_bar_has_what_the_page_uses_at_one_height_and_sampling_reaches_the_project(
    open_window, qtbot
):
    window = open_window(lambda _name, **_options: ScriptedModel(GOOD), size=(1024, 700))
    heights, actions = set(), window.actions_
    qtbot.waitUntil(actions.run.isEnabled)
    for page, parts in SHOWN.items():
        window.navigator.show(page)
        for name, part in PARTS.items():
            widget = window.header.findChild(QWidget, name)
            assert widget.isVisible() == (part in parts), (page, name)
        assert actions.step.isEnabled() == (HeaderPart.RUN in parts), page
        qtbot.waitUntil(lambda: window.header.height() == window.header.sizeHint().height())
        heights.add(window.header.height())
    assert len(heights) == 1, "nothing moves from page to page"
    compare = window.page(PageId.COMPARE)
    compare.tabs.show_view(compare.ab_view)
    window.navigator.show(PageId.COMPARE)
    assert window.header.notation.isVisible() and not window.header.seed.isVisible()
    assert not window.header.run_button.isVisible() and actions.run.isEnabled()
    window.navigator.show(PageId.SERVERS)
    assert not actions.run.isEnabled()
    window.navigator.show(PageId.PLAYGROUND)
    header = window.header
    qtbot.mouseClick(header.sampling_button, Qt.MouseButton.LeftButton)
    assert header.sampling.isVisible()
    area = header.sampling.findChild(QScrollArea)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)
    header.sampling._fields["top_k"].setValue(5)
    header.sampling.hide()
    header.temperature.setValue(0.15)
    assert window.services.project.options.sampling == Sampling(temperature=0.15, top_k=5)
    assert header.temperature.text().endswith("0.15") and "top-k 5" in header.sampling_button.toolTip()


@pytest.mark.parametrize("value", [10**20, -(10**20), 1e300, float("inf")])
def test_a_number_of_a_file_beyond_a_fields_range_changes_nothing_in_the_project(panel, value):
    whole = value if isinstance(value, int) else 1
    odd = Sampling(
        temperature=value,
        top_k=whole,
        top_p=value,
        min_p=value,
        repeat_penalty=value,
        repeat_last_n=whole,
        seed=whole,
    )
    panel.show_options(options(sampling=odd, max_tokens=whole))
    assert panel.said == []
    panel.show_options(options())
    assert panel.said == [] and panel._fields["top_k"].value() == Sampling().top_k


@pytest.mark.slow
def test_a_record_with_any_seed_is_shown_whole_in_the_top_bar(open_window):
    header = open_window(scripted).header
    for seed in (10**20, 7, -5, 1234567890):
        header.show_options(options(sampling=Sampling(seed=seed)))
        line = header.seed.lineEdit()
        assert line.fontMetrics().horizontalAdvance(line.text()) <= line.width()
    assert header.seed.value() == 1234567890
