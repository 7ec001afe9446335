"""Foreign texts, shown literally: no markup is rendered, nothing is loaded, hidden or reversed. Of those that are too
long to be shown or edited, the beginning: laying out all of them blocks the window.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from glyphscope.base.visible import visible
from glyphscope_gui.shared.language import tr

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


MAX_CHARACTERS, MAX_LINES, MAX_LINE = 500_000, 10_000, 100_000
"""A text with more characters, more lines, or more characters on one line is cut: 10,000 lines, or one of 100,000
characters, take 35 ms.
"""
MAX_LABEL = 4_000
"""Characters of a label or a hint: more have no room on a screen."""
MAX_WORDS = 20_000
"""Characters of a cell, or of a description that is edited in a form."""
MAX_FIELD = 2_000
"""Characters of a field of one line."""
MAX_DOCUMENT = 60_000
"""Characters of a JSON document that is edited: its colours take 15 µs for each line."""
MAX_ITEMS = 100
"""Items that are shown of a list or an object of a larger document, and values of a field."""


def shown_part(text: str) -> str:
    """The text itself, or its beginning with the number of missing characters."""
    if len(text) <= MAX_LINES:
        return text
    end = start = 0
    for _ in range(MAX_LINES):
        found = text.find("\n", start, start + MAX_LINE + 1)
        end = len(text) if found < 0 else found + 1
        if end - start > MAX_LINE or end > MAX_CHARACTERS:
            end = min(start + MAX_LINE, MAX_CHARACTERS)
            break
        if found < 0:
            return text
        start = end
    return text if end >= len(text) else cut_at(text, end)


def cut_at(text: str, most: int) -> str:
    """At most so many characters of the text, and the number of the others."""
    if len(text) <= most:
        return text
    return text[:most] + tr("… and {count:,} more characters", count=len(text) - most)


def is_long(value: Any, most: int = MAX_DOCUMENT) -> bool:
    """Whether a JSON document has more than about so many characters; counted only up to that size."""
    left = most
    waiting: list[Iterator[Any]] = [iter((value,))]
    while waiting and left >= 0:
        for each in waiting[-1]:
            left -= 4 + (len(each) if isinstance(each, str) else 0)
            if isinstance(each, dict):
                waiting += [iter(each.values()), iter(each)]
            elif isinstance(each, list):
                waiting.append(iter(each))
            if left < 0 or isinstance(each, dict | list):
                break
        else:
            waiting.pop()
    return left < 0


def document_part(value: Any) -> str:
    """The beginning of a long document as indented JSON, with the numbers of missing items and characters. It is not
    JSON any longer.
    """
    text, size = [], 0
    for piece in _pieces(value, "\n"):
        text.append(piece)
        size += len(piece)
        if size > MAX_DOCUMENT:
            text.append("\n…")
            break
    return "".join(text)


def _pieces(value: Any, line: str) -> Iterator[str]:
    if isinstance(value, str):
        yield json.dumps(value[:MAX_FIELD], ensure_ascii=False)
        if len(value) > MAX_FIELD:
            yield tr(" … and {count:,} more characters", count=len(value) - MAX_FIELD)
    elif isinstance(value, dict | list) and value:
        inner = f"{line}  "
        yield "{" if isinstance(value, dict) else "["
        for index, each in enumerate(value):
            if index == MAX_ITEMS:
                yield inner + tr("… and {count:,} more", count=len(value) - MAX_ITEMS)
                break
            yield f",{inner}" if index else inner
            if isinstance(value, dict):
                yield from _pieces(each, inner)
                yield ": "
                yield from _pieces(value[each], inner)
            else:
                yield from _pieces(each, inner)
        yield line + ("}" if isinstance(value, dict) else "]")
    else:
        yield json.dumps(value, ensure_ascii=False)
