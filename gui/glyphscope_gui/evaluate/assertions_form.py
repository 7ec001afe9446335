"""The assertions on a result: JSONPath, Python functions, and rubrics for a judge model; a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPushButton, QWidget

from glyphscope.evals.suites.call_form import AssertionKind, AssertionLine, PathTest
from glyphscope_gui.evaluate.check_values import loose_text, loose_value
from glyphscope_gui.evaluate.lines_form import FormLine, LinesForm
from glyphscope_gui.shared.dialogs import ask_for_file
from glyphscope_gui.shared.labels import link, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit

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
        self.remove.setAccessibleName(tr("Remove this assertion"))
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

    def edit_target(self) -> None:
        """Focus the target, with the cursor at its end."""
        self.target.setFocus()
        self.target.moveCursor(QTextCursor.MoveOperation.End)

    def _begin_target(self, place: int) -> None:
        """Replace a target that was not edited: a JSONPath begins with the root, others are empty."""
        if self.target.toPlainText() in ("", ROOT):
            self.target.setPlainText(ROOT if KINDS[place][0] == "path" else "")

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
