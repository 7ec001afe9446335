"""Stepping through a text: the rules being read at the cursor, and the allowed continuations."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QSlider, QTextEdit, QWidget

from glyphscope_gui.grammar.problems import TextPositions
from glyphscope_gui.grammar.work import StepView, TokensView
from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import grid_layout, vbox
from glyphscope_gui.shared.text_edits import WrappingEdit, marked
from glyphscope_gui.theme import FollowsLooks, mono_font, theme, use_font
from glyphscope_gui.theme.sizes import PAD

MAX_RULES = 8
"""Number of active rules that are listed, from the beginning and the end."""
MAX_EXPECTED = 10
"""Number of allowed next characters or ranges that are listed."""
MAX_LENGTH = 200_000
"""Characters of a text that can be stepped through."""


class GrammarStep(FollowsLooks, QWidget):
    """`moved` carries the text and the cursor's character; a link in `rules` is a rule's name."""

    moved = Signal(str, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("grammarStep")
        self._places = TextPositions("")
        self._view: StepView | None = None
        self.edit = named(WrappingEdit(self), "stepTextEdit", tr("Text to step through"))
        self.edit.setPlaceholderText(tr("A text to step through: type it, or choose an example"))
        self.edit.setFrameShape(QFrame.Shape.NoFrame)
        self.edit.setTabChangesFocus(True)
        self.edit.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.edit.setMinimumHeight(34)
        slider, tip = (
            QSlider(Qt.Orientation.Horizontal, self),
            tr("Step through the text: arrow keys move by one character"),
        )
        self.slider = named(slider, "stepSlider", tr("Character of the text"), tip=tip)
        self.rules = self._answer(tr("Active rules"))
        self.next = self._answer(tr("Allowed next"))
        self.tokens = self._answer(tr("Number of tokens allowed next"))
        self._lay_out()
        self.edit.textChanged.connect(self._changed)
        self.edit.cursorPositionChanged.connect(self._cursor_moved)
        self.slider.valueChanged.connect(self._slid)
        self._restyle()
        self.show_view(None, "")
        self.show_tokens(None)

    @property
    def text(self) -> str:
        return self.edit.toPlainText()

    @property
    def at(self) -> int:
        """The character after the cursor."""
        return self._places.from_qt(self.edit.textCursor().position())

    def set_text(self, text: str) -> None:
        """Set another text, with the cursor at its end."""
        text = text[:MAX_LENGTH]
        if text == self.text:
            return
        self.edit.setPlainText(text)
        self.edit.moveCursor(QTextCursor.MoveOperation.End)

    def show_view(self, view: StepView | None, why: str) -> None:
        """Show the rules and the allowed text at the cursor, or, for None, the reason."""
        self._view = view
        if view is None:
            self.rules.setText(escape(why))
            self.next.setText("")
        else:
            self.rules.setText(self._rule_links(view))
            self.next.setText(self._next_words(view))
        self._mark()

    def show_tokens(self, view: TokensView | None) -> None:
        """Show the model's tokens allowed at the cursor; None hides them while they are unknown."""
        for part in (self.tokens, self._tokens_label):
            part.setVisible(view is not None)
        if view is None:
            return
        family = mono_font().families()[0]
        few = " ".join(f"<span style=\"font-family:'{family}'\">{escape(text)}</span>" for text in view.few)
        count = tr("{allowed:,} of {vocabulary:,}", allowed=view.allowed, vocabulary=view.vocabulary)
        more = " …" if view.allowed > len(view.few) else ""
        self.tokens.setText(f"{count}{'&nbsp;&nbsp; ' + few + more if few else ''}")

    def words(self) -> str:
        """The position of the cursor in words, for the heading."""
        length = len(self.text)
        return tr("character {place:,} of {length:,}", place=self.at, length=length) if length else ""

    def _rule_links(self, view: StepView) -> str:
        names = view.rules
        shown = names if len(names) <= MAX_RULES else (*names[:3], "…", *names[-(MAX_RULES - 4) :])
        color = theme().color("accent").name()
        links = [
            name
            if name == "…"
            else f'<a href="{escape(name)}" style="color:{color};text-decoration:none">{escape(name)}</a>'
            for name in shown
        ]
        if links:
            links[-1] = f"<b>{links[-1]}</b>"
        return " › ".join(links)

    def _next_words(self, view: StepView) -> str:
        family = mono_font().families()[0]
        shown = [
            f"<span style=\"font-family:'{family}'\">{escape(words)}</span>"
            for words in view.expected[:MAX_EXPECTED]
        ]
        more = len(view.expected) - len(shown)
        if more > 0:
            shown.append(tr("and %n more", "", more))
        joined = " · ".join(shown) or tr("nothing")
        if view.alive:
            return joined
        color = theme().color("impossible").name()
        fails = escape(tr("✕ fails at {character}.", character=view.failed_at))
        could = tr("Expected there: {pieces}", pieces=joined)
        return f'<span style="color:{color}">{fails}</span> {could}'

    def _answer(self, name: str) -> QLabel:
        label = named(PlainLabel(self), words=name)
        label.setTextFormat(Qt.TextFormat.RichText)
        label.setWordWrap(True)
        label.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
            | Qt.TextInteractionFlag.TextSelectableByMouse
        )
        label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        return label

    def _lay_out(self) -> None:
        grid = grid_layout(spacing=(12, 5), stretch=1)
        for row, (words, tip, answer) in enumerate(
            (
                (
                    tr("Active rules"),
                    tr("The rules that are active at the cursor, outermost first. Click a rule to go to it."),
                    self.rules,
                ),
                (tr("Allowed next"), tr("Text that the grammar allows at the cursor."), self.next),
                (
                    tr("Tokens allowed"),
                    tr(
                        "Number of tokens of the open model’s vocabulary that the mask would allow here, "
                        "without the end of text; a few examples with their ids."
                    ),
                    self.tokens,
                ),
            )
        ):
            label = PlainLabel(words, self, role="hint", toolTip=tip)
            grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(answer, row, 1)
        self._tokens_label = label
        vbox((self.edit, 1), self.slider, grid, parent=self, margins=(PAD - 5, 6), spacing=6)

    def _restyle(self) -> None:
        use_font(self.edit, mono_font, 1)
        self.edit.setStyleSheet("#stepTextEdit { border: none; background: transparent; padding: 0; }")
        if self._view is not None:
            self.show_view(self._view, "")

    def _changed(self) -> None:
        text = self.text
        self._places = TextPositions(text)
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, len(text))
            self.slider.setValue(self.at)
        self.slider.setEnabled(bool(text))
        self.moved.emit(text, self.at)

    def _cursor_moved(self) -> None:
        at = self.at
        if at == self.slider.value():
            return
        with QSignalBlocker(self.slider):
            self.slider.setValue(at)
        self.moved.emit(self.text, at)

    def _slid(self, at: int) -> None:
        cursor = self.edit.textCursor()
        cursor.setPosition(self._places.in_qt(at))
        with QSignalBlocker(self.edit):
            self.edit.setTextCursor(cursor)
        self.moved.emit(self.text, at)

    def _mark(self) -> None:
        """Mute the text after the cursor, and underline it from the first character that does not match."""
        view = self._view
        end = self.edit.document().characterCount() - 1
        marks = []
        here = self.edit.textCursor().position()
        if here < end:
            marks.append(self._stretch(here, end, theme().color("text-faint"), False))
        if view is not None and view.failed_at is not None:
            start = self._places.in_qt(view.failed_at)
            if start < end:
                marks.append(self._stretch(start, end, theme().color("impossible"), True))
        self.edit.setExtraSelections(marks)

    def _stretch(self, start: int, end: int, color: QColor, wrong: bool) -> QTextEdit.ExtraSelection:
        ground = theme().color("impossible-soft") if wrong else None
        line = (QTextCharFormat.UnderlineStyle.DotLine, theme().color("impossible-line")) if wrong else None
        return marked(self.edit.document(), start, end, color=color, ground=ground, line=line)

    def sizeHint(self) -> QSize:
        return QSize(300, 170)
