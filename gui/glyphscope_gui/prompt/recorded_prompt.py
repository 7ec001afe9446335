"""The messages of a record, to read."""

from __future__ import annotations

import json

from PySide6.QtWidgets import QPlainTextEdit, QWidget

from glyphscope.events import Message, RunRequest
from glyphscope.visible import visible
from glyphscope_gui.shared.labels import words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.theme import mono_font


class RecordedPrompt(QWidget):
    """The system prompt, the conversation and the message of one request."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("recordedPrompt")
        self.mark = words_label(tr("Messages of the record, read-only."), parent=self)
        self.text = QPlainTextEdit(self, readOnly=True)
        self.text.setObjectName("recordedMessages")
        self.text.setAccessibleName(tr("Messages of the record"))
        self.text.setTabChangesFocus(True)
        self.text.setFont(mono_font(-0.5))
        vbox(self.mark, (self.text, 1), parent=self, margins=(14, 12), spacing=8)

    def show_request(self, request: RunRequest) -> None:
        system = (Message("system", request.system_prompt),) if request.system_prompt else ()
        messages = (*system, *request.history, Message("user", request.prompt))
        self.text.setPlainText(visible("\n\n".join(map(_words, messages)), lines=True))


def _words(message: Message) -> str:
    name = f" {message.name}" if message.name else ""
    reasoning = (tr("[reasoning]\n{text}", text=message.reasoning),) if message.reasoning else ()
    calls = (f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in message.tool_calls)
    content = (message.content,) if message.content else ()
    return "\n".join((f"[{message.role}{name}]", *reasoning, *content, *calls))
