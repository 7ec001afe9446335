"""The compare page: columns take turns on one model, fail separately, stop together, and disturb no other run."""

from __future__ import annotations

import threading

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QComboBox, QFileDialog, QLabel, QPushButton, QWidget

from comparing import (
    BROKEN,
    GLYPH,
    GLYPH_OFF,
    JSON,
    JSON_OFF,
    NAMES,
    NATIVE_OFF,
    Answers,
    arrange,
    opens,
    pills,
    run_all,
    table,
    variant,
)
from glyphscope.base.errors import ModelDied, ModelError
from glyphscope.models import ScriptedModel
from glyphscope_gui.compare import MAX_COLUMNS, OWN, PRESETS, RunPhase, next_variant, variant_names
from glyphscope_gui.runs import BackgroundEvents, Phase, bundled_run
from glyphscope_gui.runs.compare_fields import FIELD, FIRST_RUN, MARK, PARTING_ROLE
from glyphscope_gui.runs.recorder import FIRST_RUN as FIRST_RECORD
from glyphscope_gui.shared.page_ids import PageId


@pytest.fixture
def make(open_page):
    """Make the compare page, with any model."""

    def build(model=None, **looks):
        page = open_page(PageId.COMPARE, opens(Answers() if model is None else model), **looks)
        page.context.project.set_options(constraint="off")
        return page

    return build


# -- what is there -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_named_control_is_there_and_named_for_screen_readers(make):
    page = make()
    for name in NAMES:
        widget = page.widget.findChild(QWidget, name)
        assert widget is not None, name
        assert widget.accessibleName(), name
    for column in page.view.columns[:2]:
        for widget in column.findChildren(QComboBox) + column.findChildren(QAbstractButton):
            if widget.isVisible():
                assert "olumn" in widget.accessibleName() + (widget.accessibleDescription() or ""), widget


def test_the_prompt_is_that_of_the_playground(make, qtbot):
    page = make()
    edit, prompt = page.view.prompt_edit, page.context.project.prompt
    assert edit.toPlainText() == prompt.state.user
    edit.setPlainText("Find cats")
    assert prompt.state.user == "Find cats"
    prompt.set_user("Find dogs")
    assert edit.toPlainText() == "Find dogs"
    facts = page.view.facts.text()
    assert all(word in facts for word in ("scripted", "7 tools", "seed 1", "temperature 0"))
    page.context.project.set_options(
        sampling=msgspec.structs.replace(page.context.project.options.sampling, seed=7)
    )
    assert "seed 7" in page.view.facts.text()


# -- a comparison --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_columns_run_one_after_the_other_and_their_difference_is_shown(make, qtbot):
    model = Answers()
    page = make(model)
    arrange(page, JSON_OFF, GLYPH_OFF)
    columns = run_all(qtbot, page)
    assert len(model.asked) == 2
    assert pills(page) == ["✓ valid", "✓ valid"]
    assert [column.state.call.arguments["max_results"] for column in columns] == [5, 10]
    assert page.view.words.text() == "JSON wrote max_results 5, GLYPH 10."
    assert table(page) == [
        ["=", "tool", '"search"', '"search"'],
        ["=", "query", '"AI news"', '"AI news"'],
        ["≠ first", "max_results", "5", "10"],
    ]
    view = page.view.columns[0]
    assert view.stream.toPlainText() == JSON
    assert view.call.text() == 'search(query="AI news", max_results=5)'
    values = {title.text(): value.text() for title, value in zip(view._titles, view._values)}
    assert values["Text"] == f"{len(JSON)} characters, {len(JSON)} bytes"
    assert values["Tokens"].startswith(str(columns[0].state.finished.tokens))
    assert all(value != "–" for value in values.values())


@pytest.mark.slow
def test_all_columns_are_exported_as_one_page(make, qtbot, tmp_path):
    page = make(Answers())
    arrange(page, JSON_OFF, GLYPH_OFF)
    assert not page.view.export_button.isEnabled()
    run_all(qtbot, page)
    page.view.export_button.click()
    (dialog,) = page.context.window.findChildren(QFileDialog)
    path = tmp_path / "page.html"
    dialog.fileSelected.emit(str(path))
    qtbot.waitUntil(path.exists)
    html = path.read_text(encoding="utf-8")
    assert html.count('<script type="application/x-ndjson"') == 2


@pytest.mark.slow
def test_an_aborted_column_shows_where_and_why(make, qtbot):
    page = make(Answers(glyph=BROKEN))
    arrange(page, GLYPH_OFF, JSON_OFF)
    columns = run_all(qtbot, page)
    assert pills(page) == ["✕ aborted", "✓ valid"]
    detail = page.view.columns[0].detail
    assert detail.isVisible()
    place = f"At character {columns[0].state.aborted.char}: CONSTRAINT_MAX"
    assert detail.text().startswith(f"{place}. max_results is at most 100")
    assert page.view.words.text() == "GLYPH wrote max_results 500 (incomplete), JSON 5."
    page.widget.resize(820, 640)
    page.comparison.add()
    qtbot.wait(20)
    assert detail.text() == place and "at most 100" in detail.toolTip(), "in a narrow column"
    assert columns[0].state.aborted.char in page.view.columns[0].stream.decided_characters


@pytest.mark.slow
def test_every_column_gets_the_same_prompt_seed_and_tools(make, qtbot):
    model = Answers()
    page = make(model)
    options = page.context.project.options
    page.context.project.set_options(
        dispatch=True, sampling=msgspec.structs.replace(options.sampling, seed=9, temperature=0.5)
    )
    page.view.prompt_edit.setPlainText("Find cats")
    arrange(page, GLYPH_OFF, JSON_OFF, variant(notation="json", shape="tool-args", constraint="off"))
    columns = run_all(qtbot, page)
    requests = [column.state.started.request for column in columns]
    assert {r.prompt for r in requests} == {"Find cats"}
    assert {(r.sampling.seed, r.sampling.temperature) for r in requests} == {(9, 0.5)}
    assert [(r.notation, r.shape) for r in requests] == [
        ("glyph", "flat"),
        ("json", "flat"),
        ("json", "tool-args"),
    ]
    assert not any(r.dispatch for r in requests), "a comparison does not execute calls"


@pytest.mark.slow
def test_two_stages_are_shown_as_tabs_beside_one_text(make, qtbot):
    class Staged(ScriptedModel):
        turns = (GLYPH, '"search"', '{query="AI news" max_results=10}')

    page = make(Staged(turns=Staged.turns))
    arrange(page, GLYPH_OFF, variant(constraint="off", strategy="two-stage"))
    run_all(qtbot, page)
    assert page.view.words.text() == "Both wrote the same: search, 2 arguments."
    direct, staged = page.view.columns[:2]
    assert not direct.tabs.isVisible()
    assert [staged.tabs.tabText(tab) for tab in range(staged.tabs.count())] == ["name", "arguments"]
    assert staged.stream.toPlainText() == '{query="AI news" max_results=10}'
    staged.tabs.setCurrentIndex(0)
    assert staged.stream.toPlainText() == '"search"'


@pytest.mark.slow
def test_figures_and_text_are_shown_before_the_end(make, qtbot):
    model = Answers(gated=True)
    page = make(model)
    arrange(page, GLYPH_OFF, JSON_OFF)
    view = page.view
    view.run_button.click()
    qtbot.waitUntil(lambda: "AI" in view.columns[0].stream.toPlainText())
    assert pills(page) == ["◌ running", "waiting"]
    assert "one column runs at a time" in view.columns[1].notice.label.text()
    assert "column 1 of 2" in view.turn.text()
    assert page.context.status.activity == "Comparing 1 of 2"
    qtbot.waitUntil(lambda: len(table(page)) > 1)
    assert table(page)[0] == ["…", "tool", '"search"', ""]
    view.stop_button.click()
    model.gate.set()
    qtbot.waitUntil(lambda: not page.comparison.is_running)


# -- stop ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_closing_the_window_in_a_comparison_ends_its_run(make, qtbot):
    page = make(Answers(seconds=0.05))
    page.view.run_button.click()
    qtbot.waitUntil(lambda: bool(page.comparison.columns[0].events))
    page.close()  # a leftover would fail the test


# -- the playground ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_comparison_waits_for_the_playgrounds_run_and_leaves_it(make, qtbot):
    page = make()
    view, runs, project = page.view, page.context.runs, page.context.project
    with qtbot.waitSignal(runs.ended):
        runs.run(project.next_run())
    before = list(runs.events)
    run_all(qtbot, page)
    assert runs.events == before and runs.state.text == GLYPH
    runs.run(project.next_run())
    assert not view.run_button.isEnabled() and "Another run" in view.turn.text()
    assert not page.comparison.run(project.next_request())
    page.run()
    assert not page.comparison.is_running
    qtbot.waitUntil(lambda: not runs.is_busy)
    assert view.run_button.isEnabled()


@pytest.mark.slow
def test_run_starts_the_columns_where_they_are_in_sight(make, qtbot):
    page = make()
    began = []
    page.context.runs.began.connect(began.append)
    with qtbot.waitSignal(page.comparison.runningChanged, check_params_cb=lambda on: not on):
        page.run()
    assert pills(page) == ["✓ valid", "✓ valid"]
    assert not began


def test_run_continues_a_run_that_is_stepped_through(make, qtbot):
    page = make()
    runs = page.context.runs
    page.step()
    assert runs.phase is Phase.STEPPING
    with qtbot.waitSignal(runs.ended):
        page.run()
    assert runs.state.text == GLYPH
    assert not page.comparison.columns[0].events


@pytest.mark.slow
def test_another_run_ends_the_comparison(make, qtbot):
    model = Answers(gated=True)
    page = make(model)
    page.view.run_button.click()
    qtbot.waitUntil(lambda: bool(page.comparison.columns[0].events))
    with qtbot.waitSignal(page.context.runs.ended):
        page.context.runs.replay(bundled_run(FIRST_RECORD), 0)
        model.gate.set()
    assert not page.comparison.is_running
    assert page.context.runs.phase is Phase.IDLE
    assert page.context.runs.state.call is not None


@pytest.mark.slow
def test_late_events_of_an_older_comparison_are_ignored(make, qtbot):
    page = make()
    columns = run_all(qtbot, page)
    events = list(columns[0].events)
    page.context.runs.background.emit(BackgroundEvents(page.comparison.job - 1, tuple(events)))
    page.context.runs.background.emit(BackgroundEvents(page.comparison.job, tuple(events), ended=True))
    assert columns[0].events == events
    assert pills(page) == ["✓ valid", "✓ valid"]


@pytest.mark.slow
def test_a_columns_run_is_in_the_history_and_opens_on_the_playground(make, qtbot):
    page = make()
    arrange(page, GLYPH_OFF, JSON_OFF)
    saved = []
    page.context.recorder.runSaved.connect(saved.append)
    run_all(qtbot, page)
    qtbot.waitUntil(lambda: len(saved) == 2)
    assert len(page.context.services.history.rows()) == 2
    with qtbot.waitSignal(page.context.runs.ended):
        page.view.columns[1].open_button.click()
    assert page.context.navigator.visits == [(PageId.PLAYGROUND, None)]
    assert page.context.runs.state.text == JSON
    assert page.context.runs.events == page.comparison.columns[1].events


# -- what goes wrong -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_variant_that_cannot_be_built_fails_with_its_reason_and_the_others_run(make, qtbot):
    page = make()
    arrange(page, NATIVE_OFF, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, page)
    assert pills(page) == ["✕ failed", "✓ valid", "✓ valid"]
    assert "no place for tools" in page.view.columns[0].notice.label.text()
    assert page.view.words.text() == ("GLYPH wrote max_results 10, JSON 5. Not compared: native.")
    assert [row[FIRST_RUN] for row in table(page)] == ["not compared"] * 3


@pytest.mark.slow
def test_a_model_that_dies_in_one_column_leaves_the_others(make, qtbot):
    page = make(Answers(glyph=ModelDied("The model’s process was ended by SIGKILL.", signal="SIGKILL")))
    arrange(page, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, page)
    assert pills(page) == ["✕ failed", "✓ valid"]
    assert "SIGKILL" in page.view.columns[0].notice.label.text()


@pytest.mark.slow
def test_without_a_model_only_the_first_column_tries_to_open_it(make, qtbot):
    page = make(ModelError("There is no such model.", hint="Choose another."))
    arrange(page, GLYPH_OFF, JSON_OFF)
    qtbot.waitUntil(lambda: not page.context.runs.is_busy)
    run_all(qtbot, page)
    assert pills(page) == ["✕ failed", "not run"]
    first, second = (column.notice.label.text() for column in page.view.columns[:2])
    assert "no such model" in first and "Choose another" in first
    assert second.startswith("No model for this column")


@pytest.mark.slow
def test_an_internal_error_ends_its_column_and_the_others_run(make, qtbot):
    model = Answers(glyph=ValueError("internal error"))
    page = make(model)
    crashes = []
    page.context.runs.crashed.connect(crashes.append)
    arrange(page, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, page)
    assert pills(page) == ["✕ failed", "✓ valid"]
    assert [str(error) for error in crashes] == ["internal error"]


@pytest.mark.slow
def test_markup_that_a_model_writes_is_shown_as_text(make, qtbot):
    page = make(Answers(glyph='{action="search" query="<b>x</b><img src=file:///etc/passwd>\u202e"}'))
    arrange(page, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, page)
    call = page.view.columns[0].call
    assert call.textFormat() is Qt.TextFormat.PlainText
    assert "<b>x</b>" in call.text() and "⟨U+202E⟩" in call.text()
    assert "<b>" in page.view.words.text()


# -- columns -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_preset_brings_its_columns_in_the_playgrounds_notation(make, qtbot):
    page = make()
    view, comparison = page.view, page.comparison
    assert [v["constraint"] for v in comparison.variants] == ["off", "mask"]
    page.context.project.set_options(notation="json")
    assert {v["notation"] for v in comparison.variants} == {"json"}, "before the first run"
    for preset in PRESETS:
        view.presets.setCurrentIndex(view.presets.findData(preset.key))
        view.presets.activated.emit(view.presets.currentIndex())
        assert 2 <= len(comparison.columns) <= MAX_COLUMNS
        assert len({str(variant) for variant in comparison.variants}) == len(comparison.columns)
        assert sum(column.isVisible() for column in view.columns) == len(comparison.columns)


@pytest.mark.slow
def test_where_the_constraint_begins_is_compared_in_three_columns_of_one_seed(make):
    page = make()
    view, comparison = page.view, page.comparison
    view.presets.setCurrentIndex(view.presets.findData("begin"))
    view.presets.activated.emit(view.presets.currentIndex())
    assert [v["constrain_from"] for v in comparison.variants] == ["start", "reasoning", "call"]
    boxes = [column.picker.boxes["constrain_from"] for column in view.columns]
    assert [box.currentData() for box in boxes if box.isVisible()] == ["start", "reasoning", "call"]
    assert variant_names(comparison.variants) == [
        "from the first token",
        "after reasoning",
        "from the call",
    ]


@pytest.mark.slow
def test_a_picker_changes_its_own_column_and_clears_its_run(make, qtbot):
    page = make()
    arrange(page, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, page)
    box = page.view.columns[0].picker.boxes["constraint"]
    box.setCurrentIndex(box.findData("gbnf"))
    box.activated.emit(box.currentIndex())
    columns = page.comparison.columns
    assert columns[0].variant["constraint"] == "gbnf" and columns[0].phase is RunPhase.NEW
    assert columns[1].phase is RunPhase.DONE
    assert page.view.columns[1].stream.toPlainText() == JSON
    assert page.view.columns[0].stream.toPlainText() == ""
    assert page.view.presets.currentData() == OWN
    native = page.view.columns[0].picker.boxes["notation"]
    native.setCurrentIndex(native.findData("native"))
    native.activated.emit(native.currentIndex())
    assert not page.view.columns[0].picker.boxes["shape"].isEnabled()


@pytest.mark.slow
def test_columns_are_two_to_four(make, qtbot):
    page = make()
    view, comparison = page.view, page.comparison
    assert not view.columns[0].remove_button.isVisible()
    for _ in range(5):
        view.add_button.click()
    assert len(comparison.columns) == MAX_COLUMNS and not view.add_button.isEnabled()
    run_all(qtbot, page)
    saved = comparison.columns[3].state
    view.columns[1].remove_button.click()
    view.columns[0].remove_button.click()
    assert len(comparison.columns) == 2 and comparison.columns[1].state is saved
    assert view.columns[1].stream.toPlainText() == saved.text
    assert not view.columns[0].remove_button.isVisible()


@pytest.mark.slow
def test_columns_cannot_be_changed_while_they_run(make, qtbot):
    page = make(Answers(seconds=0.02))
    view, comparison = page.view, page.comparison
    before = comparison.variants
    view.run_button.click()
    assert not view.presets.isEnabled() and not view.add_button.isEnabled()
    assert not view.columns[0].picker.isEnabled() and view.prompt_edit.isReadOnly()
    comparison.change(0, NATIVE_OFF)
    comparison.remove(1)
    comparison.add()
    assert comparison.variants == before
    view.stop_button.click()
    qtbot.waitUntil(lambda: not comparison.is_running)
    assert view.presets.isEnabled() and not view.prompt_edit.isReadOnly()


@pytest.mark.slow
def test_a_columns_run_can_be_opened_while_the_model_is_free(make, qtbot):
    model = Answers()
    page = make(model)
    runs, button = page.context.runs, page.view.columns[0].open_button
    assert not button.isEnabled()
    run_all(qtbot, page)
    assert button.isEnabled()
    model.gate.clear()
    runs.run(page.context.project.next_request())
    assert not button.isEnabled()
    runs.stop()
    model.gate.set()
    qtbot.waitUntil(lambda: not runs.is_busy)
    assert button.isEnabled()


def test_names_are_what_differs_between_columns():
    assert variant_names([GLYPH_OFF, JSON_OFF, NATIVE_OFF]) == ["GLYPH", "JSON", "native"]
    assert variant_names([GLYPH_OFF, variant()]) == ["no constraint", "mask"]
    mixed = [GLYPH_OFF, variant(notation="json", shape="tool-args"), variant(notation="native")]
    assert variant_names(mixed) == ["GLYPH flat no constraint", "JSON tool/args mask", "native mask"]
    assert variant_names([variant(), variant()]) == ["GLYPH mask (1)", "GLYPH mask (2)"]
    assert next_variant([GLYPH_OFF]) == JSON_OFF
    assert next_variant([GLYPH_OFF, JSON_OFF]) == variant(notation="json")


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_first_difference_is_shown_by_words_and_a_line(make, qtbot, theme):
    page = make(Answers(json=JSON.replace("AI news", "AI views")))
    page.context.themes.choose(theme)
    page.context.themes.finish()
    arrange(page, GLYPH_OFF, JSON_OFF)
    run_all(qtbot, page)
    view, model = page.view, page.view.fields_model
    assert [model.index(row, MARK).data() for row in range(3)] == ["=", "≠ first", "≠"]
    assert model.index(1, FIELD).data() == "query"
    tip = model.index(1, MARK).data(Qt.ItemDataRole.AccessibleTextRole)
    assert tip == "The first field in which the columns differ."
    assert model.index(1, FIRST_RUN).data(PARTING_ROLE) == 4  # a quotation mark, then A, I and a space
    image = view.fields.grab().toImage()
    marked = view.fields.visualRect(model.index(1, FIRST_RUN)).center()
    plain = view.fields.visualRect(model.index(0, FIRST_RUN)).center()
    down = view.fields.horizontalHeader().height()
    at = [QImage.pixelColor(image, image.width() - 30, point.y() + down) for point in (marked, plain)]
    assert at[0] != at[1]


def test_the_keyboard_reaches_every_control(make, qtbot):
    page = make()
    view = page.view
    view.prompt_edit.setFocus()
    seen = []
    for _ in range(40):
        qtbot.keyClick(page.widget.focusWidget(), Qt.Key.Key_Tab)
        widget = page.widget.focusWidget()
        if widget is None or widget in seen:
            break
        seen.append(widget)
    expected = [view.presets, view.add_button, view.run_button, view.fields]
    boxes = [box for column in view.columns[:2] for box in column.picker.boxes.values() if box.isVisible()]
    expected += boxes
    assert [w.accessibleName() or w.text() for w in expected if w not in seen] == []


@pytest.mark.slow
def test_labels_of_the_page_are_plain_text(make):
    page = make()
    view = page.view
    for column in view.columns:
        for label in (column.title, column.detail, column.call, column.notice.label):
            assert isinstance(label, QLabel) and label.textFormat() is Qt.TextFormat.PlainText
    assert isinstance(view.run_button, QPushButton)


@pytest.mark.slow
def test_a_router_question_ends_its_column_unanswered(make, qtbot):
    question = '{"choice":"clarify","tool":null,"question":"Which news?"}'
    page = make(ScriptedModel(turns=(question, GLYPH)))
    asked = []
    page.context.runs.asked.connect(asked.append)
    arrange(page, variant(constraint="off", strategy="route-execute"), GLYPH_OFF)
    columns = run_all(qtbot, page)
    assert columns[0].state.finished.reason == "unanswered"
    assert pills(page)[1] == "✓ valid"
    assert not any(asked), "the playground's card is not for it"


@pytest.mark.slow
def test_stop_while_the_model_is_opened_is_shown_as_stopped(open_page, qtbot):
    opening = threading.Event()

    def opener(name, *, options, progress):
        if name == "scripted:slow":
            opening.set()
            ended = threading.Event()
            with progress.ended_by(ended.set):
                ended.wait(10)
            raise ModelError("The opening of the model was stopped.")
        return Answers()

    page = open_page(PageId.COMPARE, opener)
    page.context.project.set_options(model="scripted:slow")
    page.view.run_button.click()
    qtbot.waitUntil(opening.is_set)
    page.view.stop_button.click()
    qtbot.waitUntil(lambda: not page.comparison.is_running)
    assert pills(page) == ["stopped", "not run"]
    assert table(page) == []


@pytest.mark.slow
def test_columns_of_an_earlier_request_are_marked_until_they_are_the_present_ones(make, qtbot):
    page = make()
    project, turn = page.context.project, page.view.turn
    run_all(qtbot, page)
    project.set_options(notation="json", shape="tool-args")
    assert "earlier" not in turn.text(), "the columns have their own notations"
    before = project.prompt.user
    project.prompt.set_user("What time is it?")
    assert f"earlier request: “{before}”, 7 tools allowed" in turn.text()
    page.widget.resize(820, 560)
    assert turn.isVisible() and turn.width() == page.view.prompt_edit.width(), "it has a line, however narrow"
    project.prompt.set_user(before)
    assert "earlier" not in turn.text()
    project.tools.set_enabled("search", False)
    assert "7 tools allowed" in turn.text()
    project.tools.set_enabled("search", True)
    project.set_options(max_tokens=9)
    assert "earlier settings" in turn.text()
    run_all(qtbot, page)
    assert "earlier" not in turn.text()
