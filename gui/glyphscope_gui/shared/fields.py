"""Fields of forms, and their labels, in one expression each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QFocusEvent, QValidator
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel, QSpinBox, QWidget

from glyphscope_gui.shared.labels import PlainLabel, named


def field_label(words: str, field: QWidget, role: str = "") -> QLabel:
    """A label for the field: its mnemonic focuses the field, and its words name it."""
    label = PlainLabel(words, role=role)
    label.setBuddy(field)
    return label


_Validated = tuple[QValidator.State, str, int]
_GROUPS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
_BEGUN_GROUPS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})*,\d{0,2}")


class WholeBox(QSpinBox):
    """Takes a comma between thousands only, as Qt reads `1,5` as 15. While it is edited, the number has none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setGroupSeparatorShown(True)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.setGroupSeparatorShown(False)
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.setGroupSeparatorShown(True)

    def validate(self, text: str, at: int) -> _Validated:
        number = text.removesuffix(self.suffix()).strip()
        if "," not in number or self.isGroupSeparatorShown() or _GROUPS.fullmatch(number):
            return super().validate(text, at)
        begun = _BEGUN_GROUPS.fullmatch(number) and max(self.maximum(), -self.minimum()) >= 1000
        return (QValidator.State.Intermediate if begun else QValidator.State.Invalid, text, at)

    def fixup(self, text: str) -> str:
        """Leave half a group as it is, so that the number before it stays: Qt would only remove the comma."""
        return text


class DecimalBox(QDoubleSpinBox):
    """A comma is a decimal point: Qt reads `0,5` as 5."""

    def validate(self, text: str, at: int) -> _Validated:
        return super().validate(text.replace(",", "."), at)


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
