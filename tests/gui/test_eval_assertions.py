"""Assertions on the evaluate page: consent before Python runs or files are read, and the judge's evidence."""

from __future__ import annotations

import json
import threading

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QMessageBox

from evaluating import SCENARIOS, SUITES, TABLE, evaluate_page, newest
from glyphscope.evals.scoring.model_judge import ModelJudge
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import end_of, run_state
from made_results import GOOD

CHECK = "def one(result):\n    return len(result['calls']) == 1\n"
FAIL = '{"reason":"It is about <b>news</b>.","pass":false}'


@pytest.fixture
def suite(tmp_path):
    """Write a suite of one scenario with that expectation, and the file `checks.py` beside it."""

    def write(folder=tmp_path, **expect):
        (tmp_path / "checks.py").write_text(CHECK)
        registry = expect.pop("registry", "default")
        scenario = {"id": "news", "prompt": "Search for AI news.", "expect": {"extra_calls": True, **expect}}
        document = {"glyphscope_suite": 1, "name": "asserted", "about": "", "registry": registry}
        folder.mkdir(exist_ok=True)
        (folder / "asserted.json").write_text(json.dumps({**document, "scenarios": [scenario]}))
        return folder / "asserted.json"

    return write


@pytest.fixture
def screen(open_page, qtbot):
    """The page, with a model that searches and a judge that rejects; `judge` names it."""

    def opener(name, **_options):
        return ScriptedModel(FAIL if name.endswith("judge") else GOOD)

    return evaluate_page(open_page, qtbot, opener)[1]


@pytest.mark.slow
def test_python_functions_are_shown_and_run_only_when_they_are_allowed(screen, suite):
    screen.set_up(suite(python=[{"function": "checks.py:one"}]), trials=1)
    screen.press("Evaluate")
    question = screen.dialog()
    assert CHECK in question.texts() and "your permissions" in question
    question.press("Cancel")
    assert "not allowed" in screen and screen.can("Evaluate")
    screen.press("Evaluate")
    screen.dialog().press("Run these functions")
    screen.ended()
    assert screen.rows(TABLE)[0][1] == "100%"
    screen.press("Set up", "Evaluate")  # consent for the same source is remembered
    assert screen.page.is_busy
    screen.ended()


@pytest.mark.slow
def test_files_outside_of_a_suites_folder_are_read_only_if_they_are_allowed(screen, suite, tmp_path):
    (tmp_path / "tools.json").write_text(json.dumps(default_registry().to_document()))
    named = {"registry": "../tools.json", "python": [{"function": "../checks.py:one"}]}
    path = suite(tmp_path / "suites", **named)
    screen.add("Suites", path)
    screen.until("outside of the folder")
    box = screen.dialog(QMessageBox)
    assert all(str(tmp_path / name) in box for name in ("tools.json", "checks.py"))
    assert box.root.defaultButton().text() == "Cancel"
    box.press("Cancel")
    screen.tick(SUITES, "asserted")
    screen.until("Select at least one suite")
    screen.add("Suites", path)
    screen.dialog(QMessageBox).press("Read these files")
    screen.until_can("Evaluate")  # the plan reads the files again
    screen.add("Suites", suite(tmp_path / "others", **named))  # the same files, named from another folder
    box = screen.dialog(QMessageBox)
    assert str(tmp_path / "checks.py") in box
    box.press("Cancel")


@pytest.mark.slow
def test_a_judge_is_chosen_and_its_evidence_is_shown_with_its_run(screen, qtbot, suite, tmp_path):
    path = suite(judge=[{"rubric": "The query is about tea."}])
    screen.add("Suites", path)
    screen.until("no judge model is named. Choose one under Judge.")
    assert not screen.can("Evaluate") and screen.rows(SCENARIOS), "it can be edited"
    screen.write("Judge", str(tmp_path / "judge"))
    screen.set_up(path, trials=1)
    folder = screen.evaluate()
    (sample,) = folder.samples()
    assert sample.failures[0].reason == "JUDGE"
    screen.press("Judge")
    verdicts = screen.find("Verdicts of the judge")
    words = screen.read("Verdicts of the judge")
    assert "✕ fail" in words and "It is about <b>news</b>." in words and "Rubric" in words
    assert "judge judge" in screen
    with qtbot.waitSignal(screen.page.context.runs.ended):
        verdicts.anchorClicked.emit(QUrl("0"))
    assert screen.page.context.runs.state.stages[0].kind == "judge" and newest().path == folder.path


def test_the_run_of_a_judge_ends_with_a_verdict_and_no_call():
    judge = ModelJudge("scripted", ScriptedModel(FAIL))
    _, events = judge.judged("It is about tea.", {"answer": "Tea."}, turn=1, cancelled=threading.Event())
    state = run_state(events)
    assert end_of(state).words == "the judge gave its verdict" and state.call is None
    assert end_of(state).status == "holds"
