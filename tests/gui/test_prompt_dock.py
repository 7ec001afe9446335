"""The prompt's page and custom texts."""

from __future__ import annotations

import time

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QTextOption

from glyphscope.events import ControlText, PromptPart, PromptRendered
from glyphscope.prompting.costs import prompt_costs
from glyphscope.prompting.template import presets
from glyphscope.registry import default_registry
from glyphscope_gui.project import PromptContext, PromptDocument, PromptState
from glyphscope_gui.prompt import TEMPLATE, CostRows, PromptDock, ShownPrompt
from glyphscope_gui.runs import UserPromptEdit
from glyphscope_gui.shared import CodeEdit, JsonEditor
from glyphscope_gui.shared.background import end_work


@pytest.fixture
def document(qapp, qtbot):
    document = PromptDocument(PromptContext(default_registry()), PromptState(user="Search for AI news"))
    render(document, qtbot)
    yield document
    end_work(document)


def render(document, qtbot):
    with qtbot.waitSignal(document.failed):
        document.render()


@pytest.fixture
def dock(document, qtbot):
    dock = PromptDock(document)
    qtbot.addWidget(dock)
    dock.resize(280, 600)
    dock.tabs.setCurrentIndex(TEMPLATE)
    dock.show()
    return dock


RENDERED = PromptRendered(
    text="<|im_start|>system …", tokens=184, cached=170, note="no system role",
    parts=(PromptPart("tools", 0, 9, 96), PromptPart("user", 9, 12, 5), PromptPart("tools", 12, 14, 4)),
)  # fmt: skip


def test_the_rendered_prompt_follows_the_tools(dock, document, qtbot):
    assert "execute(" in dock.rendered_view.toPlainText()
    registry = default_registry().without_tool("execute")
    document.set_context(PromptContext(registry, "json", "tool-args"))
    render(document, qtbot)
    text = dock.rendered_view.toPlainText()
    assert "execute(" not in text
    assert '"tool"' in text
    assert "Search for AI news" in text


def test_the_template_is_edited_reset_and_chosen_and_an_invalid_one_leaves_the_last_prompt(
    dock, document, screen_of, qtbot
):
    screen, original = screen_of(dock), document.system_template
    before, template = dock.rendered_view.toPlainText(), "System prompt template"
    assert not screen.can("Reset")
    screen.write(template, "line one\n{% for tool in %}")
    render(document, qtbot)
    assert dock.problem.isVisible() and "2" in dock.problem.text()
    assert dock.rendered_view.toPlainText() == before
    screen.write(template, "Short.")
    render(document, qtbot)
    assert not dock.problem.isVisible() and "Short." in dock.rendered_view.toPlainText()
    assert document.request_fields()["system"] == "Short."
    screen.press("Reset")
    assert document.request_fields()["system"] is None and screen.read(template) == original
    last = dock.preset_combo.count() - 1
    dock.preset_combo.setCurrentIndex(last)
    dock.preset_combo.activated.emit(last)
    name = list(presets())[last]
    assert document.state.preset == name and screen.read(template) == presets()[name]
    document.set_state(PromptState(preset="no such preset", system="Mine.", user="x"))
    assert document.system_template == "Mine."


def test_token_costs_are_hidden_when_the_prompt_changes(dock, document, qtbot):
    dock.tabs.setCurrentIndex(2)
    dock.show_prompt(ShownPrompt(RENDERED, "run", CostRows(prompt_costs(RENDERED))))
    assert dock.rendered_view.toPlainText() == RENDERED.text
    assert "184 tokens, 170 from the cache" in dock.caption.text() and "no system role" in dock.caption.text()
    assert dock.costs.accessibleDescription() == "tools 100, user's text 5"
    render(document, qtbot)
    assert dock.costs.isVisible()
    document.set_user("Something else")
    render(document, qtbot)
    assert not dock.costs.isVisible()
    assert "Something else" in dock.rendered_view.toPlainText()


def test_texts_that_read_like_control_tokens_are_marked_in_the_prompt_and_its_costs(dock):
    dock.tabs.setCurrentIndex(2)
    text = "<|user|>Hi<|end|>, <|user|>"
    controls = (ControlText(10, 17), ControlText(19, 27, plain=True))
    parts = (PromptPart("template", 0, 8, 1), PromptPart("user", 8, 27, 9))
    prompt = PromptRendered(text=text, tokens=10, cached=0, parts=parts, controls=controls)
    dock.show_prompt(ShownPrompt(prompt, "run", CostRows(prompt_costs(prompt))))
    marks = [mark.cursor.selectedText() for mark in dock.rendered_view.extraSelections()]
    assert marks[-2:] == ["<|end|>", "<|user|>"]
    rows = [dock.costs.model().index(row, 0) for row in range(dock.costs.model().rowCount())]
    assert [str(row.data()) for row in rows] == ["⚠ user's text", "chat template"]
    assert "that read like control tokens" in rows[0].data(Qt.ItemDataRole.AccessibleTextRole)


def test_the_users_prompt_is_edited_in_both_directions_and_control_and_enter_runs(document, qtbot):
    edit, runs = UserPromptEdit(document), []
    qtbot.addWidget(edit)
    edit.submitted.connect(lambda: runs.append(1))
    qtbot.keyClicks(edit, "!")
    assert document.user == "!Search for AI news"
    document.set_user("from a project")
    assert edit.toPlainText() == "from a project"
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert runs == [] and edit.toPlainText().count("\n") == 1
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        qtbot.keyClick(edit, key, Qt.KeyboardModifier.ControlModifier)
    assert len(runs) == 2 and edit.toPlainText().count("\n") == 1


@pytest.mark.slow
def test_a_very_long_word_is_shown_in_time(document, dock, qtbot):
    word = "iVBORw0KGgo" * 30_000
    pasted = QMimeData()
    pasted.setText(word)
    edit = UserPromptEdit(document)
    for each in (edit, dock.system_edit, dock.part.edit):
        qtbot.addWidget(each) if each is edit else None
        each.resize(300, 80)
        each.show()
        began = time.monotonic()
        each.insertFromMimeData(pasted)
        assert time.monotonic() - began < 20 and word in each.toPlainText()
    began = time.monotonic()
    edit.setPlainText(word)
    dock.show_prompt(ShownPrompt(replace(RENDERED, text=word, parts=()), "run"))
    assert time.monotonic() - began < 20 and dock.rendered_view.toPlainText().startswith(word[:100_000])
    edit.setPlainText("words again")
    dock.show_prompt(ShownPrompt(RENDERED, "run"))
    for each in (edit, dock.rendered_view):
        assert each.wordWrapMode() is QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


def test_the_prompt_grows_up_to_a_limit(document, qtbot):
    document.set_user("one line")
    edit = UserPromptEdit(document)
    qtbot.addWidget(edit)
    edit.resize(400, 20)
    edit.show()
    heights = []
    for lines in (1, 3, 4, 40):
        document.set_user("\n".join(["a"] * lines))
        heights.append(edit.height())
    assert heights[0] < heights[1] < heights[2] == heights[3]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "abc"),
        ("abc", ""),
        ("aaa", "aa"),
        ("a😀b", "a😀cb"),
        ("one two", "one three two"),
        ("xaxb", "xb"),
    ],
)
def test_a_text_set_by_the_program_is_shown_and_is_no_edit(qtbot, old, new):
    edit = CodeEdit()
    qtbot.addWidget(edit)
    edited = []
    edit.textEdited.connect(edited.append)
    edit.show_text(old)
    edit.show_text(new)
    assert edit.toPlainText() == new
    assert edited == []


def test_new_lines_and_tabs_are_indented_as_json(qtbot):
    edit = CodeEdit()
    qtbot.addWidget(edit)
    qtbot.keyClicks(edit, "{")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    qtbot.keyClicks(edit, "x")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    qtbot.keyClick(edit, Qt.Key.Key_Tab)
    assert edit.toPlainText() == "{\n  x\n    "


def test_formatting_leaves_invalid_json_and_preserves_the_value(qtbot):
    edit = JsonEditor()
    qtbot.addWidget(edit)
    edit.setPlainText('{"b": 1, "a": [1]')
    edit.format_action.trigger()
    assert edit.toPlainText() == '{"b": 1, "a": [1]'
    edit.setPlainText('{"b": "é", "a": [1]}')
    edit.format_action.trigger()
    assert edit.toPlainText() == '{\n  "b": "é",\n  "a": [\n    1\n  ]\n}'
