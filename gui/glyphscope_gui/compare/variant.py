"""How one column asks: notation, shape, constraint, its beginning, strategy. Each picker is as small as its words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QSizePolicy, QWidget

from glyphscope_gui.compare.variants import Variant
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import grid_layout
from glyphscope_gui.shared.run_choices import CONSTRAINTS, NOTATIONS, SHAPES, STARTS, STRATEGIES

_ROUTE, _TITLE, _HINT = STRATEGIES[2]
_STRATEGIES = (*STRATEGIES[:2], (_ROUTE, _TITLE, f"{_HINT} " + tr("Its questions are not answered here.")))
"""A column has one call, so there is no tool loop."""
_FIELDS = (
    ("notation", tr("Notation"), NOTATIONS),
    ("shape", tr("Shape of a call"), SHAPES),
    ("constraint", tr("Constraint"), CONSTRAINTS),
    ("strategy", tr("Strategy"), _STRATEGIES),
    ("constrain_from", tr("Constrain from"), STARTS),
)


class VariantPicker(QWidget):
    """`chosen` carries the Variant that the user changed it to."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._variant = Variant()
        self.boxes: dict[str, QComboBox] = {}
        self._begins = False
        self._grid = grid_layout(self, spacing=(6, 6))
        for place, (field, words, choices) in enumerate(_FIELDS):
            box = choice_box(self, words=words, choices=choices)
            box.setProperty("small", True)
            box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            box.activated.connect(self._choose)
            self.boxes[field] = box
            self._grid.addWidget(box, place // 2, place % 2)
        self.show_variant(self._variant)

    def name_for(self, column: str) -> None:
        """The column's name goes into what a screen reader says."""
        for field, words, _ in _FIELDS:
            self.boxes[field].setAccessibleName(tr("{setting} of {column}", setting=words, column=column))

    def show_variant(self, variant: Variant) -> None:
        """Show it, without a signal."""
        self._variant = variant
        for field, box in self.boxes.items():
            box.setCurrentIndex(box.findData(getattr(variant, field)))
            box.setToolTip(str(box.currentData(Qt.ItemDataRole.ToolTipRole) or ""))
        self.boxes["shape"].setEnabled(variant.notation != "native")
        self._place_beginning()
        self.boxes["constrain_from"].setEnabled(variant.constraint != "off" and variant.strategy == "direct")

    def show_beginning(self, shown: bool) -> None:
        """Where the constraint begins takes room, which columns that begin alike do not need."""
        self._begins = shown
        self._place_beginning()

    def _place_beginning(self) -> None:
        """Place it instead of the shape, which a model's own notation defines; else in a separate line."""
        box, shape = self.boxes["constrain_from"], self.boxes["shape"]
        instead = self._begins and self._variant.notation == "native"
        self._grid.addWidget(box, *((0, 1) if instead else (2, 0)))
        shape.setVisible(not instead)
        box.setVisible(self._begins)

    def _choose(self, _place: int) -> None:
        changes: dict[str, Any] = {field: box.currentData() for field, box in self.boxes.items()}
        variant = replace(self._variant, **changes)
        if variant != self._variant:
            self.show_variant(variant)
            self.chosen.emit(variant)
