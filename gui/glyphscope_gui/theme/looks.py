"""When what a widget draws by itself is to be drawn anew."""

from __future__ import annotations

from PySide6.QtCore import QEvent

from glyphscope_gui.theme.fonts import base_points, mono_families
from glyphscope_gui.theme.manager import theme

_EVENTS = (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.StyleChange)


class Looks:
    """The theme and the letters that a widget was drawn in; made with the widget.

    Qt sends a widget some ten events for one change of the theme, and others where nothing changed.
    """

    def __init__(self) -> None:
        self._drawn = _now()

    def changed(self, event: QEvent) -> bool:
        """Whether an event of a widget's `changeEvent` brings other looks: once for each change."""
        if event.type() not in _EVENTS or self._drawn == _now():
            return False
        self._drawn = _now()
        return True


def _now() -> tuple[object, ...]:
    return theme().name, base_points(), *mono_families()
