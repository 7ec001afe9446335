"""A place in a layout for a widget that is made when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtWidgets import QWidget

from glyphscope_gui.shared.layouts import vbox

W = TypeVar("W", bound=QWidget)


class LateWidget(QWidget, Generic[W]):
    """Empty, and `height` pixels high, until `widget` is asked for, which `make` makes."""

    def __init__(self, make: Callable[[], W], height: int = 0) -> None:
        super().__init__()
        self._make = make
        self._widget: W | None = None
        self._rows = vbox(parent=self)
        self.setMinimumHeight(height)

    @property
    def is_made(self) -> bool:
        return self._widget is not None

    @property
    def widget(self) -> W:
        """The widget, made now if it was not."""
        if self._widget is None:
            self._widget = self._make()
            self._rows.addWidget(self._widget)
            self.setMinimumHeight(0)
        return self._widget
