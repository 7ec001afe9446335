"""What the pictures of branches show: a struck alternative with its reason, and the recorded branch that lets it in."""

from __future__ import annotations

from glyphscope_gui.playground.presenter import PlaygroundPresenter
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell import Window

BRANCH = "search-relaxed.jsonl"
"""Branches off `search-mask.jsonl`: `glyphscope branch … --take 0 --relax search:/properties/max_results/minimum`."""


def show_struck(window: Window) -> None:
    """The `0` that `minimum` struck out of `max_results`."""
    page = window.page(PageId.PLAYGROUND)
    assert isinstance(page, PlaygroundPresenter)
    evidence = page.evidence
    for token in window.runs.state.tokens:
        for row, one in enumerate(token.step.alternatives):
            if one.text == "0" and one.allowed is False and not token.step.forced:
                page.view.tokens.choose(token.step.index)
                if row >= evidence.alternatives_model.rowCount():
                    evidence.all_button.click()
                evidence.alternatives.selectRow(row)
                return


def show_branch(window: Window) -> None:
    """The branch of the run that is shown, beside it in the tree."""
    window.runs.show_record(bundled_run(BRANCH))
