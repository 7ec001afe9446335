"""Each kind of answer that is not a call in the real window over the embedded model: replayed, branched, exported,
evaluated and compared.
"""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QDialog, QPushButton

from glyphscope.events import Answer
from glyphscope.models import EMBEDDED
from glyphscope.store.bundle import read_bundle
from glyphscope_gui.compare import PRESETS
from glyphscope_gui.shared.page_ids import PageId

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.timeout(900)]
RUN_MS = 240_000

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 9},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
    },
    "required": ["name", "age"],
}
ANSWERS = {
    "schema": (Answer("schema", json.dumps(PERSON)), "The person: Ann, 30 years old.", '{"name":"Bo"'),
    "regex": (
        Answer("regex", "[0-9]{4}-[0-9]{2}-[0-9]{2}"),
        "When was the moon landing? Write the date.",
        "2001-",
    ),
    "choice": (Answer("choice", "positive\nnegative"), "I love it. What is the sentiment?", "neg"),
    "gbnf": (Answer("gbnf", 'root ::= number "+" number\nnumber ::= [0-9] [0-9]?\n'), "Write a sum.", "77+"),
    "lark": (
        Answer(
            "lark", 'start: "let" NAME "=" NUMBER\nNAME: /[a-z]{1,9}/\nNUMBER: /[0-9]{1,3}/\n%ignore / /\n'
        ),
        "Let x be 3.",
        "let yes =",
    ),
}
"""By its kind, an answer with a prompt and the beginning of a branch."""


def ended(qtbot, window, begin):
    with qtbot.waitSignal(window.runs.ended, timeout=RUN_MS):
        begin()
    qtbot.waitUntil(lambda: not window.runs.is_busy)
    return window.runs.state


def export(qtbot, window, form, words):
    """The text of that form in the dialog of exports."""
    window.actions_.share.trigger()
    qtbot.waitUntil(lambda: window.findChild(QDialog, "exportDialog") is not None)
    dialog = window.findChild(QDialog, "exportDialog")
    box = dialog.findChild(QComboBox, "exportForm")
    box.setCurrentIndex(box.findData(form))
    box.activated.emit(box.currentIndex())
    qtbot.waitUntil(lambda: words in dialog._exported.text, timeout=60_000)
    text = dialog._exported.text
    dialog.reject()
    qtbot.waitUntil(lambda: window.findChild(QDialog, "exportDialog") is None)
    return text


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_kind_of_answer_is_run_replayed_branched_exported_evaluated_and_compared(
    qtbot, window, kind, tmp_path
):
    answer, prompt, written = ANSWERS[kind]
    page, project = window.page(PageId.PLAYGROUND), window.services.project
    project.prompt.set_user(prompt)
    project.set_options(answer=answer, notation="json", max_tokens=60)
    run = window.findChild(QPushButton, "runButton")

    first = ended(qtbot, window, lambda: qtbot.mouseClick(run, Qt.MouseButton.LeftButton))
    whole = first.text
    assert first.failed is None and first.outcome == "valid" and first.call is None
    assert page.view.stream.toPlainText().strip() == first.answer.text.strip()

    page.view.tokens.choose(0)
    page.evidence.branch_bar.open_field()
    edit = page.evidence.branch_bar.field.edit
    edit.setText(written)
    branch = ended(qtbot, window, lambda: QTest.keyClick(edit, Qt.Key.Key_Return))
    assert branch.outcome == "valid" and branch.text.startswith(written)
    assert branch.started.request.answer == answer and page.view.branches.isVisibleTo(page.view)

    qtbot.waitUntil(lambda: len(window.services.history.rows()) == 2)
    record = window.services.history.events(first.started.run)
    for replay in (lambda: window.runs.show_record(record), lambda: window.runs.replay(record, 0)):
        replayed = ended(qtbot, window, replay)
        assert replayed.text == whole and page.view.stream.toPlainText().strip() == first.answer.text.strip()
        assert "valid" in page.view.verdict.title.text()

    namespace = {}
    exec(export(qtbot, window, "pytest", "def test_"), namespace)  # a file that the program wrote
    tests = [made for name, made in namespace.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()
    assert export(qtbot, window, "html", json.dumps(prompt)[1:-1])
    assert export(qtbot, window, "curl", "curl -sS")
    assert export(qtbot, window, "answer", first.answer.text)
    bundle = tmp_path / "run.glyphrun"
    page.context.recorder.write(bundle, record)
    qtbot.waitUntil(bundle.is_file)
    qtbot.waitUntil(lambda: read_bundle(bundle).record.events == record)

    evaluated = evaluate(qtbot, window, tmp_path, answer, prompt)
    assert [sample.ok for sample in evaluated] == [False, True]

    window.navigator.show(PageId.COMPARE)
    compare = window.page(PageId.COMPARE)
    question = next(preset for preset in PRESETS if preset.key == "mask")
    compare.comparison.arrange(question.of(compare.columns._basis))
    with qtbot.waitSignal(
        compare.comparison.runningChanged, timeout=RUN_MS, check_params_cb=lambda running: not running
    ):
        compare.view.run_button.click()
    free, masked = (column.state for column in compare.comparison.columns)
    assert (free.outcome, masked.outcome) == ("aborted", "valid") and masked.answer is not None
    assert [view.pill.words for view in compare.view.columns[:2]] == ["✕ aborted", "✓ valid"]
    words = compare.view.words.text()
    assert "wrote" in words and "call" not in words and "no constraint" in words.lower(), words


def evaluate(qtbot, window, folder, answer, prompt):
    """The samples of an evaluation of that prompt, without a constraint and with the mask."""
    scenario = {"id": "one", "prompt": prompt, "expect": {"final": {"least_characters": 1}}}
    suite = {"glyphscope_suite": 1, "name": "kinds", "about": "", "request": {"max_tokens": 60}}
    file = folder / "suite.json"
    described = {"schema": "schema:answer.schema"}.get(answer.kind, f"answer.{answer.kind}")
    if answer.kind in ("regex", "choice"):
        described = answer.description
    (folder / f"answer.{answer.kind}").write_text(answer.text)
    file.write_text(json.dumps({**suite, "answer": described, "scenarios": [scenario]}))
    window.navigator.show(PageId.EVALUATE)
    page = window.page(PageId.EVALUATE)
    qtbot.waitUntil(lambda: not page.is_busy)
    page._add_suites([file])
    qtbot.waitUntil(lambda: str(file) in page.view.suites_model.ticked)
    setup = page.view.setup
    setup.show_matrix({
        "suites": (str(file),), "models": (EMBEDDED,), "notations": ("json",), "constraints": ("off", "mask"),
        "profiles": ("deterministic",),
    })  # fmt: skip
    setup.changed.emit()
    qtbot.waitUntil(setup.start.isEnabled)
    setup.start.click()
    qtbot.waitUntil(lambda: not page.is_busy, timeout=RUN_MS)
    result = page.result_presenter.result
    assert result.manifest.finished and page.view.result.model.columnCount() == 2
    return sorted(result.samples, key=lambda sample: ".mask." in sample.arm)
