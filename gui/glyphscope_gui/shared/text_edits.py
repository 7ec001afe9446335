"""Text edits that name their invisible characters: a line, one that wraps, one that grows with its text, one that
submits it, a read-only one. And marks of a stretch of a document.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from PySide6 import QtGui
from PySide6.QtCore import QEvent, QMimeData, QObject, QSize, QSizeF, Qt, QTimer, Signal
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QSizePolicy, QTextEdit, QWidget

from glyphscope.base.visible import unseen, visible
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize
from glyphscope_gui.shared.plain_text import shown_part
from glyphscope_gui.theme import mono_font, use_font

MAX_WORD = 5_000
"""Characters of a word beyond which finding word breaks is too slow: lines then break anywhere."""
TYPED_MS = 120
"""Delay after the last change of a text before its invisible characters are named."""
_AROUND = 4
"""Pixels around the note of a field's invisible characters."""
_AT_WORDS = QtGui.QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


def break_anywhere_if_needed(edit: QPlainTextEdit | QTextEdit, text: str) -> None:
    """Break lines anywhere if the text, which is inserted next, has a word that is too long."""
    if _has_long_word(text):
        edit.setWordWrapMode(QtGui.QTextOption.WrapMode.WrapAnywhere)


def break_at_words_again(edit: QPlainTextEdit | QTextEdit, text: str) -> None:
    """Break lines at words again if the edit's whole text has no word that is too long."""
    if not _has_long_word(text):
        edit.setWordWrapMode(_AT_WORDS)


def _has_long_word(text: str) -> bool:
    return len(text) > MAX_WORD and any(len(word) > MAX_WORD for word in text.split())


def marked(
    document: QtGui.QTextDocument,
    start: int,
    end: int,
    *,
    color: QtGui.QColor | None = None,
    ground: QtGui.QColor | None = None,
    line: tuple[QtGui.QTextCharFormat.UnderlineStyle, QtGui.QColor] | None = None,
) -> QTextEdit.ExtraSelection:
    """A marked stretch of a document, with the colours of its text, its background and its underline.

    Qt's positions count UTF-16 units.
    """
    selection = QTextEdit.ExtraSelection()
    selection.cursor = QtGui.QTextCursor(document)
    selection.cursor.setPosition(start)
    selection.cursor.setPosition(end, QtGui.QTextCursor.MoveMode.KeepAnchor)
    if color is not None:
        selection.format.setForeground(color)
    if ground is not None:
        selection.format.setBackground(ground)
    if line is not None:
        selection.format.setUnderlineStyle(line[0])
        selection.format.setUnderlineColor(line[1])
    return selection


Field: TypeAlias = QLineEdit | QPlainTextEdit


class InvisiblesNote(PlainLabel):
    """Names the invisible characters of an editable field, whose text stays unchanged: at the end of a single line, or
    below several lines. `changed`: the note appeared or disappeared.
    """

    changed = Signal()

    def __init__(self, field: Field) -> None:
        super().__init__(field)
        self._field = field
        self._characters = ""
        named(self, "invisiblesNote", role="problem")
        self._later = QTimer(self, singleShot=True, interval=TYPED_MS)
        self._later.timeout.connect(self.look)
        field.textChanged.connect(self._later.start)
        field.installEventFilter(self)
        self.hide()

    @property
    def height_needed(self) -> int:
        """The height in pixels that it needs below a text of several lines."""
        return self.sizeHint().height() if self._characters else 0

    def look(self) -> None:
        """Name the invisible characters of the present text."""
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
            room = field.height() - _AROUND if field.isClearButtonEnabled() else 0
            width = min(size.width(), field.width() // 2) if self._characters else 0
            field.setTextMargins(0, 0, width + _AROUND if width else 0, 0)
            self.setGeometry(field.width() - width - _AROUND - room, 0, width, field.height())
        elif self._characters:
            frame = field.frameWidth()
            top = field.height() - frame - size.height()
            self.setGeometry(frame + _AROUND, top, field.width() - 2 * frame - 2 * _AROUND, size.height())


class LineEdit(QLineEdit):
    """A line edit that names invisible characters at its end."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.invisibles_note = InvisiblesNote(self)
        self.invisibles_note.look()

    def setText(self, text: str | None) -> None:
        super().setText(text)
        self.invisibles_note.look()


class WrappingEdit(QPlainTextEdit):
    """Breaks lines at words; after the first long word anywhere, until the text is replaced. Invisible characters are
    named below the text.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.invisibles_note = InvisiblesNote(self)
        self.invisibles_note.changed.connect(self._make_room)
        self._is_part = False

    @property
    def is_part(self) -> bool:
        """Whether it shows only the beginning of a text that is too long, which cannot be edited."""
        return self._is_part

    def show_text_or_part(self, text: str, *, read_only: bool = False) -> None:
        """Show a text; of one that is too long, its beginning, read-only, unless it was typed here."""
        there = self.toPlainText()
        part = text if text == there else shown_part(text)
        self._is_part = part is not text
        self.setReadOnly(read_only or self._is_part)
        if part != there:
            self.setPlainText(part)

    def setPlainText(self, text: str) -> None:
        break_anywhere_if_needed(self, text)
        super().setPlainText(text)
        break_at_words_again(self, text)
        self.invisibles_note.look()

    def toPlainText(self) -> str:
        """The text unchanged; Qt's has a space for a no-break one, and a line end for U+2028."""
        return self.document().toRawText().replace("\u2029", "\n")

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        """Shift+Enter is a line end, for which Qt inserts U+2028."""
        if event.matches(QtGui.QKeySequence.StandardKey.InsertLineSeparator) and not self.isReadOnly():
            self.insertPlainText("\n")
            self.ensureCursorVisible()
        else:
            super().keyPressEvent(event)

    def _make_room(self) -> None:
        margins = self.viewportMargins()
        margins.setBottom(self.invisibles_note.height_needed)
        self.setViewportMargins(margins)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste, prepared for the longest word that the pasted text and the line can form."""
        line = self.textCursor().block().text()
        break_anywhere_if_needed(self, f"{line}{source.text()}")
        super().insertFromMimeData(source)


class GrowingEdit(FollowsSize, WrappingEdit):
    """Wraps, and is between one line and `max_lines` high, then scrolls; Tab moves to the next field."""

    def __init__(self, max_lines: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._max_lines = max_lines
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        layout = self.document().documentLayout()
        layout.documentSizeChanged.connect(self._fit)
        layout.documentSizeChanged.connect(self._fit_bar)
        self._fit()

    def set_max_lines(self, lines: int) -> None:
        """Set the lines before the text scrolls."""
        self._max_lines = lines
        self._fit_bar(self.document().documentLayout().documentSize())
        self._fit()

    def _fit_bar(self, size: QSizeF) -> None:
        """Show a scroll bar only if the text is higher than the field; Qt's policy shows one beside a single line."""
        more = size.height() > self._max_lines
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if more else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Files that are dropped are opened by the window, not inserted as their names."""
        return not source.hasUrls() and super().canInsertFromMimeData(source)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._preferred_height())

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self._preferred_height())

    def showEvent(self, event: QtGui.QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _preferred_height(self) -> int:
        """Return the preferred height, with frame and margins; a plain text document counts its size in lines."""
        lines = self.document().documentLayout().documentSize().height()
        lines = min(max(lines, 1), self._max_lines)
        around = 2 * self.frameWidth() + self.viewportMargins().bottom()
        if self.isVisible():  # the viewport may still have the previous size
            around = max(around, self.height() - self.viewport().height())
        return round(lines * self.fontMetrics().lineSpacing() + 2 * self.document().documentMargin()) + around

    def _make_room(self) -> None:
        super()._make_room()
        self._fit()

    def _fit(self) -> None:
        height = self._preferred_height()
        if height != self.height():
            self.setFixedHeight(height)


class SubmitEdit(GrowingEdit):
    """Emits `submitted` on Ctrl+Enter, which otherwise is the window's shortcut for Run."""

    submitted = Signal()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and submits(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        if submits(event):
            event.accept()
            self.submitted.emit()
        else:
            super().keyPressEvent(event)


def submits(event: QEvent) -> bool:
    """Whether it is Ctrl+Enter."""
    return (
        isinstance(event, QtGui.QKeyEvent)
        and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        and bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
    )


class ReadBox(GrowingEdit):
    """Read-only text in the fixed-pitch font that can be selected and copied."""

    def __init__(self, max_lines: int, name: str, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(max_lines, parent)
        self.setReadOnly(True)
        use_font(self, mono_font, -0.5)
        self.setAccessibleName(name)
        self.setPlainText(text)

    def setPlainText(self, text: str) -> None:
        super().setPlainText(visible(shown_part(text), lines=True))
