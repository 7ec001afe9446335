"""The fields of an evaluation's set-up with more than one value or with their own checks: the axes of the arms, the
judge, and the place of the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.running.place import Place, read_place
from glyphscope.visible import visible
from glyphscope_gui.evaluate.setup import Axis
from glyphscope_gui.shared.fields import field_label
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import Flow, grid_layout, hbox
from glyphscope_gui.shared.model_names import model_name
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.settings_grid import mark_refused
from glyphscope_gui.shared.text_edits import LineEdit

_SUITES_JUDGE = tr("As in the suite")


class EvalAxes(QWidget):
    """The axes, each with values to tick: the arms are all combinations of the ticked values.

    `changed` is emitted when the user ticks or unticks.
    """

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
                box = named(QCheckBox(words, flow), f"{axis.name}-{value}", visible(f"{axis.title}: {words}"))
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


class JudgeChoice(QWidget):
    """The model that decides the suites' rubrics: each suite's judge, one of the listed models, or a typed name.

    Visible if a chosen suite has rubrics. `changed` is emitted when the user chooses another model.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.box = named(QComboBox(self), "evalJudgeModel", tr("Judge"))
        self.box.setLineEdit(LineEdit())
        self.box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        tip = tr("The model that decides rubrics: a listed one, a GGUF file, or the URL of an endpoint")
        named(self.box, description=tip, tip=tip)
        self.box.addItem(_SUITES_JUDGE, "")
        hbox(field_label(tr("Judge"), self.box, "muted"), (self.box, 1), parent=self, spacing=10)
        self.box.editTextChanged.connect(lambda _text: self.changed.emit())
        self.hide()

    @property
    def value(self) -> str:
        """The model's name; empty for each suite's judge, and if no judge is needed."""
        if self.isHidden():
            return ""
        text = self.box.currentText().strip()
        place = self.box.findText(text)
        return str(self.box.itemData(place)) if place >= 0 else text

    def show_models(self, models: Sequence[str], *, needed: bool) -> None:
        """Set the models to choose from, without a signal; the choice stays."""
        self.setVisible(needed)
        known = [self.box.itemData(place) for place in range(1, self.box.count())]
        if known == list(models):
            return
        text = self.box.currentText()
        with QSignalBlocker(self.box):
            self.box.clear()
            self.box.addItem(_SUITES_JUDGE, "")
            for model in models:
                self.box.addItem(model_name(model).name, model)
            self.box.setCurrentText(text)


class PlaceField(LineEdit):
    """The place of the samples, as `--on` names it; empty for this computer. `place` is None if it is empty or invalid,
    `problem` is the reason for the latter.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "evalPlace")
        self.setPlaceholderText(tr("This computer"))
        self.setClearButtonEnabled(True)
        self.place: Place | None = None
        self.problem = ""
        self.textChanged.connect(self._read)

    def _read(self, text: str) -> None:
        self.place, self.problem = None, ""
        try:
            self.place = read_place(text.strip()) if text.strip() else None
        except GlyphscopeError as error:
            self.problem = error.words
        mark_refused(self, self.problem)
