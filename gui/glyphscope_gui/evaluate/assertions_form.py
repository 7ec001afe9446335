"""The forms of checks and assertions: lines that the user adds and removes, the values in them, and the assertions on a
result (JSONPath, Python functions, rubrics for a judge model).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QComboBox, QPushButton, QSizePolicy, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.json_values import json_or_text
from glyphscope.evals.suites.call_form import AssertionKind, AssertionLine, CheckKind, PathTest
from glyphscope_gui.shared.dialogs import ask_for_file
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import link, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit

MIN_BOX = 80
"""The minimum width of a box in pixels: large text is cut off before the form scrolls horizontally."""


class FormLine(QWidget):
    """`changed` is emitted after an edit, `removed` when the user removes the line."""

    changed = Signal()
    removed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.remove = push_button(tr("Remove"), self, role="link", clicked=self.removed)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def removal(self, number: int) -> str:
        """Return the name of the button that removes this line, the one with that number."""
        raise NotImplementedError

    def choice_box(self, words: str, choices: tuple[tuple[str, str, str], ...], chosen: str) -> QComboBox:
        """Make a combo box; `choices` are the value, words and hint of each."""
        box = choice_box(self, words=words, choices=((value, shown, "") for value, shown, _hint in choices))
        box.setMinimumWidth(MIN_BOX)
        box.setCurrentIndex(box.findData(chosen))
        return box


Line = TypeVar("Line", bound=FormLine)


class LinesForm(QWidget, Generic[Line]):
    """`changed` is emitted when the user changes, adds or removes a line; `add` is the button below the lines,
    `spacing` the pixels between them.
    """

    changed = Signal()

    def __init__(self, add: QPushButton, spacing: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: list[Line] = []
        self.add = add
        self._column = vbox((add, 0, Qt.AlignmentFlag.AlignLeft), parent=self, spacing=spacing)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def _put(self, line: Line) -> Line:
        self._lines.append(line)
        self._column.insertWidget(self._column.indexOf(self.add), line)
        line.changed.connect(self.changed)
        line.removed.connect(lambda: self._remove(line))
        self._number()
        return line

    def _number(self) -> None:
        for number, line in enumerate(self._lines, 1):
            named(line.remove, words=line.removal(number))

    def _remove(self, line: Line) -> None:
        self._drop(line)
        self.add.setFocus()
        self.changed.emit()

    def _clear(self) -> None:
        for line in list(self._lines):
            self._drop(line)

    def _drop(self, line: Line) -> None:
        self._lines.remove(line)
        self._column.removeWidget(line)
        line.hide()
        line.deleteLater()
        self._number()


KINDS: tuple[tuple[AssertionKind, str, str], ...] = (
    ("path", tr("JSONPath"), tr("For example $.calls[0].arguments.query, or $.answer")),
    ("python", tr("Python function"), tr("FILE.py:NAME, for example checks.py:is_polite")),
    ("judge", tr("Judge model"), tr("The rubric: what the result must be, in words")),
)
"""The kinds of assertions: value, words, and the hint in the field of the target."""
TESTS: tuple[tuple[PathTest, str, str], ...] = (
    ("exists", tr("exists"), ""),
    ("equals", tr("equals"), tr("A value; JSON, or text without quotes")),
    ("one_of", tr("is one of"), tr("Values separated by |, or a JSON array")),
    ("matches", tr("matches"), tr("A regular expression that is found in the text")),
    ("schema", tr("matches JSON Schema"), tr("A JSON Schema for the value")),
    ("count", tr("has a count of"), tr("The number of selected values")),
)
"""The tests of the values that a JSONPath selects: value, words, and the hint in the field of the value."""
ROOT = "$."
"""The beginning of every JSONPath."""
MAX_LINES = 5
"""Lines of a target before it scrolls."""


class _Line(FormLine):
    """One assertion."""

    def __init__(self, line: AssertionLine, parent: QWidget) -> None:
        super().__init__(parent)
        self.kind = self.choice_box(tr("Kind of assertion"), KINDS, line.kind)
        self.target = GrowingEdit(MAX_LINES, self)
        self.target.setPlainText(line.target)
        self.browse = QPushButton(tr("Choose file…"), self)
        self.browse.setToolTip(tr("A Python file; then write its function after the colon"))
        self.test = self.choice_box(tr("Check of the selected values"), TESTS, line.test)
        self.value = named(LineEdit(loose_text(line.test, line.value), self), words=tr("Value"))
        column = vbox(parent=self, spacing=6)
        column.addLayout(hbox(self.kind, self.test, STRETCH, self.remove, spacing=8))
        top = Qt.AlignmentFlag.AlignTop
        column.addLayout(hbox((self.target, 1, top), (self.browse, 0, top), spacing=8))
        column.addLayout(hbox((self.value, 1)))
        self.kind.currentIndexChanged.connect(self._begin_target)
        for box in (self.kind, self.test):
            box.currentIndexChanged.connect(self._choice_changed)
        self.target.textChanged.connect(self.changed)
        self.value.textChanged.connect(lambda _text: self.changed.emit())
        self.browse.clicked.connect(self._choose_file)
        self._show_kind()

    def line(self) -> AssertionLine:
        """Raises GlyphscopeError if the value cannot be read."""
        kind: AssertionKind = self.kind.currentData()
        target = self.target.toPlainText().strip()
        if kind != "path":
            return AssertionLine(kind, target)
        test: PathTest = self.test.currentData()
        return AssertionLine(kind, target, test, loose_value(test, self.value.text()))

    def removal(self, number: int) -> str:
        return tr("Remove assertion {number}", number=number)

    def edit_target(self) -> None:
        """Focus the target, with the cursor at its end."""
        self.target.setFocus()
        self.target.moveCursor(QTextCursor.MoveOperation.End)

    def _begin_target(self, index: int) -> None:
        """Replace a target that was not edited: a JSONPath begins with the root, others are empty."""
        if self.target.toPlainText() in ("", ROOT):
            self.target.setPlainText(ROOT if KINDS[index][0] == "path" else "")

    def _choice_changed(self, _place: int) -> None:
        self._show_kind()
        self.changed.emit()

    def _show_kind(self) -> None:
        kind, words, tip = KINDS[self.kind.currentIndex()]
        self.target.setPlaceholderText(tip)
        self.target.setAccessibleName(words)
        self.browse.setVisible(kind == "python")
        self.test.setVisible(kind == "path")
        test, _words, tip = TESTS[self.test.currentIndex()]
        self.value.setVisible(kind == "path" and test != "exists")
        self.value.setPlaceholderText(tip)
        self.value.setToolTip(tip)

    def _choose_file(self) -> None:
        filters, start = tr("Python (*.py);;All files (*)"), str(Path.home())
        ask_for_file(
            self.window(), tr("Python file"), self._file_chosen, filters, start=start, name="assertionFile"
        )

    def _file_chosen(self, path: Path) -> None:
        self.target.setPlainText(f"{path}:")
        self.edit_target()


class AssertionsForm(LinesForm[_Line]):
    """The assertions of a scenario."""

    def __init__(self, parent: QWidget | None = None) -> None:
        tip = tr("A JSONPath, a Python function or a judge model on the result")
        super().__init__(link(tr("Add an assertion"), tip, name="addAssertion"), 8, parent)
        self.add.clicked.connect(self._add)

    def show_lines(self, lines: Sequence[AssertionLine]) -> None:
        """Show these assertions, without a signal."""
        self._clear()
        for line in lines:
            self._put(_Line(line, self))

    def lines(self) -> tuple[AssertionLine, ...]:
        """Raises GlyphscopeError if a value cannot be read."""
        return tuple(line.line() for line in self._lines)

    def _add(self) -> None:
        self._put(_Line(AssertionLine("path", ROOT), self)).edit_target()
        self.changed.emit()


_BETWEEN = "|"
_KINDS = {list: tr("a JSON array"), dict: tr("a JSON object"), int: tr("a whole number")}


def field_text(kind: CheckKind, value: Any, *, is_text: bool) -> str:
    """Return the text of a check's field; `is_text`: the argument's schema requires a string."""
    return _text(kind, value, lambda one: one if is_text and isinstance(one, str) else _as_json(one))


def field_value(kind: CheckKind, text: str, *, is_text: bool) -> Any:
    """Return the value of a check's field. Raises GlyphscopeError for invalid JSON where JSON is required."""
    return _read(kind, text, (lambda one: one) if is_text else (lambda one: _json(one, object)))


def loose_text(test: PathTest, value: Any) -> str:
    """Return the text of a JSONPath's field: plain text if that is unambiguous, otherwise JSON."""
    return _text(
        test, value, lambda one: one if isinstance(one, str) and json_or_text(one) == one else _as_json(one)
    )


def loose_value(test: PathTest, text: str) -> Any:
    """Return the value of a JSONPath's field. Raises GlyphscopeError."""
    return _read(test, text, json_or_text)


def _text(kind: CheckKind | PathTest, value: Any, text_of: Callable[[Any], str]) -> str:
    """The text from which `_read` reads the value."""
    match kind:
        case "optional" | "exists":
            return ""
        case "matches":
            return str(value)
        case "one_of":
            parts = [text_of(each) for each in value]
            is_ambiguous = any(
                _BETWEEN in part or part != part.strip() or part.startswith("[") for part in parts
            )
            return _as_json(value) if is_ambiguous or not parts else f" {_BETWEEN} ".join(parts)
    return text_of(value)


def _read(kind: CheckKind | PathTest, text: str, value_of: Callable[[str], Any]) -> Any:
    match kind:
        case "optional" | "exists":
            return None
        case "matches":
            return text
        case "schema":
            return _json(text, dict)
        case "count":
            return _json(text, int)
        case "one_of" if text.lstrip().startswith("["):
            return _json(text, list)
        case "one_of":
            return [value_of(each.strip()) for each in text.split(_BETWEEN)]
    return value_of(text)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json(text: str, kind: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = ...
    if value is ... or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        expected = _KINDS.get(kind) or tr("JSON")
        raise GlyphscopeError(tr("{text} is not {wanted}.", text=text.strip()[:60] or "“”", wanted=expected))
    return value
