"""Distances in logical pixels, the same everywhere, so that edges line up."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QWidget

from glyphscope_gui.theme.fonts import ui_font

GAP = 12
"""Between cards, and between groups of controls."""
PAD = 14
"""Between a card's sides and its content."""
ROW = 8
"""The height of a table row in addition to its text."""
LINES = 45
"""Lines of text per screen height in a lecture: 16 points at 720 pixels, 24 at 1080."""
MIN_POINTS, MAX_POINTS = 12, 48
"""The text sizes of a lecture."""
_CROWDED = 760
_SIDE = 0.36
_LINE = 15
"""The height of a line of the usual font."""


def letters(widget: QWidget) -> float:
    """The widget's text size as a multiple of the usual one."""
    return widget.fontMetrics().height() / _LINE


def scale() -> float:
    """The text size of new fonts as a multiple of the usual one: the window's, or an enlarged part's."""
    return times_of(ui_font())


def times_of(font: QFont) -> float:
    """A font's size as a multiple of the usual one, which also scales drawings beside its text."""
    return QFontMetrics(font).height() / _LINE


def is_crowded(widget: QWidget, least: int = _CROWDED) -> bool:
    """Whether its window is too narrow for all parts side by side, which need `least` pixels at the usual text size."""
    return widget.window().width() < least * letters(widget)


def side_width(panel: QWidget, characters: int) -> int:
    """The least width of a panel at the side: that many characters, but no more than its share of the window, as the
    page beside it needs room in large text too.
    """
    least = characters * panel.fontMetrics().averageCharWidth()
    return min(least, round(panel.window().width() * _SIDE))


def lecture_points(widget: QWidget) -> int:
    """The text size with which a lecture begins on the widget's screen."""
    return lecture_size(round(widget.screen().size().height() / LINES))


def lecture_size(points: int) -> int:
    """The text size within the bounds of a lecture."""
    return max(MIN_POINTS, min(MAX_POINTS, points))
