"""The questions before files outside of a suite's folder are read, with their paths, and before its Python functions
are run, with their names, their file, and the whole source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QMessageBox, QPlainTextEdit, QTabWidget, QWidget

from glyphscope.base.visible import visible
from glyphscope.evals.matrix.needs import PythonFile
from glyphscope_gui.shared.dialogs import ask
from glyphscope_gui.shared.labels import named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.named_files import NamedFile
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.theme import mono_font, use_font

MAX_ASKED = 12
"""Files about which one question asks, so that all of them are seen."""


def ask_about_files(
    parent: QWidget, suite: str, files: Sequence[NamedFile], allow: Callable[[Sequence[NamedFile]], object]
) -> None:
    """Ask whether a suite may read files outside of its folder, and call `allow` with them. Cancel is the default.

    Of many, the first are asked about: the others remain to be asked about.
    """
    asked = files[:MAX_ASKED]
    ask(
        parent,
        "namedFilesConsent",
        tr("Read files outside of the folder of {suite}?", suite=visible(suite)),
        tr(
            "The suite names these files. Their contents become part of it and of its results:\n\n{files}",
            files="\n".join(visible(str(file.path)) for file in asked),
        ),
        (tr("Read these files"), QMessageBox.ButtonRole.ActionRole, lambda: allow(asked)),
        title=tr("Read files?"),
    )


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
            use_font(box, mono_font, -0.5)
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
