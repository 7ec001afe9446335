"""Rows of label, field and badge, in a column that fits the narrowest dock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from glyphscope.visible import visible
from glyphscope_gui.shared.enforcement_badge import EnforcementBadge
from glyphscope_gui.shared.labels import PlainLabel
from glyphscope_gui.shared.layouts import grid_layout
from glyphscope_gui.shared.plain_text import plain_tip

FieldT = TypeVar("FieldT", bound=QWidget)


@dataclass(frozen=True)
class FormRow(Generic[FieldT]):
    """One row; its parts are shown and hidden together."""

    label: QLabel
    field: FieldT
    badge: EnforcementBadge

    def set_visible(self, visible: bool) -> None:
        self.label.setVisible(visible)
        self.field.setVisible(visible)
        if not visible:
            self.badge.set_kind(None)


class FormGrid(QWidget):
    """A form of FormRows. The label is the field's accessible name, and its buddy."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = grid_layout(self, spacing=(0, 7), stretch=1)
        self._grid.setColumnMinimumWidth(0, 78)

    def add_row(self, text: str, field: FieldT, hint: str = "", *, wide: bool = False) -> FormRow[FieldT]:
        """A row; a `wide` field has the badge's room too, for texts that no grammar keeps."""
        label = PlainLabel(text, self, role="muted", toolTip=plain_tip(hint))
        label.setBuddy(field)
        label.setContentsMargins(0, 0, 8, 0)
        field.setToolTip(plain_tip(hint))
        field.setAccessibleName(text)
        field.setAccessibleDescription(visible(hint, lines=True))
        field.setMinimumWidth(64)
        badge = EnforcementBadge(self)
        row = self._grid.rowCount()
        self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(field, row, 1, 1, 2 if wide else 1)
        self._grid.addWidget(badge, row, 2, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        label.setMinimumHeight(field.sizeHint().height())
        return FormRow(label, field, badge)
