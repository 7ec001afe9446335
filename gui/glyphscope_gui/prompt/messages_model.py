"""The messages of a conversation as a list: role, text and tokens, the message that is sent next at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from glyphscope.events import Message
from glyphscope.prompting.message_list import result_problem
from glyphscope.text.shorten import excerpt
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_data, plain_tip

NO_INDEX = QModelIndex()
ROLE_ROLE, TOKENS_ROLE, PROBLEM_ROLE = range(Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 3)
MOST_SHOWN = 200
"""Characters of a message that a row takes."""
ROLE_WORDS = {
    "system": tr("System"),
    "user": tr("User"),
    "assistant": tr("Assistant"),
    "tool": tr("Tool result"),
}


class MessagesModel(QAbstractListModel):
    """The text of a row is its message on one line; ROLE_ROLE its role in words, TOKENS_ROLE its tokens in words."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Message] = []
        self._tokens: Mapping[str, int] = {}
        self._problems: list[str] = []

    def show_messages(self, history: Sequence[Message], user: str) -> None:
        """The rows that are there stay, so that the chosen one stays chosen."""
        rows = [*history, Message("user", user)]
        same = len(rows) == len(self._rows)
        if not same:
            self.beginResetModel()
            self._tokens = {}
        self._rows = rows
        self._problems = [result_problem(rows, place) for place in range(len(rows))]
        if same:
            self._notify()
        else:
            self.endResetModel()

    def show_tokens(self, tokens: Mapping[str, int]) -> None:
        """As `message_tokens` counts them; empty where nobody counts."""
        self._tokens = tokens
        self._notify()

    def message(self, place: int) -> Message:
        return self._rows[place]

    def problem(self, place: int) -> str:
        """Why the message cannot be sent there; empty for one that can."""
        return self._problems[place]

    def tokens(self, place: int) -> int | None:
        """None where they are not counted. An empty message is not sent, and has none."""
        last = place == len(self._rows) - 1
        return self._tokens.get("user" if last else f"message {place + 1}", 0) if self._tokens else None

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @plain_data
    def data(
        self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        place = index.row()
        if role == Qt.ItemDataRole.DisplayRole:
            return line_of(self.message(place))
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(self.problem(place) or line_of(self.message(place)))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ": ".join((self._role_words(place), line_of(self.message(place))))
        if role == ROLE_ROLE:
            return self._role_words(place)
        if role == TOKENS_ROLE:
            tokens = self.tokens(place)
            return "" if tokens is None else tr("%n token(s)", "", tokens)
        if role == PROBLEM_ROLE:
            return bool(self.problem(place))
        return None

    def _role_words(self, place: int) -> str:
        role = self.message(place).role
        words = ROLE_WORDS.get(role, role)
        return tr("{role}, next", role=words) if place == len(self._rows) - 1 else words

    def _notify(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))


def line_of(message: Message) -> str:
    """The message on one line: its text, then the tools that it calls."""
    calls = [tr("calls {name}", name=call.name) for call in message.tool_calls]
    return excerpt(" · ".join(filter(None, (excerpt(message.content, MOST_SHOWN), *calls))), MOST_SHOWN)
