"""Text edits: a line, one that wraps anywhere, one that grows with its text, one to read."""

from __future__ import annotations

from typing import Any, TypeAlias

from PySide6.QtCore import QEvent, QMimeData, QObject, QSize, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QShowEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QSizePolicy, QTextEdit, QWidget

from glyphscope.visible import unseen, visible
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize
from glyphscope_gui.theme import mono_font

LONGEST_WORD = 5_000
"""Characters of a word beyond which finding the breaks between words is too slow: lines then break anywhere."""
_AT_WORDS = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


def break_anywhere_if_needed(edit: QPlainTextEdit | QTextEdit, text: str) -> None:
    """Break lines anywhere if the text, which is put in next, has a word that is too long."""
    if _has_long_word(text):
        edit.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)


def break_at_words_again(edit: QPlainTextEdit | QTextEdit, text: str) -> None:
    """Break lines at words, if the text, which is now all of the edit's, has no word that is too long."""
    if not _has_long_word(text):
        edit.setWordWrapMode(_AT_WORDS)


def _has_long_word(text: str) -> bool:
    return len(text) > LONGEST_WORD and any(len(word) > LONGEST_WORD for word in text.split())


def marked(
    document: QTextDocument,
    start: int,
    end: int,
    *,
    color: QColor | None = None,
    ground: QColor | None = None,
    line: tuple[QTextCharFormat.UnderlineStyle, QColor] | None = None,
) -> QTextEdit.ExtraSelection:
    """A stretch of a document to be marked, by the colours of its letters, its ground and the line under it.

    Qt's positions count UTF-16 units.
    """
    selection = QTextEdit.ExtraSelection()
    selection.cursor = QTextCursor(document)
    selection.cursor.setPosition(start)
    selection.cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    if color is not None:
        selection.format.setForeground(color)
    if ground is not None:
        selection.format.setBackground(ground)
    if line is not None:
        selection.format.setUnderlineStyle(line[0])
        selection.format.setUnderlineColor(line[1])
    return selection


TYPED_MS = 120
GAP = 4

Field: TypeAlias = QLineEdit | QPlainTextEdit


class HiddenNote(PlainLabel):
    """Names the invisible characters of an editable field, whose text stays unchanged: at the end of a line, or below
    the text of several. `changed`: it came or went.
    """

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


class LineEdit(QLineEdit):
    """Invisible characters are named at its end."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.hidden_note = HiddenNote(self)
        self.hidden_note.look()

    def setText(self, text: str | None) -> None:
        super().setText(text)
        self.hidden_note.look()


class WrappingEdit(QPlainTextEdit):
    """Lines are broken at words, and from the first long word on anywhere, until the text is another. Invisible
    characters are named below the text.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hidden_note = HiddenNote(self)
        self.hidden_note.changed.connect(self._make_room)

    def setPlainText(self, text: str) -> None:
        break_anywhere_if_needed(self, text)
        super().setPlainText(text)
        break_at_words_again(self, text)
        self.hidden_note.look()

    def _make_room(self) -> None:
        margins = self.viewportMargins()
        margins.setBottom(self.hidden_note.height_needed)
        self.setViewportMargins(margins)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Prepare for the longest word that pasting can make with the text of the line."""
        line = self.textCursor().block().text()
        break_anywhere_if_needed(self, f"{line}{source.text()}")
        super().insertFromMimeData(source)


class GrowingEdit(FollowsSize, WrappingEdit):
    """Tab goes to the next field; wraps; between one line and `max_lines` high."""

    def __init__(self, max_lines: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._max_lines = max_lines
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def bar_when_full(self) -> None:
        """Show a scroll bar only beside a text higher than the field; Qt's policy shows one beside a single line."""
        self.document().documentLayout().documentSizeChanged.connect(self._fit_bar)

    def _fit_bar(self, size: QSizeF) -> None:
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

    def showEvent(self, event: QShowEvent) -> None:
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
        if self.isVisible():  # the viewport may be of the size from before
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
    """`submitted` on Ctrl+Enter, which is also the window's shortcut for Run: here the field has it."""

    submitted = Signal()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and _submits(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _submits(event):
            event.accept()
            self.submitted.emit()
        else:
            super().keyPressEvent(event)


def _submits(event: QEvent) -> bool:
    return (
        isinstance(event, QKeyEvent)
        and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        and bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
    )


class ReadBox(GrowingEdit):
    """In the fixed-pitch font; the words can be selected and copied."""

    def __init__(self, max_lines: int, name: str, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(max_lines, parent)
        self.setReadOnly(True)
        self.setFont(mono_font(-0.5))
        self.setAccessibleName(name)
        self.bar_when_full()
        self.setPlainText(text)

    def setPlainText(self, text: str) -> None:
        super().setPlainText(visible(text, lines=True))
