"""A question of a lesson: chosen by clicks or keys, then revealed, each answer with its reason."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QWidget

from glyphscope.base.tokens import token_text
from glyphscope.lessons.questions import AnswerChoice, Sheet, grade
from glyphscope_gui.lessons.prose import LessonProse
from glyphscope_gui.shared.labels import LessonLabel, PlainLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, Part, hbox, vbox
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.sizes import PAD

_LARGER = 3
_GAP = 1.55
"""In multiples of a line's height."""


class CharacterLine(FollowsSize, QWidget):
    """`at` is the index of the chosen character, -1 for none. After `reveal`, no other can be chosen."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "lessonCharacters", tr("The text: choose a character"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._text = text
        self.at = -1
        self._right = -1
        self._notify()

    @property
    def is_revealed(self) -> bool:
        return self._right >= 0

    def choose(self, index: int) -> None:
        """Choose that character; does nothing once the correct one is shown."""
        if self.is_revealed or not self._text:
            return
        self.at = min(max(index, 0), len(self._text) - 1)
        self._notify()
        self.update()

    def reveal(self, right: int) -> None:
        self._right = right
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setAccessibleDescription(
            tr("Character {place} decides: {character}", place=right, character=repr(self._text[right]))
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        a_line = self._a_line()
        steps: dict[int, int] = {
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -a_line,
            Qt.Key.Key_Down: a_line,
            Qt.Key.Key_Home: -len(self._text),
            Qt.Key.Key_End: len(self._text),
        }
        step = steps.get(event.key())
        if step is None or self.is_revealed:
            super().keyPressEvent(event)
            return
        self.choose(self.at + step if self.at >= 0 else 0)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self._place_at(event.position().toPoint())
        if place is not None:
            self.choose(place)
        super().mousePressEvent(event)

    def box(self, index: int) -> QRectF:
        """Return the box of a character."""
        metrics, a_line = self._metrics(), self._a_line()
        width, height = metrics.horizontalAdvance("m") + 1, metrics.height() * _GAP
        return QRectF(4 + index % a_line * width, 4 + index // a_line * height, width, metrics.height() + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(mono_font(_LARGER))
        colors = theme()
        for index, char in enumerate(self._text):
            box = self.box(index)
            if not box.intersects(QRectF(event.rect())):
                continue
            after = self.is_revealed and index > self._right
            role = "text-faint" if after or char.isspace() else "text"
            if index == self._right:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(colors.color("impossible"))
                painter.drawRoundedRect(box, 3, 3)
                role = "on-impossible"
            elif index == self.at:
                painter.setPen(QPen(colors.color("accent"), 1.6))
                painter.setBrush(colors.color("accent-soft"))
                painter.drawRoundedRect(box, 3, 3)
                role = "text"
            painter.setPen(colors.color(role))
            shown = token_text(char.encode(errors="replace")) if char.isspace() else char
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, shown[:1])
        if self.hasFocus() and not self.is_revealed:
            painter.setPen(QPen(colors.color("accent"), 1.2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.8, 0.8, -0.8, -0.8), 5, 5)

    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(mono_font(_LARGER))

    def _a_line(self) -> int:
        return max(int((self.width() - 8) // (self._metrics().horizontalAdvance("m") + 1)), 8)

    def _fit(self) -> None:
        lines = -(-max(len(self._text), 1) // self._a_line())
        height = round(8 + (lines - 1) * self._metrics().height() * _GAP + self._metrics().height() + 4)
        if height != self.height():
            self.setFixedHeight(height)

    def _place_at(self, point: QPoint) -> int | None:
        metrics, a_line = self._metrics(), self._a_line()
        column = int((point.x() - 4) // (metrics.horizontalAdvance("m") + 1))
        row = int(max(point.y() - 4, 0) // (metrics.height() * _GAP))
        place = row * a_line + column
        return place if 0 <= column < a_line and 0 <= place < len(self._text) else None

    def _notify(self) -> None:
        chosen = (
            tr("Character {place}: {character}", place=self.at, character=repr(self._text[self.at]))
            if self.at >= 0
            else tr("No character is chosen")
        )
        self.setAccessibleDescription(tr("{chosen}. The text: {text}", chosen=chosen, text=self._text[:200]))


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
        self.label = LessonLabel(words, "", self, 2 if token else None)
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

    def set_low(self, low: bool) -> None:
        self._row.setContentsMargins(10, 3 if low else 6, 12, 3 if low else 6)

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

    def __init__(
        self, number: int, choice: AnswerChoice, *, token: bool, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._choice = choice
        words = token_text(choice.text.encode()) if token else choice.text
        self.button = ChoiceButton(number, words, token=token, parent=self)
        self.sign = LessonLabel("", "", self)
        self.why = LessonLabel("", "muted", self)
        if token:
            hbox(self.sign, self.button, (self.why, 1), parent=self, spacing=10).addStretch(0)
            return
        vbox(hbox(self.sign, (self.button, 1), spacing=10), self.why, parent=self, spacing=2)

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
        self.before = LessonLabel(before, "", self, 2)
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
        sign, role = ("✓ ", "lesson-right") if graded.right else ("✕ ", "lesson-wrong")
        if not self.chosen:  # the user only looked at the answer
            sign, role = "", "muted"
        self.result.set_words(sign + graded.words, role)
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
        self._column = vbox(*parts, parent=self, margins=(PAD + 2, 12), spacing=8)

    def set_low(self, low: bool) -> None:
        """Save lines, in a low window."""
        self._column.setSpacing(3 if low else 8)
        self._column.setContentsMargins(PAD + 2, 8 if low else 12, PAD + 2, 8 if low else 12)
        for row in self.rows:
            row.button.set_low(low)
