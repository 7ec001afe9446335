"""Two families: one for words, one for a model's input and output. Nothing is bundled; sizes follow the system."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QWidget

UI_FAMILIES = (
    "Inter",
    "Inter Variable",
    "Noto Sans",
    "Segoe UI",
    "SF Pro Text",
    "Cantarell",
    "DejaVu Sans Condensed",
    "DejaVu Sans",
)
MONO_FAMILIES = (
    "JetBrains Mono",
    "Cascadia Mono",
    "SF Mono",
    "Noto Sans Mono",
    "DejaVu Sans Mono",
    "monospace",
)
MIN_POINTS = 6.0
_BEFORE_SHEET = "_q_styleSheetWidgetFont"
"""The property in which Qt stores the font that a widget had when the style sheet was first applied to it."""
_EXPLICIT = "explicitFont"
"""The property of a widget with the maker of its font, and its difference from the text size in points."""


class _Chosen:
    """The user's family for code, and the text size during a lecture; for the application, like its font."""

    family = ""
    points = 0.0


_chosen = _Chosen()


def choose_mono(family: str) -> None:
    """Use that family for code from now on; empty is the default. Existing widgets keep their font."""
    _chosen.family = family


@cache
def fixed_families() -> tuple[str, ...]:
    """The names of the installed fixed-pitch families; looked up once, as it takes a while."""
    families = QFontDatabase.families()
    return tuple(
        f for f in families if QFontDatabase.isFixedPitch(f) and not QFontDatabase.isPrivateFamily(f)
    )


def ui_families() -> list[str]:
    """The installed families, the preferred first; the name of a missing one makes Qt search for a long time."""
    return _present(UI_FAMILIES) or [QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()]


def mono_families() -> list[str]:
    """The user's family, if it is installed, before the program's."""
    return _present((_chosen.family, *MONO_FAMILIES)) or [
        QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
    ]


def ui_font(delta: float = 0) -> QFont:
    """The font for words, `delta` points larger than the window's."""
    return _font(ui_families(), delta)


def title_font(delta: float = 0) -> QFont:
    """The font for words, bold."""
    font = ui_font(delta)
    font.setWeight(font.Weight.Bold)
    return font


def mono_font(delta: float = 0) -> QFont:
    """The font for a model's text, `delta` points larger than the window's."""
    font = _font(mono_families(), delta)
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setFixedPitch(True)
    for feature in ("liga", "calt"):  # `<|` and `://` must not become ligatures
        font.setFeature(QFont.Tag(feature), 0)
    return font


def use_font(widget: QWidget, make: Callable[[float], QFont], delta: float = 0) -> None:
    """Give the widget the font `make(delta)`, also after a change of text size; `make` is `ui_font`, `title_font` or
    `mono_font`.
    """
    widget.setProperty(_EXPLICIT, [make.__name__, delta])
    set_font(widget, make(delta))


def set_font(widget: QWidget, font: QFont) -> None:
    """Set the widget's font, also where the style sheet would restore an earlier one when it is applied again."""
    if widget.property(_BEFORE_SHEET) is not None:
        widget.setProperty(_BEFORE_SHEET, font)
    widget.setFont(font)


def explicit_font(widget: QWidget) -> QFont | None:
    """The font that `use_font` gives the widget now; None if it has the one of its parent."""
    made = widget.property(_EXPLICIT)
    if not made:
        return None
    name, delta = made
    return next(make for make in (ui_font, title_font, mono_font) if make.__name__ == name)(delta)


def smaller(font: QFont, by: float = 1) -> QFont:
    """The same font, `by` points smaller."""
    small = QFont(font)
    small.setPointSizeF(max(font.pointSizeF() - by, MIN_POINTS))
    return small


def base_points() -> float:
    """The size in points to which all others are relative."""
    return _chosen.points or window_points()


def enlarge(points: float) -> None:
    """Make fonts of that text size from now on; 0 restores the window's."""
    _chosen.points = points


def window_points() -> float:
    """The window's text size."""
    font = QGuiApplication.font()
    return font.pointSizeF() if font.pointSizeF() > 0 else max(font.pixelSize(), 12) * 0.75


def _font(families: list[str], delta: float) -> QFont:
    font = QFont(families)
    font.setPointSizeF(max(base_points() + delta, MIN_POINTS))
    return font


@cache
def _present(families: tuple[str, ...]) -> list[str]:
    here = set(QFontDatabase.families())
    return [family for family in dict.fromkeys(families) if family in here]
