"""A run in another program's form, shown before it is copied or saved, with a line on its contents."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QPushButton, QWidget

from glyphscope.base.visible import visible
from glyphscope.store.exports import EXPORTS, export_forms, form_named
from glyphscope_gui.runs.export_formats import ExportedRun
from glyphscope_gui.shared.dialogs import ask_where_to_save
from glyphscope_gui.shared.labels import PlainLabel, named, push_button
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.plain_text import copy_text
from glyphscope_gui.theme import mono_font

MAX_SHOWN = 20_000
"""Characters that are shown; the layout of a line of a hundred thousand takes seconds."""


class ExportMenu(QMenu):
    """All forms to which a run can be exported; `formChosen` carries one of them by its name."""

    formChosen = Signal(str)

    def __init__(self, words: str, parent: QWidget | None = None) -> None:
        super().__init__(words, parent)
        self.setObjectName("exportMenu")
        self._add(EXPORTS)
        self.aboutToShow.connect(self._add_others)

    def _add_others(self) -> None:
        """When it is opened for the first time, as plug-ins are looked up then."""
        self.aboutToShow.disconnect(self._add_others)
        self._add(form for form in export_forms() if form not in EXPORTS)

    def _add(self, forms: Iterable[str]) -> None:
        for form in forms:
            action = named(self.addAction(in_language(form_named(form).menu)), f"export-{form}")
            action.triggered.connect(lambda _checked=False, form=form: self.formChosen.emit(form))


class ExportDialog(PlainDialog):
    """`saveRequested` carries a path and the whole text."""

    saveRequested = Signal(str, str)

    def __init__(self, exported: ExportedRun, parent: QWidget | None = None) -> None:
        form = in_language(form_named(exported.form).menu).replace("&", "").rstrip("…")
        super().__init__("exportDialog", tr("Export the run: {form}", form=form), parent)
        self._exported = exported
        self.note = PlainLabel(exported.note, self, wordWrap=True, role="muted")
        self.view = QPlainTextEdit(visible(exported.text[:MAX_SHOWN], lines=True), self, readOnly=True)
        named(self.view, "exportView", tr("Exported text"))
        self.view.setFont(mono_font(-0.5))
        self.view.setTabChangesFocus(True)
        left = len(exported.text) - MAX_SHOWN
        self.more = PlainLabel(
            tr("Copy and Save include %n more character(s).", "", left), self, role="muted"
        )
        self.more.setVisible(left > 0)
        self.copy_button = QPushButton(tr("&Copy"), self)
        self.save_button = push_button(tr("&Save as…"), self, role="primary", clicked=self._ask_where)
        actions = ((self.save_button, Role.ActionRole), (self.copy_button, Role.ActionRole))
        buttons = self.button_box(Standard.Close, *actions)
        self.save_button.setDefault(True)
        vbox(self.note, (self.view, 1), self.more, buttons, parent=self, margins=(20, 18, 20, 16), spacing=12)
        if exported.form == "html":  # its source is of no use to a reader
            for widget in (self.view, self.more, self.copy_button):
                widget.hide()
        else:
            self.resize(720, 480)
        self.copy_button.clicked.connect(self._copy)

    def save(self, path: str) -> None:
        """Request that the whole text is written to that file, and close."""
        self.saveRequested.emit(path, self._exported.text)
        self.accept()

    def _copy(self) -> None:
        copy_text(self._exported.text)
        self.copy_button.setText(tr("Copied"))

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
