"""Suites edited in the window: a form for common members, JSON for the rest; only complete suites are written."""

from __future__ import annotations

import json

import pytest
from PySide6.QtWidgets import QLineEdit, QWidget

from evaluating import ended
from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.suites import Expectation, Scenario, Suite, encode_suite, load_suite
from glyphscope_gui.evaluate import FORM, JSON, SuiteEditor, editable, field_text, field_value
from glyphscope_gui.shared.page_ids import PageId


@pytest.fixture
def editor(qtbot, tmp_path):
    """The editor of a copy of the starter suite."""
    window = QWidget()
    qtbot.addWidget(window)
    yield SuiteEditor(*editable("starter"), tmp_path, "search-too-many", window)


def saved(qtbot, editor):
    with qtbot.waitSignal(editor.saved) as signal:
        editor.save_button.click()
    return load_suite(signal.args[0])


@pytest.mark.slow
def test_a_copy_of_a_bundled_suite_is_the_same_until_it_is_edited(editor, qtbot):
    assert editor.list.currentIndex().data() == "search-too-many"
    suite = saved(qtbot, editor)
    assert suite.name == "starter-copy" and suite.scenarios == load_suite("starter").scenarios


def test_a_scenario_is_added_with_checks_of_every_kind(editor, qtbot):
    editor.add.click()
    form = editor.form
    form.id_edit.setText("tea")
    form.prompt_edit.setPlainText("Search for tea.")
    form.tool_box.setCurrentIndex(form.tool_box.findData("search"))
    form.tool_box.activated.emit(form.tool_box.currentIndex())
    for kind, text in (("matches", "(?i)tea"), ("one_of", "3 | 10"), ("schema", '{"minItems": 1}')):
        form.checks.add.click()
        line = form.checks._lines[-1]
        line.kind.setCurrentIndex(line.kind.findData(kind))
        line.value.setText(text)
    form.others_box.setChecked(False)
    (call,) = saved(qtbot, editor).scenarios[-1].expect.calls
    assert call.any_of == {"max_results": (3, 10)}
    assert call.schema["properties"] == {"query": {"pattern": "(?i)tea"}, "sources": {"minItems": 1}}


def test_the_tools_of_a_suite_are_read_beside_its_file(qtbot, tmp_path):
    tool = {"name": "brew", "description": "Brews tea.", "parameters": {"type": "object", "properties": {}}}
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [tool]}))
    scenario = Scenario(id="tea", prompt="Brew tea.", expect=Expectation())
    suite = Suite(glyphscope_suite=1, name="tea", about="", registry="tools.json", scenarios=(scenario,))
    window = QWidget()
    qtbot.addWidget(window)
    form = SuiteEditor(suite, tmp_path / "tea.json", tmp_path / "suites", "", window).form
    assert form.tool_box.findData("brew") >= 0


def test_a_value_that_cannot_be_read_blocks_leaving_its_scenario(editor):
    editor.choose_row([each.id for each in editor._scenarios].index("search-news"))
    value = editor.form.checks._lines[-1].findChild(QLineEdit)
    value.setText("ten")
    assert "ten is not JSON" in editor.problem.text()
    row = editor.list.currentIndex().row()
    editor.choose_row(0 if row else 1)
    assert editor.list.currentIndex().row() == row
    value.setText("10")
    assert not editor.problem.text()


def test_an_error_is_shown_at_its_scenario_and_nothing_is_written(editor, qtbot, tmp_path):
    editor.add.click()
    editor.choose_row(0)
    editor.save_button.click()
    qtbot.waitUntil(lambda: "prompt is empty" in editor.problem.text())
    assert editor.list.currentIndex().data() == "scenario" and not list(tmp_path.iterdir())
    editor.remove.click()
    assert len(saved(qtbot, editor).scenarios) == 12


def test_a_scenario_that_the_form_cannot_show_is_edited_as_json(editor, qtbot):
    form = editor.form
    form.views.chosen.emit(JSON)
    scenario = json.loads(form.json_edit.toPlainText())
    scenario["expect"]["calls"][0]["tools"] = ["search", "browse"]
    scenario["tools"] = ["search", "browse"]
    form.json_edit.setPlainText("{")
    assert "Not a scenario" in editor.problem.text()
    form.views.chosen.emit(FORM)
    assert form.views.value == JSON, "unreadable text stays in view"
    scenario["expect"]["calls"][0] = {"tools": ["search", "browse"]}
    form.json_edit.setPlainText(json.dumps(scenario))
    form.views.chosen.emit(FORM)
    assert not form.complex_label.isHidden() and form.tool_box.isHidden()
    place = editor.list.currentIndex().row()
    assert saved(qtbot, editor).scenarios[place].expect.calls[0].tools == ("search", "browse")


def test_a_new_suite_closes_at_once_until_it_is_edited(qtbot, tmp_path):
    window = QWidget()
    qtbot.addWidget(window)
    suite = Suite(glyphscope_suite=1, name="tea", about="", registry="default")
    for name, closes in (("tea", True), ("green-tea", False)):
        editor = SuiteEditor(suite, None, tmp_path, "", window)
        editor.open()
        editor.name_edit.setText(name)
        editor.reject()
        assert editor.isHidden() == closes


def test_unsaved_changes_are_discarded_at_the_second_close(editor):
    editor.form.prompt_edit.setPlainText("Something else")
    editor.open()
    editor.reject()
    assert editor.isVisible() and "unsaved changes" in editor.problem.text()
    editor.reject()
    assert not editor.isVisible()


@pytest.mark.slow
def test_a_saved_suite_is_ticked_and_listed_again(open_page, qtbot):
    page = open_page(PageId.EVALUATE)
    page.making.finish()
    setup = page.view.setup
    qtbot.waitUntil(lambda: setup.scenarios.model.rowCount() == 12)
    setup.edit_suite.click()
    qtbot.waitUntil(lambda: bool(page.context.window.findChildren(SuiteEditor)))
    (editor,) = page.context.window.findChildren(SuiteEditor)
    editor.save_button.click()
    path = str(page.context.services.places.suites / "starter-copy.json")
    qtbot.waitUntil(lambda: path in setup.matrix().suites)
    qtbot.waitUntil(lambda: not page.is_busy)
    page.context.navigator.show(PageId.PLAYGROUND)
    page.context.navigator.show(PageId.EVALUATE)
    qtbot.waitUntil(lambda: not page.is_busy)
    assert page.view.suites_model.values.count(path) == 1


@pytest.mark.parametrize(
    ("kind", "value", "is_text", "text"),
    [
        ("equals", "AI news", True, "AI news"),
        ("equals", 10, False, "10"),
        ("equals", ["a"], False, '["a"]'),
        ("one_of", ["a", "b c"], True, "a | b c"),
        ("one_of", ["a|b"], True, '["a|b"]'),
        ("one_of", ["a", "b "], True, '["a", "b "]'),
        ("one_of", [1, 2], False, "1 | 2"),
        ("one_of", [{"a": "b|c"}, 1], False, '[{"a": "b|c"}, 1]'),
        ("one_of", [[1], [2]], False, "[[1], [2]]"),
        ("matches", "^x", True, "^x"),
        ("schema", {"minimum": 1}, False, '{"minimum": 1}'),
        ("optional", None, True, ""),
    ],
)
def test_a_value_is_read_back_from_its_field(kind, value, is_text, text):
    assert field_text(kind, value, is_text=is_text) == text
    assert field_value(kind, text, is_text=is_text) == value


def test_a_field_that_must_be_json_says_so():
    for kind, text in (("equals", "ten"), ("schema", "[]"), ("one_of", "[1")):
        with pytest.raises(GlyphscopeError, match="is not"):
            field_value(kind, text, is_text=False)


def test_a_suite_of_another_programs_file_is_edited_as_a_copy(tmp_path):
    dataset, own = tmp_path / "data.json", tmp_path / "own.json"
    dataset.write_text('[{"input": "Where is Bern?", "target": "Switzerland"}]')
    suite, path = editable(str(dataset))
    assert (suite.name, path) == ("data-copy", None)
    own.write_bytes(encode_suite(suite))
    assert editable(str(own)) == (suite, own)


@pytest.mark.slow
def test_a_dataset_of_inspect_is_a_suite_and_the_parts_that_are_not_imported_are_shown(
    open_page, qtbot, tmp_path
):
    page = open_page(PageId.EVALUATE)
    page.making.finish()
    path = tmp_path / "data.jsonl"
    path.write_text('{"input": "Where is Bern?", "target": "Switzerland", "sandbox": "docker"}')
    page._add_suites([path])
    qtbot.waitUntil(lambda: str(path) in page.view.suites_model.ticked)
    assert "Not imported: line 1, sandbox" in page.view.notice.label.text()


def test_nothing_is_reported_as_missing_while_the_suites_are_read(open_page, qtbot, monkeypatch):
    page = open_page(PageId.EVALUATE)
    ended(qtbot, page)
    setup = page.view.setup
    monkeypatch.setattr(page.view.suites_model, "rowCount", lambda *_: 0)
    page._ask_price()
    assert not setup.problem.text() and "Loading the suites" in setup.cost.text()
    monkeypatch.undo()
    page.view.suites_model.tick([])
    page._ask_price()
    assert "Select at least one suite" in setup.problem.text()
