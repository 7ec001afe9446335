"""The axes that are varied, each with its values to tick. All combinations of the ticked values are the arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QWidget

from glyphscope.visible import visible
from glyphscope_gui.evaluate.setup import Axis
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import Flow, grid_layout
from glyphscope_gui.shared.plain_text import plain_tip


class EvalAxes(QWidget):
    """`changed` when the user ticks or unticks."""

    changed = Signal()

    def __init__(self, axes: Sequence[Axis], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "evalArms", tr("Settings varied between arms"))
        self._boxes: dict[str, list[tuple[Any, QCheckBox]]] = {}
        grid = grid_layout(self, spacing=(14, 11), stretch=1)
        for row, axis in enumerate(axes):
            label = PlainLabel(axis.title, self, role="muted", toolTip=axis.tip)
            flow = Flow(self, gap=16, line_gap=7)
            self._boxes[axis.name] = []
            for value, words, hint in axis.choices:
                box = named(QCheckBox(words, flow), f"{axis.name}-{value}")
                box.setAccessibleName(visible(f"{axis.title}: {words}"))
                named(box, tip=plain_tip(hint), description=visible(hint, lines=True))
                box.clicked.connect(lambda _on=False: self.changed.emit())
                flow.add(box)
                self._boxes[axis.name].append((value, box))
            grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(flow, row, 1)
        grid.setRowStretch(len(axes), 1)

    def box(self, axis: str, value: Any) -> QCheckBox:
        return next(box for other, box in self._boxes[axis] if other == value)

    def values(self) -> dict[str, tuple[Any, ...]]:
        """Return the ticked values, by member of Matrix."""
        return {
            name: tuple(value for value, box in boxes if box.isChecked())
            for name, boxes in self._boxes.items()
        }

    def show_values(self, values: dict[str, tuple[Any, ...]]) -> None:
        """Tick exactly these values, without a signal; axes that are not named stay unchanged."""
        for name, boxes in self._boxes.items():
            for value, box in boxes:
                if name in values:
                    box.setChecked(value in values[name])
