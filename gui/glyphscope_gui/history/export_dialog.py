"""A run in another program's form, shown before it is copied or saved, with a line on its contents."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QPlainTextEdit, QWidget

from glyphscope.base.visible import visible
from glyphscope.store.exports import export_forms, form_named
from glyphscope_gui.runs.export_formats import ExportedRun
from glyphscope_gui.shared.dialogs import ask_where_to_save
from glyphscope_gui.shared.labels import PlainLabel, named, push_button
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.plain_text import copy_text
from glyphscope_gui.theme import mono_font, use_font

MAX_SHOWN = 20_000
"""Characters that are shown; the layout of a line of a hundred thousand takes seconds."""


class ExportDialog(PlainDialog):
    """`formChosen` carries the name of another form to show, `saveRequested` a path and the whole text;
    `bundleRequested` asks for the run as a bundle.
    """

    formChosen = Signal(str)
    saveRequested = Signal(str, str)
    bundleRequested = Signal()

    def __init__(self, exported: ExportedRun, parent: QWidget | None = None) -> None:
        super().__init__("exportDialog", tr("Share the run"), parent)
        self.form = named(QComboBox(self), "exportForm", tr("Form"))
        for name in export_forms():
            self.form.addItem(in_language(form_named(name).menu).replace("&", "").rstrip("…"), name)
        self.note = PlainLabel(self, wordWrap=True, role="muted")
        self.view = QPlainTextEdit(self, readOnly=True)
        named(self.view, "exportView", tr("Exported text"))
        use_font(self.view, mono_font, -0.5)
        self.view.setTabChangesFocus(True)
        self.more = PlainLabel(self, role="muted")
        self.copy_button = push_button(tr("&Copy"), self, clicked=self._copy)
        self.save_button = push_button(tr("&Save as…"), self, role="primary", clicked=self._ask_where)
        tip = tr("One file with the whole run, which Glyphscope opens again")
        self.bundle_button = push_button(tr("Save as a &bundle…"), self, tip=tip, clicked=self._bundle)
        buttons = (self.save_button, self.copy_button, self.bundle_button)
        box = self.button_box(Standard.Close, *((button, Role.ActionRole) for button in buttons))
        self.save_button.setDefault(True)
        parts = (self.form, self.note, (self.view, 1), self.more, box)
        vbox(*parts, parent=self, margins=(20, 18, 20, 16), spacing=12)
        self.resize(720, 480)
        self.show_exported(exported)
        self.form.activated.connect(lambda _index: self.formChosen.emit(self.form.currentData()))

    def show_exported(self, exported: ExportedRun) -> None:
        """Show the run in that form."""
        self._exported = exported
        self.form.setCurrentIndex(self.form.findData(exported.form))
        self.note.setText(exported.note)
        self.view.setPlainText(visible(exported.text[:MAX_SHOWN], lines=True))
        left = len(exported.text) - MAX_SHOWN
        self.more.setText(tr("Copy and Save include %n more character(s).", "", left))
        is_page = exported.form == "html"  # its source is of no use to a reader
        self.more.setVisible(left > 0 and not is_page)
        self.view.setEnabled(not is_page)
        if is_page:
            self.view.setPlainText(tr("A page for a browser, with every token and its alternatives."))
        self.copy_button.setVisible(not is_page)
        self.copy_button.setText(tr("&Copy"))

    def save(self, path: str) -> None:
        """Request that the whole text is written to that file, and close."""
        self.saveRequested.emit(path, self._exported.text)
        self.accept()

    def _copy(self) -> None:
        copy_text(self._exported.text)
        self.copy_button.setText(tr("Copied"))

    def _bundle(self) -> None:
        self.accept()
        self.bundleRequested.emit()

    def _ask_where(self) -> None:
        suffix = Path(self._exported.name).suffix
        kind = in_language(form_named(self._exported.form).kind)
        ask_where_to_save(
            self,
            tr("Save the export"),
            lambda path: self.save(str(path)),
            tr("{kind} (*{suffix});;All files (*)", kind=kind, suffix=suffix),
            start=self._exported.name,
            suffix=suffix[1:],
            name="saveExportDialog",
        )
