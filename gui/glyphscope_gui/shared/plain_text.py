"""Foreign texts, shown literally: no markup is rendered, nothing is loaded, hidden or reversed."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import wraps
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from glyphscope.visible import visible
from glyphscope_gui.shared.long_texts import MAX_LABEL, MAX_WORDS, cut_at

_WORDS = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
    Qt.ItemDataRole.AccessibleDescriptionRole,
)
_Data = Callable[..., Any]


def plain_data(data: _Data) -> _Data:
    """Return the data of a Qt model with a symbol for each invisible character. Every `data` of the window uses it."""

    @wraps(data)
    def shown(model: Any, index: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        value = data(model, index, role)
        if isinstance(value, str) and role in _WORDS:
            return visible(cut_at(value, MAX_WORDS), lines=True)
        return value

    shown.is_plain = True  # type: ignore[attr-defined]
    return shown


def plain_tip(text: str) -> str:
    """Return a tip that shows a text literally: Qt would render HTML in it, and hide invisible characters."""
    text = visible(cut_at(text, MAX_LABEL), lines=True)
    if "<" not in text:
        return text
    return f'<p style="white-space: pre-wrap">{html.escape(text)}</p>'


def copy_text(text: str) -> None:
    """Copy the text to the clipboard. Qt silently drops a lone surrogate: here it becomes a question mark, as in a
    file.
    """
    QGuiApplication.clipboard().setText(text.encode("utf-8", "replace").decode())
