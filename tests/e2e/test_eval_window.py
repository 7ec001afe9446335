"""An evaluation in the real window: the page, the thread, the embedded model in its process, and the way to a token."""

from __future__ import annotations

import json

import pytest

from glyphscope.evals.results.folder import ResultFolder
from glyphscope.models import EMBEDDED
from glyphscope_gui.shared.page_ids import PageId

pytestmark = [pytest.mark.slow, pytest.mark.model]
RUN_MS = 150_000
"""Two samples take some seconds alone; tests share the machine."""
SUITE = {
    "glyphscope_suite": 1,
    "name": "tiny",
    "about": "One search",
    "request": {"max_tokens": 64},
    "scenarios": [
        {
            "id": "ai-news",
            "prompt": "Search for AI news, 10 results",
            "expect": {"calls": [{"tools": ["search"], "arguments": {"max_results": 10}, "match": "subset"}]},
        }
    ],
}


def test_a_tiny_matrix_in_the_window_has_a_heat_map_that_leads_to_a_token(qtbot, window, tmp_path):
    suite = tmp_path / "tiny.json"
    suite.write_text(json.dumps(SUITE))
    window.navigator.show(PageId.EVALUATE)
    evaluate = window.page(PageId.EVALUATE)
    page = evaluate.view
    qtbot.waitUntil(lambda: not evaluate.is_busy)
    evaluate._add_suites([suite])
    qtbot.waitUntil(lambda: str(suite) in page.suites_model.ticked)
    changes = {
        "suites": (str(suite),),
        "models": (EMBEDDED,),
        "notations": ("glyph",),
        "constraints": ("off", "mask"),
        "profiles": ("deterministic",),
        "savings": 1.0,
    }
    page.setup.show_matrix(changes)
    page.setup.changed.emit()
    qtbot.waitUntil(page.setup.start.isEnabled)
    page.setup.start.click()
    qtbot.waitUntil(lambda: not evaluate.is_busy, timeout=RUN_MS)
    result = evaluate.result_presenter.result
    assert not result.manifest.missing and result.manifest.finished
    assert len(ResultFolder.open(result.path).samples()) == 2
    view = page.result
    assert view.model.columnCount() == 2 and view.model.index(0, 0).data().endswith("%")
    mask = next(sample for sample in result.samples if ".mask." in sample.arm)
    assert mask.valid and mask.parsed
    wrong = next(sample for sample in result.samples if not sample.ok)
    assert wrong.failures and wrong.runs
    view.runs.openRequested.emit(wrong)
    qtbot.waitUntil(lambda: window.navigator.current is PageId.PLAYGROUND)
    qtbot.waitUntil(lambda: bool(window.runs.state.tokens) and not window.runs.is_busy)
    playground = window.page(PageId.PLAYGROUND).view
    assert playground.tokens.currentIndex().isValid()
    assert playground.stream.toPlainText() == window.runs.state.text
