"""The arguments of a call that waits for the user: checked again after each edit, and a field for each, whose value is
unchanged until it is edited.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QWidget

from glyphscope.registry import Tool
from glyphscope.registry.pointer import steps_of
from glyphscope.validation.value import ValueValidator
from glyphscope.visible import visible
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import LeavesWheel
from glyphscope_gui.shared.text_edits import GrowingEdit
from glyphscope_gui.theme import mono_font


@dataclass(frozen=True)
class ArgumentCheck:
    """`by_name` has the first violation of each invalid argument, `whole` those that belong to no single argument."""

    by_name: Mapping[str, str] = field(default_factory=dict)
    whole: str = ""

    @property
    def ok(self) -> bool:
        return not self.by_name and not self.whole


def check_arguments(tool: Tool, arguments: dict[str, Any], *, closed: bool = True) -> ArgumentCheck:
    """The verdict on arguments that the user may have written. In any thread; never raises, for any arguments."""
    try:
        text = json.dumps(arguments, ensure_ascii=False)
        validator = ValueValidator(tool.parameters, closed=closed)
        validator.feed(text)
        validator.finish()
    except (RecursionError, ValueError) as error:
        return ArgumentCheck(whole=tr("The arguments cannot be checked: {error}", error=error))
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
    return ArgumentCheck(by_name, " ".join(whole))


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
        self.setFont(mono_font(-0.5))
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
