"""The forms in which a run can be copied."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from glyphscope.sessions.exports import ExportForm
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr

COPIED: dict[ExportForm, str] = {
    "answer": tr("&Answer"),
    "calls": tr("&Call as JSON"),
    "openai-tool-calls": tr("OpenAI &tool calls"),
    "prompt": tr("&Prompt"),
    "openai-messages": tr("OpenAI &messages"),
    "curl": tr("c&url command"),
}


class CopyMenu(QMenu):
    """`copyRequested` carries the form."""

    copyRequested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Copy as"), parent)
        self.setObjectName("copyMenu")
        for form, words in COPIED.items():
            action = named(self.addAction(words), f"copy-{form}")
            action.triggered.connect(lambda _checked=False, form=form: self.copyRequested.emit(form))


def copied_words(form: str) -> str:
    """A sentence for the status line on the new content of the clipboard."""
    return tr("Copied: {what}", what=next(w for f, w in COPIED.items() if f == form).replace("&", ""))
