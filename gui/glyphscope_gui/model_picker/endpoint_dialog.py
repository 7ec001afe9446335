"""An endpoint by its address, and its key, which is stored in the keyring and never shown."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QWidget

from glyphscope.errors import GlyphscopeError
from glyphscope.models.remote import Address, read_address, set_key
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.labels import named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme import mono_font

_NO_KEY = tr("optional; stored in the system keyring")


class EndpointDialog(PlainDialog):
    """`chosen` carries the address as a model's name, after the key, if any, was stored."""

    chosen = Signal(str)

    def __init__(self, address: str = "", parent: QWidget | None = None) -> None:
        super().__init__("endpointDialog", tr("Open an endpoint"), parent)
        self.setMinimumWidth(520)
        self._background = Background(self)
        self._left = False
        self.address_edit = named(LineEdit(address, self), "endpointAddressEdit")
        self.address_edit.setPlaceholderText(tr("http://127.0.0.1:8080/v1   or   https://host/v1#model-name"))
        self.address_edit.setFont(mono_font(-0.5))
        self.key_edit = LineEdit(self, echoMode=QLineEdit.EchoMode.Password, placeholderText=_NO_KEY)
        self.key_edit.setObjectName("endpointKeyEdit")
        self.problem = words_label(role="problem", parent=self)
        self.open_button = push_button(tr("Open"), self, role="primary")
        buttons = self.button_box(Standard.Cancel, (self.open_button, Role.AcceptRole))
        form = QFormLayout(horizontalSpacing=14, verticalSpacing=9)
        form.addRow(tr("Address"), self.address_edit)
        form.addRow(tr("Key"), self.key_edit)
        vbox(form, self.problem, buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        self.address_edit.textChanged.connect(self._check)
        self._check()

    def done(self, result: int) -> None:
        """Hide the dialog while a key is being stored: a keyring may wait for the user, but the window must not."""
        if self._background.is_busy:
            self._left = True
            self.hide()
        else:
            super().done(result)

    def _check(self) -> None:
        text = self.address_edit.text().strip()
        try:
            read_address(text)
            words, ok = "", True
        except GlyphscopeError as error:
            words, ok = error.words if text else "", False
        self.problem.setText(words)
        self.open_button.setEnabled(ok)

    def accept(self) -> None:
        try:
            address = read_address(self.address_edit.text())
        except GlyphscopeError:
            return
        key = self.key_edit.text()
        if not key.strip():
            self._key_saved(address)
            return
        self.open_button.setEnabled(False)
        self._background.start(  # a keyring may ask the user first
            "key", lambda: set_key(address, key), lambda _none: self._key_saved(address), self._key_not_saved
        )

    def _key_saved(self, address: Address) -> None:
        self.key_edit.clear()
        if self._left:
            self.reject()
            return
        self.chosen.emit(str(address))
        super().accept()

    def _key_not_saved(self, error: BaseException) -> None:
        if self._left:
            self.reject()
            return
        self.problem.setText(error.words if isinstance(error, GlyphscopeError) else type(error).__name__)
        self.open_button.setEnabled(True)
