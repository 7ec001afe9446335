"""The question before Python functions of a suite are run: their names, their file, and the whole source."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QPlainTextEdit, QTabWidget, QWidget

from glyphscope.evals.matrix.needs import PythonFile
from glyphscope.visible import visible
from glyphscope_gui.shared.labels import named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.theme import mono_font


class PythonConsent(PlainDialog):
    """`accepted` is emitted if the user allows them. Cancel has the focus."""

    def __init__(self, files: Sequence[PythonFile], parent: QWidget | None = None) -> None:
        super().__init__("pythonConsent", tr("Run Python functions?"), parent)
        warning = tr(
            "The scenarios are checked by Python functions. They run in a separate process with limits of time and "
            "memory, but with your permissions: they can read and change your files, and use the network. Allow "
            "them only if you trust this code."
        )
        self.words = words_label(warning, "", self)
        self.tabs = named(QTabWidget(self), "pythonSources")
        for file in files:
            box = QPlainTextEdit(visible(file.source, lines=True), self, readOnly=True)
            box.setFont(mono_font(-0.5))
            box.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
            box.setAccessibleName(tr("Source of {file}", file=file.file))
            name = file.file.replace("\\", "/").rpartition("/")[2]
            place = self.tabs.addTab(box, f"{name}: {', '.join(file.functions)}"[:80])
            self.tabs.setTabToolTip(place, file.file)
        self.allow = push_button(tr("Run these functions"), self, name="allowPython")
        self.allow.setAutoDefault(False)
        buttons = self.button_box(Standard.Cancel, (self.allow, Role.AcceptRole))
        self.cancel = buttons.button(Standard.Cancel)
        self.cancel.setDefault(True)
        self.cancel.setFocus()
        vbox(self.words, (self.tabs, 1), buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        self.resize(760, 540)
