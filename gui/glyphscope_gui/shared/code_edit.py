"""A text edit for code: line numbers, current line, matching brackets, underlined errors, two-space tabs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6 import QtGui
from PySide6.QtCore import QEvent, QMimeData, QRect, QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from glyphscope_gui.shared.json_places import TextProblem
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize
from glyphscope_gui.shared.text_edits import (
    WrappingEdit,
    break_anywhere_if_needed,
    break_at_words_again,
    marked,
)
from glyphscope_gui.theme import FollowsLooks, mono_font, theme, use_font

TAB = "  "
_OPEN, _CLOSE = "{[(", "}])"
MAX_BRACKET_SEARCH = 20_000
"""Characters that are searched for the matching bracket, so that a key press in a long text stays quick."""
TAB_WORDS = tr(
    "Tab moves to the next field until you type; then it indents. Press Escape to make Tab move again."
)
_MODIFIERS = (Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Meta)


class _LineNumbers(QWidget):
    """The numbers on the left; the editor has all their data."""

    def __init__(self, editor: CodeEdit) -> None:
        super().__init__(editor)
        self._editor = editor

    def sizeHint(self) -> QSize:
        return QSize(self._editor.number_width(), 0)

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        self._editor.paint_numbers(self, event)


class CodeEdit(FollowsSize, FollowsLooks, WrappingEdit):
    """With `own_undo` False, undo belongs to the owner of the text: its keys are passed to the parent.

    Tab indents, except right after the focus arrived by Tab, or after Escape: then it moves the focus. Shift+Tab always
    moves the focus, as does Tab in a read-only text. `textEdited` is emitted only for the user's typing, not for
    `show_text`.
    """

    textEdited = Signal(object)

    def __init__(self, parent: QWidget | None = None, *, own_undo: bool = True) -> None:
        super().__init__(parent)
        self.setUndoRedoEnabled(own_undo)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.document().setDocumentMargin(6)
        self._problems: tuple[TextProblem, ...] = ()
        self._showing = False
        self._tab_continues = False
        self._numbers = _LineNumbers(self)
        self.setCornerWidget(QWidget(self))  # without one, Fusion draws a box between the scroll bars
        self.blockCountChanged.connect(self._fit_numbers)
        self.updateRequest.connect(self._scroll_numbers)
        self.cursorPositionChanged.connect(self._mark)
        self.textChanged.connect(self._notify)
        self._restyle()

    # -- text --------------------------------------------------------------------------------------------------

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Files that are dropped are opened by the window, not inserted as their names."""
        return not source.hasUrls() and super().canInsertFromMimeData(source)

    def show_text(self, text: str) -> None:
        """Set `text`; only the part that differs is replaced, so the cursor stays or moves to the change."""
        old = self.toPlainText()
        if text == old:
            return
        start, end = _common_ends(old, text)
        break_anywhere_if_needed(self, text)
        self._showing = True
        cursor = self.textCursor()
        cursor.setPosition(to_utf16(old, start))
        cursor.setPosition(to_utf16(old, len(old) - end), QtGui.QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text[start : len(text) - end])
        if self.hasFocus():
            self.setTextCursor(cursor)
        self._showing = False
        if self.isReadOnly() or not self.document().isUndoAvailable():  # undo may restore the earlier text
            break_at_words_again(self, text)

    def set_problems(self, problems: Sequence[TextProblem]) -> None:
        """Underline these problems; the first words of each are its tooltip."""
        self._problems = tuple(problems)
        self._mark()

    def go_to(self, problem: TextProblem) -> None:
        """Move the cursor to a problem and scroll to it."""
        cursor = self.textCursor()
        last = self.document().characterCount() - 1
        cursor.setPosition(min(to_utf16(self.toPlainText(), problem.start), last))
        self.setTextCursor(cursor)
        self.centerCursor()
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _notify(self) -> None:
        if not self._showing:
            self.textEdited.emit(self.toPlainText())

    # -- keys --------------------------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and self._undo_is_passed_up(event):
            event.ignore()
            return False
        if isinstance(event, QtGui.QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            cursor = self.cursorForPosition(self.viewport().mapFrom(self, event.pos()))
            position = cursor.position()
            text = self.toPlainText()
            here = (p for p in self._problems if to_utf16(text, p.start) <= position <= to_utf16(text, p.end))
            self.setToolTip("\n".join(problem.message for problem in here))
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._set_type()  # a style sheet resets the font
            self._fit_numbers()

    def focusInEvent(self, event: QtGui.QFocusEvent) -> None:
        super().focusInEvent(event)
        reasons = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        self._tab_continues = event.reason() in reasons

    def focusNextPrevChild(self, forward: bool) -> bool:
        if self._tab_continues:
            return QWidget.focusNextPrevChild(self, forward)
        return super().focusNextPrevChild(forward)

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        self._tab_continues = False
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        typed = not (self._tab_continues or self.isReadOnly())
        if event.key() not in _MODIFIERS:
            self._tab_continues = event.key() == Qt.Key.Key_Escape
        if self._tab_continues and typed:
            return  # a dialog closes at the next one
        shift = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier)
        plain = event.modifiers() in shift and not self.isReadOnly()
        if self._undo_is_passed_up(event):
            event.ignore()
        elif event.key() == Qt.Key.Key_Backtab:
            QWidget.focusNextPrevChild(self, False)  # the way to leave by keyboard, since Tab indents
        elif event.key() == Qt.Key.Key_Tab and plain and not self.textCursor().hasSelection():
            self.textCursor().insertText(TAB)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and plain:
            self._new_line()
        else:
            super().keyPressEvent(event)

    def _undo_is_passed_up(self, event: QEvent) -> bool:
        return not self.isUndoRedoEnabled() and is_undo_key(event)

    def _new_line(self) -> None:
        """Begin a new line with the same indentation, one level more after an opening bracket."""
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        indent = before[: len(before) - len(before.lstrip(" "))]
        deeper = before.rstrip()[-1:] in tuple(_OPEN)
        cursor.insertText("\n" + indent + (TAB if deeper else ""))
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    # -- marks -------------------------------------------------------------------------------------------------

    def _set_type(self) -> None:
        if mono_font(-1) != self.font():
            use_font(self, mono_font, -1)

    def _restyle(self) -> None:
        """Apply the colours and font of the current theme; called again whenever the style changes."""
        self._set_type()
        colors = theme()
        self._number_color = colors.color("text-faint")
        self._line_color = colors.color("hover")
        self._bracket_color = colors.color("accent-soft")
        self._problem_color = colors.color("impossible")
        self._mark()
        self._fit_numbers()

    def _mark(self) -> None:
        selections = [self._line_selection(), *self._bracket_selections()]
        text = self.toPlainText() if self._problems else ""
        selections += [self._problem_selection(text, problem) for problem in self._problems]
        self.setExtraSelections(selections)

    def _line_selection(self) -> QTextEdit.ExtraSelection:
        selection = QTextEdit.ExtraSelection()
        selection.format.setBackground(self._line_color)
        selection.format.setProperty(QtGui.QTextCharFormat.Property.FullWidthSelection, True)
        selection.cursor = self.textCursor()
        selection.cursor.clearSelection()
        return selection

    def _bracket_selections(self) -> list[QTextEdit.ExtraSelection]:
        position = self.textCursor().position()
        for at in (position, position - 1):
            match = self._matching(at)
            if match is not None:
                places = (at, match)
                return [marked(self.document(), n, n + 1, ground=self._bracket_color) for n in places]
        return []

    def _matching(self, at: int) -> int | None:
        document = self.document()
        mark = document.characterAt(at) if at >= 0 else ""
        if mark in _OPEN and mark:
            step, other = 1, _CLOSE[_OPEN.index(mark)]
        elif mark in _CLOSE and mark:
            step, other = -1, _OPEN[_CLOSE.index(mark)]
        else:
            return None
        cursor = QtGui.QTextCursor(document)
        cursor.setPosition(at if step > 0 else at + 1)
        last = at + step * MAX_BRACKET_SEARCH
        cursor.setPosition(
            min(max(last, 0), document.characterCount() - 1), QtGui.QTextCursor.MoveMode.KeepAnchor
        )
        # two bytes for each of Qt's positions
        data = cursor.selectedText().encode("utf-16-le", "surrogatepass")
        depth = 0
        for distance, found in enumerate(memoryview(data).cast("H")[::step]):
            if found == ord(mark):
                depth += 1
            elif found == ord(other):
                depth -= 1
                if depth == 0:
                    return at + step * distance
        return None

    def _problem_selection(self, text: str, problem: TextProblem) -> QTextEdit.ExtraSelection:
        last = self.document().characterCount() - 1
        start, end = (min(to_utf16(text, place), last) for place in (problem.start, problem.end))
        line = (QtGui.QTextCharFormat.UnderlineStyle.WaveUnderline, self._problem_color)
        return marked(self.document(), min(start, max(last - 1, 0)), end, line=line)

    # -- line numbers ------------------------------------------------------------------------------------------

    def number_width(self) -> int:
        digits = max(2, len(str(self.blockCount())))
        return 14 + self.fontMetrics().horizontalAdvance("9") * digits

    def paint_numbers(self, area: QWidget, event: QtGui.QPaintEvent) -> None:
        painter = QtGui.QPainter(area)
        painter.setFont(self.font())
        wrong = {problem.line for problem in self._problems}
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= event.rect().bottom():
            height = self.blockBoundingRect(block).height()
            number = block.blockNumber() + 1
            painter.setPen(self._problem_color if number in wrong else self._number_color)
            box = QRect(0, round(top), area.width() - 8, self.fontMetrics().height())
            painter.drawText(box, Qt.AlignmentFlag.AlignRight, str(number))
            top += height
            block = block.next()

    def _fit_numbers(self) -> None:
        self.setViewportMargins(self.number_width(), 0, 0, self.viewportMargins().bottom())

    def _scroll_numbers(self, rect: QRect, dy: int) -> None:
        if dy:
            self._numbers.scroll(0, dy)
        else:
            self._numbers.update(0, rect.y(), self._numbers.width(), rect.height())

    def _fit(self) -> None:
        box = self.contentsRect()
        self._numbers.setGeometry(QRect(box.left(), box.top(), self.number_width(), box.height()))


def is_undo_key(event: QEvent) -> bool:
    """Whether a key event is one of undo or redo."""
    return isinstance(event, QtGui.QKeyEvent) and (
        event.matches(QtGui.QKeySequence.StandardKey.Undo)
        or event.matches(QtGui.QKeySequence.StandardKey.Redo)
    )


def to_utf16(text: str, position: int) -> int:
    """Convert a position from code points to Qt's UTF-16 units: a character beyond U+FFFF counts as two."""
    return position if text.isascii() else len(text[:position].encode("utf-16-le", "surrogatepass")) // 2


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """The number of equal characters at the start and at the end."""
    shorter = min(len(old), len(new))
    start = _longest(shorter, lambda count: old.startswith(new[:count]))
    end = _longest(shorter - start, lambda count: old.endswith(new[len(new) - count :]))
    return start, end


def _longest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest count up to `most` that fits, by bisection: comparing slices is quicker than characters."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if fits(middle):
            least = middle
        else:
            most = middle - 1
    return least
