"""The compare page: columns take turns on one model, fail by themselves, stop together, and disturb nobody."""

from __future__ import annotations

import threading
import time

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QPushButton, QWidget

from glyphscope.errors import ModelDied, ModelError
from glyphscope.models import ScriptedModel
from glyphscope_gui.compare.column_state import ColumnPhase
from glyphscope_gui.compare.column_view import NARROWEST
from glyphscope_gui.compare.presenter import COMPARE
from glyphscope_gui.compare.variants import MOST, OWN, PRESETS, Variant, next_variant, variant_names
from glyphscope_gui.runs.compare_fields_model import FIELD, FIRST_RUN, MARK, PARTING_ROLE
from glyphscope_gui.runs.run_controller import Aside, Phase

GLYPH = '{action="search" query="AI news" max_results=10}'
BROKEN = '{action="search" query="AI news" max_results=500}'
JSON = '{"action": "search", "query": "AI news", "max_results": 5}'
NAMES = (
    "comparePage",
    "compareRunButton",
    "compareStopButton",
    "comparePromptEdit",
    "comparePresets",
    "compareColumns",
    "compareFields",
)


class Answers(ScriptedModel):
    """Answers in the notation it is asked for, and remembers the requests; slowly, if it is to be stopped."""

    def __init__(self, glyph=GLYPH, json=JSON, seconds=0.0, **options):
        super().__init__(**options)
        self.scripts = {"glyph": glyph, "json": json}
        self.seconds = seconds
        self.asked = []

    def generate(self, request):
        self.asked.append(request)
        script = self.scripts["json" if '{"action"' in request.prompt else "glyph"]
        if isinstance(script, Exception):
            raise script
        self._turns = [[piece.encode() for piece in script]]
        for item in super().generate(request):
            time.sleep(self.seconds)
            yield item


@pytest.fixture
def make(open_window):
    """A window on its compare page."""

    def build(model=None, **looks):
        model = Answers() if model is None else model

        def opener(_name, **_options):
            if isinstance(model, Exception):
                raise model
            return model

        window = open_window(opener, **looks)
        window.parts.project.set_options(constraint="off")
        window.pages.show(COMPARE)
        return window

    return build


def arrange(window, *variants):
    window.compare.comparison.arrange(variants)
    window.compare._preset = OWN


def run_all(qtbot, window):
    with qtbot.waitSignal(window.compare.comparison.runningChanged, check_params_cb=lambda on: not on):
        window.compare_page.run_button.click()
    return window.compare.comparison.columns


def pills(window):
    count = len(window.compare.comparison.columns)
    return [view.pill.words for view in window.compare_page.columns[:count]]


def table(window):
    model = window.compare_page.fields_model
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


GLYPH_OFF = Variant("glyph", "flat", "off")
JSON_OFF = Variant("json", "flat", "off")
NATIVE_OFF = Variant("native", "flat", "off")


# -- what is there -------------------------------------------------------------------------------------------------


def test_a_name_of_the_contract_is_missing_or_unnamed_for_screen_readers(make):
    window = make()
    for name in NAMES:
        widget = window.findChild(QWidget, name)
        assert widget is not None, name
        assert widget.accessibleName(), name
    for view in window.compare_page.columns[:2]:
        for widget in view.findChildren(QComboBox) + view.findChildren(QAbstractButton):
            if widget.isVisible():
                assert "olumn" in widget.accessibleName() + (widget.accessibleDescription() or ""), widget


def test_the_page_has_no_key_or_takes_that_of_another(make, qtbot):
    window = make()
    keys = {name: action.shortcut().toString() for name, action in window.rail.actions_.items()}
    assert keys[COMPARE] == "Ctrl+5" and len(set(keys.values())) == len(keys)
    window.pages.show("playground")
    qtbot.keyClick(window, Qt.Key.Key_5, Qt.KeyboardModifier.ControlModifier)
    assert window.pages.current == COMPARE
    assert window.focusWidget() is window.compare_page.prompt_edit


def test_the_prompt_is_another_than_the_playgrounds(make, qtbot):
    window = make()
    edit = window.compare_page.prompt_edit
    assert edit.toPlainText() == window.page.prompt_edit.toPlainText()
    edit.setPlainText("Find cats")
    assert window.page.prompt_edit.toPlainText() == "Find cats"
    facts = window.compare_page.facts.text()
    assert all(word in facts for word in ("scripted", "7 tools", "seed 1", "temperature 0"))
    window.parts.project.set_options(
        sampling=msgspec.structs.replace(window.parts.project.options.sampling, seed=7)
    )
    assert "seed 7" in window.compare_page.facts.text()


# -- a comparison --------------------------------------------------------------------------------------------------


def test_columns_do_not_run_one_after_the_other_or_their_difference_is_not_told(make, qtbot):
    model = Answers()
    window = make(model)
    arrange(window, JSON_OFF, GLYPH_OFF)
    columns = run_all(qtbot, window)
    assert len(model.asked) == 2
    assert pills(window) == ["✓ valid", "✓ valid"]
    assert [column.state.call.arguments["max_results"] for column in columns] == [5, 10]
    assert window.compare_page.words.text() == "JSON wrote max_results 5, GLYPH 10."
    assert table(window) == [
        ["=", "tool", '"search"', '"search"'],
        ["=", "query", '"AI news"', '"AI news"'],
        ["≠ first", "max_results", "5", "10"],
    ]
    view = window.compare_page.columns[0]
    assert view.stream.toPlainText() == JSON
    assert view.call.text() == 'search(query="AI news", max_results=5)'
    values = {title.text(): value.text() for title, value in zip(view._titles, view._values)}
    assert values["Text"] == f"{len(JSON)} characters, {len(JSON)} bytes"
    assert values["Tokens"].startswith(str(columns[0].state.finished.tokens))
    assert all(value != "–" for value in values.values())


def test_an_aborted_column_does_not_say_where_and_why(make, qtbot):
    window = make(Answers(glyph=BROKEN))
    arrange(window, GLYPH_OFF, JSON_OFF)
    columns = run_all(qtbot, window)
    assert pills(window) == ["✕ aborted", "✓ valid"]
    detail = window.compare_page.columns[0].detail
    assert detail.isVisible()
    place = f"At character {columns[0].state.aborted.char}: CONSTRAINT_MAX"
    assert detail.text().startswith(f"{place}. max_results is at most 100")
    assert window.compare_page.words.text() == "GLYPH wrote max_results 500 (broken off), JSON 5."
    window.resize(1024, 700)
    window.compare.comparison.add()
    qtbot.wait(20)
    assert detail.text() == place and "at most 100" in detail.toolTip(), "in a narrow column"
    assert columns[0].state.aborted.char in window.compare_page.columns[0].stream.decided_characters


def test_the_same_prompt_seed_and_tools_do_not_go_to_every_column(make, qtbot):
    model = Answers()
    window = make(model)
    options = window.parts.project.options
    window.parts.project.set_options(
        dispatch=True, sampling=msgspec.structs.replace(options.sampling, seed=9, temperature=0.5)
    )
    window.compare_page.prompt_edit.setPlainText("Find cats")
    arrange(window, GLYPH_OFF, JSON_OFF, Variant("json", "tool-args", "off"))
    columns = run_all(qtbot, window)
    requests = [column.state.started.request for column in columns]
    assert {r.prompt for r in requests} == {"Find cats"}
    assert {(r.sampling.seed, r.sampling.temperature) for r in requests} == {(9, 0.5)}
    assert [(r.notation, r.shape) for r in requests] == [
        ("glyph", "flat"),
        ("json", "flat"),
        ("json", "tool-args"),
    ]
    assert not any(r.dispatch for r in requests), "a comparison carries nothing out"


def test_two_stages_stand_beside_one_text_without_their_texts(make, qtbot):
    class Staged(ScriptedModel):
        turns = (GLYPH, '"search"', '{query="AI news" max_results=10}')

    window = make(Staged(turns=Staged.turns))
    arrange(window, GLYPH_OFF, Variant("glyph", "flat", "off", "two-stage"))
    run_all(qtbot, window)
    assert window.compare_page.words.text() == "Both wrote the same: search, 2 arguments."
    direct, staged = window.compare_page.columns[:2]
    assert not direct.tabs.isVisible()
    assert [staged.tabs.tabText(tab) for tab in range(staged.tabs.count())] == ["name", "arguments"]
    assert staged.stream.toPlainText() == '{query="AI news" max_results=10}'
    staged.tabs.setCurrentIndex(0)
    assert staged.stream.toPlainText() == '"search"'


def test_figures_and_text_are_not_there_before_the_end(make, qtbot):
    window = make(Answers(seconds=0.02))
    arrange(window, GLYPH_OFF, JSON_OFF)
    page = window.compare_page
    page.run_button.click()
    qtbot.waitUntil(lambda: "AI" in page.columns[0].stream.toPlainText())
    assert pills(window) == ["◌ running", "waits"]
    assert "one text at a time" in page.columns[1].notice.label.text()
    assert "Column 1 of 2" in page.turn.text()
    qtbot.waitUntil(lambda: len(table(window)) > 1)
    assert table(window)[0] == ["…", "tool", '"search"', ""]
    page.stop_button.click()
    qtbot.waitUntil(lambda: not window.compare.comparison.is_running)


# -- stop ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["button", "escape"])
def test_stop_ends_one_column_only_or_loses_what_there_is(make, qtbot, how):
    model = Answers(seconds=0.02)
    window = make(model)
    arrange(window, GLYPH_OFF, JSON_OFF, JSON_OFF)
    page = window.compare_page
    page.run_button.click()
    qtbot.waitUntil(lambda: "AI" in page.columns[0].stream.toPlainText())
    if how == "button":
        page.stop_button.click()
    else:
        qtbot.keyClick(window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.compare.comparison.is_running)
    assert len(model.asked) == 1
    assert pills(window) == ["stopped", "not run", "not run"]
    assert page.columns[0].stream.toPlainText().startswith('{action="search"')
    assert page.run_button.isEnabled() and not page.stop_button.isEnabled()
    model.seconds = 0
    run_all(qtbot, window)
    assert pills(window) == ["✓ valid"] * 3, "and it cannot be run again"


def test_closing_the_window_in_a_comparison_leaves_its_run_behind(make, qtbot):
    window = make(Answers(seconds=0.05))
    window.compare_page.run_button.click()
    qtbot.waitUntil(lambda: bool(window.compare.comparison.columns[0].events))
    window.shut_down()  # what is left behind fails the test


# -- the playground ------------------------------------------------------------------------------------------------


def test_a_comparison_takes_the_playgrounds_run_away_or_starts_beside_it(make, qtbot):
    window = make(Answers(seconds=0.01))
    window.pages.show("playground")
    with qtbot.waitSignal(window.runs.ended):
        window.actions_.run.trigger()
    before = list(window.runs.events)
    window.pages.show(COMPARE)
    run_all(qtbot, window)
    assert window.runs.events == before
    assert window.page.stream.toPlainText() == GLYPH
    window.pages.show("playground")
    window.actions_.run.trigger()
    page = window.compare_page
    assert not page.run_button.isEnabled() and "playground" in page.turn.text()
    request = window.parts.project.request_for("")
    assert not window.compare.comparison.begin(request)
    qtbot.waitUntil(lambda: not window.runs.is_busy)
    assert page.run_button.isEnabled()


def test_run_and_its_keys_run_the_playground_where_the_columns_are_in_sight(make, qtbot):
    window = make()
    began = []
    window.runs.began.connect(began.append)
    with qtbot.waitSignal(window.compare.comparison.runningChanged, check_params_cb=lambda on: not on):
        qtbot.keyClick(
            window.compare_page.prompt_edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier
        )
    assert pills(window) == ["✓ valid", "✓ valid"]
    assert not began


def test_another_run_that_begins_lets_the_columns_go_on(make, qtbot):
    window = make(Answers(seconds=0.02))
    window.compare_page.run_button.click()
    qtbot.waitUntil(lambda: bool(window.compare.comparison.columns[0].events))
    with qtbot.waitSignal(window.runs.ended):
        window.wiring.play_bundled()
    assert not window.compare.comparison.is_running
    assert window.runs.phase is Phase.IDLE
    assert window.runs.state.call is not None


def test_late_news_of_an_older_comparison_are_shown(make, qtbot):
    window = make()
    columns = run_all(qtbot, window)
    events = list(columns[0].events)
    window.runs.aside.emit(Aside(window.compare.comparison._job - 1, tuple(events)))
    window.runs.aside.emit(Aside(window.compare.comparison._job, tuple(events), ended=True))
    assert columns[0].events == events
    assert pills(window) == ["✓ valid", "✓ valid"]


def test_a_columns_run_is_not_in_the_history_or_cannot_be_opened(make, qtbot):
    window = make()
    arrange(window, GLYPH_OFF, JSON_OFF)
    kept = []
    window.recorder.kept.connect(kept.append)
    run_all(qtbot, window)
    qtbot.waitUntil(lambda: len(kept) == 2)
    assert len(window.parts.history.rows()) == 2
    with qtbot.waitSignal(window.runs.ended):
        window.compare_page.columns[1].open_button.click()
    assert window.pages.current == "playground"
    assert window.page.stream.toPlainText() == JSON
    assert window.runs.events == window.compare.comparison.columns[1].events


# -- what goes wrong -----------------------------------------------------------------------------------------------


def test_a_variant_that_cannot_be_built_stops_the_others_or_says_nothing(make, qtbot):
    window = make()
    arrange(window, NATIVE_OFF, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, window)
    assert pills(window) == ["✕ failed", "✓ valid", "✓ valid"]
    assert "no place for tools" in window.compare_page.columns[0].notice.label.text()
    assert window.compare_page.words.text() == ("GLYPH wrote max_results 10, JSON 5. Not compared: native.")
    assert [row[FIRST_RUN] for row in table(window)] == ["not compared"] * 3


def test_a_model_that_dies_in_one_column_takes_the_others_with_it(make, qtbot):
    window = make(Answers(glyph=ModelDied("The model’s process was ended by SIGKILL.", signal="SIGKILL")))
    arrange(window, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, window)
    assert pills(window) == ["✕ failed", "✓ valid"]
    assert "SIGKILL" in window.compare_page.columns[0].notice.label.text()


def test_without_a_model_every_column_tries_to_open_it(make, qtbot):
    window = make(ModelError("There is no such model.", hint="Choose another."))
    arrange(window, GLYPH_OFF, JSON_OFF)
    qtbot.waitUntil(lambda: not window.runs.is_busy)
    run_all(qtbot, window)
    assert pills(window) == ["✕ failed", "not run"]
    first, second = (view.notice.label.text() for view in window.compare_page.columns[:2])
    assert "no such model" in first and "Choose another" in first
    assert second.startswith("There is no model to run it")


def test_a_mistake_of_ours_leaves_the_comparison_hanging(make, qtbot, monkeypatch):
    model = Answers(glyph=ValueError("a mistake of ours"))
    window = make(model)
    told = []
    monkeypatch.setattr(
        "glyphscope_gui.shell.main_window.show_error", lambda _window, error: told.append(error)
    )
    arrange(window, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, window)
    assert pills(window) == ["✕ failed", "✓ valid"]
    assert [str(error) for error in told] == ["a mistake of ours"]


def test_markup_that_a_model_writes_is_laid_out_instead_of_shown(make, qtbot):
    window = make(Answers(glyph='{action="search" query="<b>x</b><img src=file:///etc/passwd>\u202e"}'))
    arrange(window, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, window)
    call = window.compare_page.columns[0].call
    assert call.textFormat() is Qt.TextFormat.PlainText
    assert "<b>x</b>" in call.text() and "⟨U+202E⟩" in call.text()
    assert "<b>" in window.compare_page.words.text()


# -- columns -------------------------------------------------------------------------------------------------------


def test_a_question_does_not_bring_its_columns_or_forgets_the_playgrounds_notation(make, qtbot):
    window = make()
    page, comparison = window.compare_page, window.compare.comparison
    assert [v.constraint for v in comparison.variants] == ["off", "mask"]
    window.parts.project.set_options(notation="json")
    assert {v.notation for v in comparison.variants} == {"json"}, "as long as nothing was run"
    for preset in PRESETS:
        page.presets.setCurrentIndex(page.presets.findData(preset.key))
        page.presets.activated.emit(page.presets.currentIndex())
        assert 2 <= len(comparison.columns) <= MOST
        assert len(set(comparison.variants)) == len(comparison.columns)
        assert sum(view.isVisible() for view in page.columns) == len(comparison.columns)


def test_a_picker_changes_another_column_or_keeps_a_run_that_is_none_of_it(make, qtbot):
    window = make()
    arrange(window, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, window)
    box = window.compare_page.columns[0].picker.boxes["constraint"]
    box.setCurrentIndex(box.findData("gbnf"))
    box.activated.emit(box.currentIndex())
    columns = window.compare.comparison.columns
    assert columns[0].variant.constraint == "gbnf" and columns[0].phase is ColumnPhase.NEW
    assert columns[1].phase is ColumnPhase.DONE
    assert window.compare_page.columns[1].stream.toPlainText() == JSON
    assert window.compare_page.columns[0].stream.toPlainText() == ""
    assert window.compare_page.presets.currentData() == OWN
    native = window.compare_page.columns[0].picker.boxes["notation"]
    native.setCurrentIndex(native.findData("native"))
    native.activated.emit(native.currentIndex())
    assert not window.compare_page.columns[0].picker.boxes["shape"].isEnabled()


def test_columns_can_be_fewer_than_two_or_more_than_four(make, qtbot):
    window = make()
    page, comparison = window.compare_page, window.compare.comparison
    assert not page.columns[0].remove_button.isVisible()
    for _ in range(5):
        page.add_button.click()
    assert len(comparison.columns) == MOST and not page.add_button.isEnabled()
    run_all(qtbot, window)
    kept = comparison.columns[3].state
    page.columns[1].remove_button.click()
    page.columns[0].remove_button.click()
    assert len(comparison.columns) == 2 and comparison.columns[1].state is kept
    assert page.columns[1].stream.toPlainText() == kept.text
    assert not page.columns[0].remove_button.isVisible()


def test_while_it_runs_its_columns_can_be_changed(make, qtbot):
    window = make(Answers(seconds=0.02))
    page, comparison = window.compare_page, window.compare.comparison
    before = comparison.variants
    page.run_button.click()
    assert not page.presets.isEnabled() and not page.add_button.isEnabled()
    assert not page.columns[0].picker.isEnabled() and page.prompt_edit.isReadOnly()
    comparison.change(0, NATIVE_OFF)
    comparison.remove(1)
    comparison.add()
    assert comparison.variants == before
    page.stop_button.click()
    qtbot.waitUntil(lambda: not comparison.is_running)
    assert page.presets.isEnabled() and not page.prompt_edit.isReadOnly()


def test_names_do_not_tell_columns_apart_or_say_what_all_have():
    assert variant_names([GLYPH_OFF, JSON_OFF, NATIVE_OFF]) == ["GLYPH", "JSON", "native"]
    assert variant_names([Variant(constraint="off"), Variant()]) == ["unconstrained", "mask"]
    mixed = [GLYPH_OFF, Variant("json", "tool-args", "mask"), Variant("native", "flat", "mask")]
    assert variant_names(mixed) == ["GLYPH flat unconstrained", "JSON tool-args mask", "native mask"]
    assert variant_names([Variant(), Variant()]) == ["GLYPH mask (1)", "GLYPH mask (2)"]
    assert next_variant([GLYPH_OFF]) == JSON_OFF
    assert next_variant([GLYPH_OFF, JSON_OFF]) == Variant("json", "flat", "mask")


# -- how it looks --------------------------------------------------------------------------------------------------


def test_four_columns_are_squeezed_instead_of_scrolled(make, qtbot):
    window = make(size=(1024, 700))
    arrange(window, GLYPH_OFF, JSON_OFF, NATIVE_OFF, GLYPH_OFF)
    qtbot.wait(20)
    page = window.compare_page
    assert window.width() == 1024 and window.height() == 700
    assert all(view.width() >= NARROWEST for view in page.columns)
    assert page.scroll.horizontalScrollBar().maximum() > 0
    run_all(qtbot, window)
    bar = page.scroll.horizontalScrollBar()
    assert bar.value() == bar.maximum(), "the column that runs is in sight"


def test_three_columns_do_not_fit_the_smallest_window(make, qtbot):
    window = make(size=(1024, 700))
    arrange(window, GLYPH_OFF, JSON_OFF, NATIVE_OFF)
    run_all(qtbot, window)
    qtbot.wait(20)
    assert window.compare_page.scroll.horizontalScrollBar().maximum() == 0
    assert window.compare_page.scroll.verticalScrollBar().maximum() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_first_difference_is_told_by_colour_alone_or_not_drawn(make, qtbot, theme):
    window = make(Answers(json=JSON.replace("AI news", "AI views")), theme=theme)
    arrange(window, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, window)
    page, model = window.compare_page, window.compare_page.fields_model
    assert [model.index(row, MARK).data() for row in range(3)] == ["=", "≠ first", "≠"]
    assert model.index(1, FIELD).data() == "query"
    tip = model.index(1, MARK).data(Qt.ItemDataRole.AccessibleTextRole)
    assert tip == "The first field in which the columns differ."
    assert model.index(1, FIRST_RUN).data(PARTING_ROLE) == 4  # a quotation mark, then A, I and a blank
    image = page.fields.grab().toImage()
    marked = page.fields.visualRect(model.index(1, FIRST_RUN)).center()
    plain = page.fields.visualRect(model.index(0, FIRST_RUN)).center()
    down = page.fields.horizontalHeader().height()
    at = [QImage.pixelColor(image, image.width() - 30, point.y() + down) for point in (marked, plain)]
    assert at[0] != at[1]


def test_the_keyboard_does_not_reach_a_control(make, qtbot):
    window = make()
    page = window.compare_page
    page.prompt_edit.setFocus()
    seen = []
    for _ in range(40):
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        widget = window.focusWidget()
        if widget is None or widget in seen:
            break
        seen.append(widget)
    wanted = [page.presets, page.add_button, page.run_button, page.fields]
    wanted += [box for view in page.columns[:2] for box in view.picker.boxes.values()]
    assert [w.accessibleName() or w.text() for w in wanted if w not in seen] == []


def test_no_label_of_the_page_takes_what_is_written_for_html(make):
    window = make()
    page = window.compare_page
    for view in page.columns:
        for label in (view.title, view.detail, view.call, view.notice.label):
            assert isinstance(label, QLabel) and label.textFormat() is Qt.TextFormat.PlainText
    assert isinstance(page.run_button, QPushButton)


def test_a_router_that_asks_leaves_a_column_waiting_for_ever(make, qtbot):
    question = '{"choice":"clarify","tool":null,"question":"Which news?"}'
    window = make(ScriptedModel(turns=(question, GLYPH)))
    asked = []
    window.runs.asked.connect(asked.append)
    arrange(window, Variant("glyph", "flat", "off", "route-execute"), GLYPH_OFF)
    columns = run_all(qtbot, window)
    assert columns[0].state.finished.reason == "unanswered"
    assert pills(window)[1] == "✓ valid"
    assert not any(asked), "the playground's card is not for it"


def test_stop_while_the_model_is_opened_says_that_something_failed(open_window, qtbot):
    opening = threading.Event()

    def opener(name, *, context, progress):
        if name == "scripted:slow":
            opening.set()
            ended = threading.Event()
            progress.begins(ended.set)
            ended.wait(10)
            raise ModelError("The opening of the model was stopped.")
        return Answers()

    window = open_window(opener)
    window.parts.project.set_options(model="scripted:slow")
    window.pages.show(COMPARE)
    window.compare_page.run_button.click()
    qtbot.waitUntil(opening.is_set)
    window.compare_page.stop_button.click()
    qtbot.waitUntil(lambda: not window.compare.comparison.is_running)
    assert pills(window) == ["stopped", "not run"]
    assert table(window) == []
