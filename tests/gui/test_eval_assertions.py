"""Assertions in the window: edited in a form, consent before Python runs, and the judge's evidence in a result."""

from __future__ import annotations

import json
import threading

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QMessageBox, QWidget

from evaluating import ended, set_up
from glyphscope.evals.scoring import ModelJudge
from glyphscope.evals.suites import JudgeCheck, PathCheck, PythonCheck, load_suite
from glyphscope.models import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import end_of, run_state
from glyphscope_gui.evaluate import SETUP, PythonConsent, SuiteEditor, loose_text, loose_value
from glyphscope_gui.shared.page_ids import PageId
from made_results import GOOD

CHECK = "def one(result):\n    return len(result['calls']) == 1\n"
FAIL = '{"reason":"It is about <b>news</b>.","pass":false}'


@pytest.fixture
def suite(tmp_path):
    """Write a suite of one scenario with that expectation, and the file `checks.py` beside it."""

    def write(**expect):
        (tmp_path / "checks.py").write_text(CHECK)
        path = tmp_path / "asserted.json"
        scenario = {"id": "news", "prompt": "Search for AI news.", "expect": {"extra_calls": True, **expect}}
        document = {"glyphscope_suite": 1, "name": "asserted", "about": "", "scenarios": [scenario]}
        path.write_text(json.dumps(document))
        return path

    return write


@pytest.fixture
def edit(qtbot):
    windows = []

    def build(path):
        windows.append(QWidget())
        qtbot.addWidget(windows[-1])
        return SuiteEditor(load_suite(str(path)), path, path.parent, "", windows[-1])

    yield build


@pytest.fixture
def opened(open_page, qtbot):
    """The page, with a model that searches and a judge that rejects; `judge` names it."""

    def opener(name, **_options):
        return ScriptedModel(FAIL if name.endswith("judge") else GOOD)

    page = open_page(PageId.EVALUATE, opener)
    ended(qtbot, page)
    return page


def put(editor, kind, target, test="exists", value=""):
    form = editor.form.assertions
    form.add.click()
    line = form._lines[-1]
    line.kind.setCurrentIndex(line.kind.findData(kind))
    line.target.setPlainText(target)
    line.test.setCurrentIndex(line.test.findData(test))
    line.value.setText(value)
    return line


def test_assertions_of_each_kind_are_written_to_the_suite(edit, suite, qtbot):
    path = suite()
    editor = edit(path)
    put(editor, "path", "$.calls[*].tool", "one_of", "search | browse")
    put(editor, "path", "$.calls[0].arguments.max_results", "equals", "10")
    put(editor, "path", "$.calls", "count", "1")
    put(editor, "python", "checks.py:one")
    put(editor, "judge", "The query is about news.")
    editor.judge_edit.setText("embedded")
    with qtbot.waitSignal(editor.saved):
        editor.save_button.click()
    written = load_suite(str(path))
    expect = written.scenarios[0].expect
    assert written.judge == "embedded" and expect.extra_calls
    assert expect.paths == (
        PathCheck(path="$.calls[*].tool", any_of=("search", "browse")),
        PathCheck(path="$.calls[0].arguments.max_results", equals=10),
        PathCheck(path="$.calls", count=1),
    )
    assert expect.python == (PythonCheck(function="checks.py:one"),)
    assert expect.judge == (JudgeCheck(rubric="The query is about news."),)
    again = edit(path)
    assert again.form.scenario() == written.scenarios[0] and len(again.form.assertions.lines()) == 5


def test_typing_continues_the_path_of_a_new_assertion(edit, suite, qtbot):
    editor = edit(suite())
    with qtbot.waitExposed(editor):
        editor.show()
    editor.form.assertions.add.click()
    qtbot.keyClicks(editor.focusWidget(), "answer")
    assert [line.target for line in editor.form.assertions.lines()] == ["$.answer"]


def test_a_target_that_was_not_edited_follows_the_kind_of_assertion(edit, suite):
    form = edit(suite()).form.assertions
    form.add.click()
    line = form._lines[-1]
    for kind, target in (("judge", ""), ("path", "$."), ("python", "")):
        line.kind.setCurrentIndex(line.kind.findData(kind))
        assert line.target.toPlainText() == target
    line.target.setPlainText("checks.py:one")
    line.kind.setCurrentIndex(line.kind.findData("path"))
    assert line.target.toPlainText() == "checks.py:one"


def test_saving_is_announced_and_an_error_ends_it(edit, suite, qtbot):
    editor = edit(suite())
    put(editor, "path", "$.")
    editor.save_button.click()
    assert editor.save_button.text() == "Saving…" and not editor.save_button.isEnabled()
    qtbot.waitUntil(editor.save_button.isEnabled)
    assert editor.save_button.text() == "Save" and "Invalid JSONPath" in editor.problem.text()


def test_an_invalid_assertion_is_not_saved_and_its_place_is_shown(edit, suite, qtbot):
    editor = edit(suite())
    line = put(editor, "path", "$.calls[")
    editor.save_button.click()
    qtbot.waitUntil(lambda: "Invalid JSONPath at character 9" in editor.problem.text())
    line.target.setPlainText("$.calls")
    line.test.setCurrentIndex(line.test.findData("count"))
    line.value.setText("many")
    assert "many is not a whole number" in editor.problem.text()
    line.kind.setCurrentIndex(line.kind.findData("python"))
    line.target.setPlainText("checks.py:two")
    editor.save_button.click()
    qtbot.waitUntil(lambda: "checks.py has no function two. It has one." in editor.problem.text())
    line.remove.click()
    assert not editor.problem.text() and editor.form.assertions.lines() == ()


def test_a_path_with_two_conditions_is_preserved(edit, suite):
    checks = [{"path": "$.calls", "count": 1, "schema": {"type": "array"}}]
    editor = edit(suite(paths=checks))
    assert editor.form.assertions.isHidden() and not editor.form.complex_assertions.isHidden()
    assert editor.form.scenario().expect.paths[0].count == 1


@pytest.mark.parametrize(
    ("test", "value"),
    [
        ("equals", "tea"),
        ("equals", "10"),
        ("equals", 10),
        ("equals", None),
        ("equals", {"a": [1]}),
        ("one_of", ["a | b", "c"]),
        ("one_of", ["tea", 3, None, " x"]),
        ("matches", "[0-9]+"),
        ("schema", {"type": "string"}),
        ("count", 0),
    ],
)
def test_the_field_of_a_value_reads_what_it_shows(test, value):
    assert loose_value(test, loose_text(test, value)) == value


@pytest.mark.slow
def test_python_functions_are_shown_and_run_only_when_they_are_allowed(opened, qtbot, suite):
    page, view = opened, opened.view
    set_up(qtbot, page, suite(python=[{"function": "checks.py:one"}]), trials=1)
    view.setup.start.click()
    question = page.context.window.findChild(PythonConsent)
    assert question.tabs.widget(0).toPlainText() == CHECK and "your permissions" in question.words.text()
    question.cancel.click()
    assert (
        not page.evaluations.is_busy
        and "not allowed" in view.notice.label.text()
        and view.views.value == SETUP
    )
    view.setup.start.click()
    question = page.context.window.findChildren(PythonConsent)[-1]
    question.allow.click()
    ended(qtbot, page)
    assert [sample.ok for sample in page.result_presenter.result.samples] == [True]
    view.show_view(SETUP)
    view.setup.start.click()  # consent for the same source is remembered
    assert page.is_busy
    ended(qtbot, page)


def asked(parent):
    """The open question about files outside of a suite's folder."""
    return next(box for box in parent.findChildren(QMessageBox, "namedFilesConsent") if box.isVisible())


def answer(box, words):
    next(button for button in box.buttons() if button.text() == words).click()


@pytest.fixture
def outside(suite, tmp_path):
    """A suite whose registry and function are files outside of its folder."""
    (tmp_path / "tools.json").write_text(json.dumps(default_registry().to_document()))
    document = json.loads(suite(python=[{"function": "../checks.py:one"}]).read_text())
    path = tmp_path / "suites" / "asserted.json"
    path.parent.mkdir()
    path.write_text(json.dumps({**document, "registry": "../tools.json"}))
    return path


@pytest.mark.slow
def test_files_outside_of_a_suites_folder_are_read_only_if_they_are_allowed(opened, qtbot, outside, tmp_path):
    page, view = opened, opened.view
    page._add_suites([outside])
    qtbot.waitUntil(lambda: "outside of the folder" in view.notice.label.text())
    box = asked(page.context.window)
    for name in ("tools.json", "checks.py"):
        assert str(tmp_path / name) in box.informativeText()
    assert box.defaultButton().text() == "Cancel"
    box.defaultButton().click()
    row = next(row for row in view.suites_model.rows if row.value == str(outside))
    assert "outside of the folder" in row.problem and str(outside) not in view.suites_model.ticked
    set_up_allowed(qtbot, page, outside)
    assert page.context.services.named_files._allowed
    qtbot.waitUntil(view.setup.start.isEnabled)  # the plan reads the files again
    other = tmp_path / "others" / "theirs.json"
    other.parent.mkdir()
    other.write_text(outside.read_text())
    page._add_suites([other])  # the same files, named by a suite of another folder
    qtbot.waitUntil(lambda: any(row.value == str(other) for row in view.suites_model.rows))
    answer(asked(page.context.window), "Cancel")


def set_up_allowed(qtbot, page, path):
    """Add a suite, and allow its files."""
    page._add_suites([path])
    qtbot.waitUntil(
        lambda: any(
            box.isVisible() for box in page.context.window.findChildren(QMessageBox, "namedFilesConsent")
        )
    )
    answer(asked(page.context.window), "Read these files")
    qtbot.waitUntil(lambda: str(path) in page.view.suites_model.ticked)


@pytest.mark.slow
def test_a_suite_that_is_edited_asks_about_a_file_outside_of_its_folder(edit, suite, qtbot, tmp_path):
    path = suite(python=[{"function": "checks.py:one"}])
    inner = tmp_path / "suites" / "asserted.json"
    inner.parent.mkdir()
    document = json.loads(path.read_text())
    del document["scenarios"][0]["expect"]["python"]
    inner.write_text(json.dumps(document))
    editor = edit(inner)
    editor.open()
    put(editor, "python", f"{tmp_path / 'checks.py'}:one")  # as a file that is chosen in the editor
    editor.save_button.click()
    qtbot.waitUntil(lambda: "outside of the folder" in editor.problem.text())
    box = asked(editor)
    assert str(tmp_path / "checks.py") in box.informativeText()
    with qtbot.waitSignal(editor.saved):
        answer(box, "Read these files")


@pytest.mark.slow
def test_a_judge_is_chosen_and_its_evidence_is_shown_with_its_run(opened, qtbot, suite, tmp_path):
    page, view = opened, opened.view
    path = suite(judge=[{"rubric": "The query is about tea."}])
    page._add_suites([path])
    qtbot.waitUntil(lambda: "no judge model is named. Choose one under Judge." in view.setup.problem.text())
    assert not view.setup.judge.isHidden() and not view.setup.start.isEnabled()
    assert view.setup.scenarios.current() is not None  # it is editable
    view.setup.judge.box.setEditText(str(tmp_path / "judge"))
    set_up(qtbot, page, path, trials=1)
    view.setup.start.click()
    ended(qtbot, page)
    result = view.result
    (sample,) = page.result_presenter.result.samples
    assert sample.failures[0].reason == "JUDGE"
    assert result.tabs.isTabVisible(result.tabs.indexOf(result.judge))
    words = result.judge.toPlainText()
    assert "✕ fail" in words and "It is about <b>news</b>." in words and "Rubric:" in words
    assert "judge judge" in result.provenance.text()
    with qtbot.waitSignal(page.reading.runOpened) as shown:
        result.judge.anchorClicked.emit(QUrl("0"))
    assert shown.args[0].events[1].kind == "judge"


def test_the_run_of_a_judge_ends_with_a_verdict_and_no_call():
    judge = ModelJudge("scripted", ScriptedModel(FAIL))
    _, events = judge.judged("It is about tea.", {"answer": "Tea."}, turn=1, cancelled=threading.Event())
    state = run_state(events)
    assert end_of(state).words == "the judge gave its verdict" and state.call is None
    assert end_of(state).status == "holds"
