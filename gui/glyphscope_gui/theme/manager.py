"""The theme in use: the system's scheme, or the user's choice."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal

from PySide6.QtCore import QEvent, QObject, Qt, QTemporaryDir, Signal
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from glyphscope.base.resources import read_text
from glyphscope_gui.theme.dressing import Dressing, no_collection
from glyphscope_gui.theme.fonts import (
    MIN_POINTS,
    base_points,
    choose_mono,
    enlarge,
    mono_families,
    ui_families,
    ui_font,
    window_points,
)
from glyphscope_gui.theme.load import Theme, load_theme
from glyphscope_gui.theme.mixin import WidgetMixin
from glyphscope_gui.theme.sizes import times_of

_GRIPS = (("", "border-strong"), ("-on", "accent"))
_ICONS = {
    "chevron-down": ("chevron-down", "text-muted"),
    "chevron-down-off": ("chevron-down", "text-disabled"),
    "chevron-up": ("chevron-up", "text-muted"),
    "check": ("check", "accent"),
    "check-on": ("check", "on-accent"),
    **{f"{grip}{on}": (grip, role) for grip in ("grip-upright", "grip-level") for on, role in _GRIPS},
}
"""By file name, an icon and its colour role: style sheets load pictures only from files."""


def style_sheet(theme: Theme, icons: Path, points: float = 0) -> str:
    """The completed sheet, for that text size or, with 0, the window's; `icons` is the folder of its pictures."""
    points = points or window_points()
    font = ui_font()
    font.setPointSizeF(points)
    drawn = {f"px{size}": f"{round(size * times_of(font))}px" for size in (9, 12, 14, 16, 20)}
    values = {role.replace("-", "_"): colour for role, colour in theme.roles.items()}
    return Template(read_text("themes/window.qss")).substitute(
        values,
        **drawn,
        small=f"font-size: {max(points - 1, MIN_POINTS):g}pt;",
        large=f"font-size: {points + 1:g}pt;",
        mono=f"font-family: {', '.join(map(repr, mono_families()))};",
        icons=icons.as_posix(),
    )


def write_icons(theme: Theme, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, (icon, role) in _ICONS.items():
        (folder / f"{name}.svg").write_bytes(theme.svg(icon, role))


Choice = Literal["system", "light", "dark"]

_current: Theme | None = None
_SIZED = """
QPushButton, QLineEdit, QPlainTextEdit, QAbstractSpinBox, QComboBox, QTableView, QLabel[role="title"],
QLabel[role="mono"], QLabel[role^="verdict-"], QLabel[role^="lesson-"],
#lessonChoice[choice="words"] QLabel { font-size: %gpt; }
"""
"""Widgets with a font rule in the style sheet, which inherit no size: an enlarged part sets it."""


def theme() -> Theme:
    """The theme in use, for painting. Cached colours must be read again when the style changes."""
    return _current or load_theme("light")


@cache
def _icons() -> QTemporaryDir:
    """The folder with the style sheet's pictures, kept as long as the application, which uses the sheet.

    Removed by `atexit`: the program ends without freeing its objects.
    """
    folder = QTemporaryDir()
    atexit.register(folder.remove)
    return folder


class ThemeManager(QObject):
    """Applies themes to the application. `changed` carries the new Theme once all visible widgets have it."""

    changed = Signal(object)

    def __init__(
        self,
        app: QApplication,
        choice: Choice = "system",
        font_size: int = 0,
        parent: QObject | None = None,
        *,
        code_font: str = "",
    ) -> None:
        super().__init__(parent)
        self._app = app
        self._choice = choice
        self._system_points = window_points()
        if not app.styleSheet():  # for a second window, exchanging the style below a sheet crashes Qt
            with no_collection():
                app.setStyle("Fusion")
        self._dressing = Dressing(app, self)
        choose_mono(code_font)
        with no_collection():
            app.setFont(self._font(font_size))
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._follow_system)
        self._apply(at_once=True)

    def choose(self, choice: Choice, font_size: int = 0, code_font: str = "") -> None:
        """Use that scheme, text size (in points; 0 is the system's) and font for code (empty: the default)."""
        self._choice = choice
        before = mono_families(), window_points()
        choose_mono(code_font)
        after = mono_families(), font_size or self._system_points
        self._apply(None if after == before else self._font(font_size))

    def finish(self) -> None:
        """Restyle all remaining widgets now."""
        self._dressing.finish()

    @contextmanager
    def undressed(self) -> Iterator[list[QWidget]]:
        """Remove the style sheet while a window is built, as Qt restyles a widget at each change of parent.

        Pages are built in a fifth of the time. Meanwhile, sizes are those without the sheet. Hidden parts that are
        added to the list get it by `dress`.
        """
        hidden: list[QWidget] = []
        sheet = self._app.styleSheet()
        with no_collection():
            self._app.setStyleSheet("")
        try:
            yield hidden
        finally:
            self._dressing.put_on(sheet, hidden)

    def dress(self, part: QWidget) -> None:
        """Restyle a part that `undressed` left out; called before it is shown for the first time."""
        self._dressing.dress(part)

    def enlarge(self, part: QWidget, points: float) -> None:
        """Show a part of the window in that text size at once, as the whole window would take seconds; 0 resets it.

        Widgets in it with explicit fonts must be rebuilt.
        """
        self._dressing.finish_change()  # the fonts of waiting widgets would be made in that size
        enlarge(points)
        font = QFont()
        if points:
            font = QFont(self._app.font())
            font.setPointSizeF(points)
        with no_collection():
            part.setFont(font)
            part.setStyleSheet(self._sheet(points) + _SIZED % points if points else "")

    def _font(self, size: int) -> QFont:
        """The application's font in that text size, 0 for the system's."""
        font = self._app.font()
        font.setPointSizeF(size or self._system_points)
        font.setFamilies(ui_families())
        return font

    def _follow_system(self, _scheme: object) -> None:
        if self._choice == "system":
            self._apply()

    def _apply(self, font: QFont | None = None, *, at_once: bool = False) -> None:
        """Use the scheme that was chosen, and that font, if one is given."""
        global _current  # noqa: PLW0603 - painting code asks for the theme in use; there is one application
        name = self._choice
        if name == "system":
            dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
            name = "dark" if dark else "light"
        _current = chosen = load_theme(name)
        write_icons(chosen, self._folder())
        points = font.pointSizeF() if font is not None else 0
        if at_once:
            self._dressing.change_at_once(chosen.palette(), self._sheet())
            self.changed.emit(chosen)
        else:
            sheet = self._sheet(points)
            self._dressing.change(chosen.palette(), sheet, lambda: self.changed.emit(chosen), font)

    def _folder(self) -> Path:
        return Path(_icons().path()) / theme().name

    def _sheet(self, points: float = 0) -> str:
        return style_sheet(theme(), self._folder(), points)


_EVENTS = (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.StyleChange)


class FollowsLooks(WidgetMixin):
    """A mixin for a widget that redraws in `_restyle`, which is called once for each change of the theme or the font.

    Qt sends a widget about ten events for one change of the theme, and others although nothing changed.
    """

    _drawn: tuple[object, ...] = ()
    """The theme and font with which it was drawn; empty until it is made."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._drawn = _now()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _EVENTS and self._drawn and self._drawn != _now():
            self._drawn = _now()
            self._restyle()

    def _restyle(self) -> None:
        raise NotImplementedError


def _now() -> tuple[object, ...]:
    return theme().name, base_points(), *mono_families()
