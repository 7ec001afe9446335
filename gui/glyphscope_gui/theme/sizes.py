"""Distances, in logical pixels: the same everywhere, so that edges line up."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QWidget

from glyphscope_gui.theme.fonts import ui_font

GAP = 12
"""Between cards, and between groups of controls."""
PAD = 14
"""Inside a card, at its sides."""
ROW = 8
"""The height of a table row beyond its text."""
_CROWDED = 760
_LINE = 15
"""The height of a line of the usual font."""


def letters(widget: QWidget) -> float:
    """How many times the usual size its letters have."""
    return widget.fontMetrics().height() / _LINE


def scale() -> float:
    """How many times the usual size letters have that are made now: the window's, or those of an enlarged part."""
    return times_of(ui_font())


def times_of(font: QFont) -> float:
    """How many times the usual size the letters of a font have: drawings beside them have it too."""
    return QFontMetrics(font).height() / _LINE


def is_crowded(widget: QWidget) -> bool:
    """Whether its window is too narrow, for the text size, for all parts side by side."""
    return widget.window().width() < _CROWDED * letters(widget)
