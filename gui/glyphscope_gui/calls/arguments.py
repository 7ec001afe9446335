"""The arguments of a call that a user edits: checked again after each edit, and for each a field, whose value is
unchanged until it is edited, and a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QComboBox, QLabel, QSizePolicy, QWidget

from glyphscope.base.pointer import steps_of
from glyphscope.base.visible import visible
from glyphscope.events import Status
from glyphscope.registry import Tool
from glyphscope.validation.value import ValueValidator
from glyphscope_gui.shared.labels import named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import LeavesWheel
from glyphscope_gui.shared.text_edits import GrowingEdit
from glyphscope_gui.shared.verdict import VERDICTS, paint_pill, pill_font
from glyphscope_gui.theme import mono_font, use_font


@dataclass(frozen=True)
class ArgumentProblems:
    """`by_name` has the first violation of each invalid argument, `whole` those that belong to no single argument."""

    by_name: Mapping[str, str] = field(default_factory=dict)
    whole: str = ""

    @property
    def ok(self) -> bool:
        return not self.by_name and not self.whole

    @property
    def words(self) -> str:
        return " ".join((*self.by_name.values(), *filter(None, (self.whole,))))


def check_arguments(tool: Tool, arguments: dict[str, Any], *, closed: bool = True) -> ArgumentProblems:
    """The verdict on arguments that the user may have written. In any thread; never raises, for any arguments."""
    try:
        text = json.dumps(arguments, ensure_ascii=False)
        validator = ValueValidator(tool.parameters, closed=closed)
        validator.feed(text)
        validator.finish()
    except (RecursionError, ValueError) as error:
        return ArgumentProblems(whole=tr("The arguments cannot be checked: {error}", error=error))
    by_name: dict[str, str] = {}
    whole: list[str] = []
    for violation in validator.violations:
        name = (steps_of(violation.path) or ("",))[0]
        if name in arguments:
            by_name.setdefault(name, violation.message)
        else:
            whole.append(violation.message.replace("the value lacks", "The call lacks"))
    if not by_name and not whole and not validator.valid:
        whole.append(tr("The arguments are invalid."))
    return ArgumentProblems(by_name, " ".join(whole))


MISSING = object()
"""The value of an argument that is not given."""
MAX_LENGTH = 20_000
"""Characters of a value that can be edited: a longer one is sent unchanged, and only its beginning is shown."""
MAX_LINES = 5
NOT_GIVEN = tr("not set")


def make_field(schema: Any, value: Any, parent: QWidget | None = None) -> TextArgument | ChoiceArgument:
    """The field that suits the schema and the value: a choice, a plain text, or JSON.

    A field's `changed` is emitted after each edit; `is_edited` says whether its value differs from `value`.
    """
    schema = schema if isinstance(schema, dict) else {}
    choices = schema.get("enum")
    if schema.get("type") == "boolean":
        choices = [True, False]
    known = value is MISSING or (isinstance(choices, list) and any(_same(value, c) for c in choices))
    if isinstance(choices, list) and 0 < len(choices) <= 200 and known:
        return ChoiceArgument(choices, value, parent)
    as_text = isinstance(value, str) or (value is MISSING and schema.get("type") == "string")
    return TextArgument(value, as_text=as_text, parent=parent)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


class TextArgument(GrowingEdit):
    """A plain text, or any other value as JSON; Esc undoes all edits."""

    changed = Signal()

    def __init__(self, value: Any, *, as_text: bool, parent: QWidget | None = None) -> None:
        super().__init__(MAX_LINES, parent)
        self._value = value
        self._as_text = as_text
        use_font(self, mono_font, -0.5)
        self.setPlaceholderText(NOT_GIVEN if value is MISSING else "" if as_text else "JSON")
        text = "" if value is MISSING else value if as_text else json.dumps(value, ensure_ascii=False)
        self.is_cut = len(text) > MAX_LENGTH
        if self.is_cut:
            self.setReadOnly(True)
            self.setToolTip(
                tr("%n character(s): too long to edit here. It is used unchanged.", "", len(text))
            )
        self.setPlainText(text[:MAX_LENGTH])
        self._shown = self.toPlainText()
        self.textChanged.connect(self.changed)

    @property
    def is_edited(self) -> bool:
        return self.toPlainText() != self._shown

    def value(self) -> Any:
        """The value of the text; MISSING for an argument that is not given. Raises ValueError with the reason."""
        if not self.is_edited:
            return self._value
        text = self.toPlainText()
        if self._as_text:
            return text
        if not text.strip():
            return MISSING
        try:
            return json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise ValueError(tr("Invalid JSON: {error}", error=error)) from None

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and _is_escape(event) and self.is_edited:
            event.accept()  # otherwise Esc would stop the run
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _is_escape(event) and self.is_edited:
            self.setPlainText(self._shown)
        else:
            super().keyPressEvent(event)


class ChoiceArgument(LeavesWheel, QComboBox):
    """A choice among a few values."""

    changed = Signal()

    def __init__(self, choices: list[Any], value: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values = [MISSING, *choices] if value is MISSING else list(choices)
        for choice in self._values:
            words = (
                choice
                if isinstance(choice, str)
                else json.dumps(choice, ensure_ascii=False)
                if (choice is not MISSING)
                else NOT_GIVEN
            )
            self.addItem(visible(words, spaces=True)[:120])
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(6)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._at = next(n for n, choice in enumerate(self._values) if choice is value or _same(choice, value))
        self.setCurrentIndex(self._at)
        self.currentIndexChanged.connect(self._chosen)

    @property
    def is_edited(self) -> bool:
        return self.currentIndex() != self._at

    def value(self) -> Any:
        return self._values[self.currentIndex()]

    def _chosen(self, _place: int) -> None:
        self.changed.emit()


def _is_escape(event: QEvent) -> bool:
    return isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape


def _refuse(word: str) -> Any:
    raise ValueError(tr("{word} is not a JSON value", word=word))


class VerdictPill(QWidget):
    """One verdict as a pill; None before there is one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.status: Status | None = None
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_status(self, status: Status | None) -> None:
        self.status = status
        words = VERDICTS[status].words if status else tr("not checked")
        self.setAccessibleName(words)
        self.setToolTip(VERDICTS[status].tip if status else "")
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(pill_font(self.font()))
        widest = max(metrics.horizontalAdvance(f"{each.sign} {each.words}") for each in VERDICTS.values())
        return QSize(widest + 18, metrics.height() + 6)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.status is not None:
            verdict = VERDICTS[self.status]
            words = f"{verdict.sign} {verdict.words}"
            paint_pill(QPainter(self), QRectF(self.rect()), words, verdict.role, self.font())


@dataclass(frozen=True)
class ArgumentRow:
    """The parts of one argument, in no layout yet."""

    field: TextArgument | ChoiceArgument
    pill: VerdictPill
    problem: QLabel

    def show_verdict(self, status: Status | None, words: str) -> None:
        self.pill.show_status(status)
        show_words(self.problem, visible(words))


class ArgumentRows:
    """The rows of a call's arguments; `changed` is called after each edit."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.by_name: dict[str, ArgumentRow] = {}

    def clear(self) -> None:
        """Begin with no rows, for another call."""
        self.by_name = {}

    def add(self, name: str, schema: Any, value: Any) -> ArgumentRow:
        """Make the row of an argument with that value, or MISSING."""
        field_ = named(make_field(schema, value), words=visible(name, spaces=True))
        field_.changed.connect(self._changed)
        row = self.by_name[name] = ArgumentRow(field_, VerdictPill(), words_label(role="problem"))
        row.problem.hide()
        return row

    def values(self) -> dict[str, Any]:
        """The given arguments. Raises ValueError while a field is not JSON."""
        given = {name: row.field.value() for name, row in self.by_name.items()}
        return {name: value for name, value in given.items() if value is not MISSING}

    def show_unreadable(self) -> bool:
        """Mark the fields that are not JSON; whether there are any."""
        found = False
        for row in self.by_name.values():
            try:
                row.field.value()
            except ValueError as error:
                found = True
                row.show_verdict("impossible", str(error))
        return found

    def show_check(self, check: ArgumentProblems | None) -> None:
        """Show the verdict on each argument that is given; None if they were not checked."""
        for name, row in self.by_name.items():
            wrong = check.by_name.get(name, "") if check is not None else ""
            given = check is not None and row.field.value() is not MISSING
            row.show_verdict("impossible" if wrong else "holds" if given else None, wrong)
