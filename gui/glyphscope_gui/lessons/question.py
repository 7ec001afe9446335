"""A question of a lesson: chosen by clicks or keys, then revealed, each answer with its reason."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QWidget

from glyphscope.lessons.questions import Choice, Sheet, grade
from glyphscope.text.tokens import token_text
from glyphscope_gui.lessons.characters import CharacterLine
from glyphscope_gui.lessons.prose import LessonProse
from glyphscope_gui.shared.labels import LessonLabel, PlainLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import Part, hbox, vbox
from glyphscope_gui.theme import mono_font
from glyphscope_gui.theme.sizes import PAD


class ChoiceButton(QPushButton):
    """Stays pressed while it is chosen. Its words wrap, unlike a QPushButton's."""

    def __init__(self, number: int, words: str, *, token: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lessonChoice")
        self.setProperty("choice", "token" if token else "words")
        self.setCheckable(True)
        self.setAccessibleName(tr("Answer {number}: {answer}", number=number, answer=words))
        self.setToolTip(
            tr("Choose this answer ({number})", number=number) if number < 10 else tr("Choose this answer")
        )
        self.number = PlainLabel(str(number), self, role="faint")
        self.label = LessonLabel(words, "", self, mono_font(2) if token else None)
        self.label.setWordWrap(not token)
        for label in (self.number, self.label):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._row = hbox(self.number, (self.label, 1), parent=self, margins=(10, 6, 12, 6), spacing=10)
        sizes = QSizePolicy.Policy
        policy = QSizePolicy(
            sizes.Fixed if token else sizes.Preferred, sizes.Fixed if token else sizes.Minimum
        )
        policy.setHeightForWidth(not token)
        self.setSizePolicy(policy)

    def sizeHint(self) -> QSize:
        return self._row.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self._row.minimumSize()

    def hasHeightForWidth(self) -> bool:
        return self.label.wordWrap()

    def heightForWidth(self, width: int) -> int:
        return self._row.totalHeightForWidth(width) if self.label.wordWrap() else -1


class ChoiceRow(QWidget):
    """One answer, and after the reveal a sign with the reason."""

    def __init__(self, number: int, choice: Choice, *, token: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choice = choice
        words = token_text(choice.text.encode()) if token else choice.text
        self.button = ChoiceButton(number, words, token=token, parent=self)
        self.sign = LessonLabel("", "", self)
        self.why = LessonLabel("", "muted", self)
        row = hbox(self.sign, parent=self, spacing=10)
        if token:
            row.addWidget(self.button)
            row.addWidget(self.why, 1)
            row.addStretch(0)
            return
        column = vbox(self.button, self.why, spacing=2)
        row.addLayout(column, 1)

    def reveal(self) -> None:
        """Show whether it is correct, by sign, words and colour, chosen or not."""
        right = self._choice.right
        self.sign.setWordWrap(False)
        self.sign.set_words("✓" if right else "✕", "lesson-right" if right else "lesson-wrong")
        self.sign.setAccessibleName(tr("correct") if right else tr("incorrect"))
        self.why.set_words(self._choice.why)
        self.button.setEnabled(False)
        self.button.setAccessibleDescription(f"{self.sign.accessibleName()}. {self._choice.why}")


class LessonQuestion(QFrame):
    """`answered` carries once, when the answer is revealed, whether it was correct; `revealed` is also emitted without
    an answer.

    `guards`: the rest of the page may give the answer away.
    """

    answered = Signal(bool)
    revealed = Signal()

    def __init__(self, sheet: Sheet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "card", tr("Question: {question}", question=sheet.ask))
        self.setProperty("asking", True)
        self.sheet = sheet
        self.is_revealed = False
        self.guards = True
        self.ask = LessonProse(sheet.ask, self)
        before = f"{sheet.before}▮" if sheet.kind == "next" else ""
        self.before = LessonLabel(before, "", self, mono_font(2))
        self.before.setAccessibleName(tr("Written so far: {text}", text=sheet.before))
        self.line = CharacterLine(sheet.text, self)
        self.line.setVisible(sheet.kind == "character")
        token = sheet.kind == "next"
        self.rows = [
            ChoiceRow(number, choice, token=token, parent=self)
            for number, choice in enumerate(sheet.choices, 1)
        ]
        self.hint = PlainLabel(self._how(), self, role="hint", wordWrap=True)
        self.button = push_button(tr("Reveal"), self, name="lessonRevealButton", role="primary")
        self.button.setToolTip(tr("Show the correct answer and the reason (Enter)"))
        self.result = named(LessonLabel("", "", self), "lessonResult")
        self.why = LessonProse("", self, quiet=True)
        self.why.hide()
        self._lay_out()
        self.button.clicked.connect(self.reveal)
        for row in self.rows:
            row.button.toggled.connect(self._toggled)

    @property
    def chosen(self) -> frozenset[int]:
        """The numbers of the chosen answers, or the place of the chosen character."""
        if self.sheet.kind == "character":
            return frozenset({self.line.at}) if self.line.at >= 0 else frozenset()
        return frozenset(number for number, row in enumerate(self.rows) if row.button.isChecked())

    def choose(self, number: int) -> None:
        """Choose an answer, or clear it if it was chosen; for a question about a character, choose that character."""
        if self.is_revealed:
            return
        if self.sheet.kind == "character":
            self.line.choose(number)
        elif 0 <= number < len(self.rows):
            self.rows[number].button.toggle()

    def reveal(self) -> None:
        """Show the correct answer and the verdict on the chosen one."""
        if self.is_revealed:
            return
        self.is_revealed = True
        graded = grade(self.sheet, self.chosen)
        if self.sheet.kind == "character":
            self.line.reveal(self.sheet.at)
        for row in self.rows:
            row.reveal()
        self.result.set_words(
            f"{'✓' if graded.right else '✕'} {graded.words}",
            "lesson-right" if graded.right else "lesson-wrong",
        )
        if self.sheet.why:
            self.why.show_markdown(self.sheet.why)
            self.why.show()
        self.button.hide()
        self.hint.hide()
        if self.chosen:
            self.answered.emit(graded.right)
        self.revealed.emit()

    def advance(self) -> bool:
        """Do the next step of the lecture's key: reveal the answer. False afterwards."""
        if self.is_revealed:
            return False
        self.reveal()
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter reveals, a digit chooses, arrows move between answers."""
        if not self.press(event.key()):
            super().keyPressEvent(event)

    def press(self, key: int) -> bool:
        """Handle a key; False if it has no function, as after the reveal: the next question then gets it."""
        if self.is_revealed:
            return False
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.reveal()
            return True
        number = key - Qt.Key.Key_1
        if 0 <= number < len(self.rows):
            self.choose(number)
            self.rows[number].button.setFocus(Qt.FocusReason.ShortcutFocusReason)  # Enter then reveals
            return True
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and self.rows:
            self._walk(1 if key == Qt.Key.Key_Down else -1)
            return True
        return False

    def _how(self) -> str:
        if self.sheet.kind == "character":
            return tr("Click a character, or move to it with the arrow keys.")
        last = len(self.rows)
        if self.sheet.single:
            return tr("Choose one answer (keys 1 to {last}), then reveal.", last=last)
        return tr("Choose all correct answers (keys 1 to {last}), then reveal.", last=last)

    def _toggled(self, down: bool) -> None:
        if down and self.sheet.single:
            for row in self.rows:
                if row.button is not self.sender():
                    row.button.setChecked(False)

    def _walk(self, step: int) -> None:
        at = next((n for n, row in enumerate(self.rows) if row.button.hasFocus()), -1 if step > 0 else 0)
        self.rows[(at + step) % len(self.rows)].button.setFocus(Qt.FocusReason.TabFocusReason)

    def _lay_out(self) -> None:
        foot = hbox(self.button, (self.hint, 1), spacing=12)
        parts: tuple[Part, ...] = (self.ask, self.before, self.line, *self.rows, foot, self.result, self.why)
        vbox(*parts, parent=self, margins=(PAD + 2, 12), spacing=8)
