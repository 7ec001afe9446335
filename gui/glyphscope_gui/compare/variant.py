"""How one column asks: notation, shape, constraint, its beginning, strategy. Each picker is as small as its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QSizePolicy, QWidget

from glyphscope_gui.compare.variants import Variant
from glyphscope_gui.shared.call_shapes import SHAPES
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import grid_layout

Choices = Sequence[tuple[str, str, str]]
"""Value, words and tip of each."""

NOTATIONS: Choices = (
    ("glyph", "GLYPH", tr("The call is written in GLYPH")),
    ("json", "JSON", tr("The call is written in JSON")),
    ("native", tr("Native"), tr("The notation of the model’s chat template, which also defines the shape")),
)
CONSTRAINTS: Choices = (
    (
        "off",
        tr("No constraint"),
        tr("The output is not constrained; the run stops at the deciding character"),
    ),
    ("mask", tr("Mask"), tr("Only tokens that can still lead to a valid call are allowed")),
    ("gbnf", "GBNF", tr("The same, by llama.cpp’s grammar sampler")),
)
STRATEGIES: Choices = (
    ("direct", tr("Direct"), tr("One prompt, one answer, one call")),
    (
        "two-stage",
        tr("Two-stage"),
        tr("First the tool’s name, then its arguments, constrained by that tool’s schema"),
    ),
    (
        "route-execute",
        tr("Route → execute"),
        tr(
            "A router chooses a tool by name; an executor, which sees only that tool, calls it. "
            "Its questions are not answered here"
        ),
    ),
)
BEGINNINGS: Choices = (
    ("start", tr("From the first token"), tr("The mask begins at the first token; open reasoning is closed")),
    ("reasoning", tr("After reasoning"), tr("The model reasons freely; then the mask begins")),
    ("call", tr("From the call"), tr("Unconstrained until the model begins a call")),
)
_FIELDS = (
    ("notation", tr("Notation"), NOTATIONS),
    ("shape", tr("Shape of a call"), SHAPES),
    ("constraint", tr("Constraint"), CONSTRAINTS),
    ("strategy", tr("Strategy"), STRATEGIES),
    ("constrain_from", tr("Constrain from"), BEGINNINGS),
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
