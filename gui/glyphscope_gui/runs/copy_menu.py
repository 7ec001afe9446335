"""The forms in which a run can be copied."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from glyphscope.store.exports import EXPORTS
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import in_language, tr


class CopyMenu(QMenu):
    """`copyRequested` carries the form."""

    copyRequested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Copy as"), parent)
        self.setObjectName("copyMenu")
        for form, each in EXPORTS.items():
            if not each.copied:
                continue
            action = named(self.addAction(in_language(each.copied)), f"copy-{form}")
            action.triggered.connect(lambda _checked=False, form=form: self.copyRequested.emit(form))


def copied_words(form: str) -> str:
    """A sentence for the status line on the new content of the clipboard."""
    return tr("Copied: {what}", what=in_language(EXPORTS[form].copied).replace("&", ""))
