"""Comparisons in the real window on the embedded model: columns differ by their variant, and a crash affects one."""

from __future__ import annotations

import os
import signal

import pytest

from comparing import variant
from glyphscope_gui.compare import PRESETS, RunPhase
from glyphscope_gui.shared.page_ids import PageId

pytestmark = [pytest.mark.slow, pytest.mark.model]
RUN_MS = 120_000


def compare(qtbot, window, variants):
    window.navigator.show(PageId.COMPARE)
    page = window.page(PageId.COMPARE)
    comparison = page.comparison
    comparison.arrange(variants)
    with qtbot.waitSignal(comparison.runningChanged, timeout=RUN_MS, check_params_cb=lambda on: not on):
        page.view.run_button.click()
    return comparison.columns


def preset(window, key):
    found = next(preset for preset in PRESETS if preset.key == key)
    return found.of(window.page(PageId.COMPARE).columns._basis)


def pills(window, columns):
    return [view.pill.words for view, _ in zip(window.page(PageId.COMPARE).view.columns, columns)]


def test_the_mask_makes_a_difference_for_columns_of_the_same_prompt(qtbot, window):
    columns = compare(qtbot, window, preset(window, "mask"))
    off, mask = (column.state for column in columns)
    assert off.prompt.text == mask.prompt.text
    assert off.outcome == "aborted" and mask.outcome == "valid", "the first lesson of the small model"
    assert pills(window, columns) == ["✕ aborted", "✓ valid"]
    assert mask.call.tool == "search"
    words = window.page(PageId.COMPARE).view.words.text()
    assert words.startswith("“Mask” called search, “No constraint” called no tool.")
    assert mask.prompt.cached > 0, "the same prompt is in the cache"


def test_one_stage_and_two_stages_both_make_valid_calls(qtbot, window):
    columns = compare(qtbot, window, preset(window, "stages"))
    assert pills(window, columns) == ["✓ valid", "✓ valid"]
    assert [len(column.state.stages) for column in columns] == [1, 2]
    calls = [(column.state.call.tool, column.state.call.arguments) for column in columns]
    same = calls[0] == calls[1]
    assert window.page(PageId.COMPARE).view.words.text().startswith("Both wrote the same") is same
    again = compare(qtbot, window, preset(window, "stages"))
    assert [(c.state.call.tool, c.state.call.arguments) for c in again] == calls, (
        "the same seed, the same calls"
    )


def test_a_model_process_killed_in_one_column_leaves_the_others(qtbot, window):
    killed = []

    def kill(place):
        if place == 0 and page.comparison.columns[0].state.tokens and not killed:
            model = window.runs._worker._keeper.model
            killed.append(model.pid)
            os.kill(model.pid, signal.SIGKILL)

    page = window.page(PageId.COMPARE)
    page.comparison.grew.connect(kill)
    window.context.project.set_options(stop_on="never")  # the first one writes text until it is stopped
    variants = [variant(constraint="off"), variant(), variant(notation="native")]
    columns = compare(qtbot, window, variants)
    assert killed
    assert pills(window, columns) == ["✕ failed", "✓ valid", "✕ failed"]
    assert "SIGKILL" in page.view.columns[0].detail.text()
    assert "no place for tools" in page.view.columns[2].notice.label.text()
    assert all(column.phase is RunPhase.DONE for column in columns)
