"""The picture of the Evaluate page: the question whether GLYPH costs accuracy, with its price."""

from __future__ import annotations

from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shell import Window


def show_evaluate(window: Window) -> None:
    """Setting up only: figures of a result that nobody measured are not shown."""
    window.navigator.show(PageId.EVALUATE)
