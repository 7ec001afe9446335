"""What the pictures of branches show: a struck alternative with its reason, and the recorded branch that lets it in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope_gui.runs.recorder import bundled_run

if TYPE_CHECKING:
    from glyphscope_gui.shell.main_window import MainWindow

BRANCH = "search-relaxed.jsonl"
"""Branches off `search-mask.jsonl`: `glyphscope branch … --take 0 --relax search:/properties/max_results/minimum`."""


def show_struck(window: MainWindow) -> None:
    """The `0` that `minimum` struck out of `max_results`."""
    evidence = window.evidence
    for token in window.runs.state.tokens:
        for row, one in enumerate(token.step.alternatives):
            if one.text == "0" and one.allowed is False and not token.step.forced:
                window.page.tokens.choose(token.step.index)
                if row >= evidence.alternatives_model.rowCount():
                    evidence.all_button.click()
                evidence.alternatives.selectRow(row)
                return


def show_branch(window: MainWindow) -> None:
    """The branch of the run that is shown, beside it in the tree."""
    window.wiring.show_record(bundled_run(BRANCH))
