"""Fields of forms, and their labels, in one expression each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QWidget

from glyphscope_gui.shared.labels import PlainLabel, named


def field_label(words: str, field: QWidget, role: str = "") -> QLabel:
    """A label for the field: its mnemonic focuses the field, and its words name it."""
    label = PlainLabel(words, role=role)
    label.setBuddy(field)
    return label


def choice_box(
    parent: QWidget | None,
    name: str = "",
    words: str = "",
    *,
    tip: str = "",
    choices: Iterable[tuple[Any, str, str]] = (),
    least: int = 0,
) -> QComboBox:
    """`choices` are the value, the words and the hint of each. With `least`, the box is that many characters wide
    regardless of its content.
    """
    box = named(QComboBox(parent), name, words, tip=tip)
    for value, shown, hint in choices:
        box.addItem(shown, value)
        if hint:
            box.setItemData(box.count() - 1, hint, Qt.ItemDataRole.ToolTipRole)
    if least:
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(least)
    return box
