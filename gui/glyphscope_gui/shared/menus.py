"""Context menus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

Entry: TypeAlias = QAction | tuple[str, Callable[[], object]] | None
"""An action, words with a callback, or None for a separator."""


def pop_up(menu: QMenu, place: QPoint, *entries: Entry) -> None:
    """Add these entries and show the menu at that place on the screen; it deletes itself."""
    for entry in entries:
        match entry:
            case None:
                menu.addSeparator()
            case QAction():
                menu.addAction(entry)
            case (words, do):
                menu.addAction(words, do)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.popup(place)
