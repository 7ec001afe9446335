"""Which suite a run becomes a scenario of: one of the user's own, or a new one."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QWidget

from glyphscope.errors import SuiteError
from glyphscope.evals.suites.own import own_suites, suite_path
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.text_edits import LineEdit


class SuiteDialog(PlainDialog):
    """`chosen` carries the suite's path, which need not exist yet."""

    chosen = Signal(object)

    def __init__(self, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__("suiteDialog", tr("Add the run to a suite"), parent)
        self.setMinimumWidth(460)
        self._folder = folder
        self.name_box = named(QComboBox(self, editable=True), "suiteNameBox")
        self.name_box.setLineEdit(LineEdit())
        self.name_box.addItems([path.stem for path in own_suites(folder)] or ["my-suite"])
        about = words_label(
            tr(
                "The run’s prompt, tools and settings become a scenario; its call is the expected "
                "call. A new name creates a new suite."
            ),
            parent=self,
        )
        self.problem = words_label(role="problem", parent=self)
        self.add_button = push_button(tr("Add"), self, role="primary")
        buttons = self.button_box(Standard.Cancel, (self.add_button, Role.AcceptRole))
        form = QFormLayout()
        form.addRow(tr("Suite"), self.name_box)
        vbox(about, form, self.problem, buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        self.name_box.currentTextChanged.connect(lambda _text: self._check())
        self._check()

    def _check(self) -> None:
        try:
            suite_path(self._folder, self.name_box.currentText())
            problem = ""
        except SuiteError as error:
            problem = str(error)
        show_words(self.problem, problem)
        self.add_button.setEnabled(not problem)

    def accept(self) -> None:
        if self.add_button.isEnabled():
            self.chosen.emit(suite_path(self._folder, self.name_box.currentText()))
            super().accept()
