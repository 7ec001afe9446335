"""The page of the chat template: the inspected facts, their display, and the readers of an answer."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt

from glyphscope.base import resources
from glyphscope.events import ModelInfo
from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.context import FilePlace
from glyphscope_gui.shared.page_ids import MenuId, PageId
from glyphscope_gui.template.marked_text import places_of
from glyphscope_gui.template.page import TemplatePage, TextCell, last_answer
from glyphscope_gui.template.presenter import proof_words
from on_screen import drop
from untrained_models import several_templates

CALL = '<call tool="search">\n<arg name="query">\nAI news\n</arg>\n</call>'


@pytest.fixture
def example(tmp_path):
    path = tmp_path / "example.jinja"
    path.write_bytes(resources.read_bytes("forms/example.jinja"))
    return path


@pytest.fixture
def page(open_page):
    return open_page(PageId.TEMPLATE)


@pytest.fixture
def inspected(page, qtbot, example):
    page.open(example)
    qtbot.waitUntil(lambda: not page.is_busy)
    return page


def cells(table):
    model = table.rows
    role = Qt.ItemDataRole.AccessibleTextRole
    return [
        [str(model.data(model.index(row, column), role)) for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def test_a_model_without_a_file_shows_the_possible_actions(page):
    assert page.found is None
    assert page.view.stack.currentWidget() is page.view.empty
    assert "Open a chat template" in page.view.empty.text()


@pytest.mark.slow
def test_an_opened_template_is_shown_with_slots_pairs_and_proof(inspected):
    view = inspected.view
    slots = {row[0]: row for row in cells(view.slots)}
    assert slots["Calls"][1].startswith('<call tool="NAME">⏎')
    assert "tag for each argument" in slots["Arguments"][1]
    assert slots["Calls"][2] == "test cases 1, 2"
    assert view.pill.words == "200 of 200 turns identical"
    assert [row[0] for row in cells(view.details.thinking)] == ["on", "off", "not set"]
    assert all(row[1] == "yes" for row in cells(view.details.values))
    assert view.pair.place.text().startswith("1 of ")


@pytest.mark.slow
def test_choosing_a_slot_shows_its_pair_with_its_markers(inspected):
    view = inspected.view
    row = next(n for n, slot in enumerate(inspected.found.slots) if slot.key == "arguments")
    view.slots.selectRow(row)
    assert "One argument, and two" in view.pair.heading.title.text()
    text = view.pair.texts[1].text
    grounds = [mark.cursor.selectedText() for mark in view.pair.texts[1].extraSelections()]
    assert '<arg name="' in grounds and '<arg name="day">' in text


@pytest.mark.slow
def test_a_marker_is_in_sight_also_in_a_low_page(inspected, qtbot):
    view = inspected.view
    view.show_view("template")
    view.resize(960, 400)
    view.show()
    view.markers.rows.show_rows([(TextCell("<think>"), TextCell("3 text tokens"), TextCell("1, 2, 3"))] * 4)
    view.markers.show()
    view.ends.setText("Generation ends at <|endoftext|> (0), <|im_end|> (2), <reponame> (4). " * 3)
    table = view.markers
    qtbot.waitUntil(lambda: table.viewport().height() >= table.verticalHeader().defaultSectionSize())


def test_the_links_go_through_all_pairs_and_stop_at_the_ends(inspected):
    pair = inspected.view.pair
    assert not pair.before_link.isEnabled()
    for _ in inspected.found.pairs[1:]:
        pair.after_link.click()
    count = len(inspected.found.pairs)
    assert pair.place.text() == f"{count} of {count}"
    assert not pair.after_link.isEnabled()
    pair.before_link.click()
    assert pair.place.text() == f"{count - 1} of {count}"


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "empty"), (b"{% for", "damaged"), (b"\xff\xfe", "UTF-8"), (None, "no such file")],
)
def test_an_invalid_template_file_is_an_error_on_the_page(page, qtbot, tmp_path, data, words):
    path = tmp_path / "bad.jinja"
    if data is not None:
        path.write_bytes(data)
    page.open(path)
    qtbot.waitUntil(lambda: words in page.view.empty.text())
    assert page.found is None and "bad.jinja" in page.view.empty.text()
    assert page.context.errors == []


@pytest.mark.slow
def test_another_file_replaces_the_first(inspected, qtbot, tmp_path):
    other = tmp_path / "other.jinja"
    other.write_text("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}", encoding="utf-8")
    inspected.open(other)
    assert inspected.found is None
    qtbot.waitUntil(lambda: inspected.found is not None and not inspected.is_busy)
    assert inspected.view.source.text() == "other.jinja"
    assert inspected.view.pill.words == "not tested" and not inspected.view.prove_link.isEnabled()
    assert cells(inspected.view.details.notes)[0][0] == "warning"


@pytest.mark.slow
def test_the_template_of_the_open_model_is_inspected(open_page, qtbot, example):
    model = ScriptedModel("x")
    model.info = ModelInfo(name="m", kind="llama.cpp", path=str(example))
    page = open_page(PageId.TEMPLATE, lambda _name, **_options: model)
    qtbot.waitUntil(lambda: page.found is not None and not page.is_busy)
    assert page.view.source.text() == "example.jinja"
    assert not page.view.model_link.isEnabled()
    assert any("not shown as tokens" in words for words in page.found.warnings)


@pytest.mark.slow
def test_a_link_returns_from_a_file_to_the_model(inspected):
    assert inspected.view.model_link.isEnabled()
    inspected.view.model_link.click()
    assert inspected.found is None
    assert inspected.view.stack.currentWidget() is inspected.view.empty


@pytest.mark.slow
def test_a_template_can_be_dropped_or_navigated_to(page, qtbot, example):
    assert drop(page.view, example)
    qtbot.waitUntil(lambda: page.found is not None and not page.is_busy)
    first = page.found
    page.go_to(FilePlace(example))
    assert page.found is first


@pytest.mark.slow
def test_proving_again_takes_more_turns_and_adds_no_warnings(inspected, qtbot):
    before = inspected.found.warnings
    inspected._prove(5)
    assert inspected.view.pill.words == "testing…"
    qtbot.waitUntil(lambda: not inspected.is_busy)
    assert inspected.view.pill.words == "5 of 5 turns identical"
    assert inspected.found.warnings == before
    assert proof_words(inspected.found)[1] == "holds"


def test_markers_are_found_longest_first_and_never_twice():
    assert places_of("<a><ab><a>", ("<a>", "<ab>", "<", "")) == [(0, 3), (3, 7), (7, 10)]
    assert places_of("text", ()) == []


# -- who would read this? ----------------------------------------------------------------------------------------------


@pytest.fixture
def ask(qtbot, example):
    def build(page):
        page.open(example)
        qtbot.waitUntil(lambda: page.found is not None and not page.is_busy)
        page.context.window.show()
        page.readers_action.trigger()
        dialog = page.readers
        qtbot.waitUntil(lambda: not dialog.is_busy)
        return dialog

    return build


@pytest.mark.slow
def test_the_last_answer_is_read_by_its_form_and_by_others(page, qtbot, ask):
    with qtbot.waitSignal(page.context.runs.ended):
        page.run()
    answer = last_answer(page.context.runs.state)
    dialog = ask(page)
    assert dialog.edit.toPlainText() == answer.text == "".join(step.text for step in answer.steps)
    assert cells(dialog.table)[0][:2] == ["this form, strictly", "as text"]
    dialog.edit.setPlainText(CALL)
    qtbot.waitUntil(lambda: len(dialog.found) > 0 and bool(dialog.found[0].calls))
    rows = cells(dialog.table)
    assert rows[0][:3] == ["this form, strictly", "yes", "search"]
    assert rows[1][0] == "servers, leniently"
    assert "matches this form" in dialog.about.text()
    dialog.close()


@pytest.mark.slow
def test_another_text_is_read_as_it_is_typed(page, qtbot, ask):
    dialog = ask(page)
    assert "Write or paste" in dialog.about.text()
    dialog.edit.setPlainText('<tool_call>\n{"name": "search", "arguments": {"query": "x"}}\n</tool_call>')
    qtbot.waitUntil(lambda: len(dialog.found) > 0)
    rows = cells(dialog.table)
    assert rows[0][1:3] == ["no", "none"]
    assert "character 0" in dialog.about.text() and dialog.text.isVisible()
    assert any(row[1] == "yes" and row[0].startswith("<tool_call>") for row in rows[2:])
    dialog.edit.setPlainText("Hello.")
    qtbot.waitUntil(lambda: cells(dialog.table)[1][1] == "as text")
    assert [row[1] for row in cells(dialog.table)] == ["as text", "as text", "no call"]
    dialog.close()


@pytest.mark.slow
def test_a_call_from_a_log_is_judged_without_a_template_and_shown_in_the_transcript(page, qtbot):
    page.context.window.show()
    page.readers_action.trigger()
    dialog = page.readers
    assert not dialog.show_button.isEnabled()
    dialog.edit.setPlainText('{"name": "search", "arguments": {"query": "x", "max_results": 500}}')
    qtbot.waitUntil(lambda: dialog.parsed is not None and not dialog.is_busy)
    assert dialog.verdict.text().startswith("✕ JSON · name/args: character 64: max_results is at most 100")
    (mark,) = dialog.text.extraSelections()
    assert mark.cursor.selectedText() == "0" and not dialog.table.isVisible()
    dialog.edit.setPlainText('{action="search" query="x"}')
    qtbot.waitUntil(lambda: dialog.verdict.text() == "✓ GLYPH · flat: a valid call of search")
    assert dialog.text.isHidden()
    with qtbot.waitSignal(page.context.runs.ended):
        dialog.show_button.click()
    state = page.context.runs.state
    assert state.text == '{action="search" query="x"}' and state.call.tool == "search"
    assert page.context.navigator.visits == [(PageId.PLAYGROUND, None)]


def test_the_action_is_in_the_menu_of_files(page):
    assert page.menu_actions[MenuId.FILE] == [page.readers_action]


# -- lint and comparison ---------------------------------------------------------------------------------------------


@pytest.fixture
def faulty(page, qtbot, example, tmp_path):
    """A template whose turns with calls stay open."""
    path = tmp_path / "open.jinja"
    source = example.read_text(encoding="utf-8")
    path.write_text(
        source.replace("<|end|>\n{% elif", "{% if not message.tool_calls %}<|end|>{% endif %}\n{% elif")
    )
    page.open(path)
    qtbot.waitUntil(lambda: page.lint.found is not None and not page.is_busy)
    return page


@pytest.mark.slow
def test_the_errors_of_a_template_are_listed_with_their_conversations(faulty):
    details = faulty.view.details
    assert details.views.button("lint").text() == "Lint (1)"
    details.show_view("lint")
    level, words, conversations = cells(details.lint)[0]
    assert level == "error" and words.startswith("The turn of the assistant is not closed by <|end|>.")
    assert conversations.startswith("The result of a call is last")


@pytest.mark.slow
def test_a_table_of_details_is_made_when_it_is_first_seen_with_its_rows(inspected, qtbot):
    details = inspected.view.details
    inspected.view.show()
    qtbot.waitUntil(lambda: details.thinking.is_made)
    assert not details.values.is_made
    details.show_view("values")
    qtbot.waitUntil(lambda: details.values.is_made and details.values.widget.isVisible())
    assert details.values.widget.model().rowCount() == len(cells(details.values)) > 0


@pytest.mark.slow
def test_an_error_is_shown_in_its_prompt_beside_the_messages(faulty):
    faulty.view.details.lint.widget.selectRow(0)
    pair = faulty.view.pair
    assert pair.names[0].text() == "Messages" and "user: When can I leave Olten?" in pair.texts[0].text
    (mark,) = pair.texts[1].extraSelections()
    assert mark.cursor.selectedText().startswith("<|assistant|>")
    assert not pair.before_link.isEnabled() and not pair.after_link.isEnabled()


@pytest.mark.slow
def test_two_templates_are_compared_by_conversation(faulty, qtbot, example):
    faulty.lint.compare(example)
    qtbot.waitUntil(lambda: bool(faulty.lint.pairs))
    rows = {row[0]: row[1:] for row in cells(faulty.view.details.compared)}
    assert rows["A question"] == ["same", ""]
    assert rows["A question after a result"][0] == "different"
    place = next(n for n, pair in enumerate(faulty.lint.pairs) if not pair.same)
    faulty.view.details.compared.widget.selectRow(place)
    assert [name.text() for name in faulty.view.pair.names] == ["open.jinja", "example.jinja"]
    assert [len(text.extraSelections()) for text in faulty.view.pair.texts] == [0, 1]


@pytest.mark.slow
def test_a_template_that_cannot_be_compared_is_an_error_in_the_table(faulty, qtbot, tmp_path):
    bad = tmp_path / "bad.jinja"
    bad.write_text("{% for", encoding="utf-8")
    faulty.lint.compare(bad)
    qtbot.waitUntil(lambda: "damaged" in cells(faulty.view.details.compared)[0][0])
    assert faulty.lint.pairs == ()


@pytest.mark.slow
def test_the_lint_of_a_template_without_errors_says_so(inspected, qtbot):
    qtbot.waitUntil(lambda: inspected.lint.found is not None)
    assert inspected.view.details.views.button("lint").text() == "Lint"
    assert [row[0] for row in cells(inspected.view.details.lint)] == ["note"]


# -- variables, and the template of the next runs ----------------------------------------------------------------------

SWITCH = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if effort == 'high' %}[much]{% elif effort == 'low' %}[little]{% endif %}"
)


@pytest.fixture
def switched(page, qtbot, tmp_path):
    path = tmp_path / "switch.jinja"
    path.write_text(SWITCH)
    page.open(path)
    qtbot.waitUntil(lambda: not page.is_busy)
    return page


def test_a_variable_is_set_by_its_row_and_left_out_by_it(switched):
    table, project = switched.view.details.variables.widget, switched.context.project
    rows = cells(table)
    assert [row[0] for row in rows] == ["effort", ""]
    assert "[much]" in rows[0][2] and "a question" in rows[0][2]
    for place, value in ((0, "high"), (1, "low")):
        table.doubleClicked.emit(table.model().index(place, 0))
        assert project.options.template_vars == {"effort": value}
        assert switched.view.details.given.text() == f"effort={value}"
        assert "in use" in cells(table)[place][1]
    table.doubleClicked.emit(table.model().index(1, 0))
    assert project.options.template_vars == {} and switched.view.details.given.text() == ""


@pytest.mark.slow
def test_a_variable_changes_the_form_and_the_page_stays(page, qtbot, tmp_path):
    path = tmp_path / "quick.jinja"
    path.write_text(
        "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>"
        "{% endif %}{{ m.content }}</s>{% endfor %}"
        "{% if add_generation_prompt %}<assistant><think>{% if quick %}</think>{% endif %}{% endif %}"
    )
    page.open(path)
    qtbot.waitUntil(lambda: page.found is not None and not page.is_busy)
    view = page.view
    view.details.show_view("variables")
    assert page.found.thinking[0].part == "opens"
    page.context.project.set_options(template_vars={"quick": True})
    page.refresh()
    assert view.stack.currentWidget() is view.parts
    qtbot.waitUntil(lambda: page.found is not None and not page.is_busy)
    assert page.found.thinking[0].part == "closes" and view.details.views.value == "variables"


def test_variables_are_typed_and_a_typing_error_changes_nothing(switched):
    field, project = switched.view.details.given, switched.context.project
    field.setText('effort=high; more={"a": 1}')
    field.editingFinished.emit()
    assert project.options.template_vars == {"effort": "high", "more": {"a": 1}}
    field.setText("effort")
    field.editingFinished.emit()
    assert "NAME=VALUE" in field.toolTip() and project.options.template_vars["effort"] == "high"


def test_a_shown_template_is_used_and_the_models_own_again(switched):
    view, project = switched.view, switched.context.project
    assert view.use_link.isEnabled() and not view.own_link.isVisibleTo(view)
    view.use_link.click()
    assert project.options.chat_template == SWITCH and project.project().request.chat_template == SWITCH
    assert not view.use_link.isEnabled() and view.own_link.isVisibleTo(view)
    view.own_link.click()
    assert project.options.chat_template == "" and view.use_link.isEnabled()


@pytest.mark.slow
def test_the_named_templates_of_a_file_can_be_shown_and_used(page, qtbot, llama_data, tmp_path):
    page.open(several_templates(llama_data, tmp_path, SWITCH))
    qtbot.waitUntil(lambda: not page.is_busy)
    names = page.view.names
    assert [names.itemData(index) for index in range(names.count())] == ["", "tool_use", "rag"]
    names.activated.emit(names.findData("rag"))
    qtbot.waitUntil(lambda: not page.is_busy)
    assert page.found is not None and page.view.names.currentData() == "rag"
    page.view.use_link.click()
    assert page.context.project.options.chat_template.startswith("rag ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("response", "words"),
    [
        ({"open": "<call>", "content": "text"}, "transformers reads 0 of 100 turns as they were."),
        ({"opens": "<call>"}, "The response_template is invalid"),
    ],
)
def test_the_response_template_beside_a_template_is_tested_with_its_turns(
    page, qtbot, example, response, words
):
    config = {"response_template": {"start_anchor": "<|assistant|>", "fields": {"tool_calls": response}}}
    example.with_name("tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    page.open(example)
    qtbot.waitUntil(lambda: page.lint.found is not None)
    assert words in cells(page.view.details.lint)[-1][1]


@pytest.mark.slow
def test_the_response_template_of_the_form_is_exported_with_its_test(inspected, qtbot, tmp_path):
    details, path = inspected.view.details, tmp_path / "made.json"
    inspected.lint.export_response(path)
    qtbot.waitUntil(lambda: details.exported.text().startswith("made.json"))
    assert details.exported.text().endswith("transformers reads 97 of 100 turns as they were.")
    assert "tool_calls" in json.loads(path.read_text(encoding="utf-8"))["fields"]


@pytest.mark.slow
def test_a_form_that_no_response_template_expresses_says_why(page, qtbot, tmp_path, llama_data):
    page.open(llama_data / "templates" / "GigaChat3-10B-A1.8B.jinja")
    qtbot.waitUntil(lambda: page.lint.found is not None)
    page.lint.export_response(tmp_path / "made.json")
    qtbot.waitUntil(lambda: "Testing" not in page.view.details.exported.text())
    assert "a call is not between markers" in page.view.details.exported.text()
    assert not (tmp_path / "made.json").exists()


def test_a_page_without_a_form_needs_no_room_for_one(qtbot):
    view = TemplatePage()
    qtbot.addWidget(view)
    view.show_form()
    whole = view.stack.minimumSizeHint().width()
    view.show_words("No template.")
    assert view.stack.minimumSizeHint().width() < whole / 2
    view.show_form()
    assert view.stack.minimumSizeHint().width() == whole
