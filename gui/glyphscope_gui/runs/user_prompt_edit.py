"""The field of the user's prompt: grows with the text to four lines; Ctrl+Enter runs."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QWidget

from glyphscope.base.visible import visible
from glyphscope_gui.project.prompt_document import PromptDocument, PromptState
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import shown_part
from glyphscope_gui.shared.text_edits import SubmitEdit

MAX_LINES = 4


class UserPromptEdit(SubmitEdit):
    """Shows and edits `PromptDocument.user`."""

    def __init__(self, document: PromptDocument, parent: QWidget | None = None) -> None:
        super().__init__(MAX_LINES, parent)
        self._prompt = document
        self._record: str | None = None
        named(self, "userPromptEdit", tr("Your prompt"))
        self.setAccessibleDescription(tr("Prompt for the model. Control+Enter runs it."))
        self.setPlaceholderText(tr("What should the model do?"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(0)
        self._show(document.state)
        self.textChanged.connect(self._edited)
        document.changed.connect(self._show)

    def show_record(self, text: str | None) -> None:
        """Show the prompt of a record, read-only; None shows the project's again."""
        self._record = text
        self._show(self._prompt.state)

    def _edited(self) -> None:
        if self._record is not None or self.is_part:
            return
        self._prompt.set_user(self.toPlainText())

    def _show(self, state: PromptState) -> None:
        text = state.user if self._record is None else visible(shown_part(self._record), lines=True)
        self.show_text_or_part(text, read_only=self._record is not None)
