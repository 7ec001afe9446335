"""The menu of the bundled recordings."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from glyphscope_gui.runs.recorder import bundled_runs
from glyphscope_gui.shared.language import tr

_EXAMPLES = {
    "search-mask.jsonl": tr("A call with the mask, in GLYPH"),
    "search-mask-json.jsonl": tr("The same call in JSON"),
    "search-relaxed.jsonl": tr("A branch with a relaxed constraint"),
    "sources-abort.jsonl": tr("Early abort at the deciding character"),
    "sources-whole.jsonl": tr("The same answer without early abort"),
    "verbs-loop.jsonl": tr("A tool loop ended by a guardrail"),
    "native-tags.jsonl": tr("Reasoning and two calls, in Qwen3.5’s notation"),
    "native-channels.jsonl": tr("Reasoning and a call in each turn, in gpt-oss’s notation"),
}


class ExamplesMenu(QMenu):
    """`chosen` carries the name of a recording."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(tr("Recorded e&xamples"), parent)
        self.setObjectName("examplesMenu")
        known = set(bundled_runs())
        for name, words in _EXAMPLES.items():
            if name in known:
                action = self.addAction(words)
                action.triggered.connect(lambda _checked=False, run=name: self.chosen.emit(run))
