"""The editor for grammars: colours, completion of rule names, definitions, renaming, problems and their fixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6 import QtGui
from PySide6.QtCore import QEvent, QMimeData, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtWidgets import QTextEdit, QToolTip, QWidget

from glyphscope.grammar.line_lexer import LEXERS
from glyphscope_gui.grammar.highlighter import GrammarHighlighter, break_long_lines
from glyphscope_gui.grammar.problems import GrammarProblem
from glyphscope_gui.grammar.rule_names import GrammarCompleter, RenameField
from glyphscope_gui.shared.actions import Entry, pop_up
from glyphscope_gui.shared.code_edit import TAB_WORDS, CodeEdit, to_utf16
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.text_edits import marked
from glyphscope_gui.theme import theme

MAX_UNDERLINED = 300
"""Problems that are underlined; the list has all."""
FAR = 2000
"""Lines that are searched backwards for the rule at the cursor."""
_Underline = QtGui.QTextCharFormat.UnderlineStyle
READ_OF_LINE = 4000
"""Characters of a line that are searched for names."""
LINES = {
    "error": (_Underline.WaveUnderline, "impossible-line"),
    "warning": (_Underline.DashUnderline, "mark"),
    "hint": (_Underline.DotLine, "open-line"),
}
"""By severity, so that the line's style shows it as well as its colour."""


class GrammarEdit(CodeEdit):
    """`ruleEntered` carries the rule at the cursor, "" for none.

    `rule_tip` returns the tip for a rule under the mouse; the owner sets it, as it knows the rules' origins. `edited`
    is emitted for every change, without the text: call `text()` if it is needed.
    """

    edited = Signal()
    ruleEntered = Signal(str)
    fixRequested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        self._highlighter: GrammarHighlighter | None = None
        self._shown_problems: tuple[GrammarProblem, ...] = ()
        self._wrong: dict[int, str] = {}
        """By line, counted from 1, the worst severity of its problems."""
        self.rule = ""
        """The rule at the cursor."""
        self.rule_tip: Callable[[str], str] = lambda _name: ""
        super().__init__(parent)
        self.setObjectName("grammarEdit")
        self.setAccessibleName(tr("Grammar text ({language})", language="GBNF"))
        self.setAccessibleDescription(
            tr(
                "Ctrl+Space completes a rule name, F12 goes to its definition, F2 renames it, "
                "Ctrl+period applies the fix at the cursor, F8 goes to the next problem."
            )
            + f" {TAB_WORDS}"
        )
        self.setMouseTracking(True)
        self.viewport().setMouseTracking(True)
        self.viewport().setAcceptDrops(True)
        self._highlighter = GrammarHighlighter(self.document())
        self.completer = GrammarCompleter(self)
        self.rename_field = RenameField(self)
        self.rename_field.renamed.connect(self.rename)
        self._in_sight = QTimer(self, singleShot=True, interval=0)
        self._in_sight.timeout.connect(self._color_in_sight)
        self.updateRequest.connect(lambda _rect, _dy: self._in_sight.start())
        self.cursorPositionChanged.connect(self._follow_cursor)
        self.lexer = LEXERS["GBNF"]
        self._make_actions()
        self._restyle()

    def set_language(self, name: str) -> None:
        """Use the words and names of the language with that name."""
        lexer = LEXERS[name]
        if lexer is self.lexer:
            return
        self.lexer = self.completer.lexer = self.rename_field.lexer = lexer
        self.setAccessibleName(tr("Grammar text ({language})", language=name))
        if self._highlighter is not None:
            self._highlighter.lexer = lexer
            self._highlighter.rehighlight()
        self._follow_cursor()

    # -- text --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        return self.toPlainText()

    def replace_all(self, text: str) -> None:
        """Replace the text and clear the undo history."""
        self._showing = True
        self.show_problems(())
        self.setPlainText(text)
        self._showing = False
        self.rule = ""
        self._in_sight.start()
        self._follow_cursor()

    def follow(self, text: str) -> None:
        """Show the same text with small changes, such as the tools' grammar after an edit of the tools."""
        before = self.text()
        if not before:
            self.replace_all(text)
        elif text != before:
            self.show_problems(())
            self.show_text(text)
            self._in_sight.start()
            self._follow_cursor()

    def _notify(self) -> None:
        if not self._showing:
            self.edited.emit()

    # -- rules -------------------------------------------------------------------------------------------------

    def go_to_rule(self, name: str, at: int = -1) -> bool:
        """Move the cursor to a rule's definition in the grammar around the character; False if it is not defined."""
        text = self.text()
        place = self.lexer.find_definition(text, name, at)
        if place is None:
            return False
        self.select(to_utf16(text, place), to_utf16(text, place + len(name)))
        return True

    def select(self, start: int, end: int) -> None:
        """Select a stretch, by Qt positions, and show it. The cursor is at its start."""
        last = self.document().characterCount() - 1
        cursor = self.textCursor()
        cursor.setPosition(min(end, last))
        cursor.setPosition(min(start, last), QtGui.QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)
        if not self.viewport().rect().contains(self.cursorRect()):
            self.centerCursor()

    def definition(self) -> None:
        """Go to the definition of the name at the cursor."""
        name = self._name_at_cursor()
        if name and not self.go_to_rule(name, self._place()):
            where = self.mapToGlobal(self.cursorRect().bottomLeft() + QPoint(self.number_width(), 4))
            QToolTip.showText(where, plain_tip(tr("The rule {name} is not defined.", name=name)), self)

    def start_renaming(self) -> None:
        """Ask for the new name in place."""
        name = self._name_at_cursor() or self.rule
        if name and not self.isReadOnly():
            self.rename_field.begin(name, self.cursorRect().translated(self.number_width(), 0))

    def rename(self, old: str, new: str) -> None:
        """Rename a rule everywhere in the grammar at the cursor, as one undo step."""
        if old == new or not self.lexer.is_name(new) or self.isReadOnly():
            return
        text = self.text()
        here = self.textCursor().position()
        cursor = QtGui.QTextCursor(self.document())
        cursor.beginEditBlock()
        for place in reversed(self.lexer.occurrences(text, old, self._place())):
            start = to_utf16(text, place)
            cursor.setPosition(start)
            cursor.setPosition(start + len(old), QtGui.QTextCursor.MoveMode.KeepAnchor)
            cursor.insertText(new)
        cursor.endEditBlock()
        back = self.textCursor()
        back.setPosition(min(here, self.document().characterCount() - 1))
        self.setTextCursor(back)
        self._follow_cursor()

    def _place(self) -> int:
        """The number of characters before the cursor."""
        before = self.textCursor()
        before.setPosition(before.selectionStart())
        before.setPosition(0, QtGui.QTextCursor.MoveMode.KeepAnchor)
        return len(before.selectedText())

    def _name_at_cursor(self) -> str:
        cursor = self.textCursor()
        word = self.lexer.name_at(
            cursor.block().text(), min(cursor.position(), cursor.selectionStart()) - cursor.block().position()
        )
        return word.text if word else ""

    def _follow_cursor(self) -> None:
        name = self._rule_of(self.textCursor().block(), self.textCursor().positionInBlock())
        if name != self.rule:
            self.rule = name
            self.ruleEntered.emit(name)

    def _rule_of(self, block: QtGui.QTextBlock, place: int) -> str:
        """The rule that contains the line, found by searching backwards."""
        for _ in range(FAR):
            if not block.isValid():
                return ""
            line = block.text()[:READ_OF_LINE]
            found = self.lexer.definition_in(line)
            if found is not None and (found.start <= place or not line[: found.start].strip()):
                return found.text
            block = block.previous()
            place = READ_OF_LINE  # the cursor is behind an earlier line's whole text
        return ""

    # -- problems ----------------------------------------------------------------------------------------------

    def show_problems(self, problems: Sequence[GrammarProblem]) -> None:
        """Underline these problems."""
        self._shown_problems = tuple(problems)
        self._wrong = {}
        for problem in reversed(self._shown_problems):
            if problem.severity == "error" or self._wrong.get(problem.line) != "error":
                self._wrong[problem.line] = problem.severity
        self._mark()
        self._numbers.update()

    def problem_at_cursor(self) -> GrammarProblem | None:
        """Return the problem at the cursor, else the first on its line; problems with a fix take precedence."""
        position, line = self.textCursor().position(), self.textCursor().blockNumber() + 1
        here = [p for p in self._shown_problems if p.start <= position <= p.end]
        near = [p for p in self._shown_problems if p.line == line]
        return next((p for p in (*here, *near) if p.edits), next(iter((*here, *near)), None))

    def fix(self, problem: GrammarProblem) -> None:
        """Apply a fix as one undo step; its positions refer to the checked text."""
        if self.isReadOnly() or not problem.edits:
            return
        cursor = QtGui.QTextCursor(self.document())
        last = self.document().characterCount() - 1
        cursor.beginEditBlock()
        for start, end, new in sorted(problem.edits, reverse=True):
            cursor.setPosition(min(start, last))
            cursor.setPosition(min(end, last), QtGui.QTextCursor.MoveMode.KeepAnchor)
            cursor.insertText(new)
        cursor.endEditBlock()
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def next_problem(self, step: int = 1) -> None:
        """Go to the next problem, or the previous one, and wrap around at the end."""
        starts = sorted({p.start for p in self._shown_problems})
        if not starts:
            return
        here = self.textCursor().position()
        after = [s for s in starts if s > here] if step > 0 else [s for s in starts if s < here]
        start = (after or starts)[0] if step > 0 else (after or starts)[-1]
        self.select(start, start)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fix_here(self) -> None:
        problem = self.problem_at_cursor()
        if problem is not None and problem.edits:
            self.fixRequested.emit(problem)

    # -- marks -------------------------------------------------------------------------------------------------

    def _restyle(self) -> None:
        super()._restyle()
        if self._highlighter is not None:
            self._highlighter.restyle()
        self._line_colors = {kind: theme().color(role) for kind, (_, role) in LINES.items()}
        self._numbers.update()

    def _mark(self) -> None:
        marks = [self._line_selection(), *self._bracket_selections()]
        marks += [self._underlined(problem) for problem in self._shown_problems[:MAX_UNDERLINED]]
        self.setExtraSelections(marks)

    def _underlined(self, problem: GrammarProblem) -> QTextEdit.ExtraSelection:
        last = self.document().characterCount() - 1
        start = min(problem.start, max(last - 1, 0))
        end = min(max(problem.end, start + 1), last)
        style, _ = LINES.get(problem.severity, LINES["error"])
        line = style, self._line_colors.get(problem.severity, QtGui.QColor("red"))
        ground = theme().color("impossible-soft") if problem.severity == "error" else None
        return marked(self.document(), start, end, ground=ground, line=line)

    def paint_numbers(self, area: QWidget, event: QtGui.QPaintEvent) -> None:
        """Paint the line numbers; at a problem, in its colour, with a bar whose form shows the severity."""
        painter = QtGui.QPainter(area)
        painter.setFont(self.font())
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= event.rect().bottom():
            height = self.blockBoundingRect(block).height()
            number = block.blockNumber() + 1
            severity = self._wrong.get(number)
            painter.setPen(self._line_colors[severity] if severity else self._number_color)
            box = QRect(0, round(top), area.width() - 8, self.fontMetrics().height())
            painter.drawText(box, Qt.AlignmentFlag.AlignRight, str(number))
            if severity:
                lines = {"error": height - 4, "warning": height / 2, "hint": 3}
                long = round(lines.get(severity, 3))
                painter.fillRect(
                    QRect(1, round(top + (height - long) / 2), 3, long), self._line_colors[severity]
                )
            top += height
            block = block.next()

    def _color_in_sight(self) -> None:
        if self._highlighter is None:
            return
        first = self.firstVisibleBlock().blockNumber()
        rows = self.viewport().height() // max(self.fontMetrics().height(), 1) + 2
        self._highlighter.show_lines(first, first + rows)

    # -- keys and mouse ----------------------------------------------------------------------------------------

    def _make_actions(self) -> None:
        self.complete_action = self._action(tr("Complete rule name"), "Ctrl+Space", self.completer.offer)
        self.definition_action = self._action(tr("Go to definition"), "F12", self.definition)
        self.rename_action = self._action(tr("Rename rule…"), "F2", self.start_renaming)
        self.fix_action = self._action(tr("Apply fix"), "Ctrl+.", self._fix_here)
        self.next_action = self._action(tr("Next problem"), "F8", lambda: self.next_problem(1))
        self.previous_action = self._action(tr("Previous problem"), "Shift+F8", lambda: self.next_problem(-1))

    def _action(self, words: str, keys: str, do: Callable[[], object]) -> QtGui.QAction:
        action = QtGui.QAction(words, self, shortcutContext=Qt.ShortcutContext.WidgetShortcut)
        action.setShortcut(keys)
        action.triggered.connect(lambda _checked=False: do())
        self.addAction(action)
        return action

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QtGui.QHelpEvent):
            self._show_tip(event)
            return True
        return super().event(event)

    def _show_tip(self, event: QtGui.QHelpEvent) -> None:
        position = self.cursorForPosition(self.viewport().mapFrom(self, event.pos())).position()
        lines = []
        for problem in self._shown_problems:
            if problem.start <= position <= problem.end:
                sign = {"error": "✕", "warning": "▲"}.get(problem.severity, "●")
                lines.append(f"{sign} {problem.message}")
                if problem.fix:
                    lines.append("    " + tr("Ctrl+. applies: {correction}", correction=problem.fix))
        place = self.cursorForPosition(self.viewport().mapFrom(self, event.pos()))
        word = self.lexer.name_at(place.block().text()[:4000], place.positionInBlock())
        if word is not None and self._is_over(self.viewport().mapFrom(self, event.pos())):
            lines += [tip for tip in [self.rule_tip(word.text)] if tip]
        if lines:
            QToolTip.showText(event.globalPos(), plain_tip("\n".join(lines)), self)
        else:
            QToolTip.hideText()

    def keyPressEvent(self, event: QtGui.QKeyEvent) -> None:
        if self.completer.takes(event):
            return
        super().keyPressEvent(event)
        if not self.isReadOnly():
            self.completer.typed(event)

    def mouseMoveEvent(self, event: QtGui.QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        cursor = self.cursorForPosition(event.position().toPoint())
        block = cursor.block()
        word = self.lexer.name_at(block.text()[:READ_OF_LINE], cursor.positionInBlock())
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        over = word is not None and self._is_over(event.position().toPoint())
        shape = Qt.CursorShape.PointingHandCursor if control and over else Qt.CursorShape.IBeamCursor
        self.viewport().setCursor(shape)

    def _is_over(self, place: QPoint) -> bool:
        """Whether there is text under the mouse, and not the empty rest of a line."""
        cursor = self.cursorForPosition(place)
        return abs(self.cursorRect(cursor).left() - place.x()) < 2 * self.fontMetrics().averageCharWidth()

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        self.completer.close()
        if (
            event.button() == Qt.MouseButton.LeftButton
            and event.modifiers() == Qt.KeyboardModifier.ControlModifier
        ):
            self.setTextCursor(self.cursorForPosition(event.position().toPoint()))
            self.definition()
            event.accept()
            return
        super().mousePressEvent(event)

    def contextMenuEvent(self, event: QtGui.QContextMenuEvent) -> None:
        entries: list[Entry] = [None, self.definition_action]
        problem = self.problem_at_cursor()
        if problem is not None and problem.edits and not self.isReadOnly():
            entries.insert(1, (problem.fix, self._fix_here))
        if not self.isReadOnly():
            entries += [self.rename_action, self.complete_action]
        pop_up(self.createStandardContextMenu(event.pos()), event.globalPos(), *entries)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Files that are dropped are opened by the page, not inserted as their names."""
        if self.isReadOnly() or not source.hasText():
            return
        cursor = self.textCursor()
        cursor.insertText(break_long_lines(source.text()))
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return not source.hasUrls() and super().canInsertFromMimeData(source)
