"""Which model decides the suites' rubrics: each suite's own, one of the listed models, or one by its name."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from glyphscope_gui.shared.fields import field_label
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox
from glyphscope_gui.shared.model_names import model_name
from glyphscope_gui.shared.text_edits import LineEdit

_OWN = tr("As in the suite")


class JudgeChoice(QWidget):
    """Visible where a chosen suite has rubrics. `changed` is emitted when the user chooses another model."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.box = named(QComboBox(self), "evalJudgeModel", tr("Judge"))
        self.box.setLineEdit(LineEdit())
        self.box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        tip = tr("The model that decides rubrics: a listed one, a GGUF file, or the URL of an endpoint")
        self.box.setToolTip(tip)
        self.box.setAccessibleDescription(tip)
        self.box.addItem(_OWN, "")
        hbox(field_label(tr("Judge"), self.box, "muted"), (self.box, 1), parent=self, spacing=10)
        self.box.editTextChanged.connect(lambda _text: self.changed.emit())
        self.hide()

    @property
    def value(self) -> str:
        """The model's name; empty for each suite's own, and where no judge is needed."""
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
            self.box.addItem(_OWN, "")
            for model in models:
                self.box.addItem(model_name(model).name, model)
            self.box.setCurrentText(text)
