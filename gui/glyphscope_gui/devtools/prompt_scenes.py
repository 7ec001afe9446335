"""What the picture of the prompt view shows: the parts of a recorded run's prompt, one of them chosen."""

from __future__ import annotations

from PySide6.QtCore import QEventLoop

from glyphscope_gui.prompt.dock import RENDERED
from glyphscope_gui.shared.page_ids import PanelId
from glyphscope_gui.shell import Window


def show_prompt(window: Window) -> None:
    """The costs by tool, and the description of a tool in the text."""
    window.panels.reveal(PanelId.PROMPT)
    dock = window.panels.prompt
    dock.tabs.setCurrentIndex(RENDERED)
    costs = dock.costs_model
    if not costs.rowCount():
        loop = QEventLoop()
        window.prompts.watch.shown.connect(loop.quit)
        loop.exec()
    dock.costs.setExpanded(costs.index_of(("tools", "", False)), True)
    dock.costs.choose(costs.index_of(("tools", "/search/description", False)))
