"""What the grammar page's models tell their cells beside words."""

from __future__ import annotations

from PySide6.QtCore import Qt

PILL_ROLE = Qt.ItemDataRole.UserRole + 1
"""(words, role of the theme) of a pill, or None."""
MARK_ROLE = Qt.ItemDataRole.UserRole + 2
"""The character of a text that is marked, or None."""
