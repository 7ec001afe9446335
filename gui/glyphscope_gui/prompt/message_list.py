"""The messages of a conversation as a list, the next one at the end: role and tokens, and below them the text on one
line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from PySide6.QtCore import (
    QEvent,
    QObject,
    QSize,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QSizePolicy,
    QWidget,
)

from glyphscope.events import Message
from glyphscope.prompting.message_list import result_problem
from glyphscope.text.shorten import excerpt
from glyphscope_gui.shared.cells import LinesDelegate
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import PlainList
from glyphscope_gui.shared.table_model import Line, ListModel

MAX_SHOWN = 200
"""Characters of a message in a row."""
ROLE_WORDS = {
    "system": tr("System"),
    "user": tr("User"),
    "assistant": tr("Assistant"),
    "tool": tr("Tool result"),
}


class MessageRow(NamedTuple):
    """`part` is its key in `message_tokens`; `problem` is why it cannot be sent there, empty for a valid one."""

    message: Message
    part: str
    problem: str = ""
    is_next: bool = False

    @property
    def role_words(self) -> str:
        words = ROLE_WORDS.get(self.message.role, self.message.role)
        return tr("{role} (next)", role=words) if self.is_next else words


class MessagesModel(ListModel[MessageRow]):
    """A row's text is its message on one line."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tokens: Mapping[str, int | None] = {}

    def show_messages(self, history: Sequence[Message], user: str) -> None:
        """Show the messages; if their number is unchanged, the rows are kept, so that the chosen one stays chosen. A
        changed message has no tokens until it is counted.
        """
        messages = [*history, Message("user", user)]
        parts = [*(f"message {place + 1}" for place in range(len(history))), "user"]
        rows = [
            MessageRow(message, part, result_problem(messages, place), part == "user")
            for place, (message, part) in enumerate(zip(messages, parts))
        ]
        if len(rows) == len(self._rows):
            changed = {new.part: None for old, new in zip(self._rows, rows) if old.message != new.message}
            self._tokens = {**self._tokens, **changed} if self._tokens else {}
            self._rows = rows
            self._changed()
        else:
            self._tokens = {}
            self.show_rows(rows)

    def show_tokens(self, tokens: Mapping[str, int]) -> None:
        """Show the counts of `message_tokens`; empty if tokens are not counted."""
        self._tokens = tokens
        self._changed()

    def words(self, row: MessageRow, column: int) -> str:
        return line_of(row.message)

    def spoken(self, row: MessageRow, column: int) -> str:
        return f"{row.role_words}: {line_of(row.message)}"

    def tip(self, row: MessageRow, column: int) -> str:
        return row.problem or line_of(row.message)

    def lines(self, row: MessageRow) -> tuple[Line, ...]:
        """The role, with the tokens, and the message."""
        tokens = self._tokens.get(row.part, 0) if self._tokens else None  # an empty message is not sent
        counted = "" if tokens is None else tr("%n token(s)", "", tokens)
        role = f"! {row.role_words}" if row.problem else row.role_words
        color = "impossible" if row.problem else "text-muted"
        return Line(role, color, counted, small=False), Line(self.words(row, 0) or "–", small=False)


def line_of(message: Message) -> str:
    """The message on one line: its text, then the tools that it calls."""
    calls = [tr("calls {name}", name=call.name) for call in message.tool_calls]
    return excerpt(" · ".join(filter(None, (excerpt(message.content, MAX_SHOWN), *calls))), MAX_SHOWN)


_MIN_ROWS = 2


class MessageList(PlainList):
    """`removeRequested` is emitted on Delete."""

    removeRequested = Signal()

    def __init__(self, model: MessagesModel, parent: QWidget | None = None) -> None:
        keys = tr("Edit the selected message below. Delete removes it.")
        words = tr("Messages of the conversation")
        super().__init__(model, "messageList", words, parent, description=keys, uniformItemSizes=True)
        self.setItemDelegate(LinesDelegate(self))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        model.modelReset.connect(self._fit)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Delete):
            event.accept()
            self.removeRequested.emit()
            return
        super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.maximumHeight())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self.model() is not None:
            self._fit()

    def _fit(self) -> None:
        rows = max(1, self.model().rowCount())
        row = self.sizeHintForRow(0) if self.model().rowCount() else 0
        self.setMaximumHeight(max(1, rows * row))
        self.setMinimumHeight(min(rows, _MIN_ROWS) * row)
