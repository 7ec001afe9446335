"""Branches in the real window with the embedded model: from a masked alternative to a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from glyphscope.base.figures import percent
from glyphscope.events import Relaxed
from glyphscope.store import History, places
from glyphscope.store.bundle import write_bundle
from glyphscope_gui.shared.page_ids import PageId

pytestmark = [pytest.mark.slow, pytest.mark.model]
RUN_MS = 240_000


def ended(qtbot, window, begin):
    with qtbot.waitSignal(window.runs.ended, timeout=RUN_MS):
        begin()
    qtbot.waitUntil(lambda: not window.runs.is_busy)
    return window.runs.state


def click(qtbot, window, name):
    qtbot.mouseClick(window.findChild(QPushButton, name), Qt.MouseButton.LeftButton)


def elsewhere(folder, *arguments, module="glyphscope"):
    """Run Glyphscope in an empty home and folder, separate from this window's."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
        env={**os.environ, "GLYPHSCOPE_HOME": str(folder / "clean")},
        check=False,
    )


def test_a_masked_alternative_can_be_allowed_with_its_reason_and_cost_shown(qtbot, window, tmp_path):
    page = window.page(PageId.PLAYGROUND)
    evidence, bar = page.evidence, page.evidence.branch_bar
    first = ended(qtbot, window, lambda: click(qtbot, window, "runButton"))
    run, whole = first.started.run, first.text
    assert "max_results=10" in whole
    token, row = next(
        (token.step.index, place)
        for token in first.tokens
        for place, one in enumerate(token.step.alternatives)
        if one.text == "0" and one.allowed is False and not token.step.forced
    )
    masked = first.tokens[token].step.alternatives[row]

    page.view.tokens.choose(token)
    if row >= evidence.alternatives_model.rowCount():
        evidence.all_button.click()
    evidence.alternatives.selectRow(row)
    qtbot.waitUntil(bar.box.relax_button.isVisible)
    reason = bar.box.reason.text()
    assert "0 is masked" in reason
    assert "Blocked by minimum: search, /properties/max_results/minimum is 1" in reason
    assert "The grammar: max_results expects" in reason

    branch = ended(qtbot, window, lambda: click(qtbot, window, "branchRelaxButton"))
    request = branch.started.request
    assert request.relaxed == (Relaxed("search", "/properties/max_results/minimum"),)
    assert branch.text == whole.replace("=10", "=0") and branch.tokens[token].step.id == masked.id
    assert branch.call.arguments["max_results"] == 0
    panel = evidence.branch_panel
    assert branch.prompt.cached == branch.prompt.tokens - 1
    assert (
        f"{branch.prompt.cached:,} of {branch.prompt.tokens:,} prompt tokens from the cache"
        in panel.usage.text()
    )
    qtbot.waitUntil(panel.cost.isVisible)
    cost, steps = panel.cost_words, (first.tokens[token].step, branch.tokens[token].step)
    assert "✕ With all constraints: CONSTRAINT_MIN" in cost
    assert f"allowed {steps[0].allowed} tokens before and {steps[1].allowed} tokens after" in cost
    assert f"{percent(steps[0].feasible)} and {percent(steps[1].feasible)}" in cost
    own = sum(each.step.origin == "model" for each in branch.tokens)
    assert f"The branch decoded {own} token" in cost
    events = tuple(window.runs.events)

    tree = page.view.branches
    assert tree.isVisible() and tree.model.rowCount(tree.model.index_of(run)) == 1
    window.activateWindow()
    assert (
        ended(
            qtbot, window, lambda: QTest.keyClick(window, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
        ).text
        == whole
    )
    assert page.view.current_token().step.index == token
    assert ended(qtbot, window, tree.forward_action.trigger).text == branch.text
    qtbot.waitUntil(lambda: len(window.services.history.rows()) == 2)
    family = History(places().history).family(branch.started.run)
    assert {kin.started.run for kin in family} == {run, branch.started.run}

    write_bundle(tmp_path / "x.glyphrun", events)
    verified = elsewhere(tmp_path, "replay", "x.glyphrun", "--verify", "--json")
    assert (verified.returncode, json.loads(verified.stdout)["difference"]) == (0, ""), verified.stderr
    made = elsewhere(tmp_path, "export", "x.glyphrun", "--to", "pytest", "-o", "test_run.py")
    assert made.returncode == 0, made.stderr
    passed = elsewhere(tmp_path, "-q", "-p", "no:cacheprovider", "test_run.py", module="pytest")
    assert passed.returncode == 0 and "2 passed" in passed.stdout, passed.stdout


def test_a_typed_text_is_tokenized_as_the_field_shows(qtbot, window):
    page = window.page(PageId.PLAYGROUND)
    first = ended(qtbot, window, lambda: click(qtbot, window, "runButton"))
    value = next(
        token for token in first.tokens if token.start >= first.text.index('query="') + len('query="')
    )
    page.view.tokens.choose(value.step.index)
    bar = page.evidence.branch_bar
    bar.open_field()
    text = 'café 🦜 <b>"'
    bar.field.edit.setText(text)
    qtbot.waitUntil(lambda: "tokens: " in bar.field.pieces.text())
    reported = bar.field.pieces.text()
    branch = ended(qtbot, window, lambda: QTest.keyClick(bar.field.edit, Qt.Key.Key_Return))
    written = [each.step for each in branch.tokens if each.step.origin == "written"]
    assert b"".join(step.data for step in written).decode() == text
    assert reported.startswith(f"{len(written)} tokens: ")
    assert "⟨F0 9F⟩" in reported  # half of an emoji
    assert branch.call is not None and branch.call.arguments["query"] == text[:-1]
    half = next(step.index for step in written if step.data and not step.text)
    page.view.tokens.choose(half + 1)
    bar.open_field()
    bar.field.edit.setText("x")
    qtbot.waitUntil(lambda: "ends inside a character" in bar.field.pieces.text())
    bar.field.edit.setText("<|im_end|>")
    qtbot.waitUntil(lambda: "never a special token" in bar.field.pieces.text())
