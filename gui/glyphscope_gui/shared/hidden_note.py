"""A note in an editable field on the invisible characters of its text, which stays unchanged."""

from __future__ import annotations

from typing import TypeAlias

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

from glyphscope.visible import unseen
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr

TYPED_MS = 120
GAP = 4

Field: TypeAlias = QLineEdit | QPlainTextEdit


class HiddenNote(PlainLabel):
    """Names the characters: at the end of a line, or below the text of several. `changed`: it came or went."""

    changed = Signal()

    def __init__(self, field: Field) -> None:
        super().__init__(field)
        self._field = field
        self._characters = ""
        named(self, "hiddenNote", role="problem")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)
        self._later = QTimer(self, singleShot=True, interval=TYPED_MS)
        self._later.timeout.connect(self.look)
        field.textChanged.connect(self._later.start)
        field.installEventFilter(self)
        self.hide()

    @property
    def height_needed(self) -> int:
        """Pixels below a text of several lines."""
        return self.sizeHint().height() if self._characters else 0

    def look(self) -> None:
        """Name the invisible characters that the text has now."""
        self._later.stop()
        field = self._field
        found = unseen(field.text() if isinstance(field, QLineEdit) else field.toPlainText())
        if found == self._characters:
            return
        self._characters = found
        words = tr("Invisible characters: {characters}", characters=found) if found else ""
        self.setText(found if isinstance(field, QLineEdit) else words)
        self.setToolTip(words)
        self.setAccessibleName(words)
        self.setVisible(bool(found))
        self._place()
        self.changed.emit()

    def eventFilter(self, _field: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.FontChange, QEvent.Type.Show):
            self._place()
        return False

    def _place(self) -> None:
        field, size = self._field, self.sizeHint()
        if isinstance(field, QLineEdit):
            room = field.height() - GAP if field.isClearButtonEnabled() else 0
            width = min(size.width(), field.width() // 2) if self._characters else 0
            field.setTextMargins(0, 0, width + GAP if width else 0, 0)
            self.setGeometry(field.width() - width - GAP - room, 0, width, field.height())
        elif self._characters:
            frame = field.frameWidth()
            top = field.height() - frame - size.height()
            self.setGeometry(frame + GAP, top, field.width() - 2 * frame - 2 * GAP, size.height())
