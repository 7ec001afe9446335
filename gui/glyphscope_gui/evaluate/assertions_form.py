"""The assertions on a result: JSONPath, Python functions, and rubrics for a judge model; a line for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QPushButton, QSizePolicy, QWidget

from glyphscope.evals.suites.call_form import AssertionKind, AssertionLine, PathTest
from glyphscope_gui.evaluate.check_values import loose_text, loose_value
from glyphscope_gui.shared.labels import link, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit

KINDS: tuple[tuple[AssertionKind, str, str], ...] = (
    ("path", tr("JSONPath"), tr("For example $.calls[0].arguments.query, or $.answer")),
    ("python", tr("Python function"), tr("FILE.py:NAME, for example checks.py:is_polite")),
    ("judge", tr("Judge model"), tr("The rubric: what the result must be, in words")),
)
TESTS: tuple[tuple[PathTest, str, str], ...] = (
    ("exists", tr("exists"), ""),
    ("equals", tr("equals"), tr("A value; JSON, or text without quotes")),
    ("one_of", tr("is one of"), tr("Values with | between them, or a JSON array")),
    ("matches", tr("matches"), tr("A regular expression that is found in the text")),
    ("schema", tr("fits JSON Schema"), tr("A JSON Schema for the value")),
    ("count", tr("has a count of"), tr("The number of selected values")),
)
MOST_LINES = 5


class _Line(QWidget):
    """One assertion."""

    changed = Signal()
    removed = Signal()

    def __init__(self, line: AssertionLine, parent: QWidget) -> None:
        super().__init__(parent)
        self.kind = QComboBox(self)
        self.kind.setAccessibleName(tr("Kind of assertion"))
        for kind, words, _tip in KINDS:
            self.kind.addItem(words, kind)
        self.kind.setCurrentIndex(self.kind.findData(line.kind))
        self.target = GrowingEdit(MOST_LINES, self)
        self.target.bar_when_full()
        self.target.setPlainText(line.target)
        self.browse = QPushButton(tr("Choose file…"), self)
        self.browse.setToolTip(tr("A Python file; then write its function after the colon"))
        self.test = QComboBox(self)
        self.test.setAccessibleName(tr("Check of the selected values"))
        for test, words, _tip in TESTS:
            self.test.addItem(words, test)
        self.test.setCurrentIndex(self.test.findData(line.test))
        self.value = LineEdit(loose_text(line.test, line.value), self)
        self.value.setAccessibleName(tr("Value"))
        self.remove = push_button(tr("Remove"), self, role="link")
        self.remove.setAccessibleName(tr("Remove this assertion"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        column = vbox(parent=self, spacing=6)
        for parts in ((self.kind, self.test, self.remove), (self.target, self.browse), (self.value,)):
            row = hbox(spacing=8)
            for part in parts:
                row.addWidget(part, part in (self.target, self.value), Qt.AlignmentFlag.AlignTop)
            if self.remove in parts:
                row.insertStretch(2, 1)
            column.addLayout(row)
        for box in (self.kind, self.test):
            box.setMinimumWidth(80)  # large letters are cut before the form scrolls sideways
            box.currentIndexChanged.connect(self._choice_changed)
        self.target.textChanged.connect(self.changed)
        self.value.textChanged.connect(lambda _text: self.changed.emit())
        self.browse.clicked.connect(self._choose_file)
        self.remove.clicked.connect(self.removed)
        self._show_kind()

    def line(self) -> AssertionLine:
        """Raises GlyphscopeError where the value cannot be read."""
        kind: AssertionKind = self.kind.currentData()
        target = self.target.toPlainText().strip()
        if kind != "path":
            return AssertionLine(kind, target)
        test: PathTest = self.test.currentData()
        return AssertionLine(kind, target, test, loose_value(test, self.value.text()))

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
        dialog = QFileDialog(
            self.window(), tr("Python file"), str(Path.home()), tr("Python (*.py);;All files (*)")
        )
        dialog.setObjectName("assertionFile")
        dialog.fileSelected.connect(self._file_chosen)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _file_chosen(self, path: str) -> None:
        self.target.setPlainText(f"{path}:")
        self.target.setFocus()
        self.target.moveCursor(self.target.textCursor().MoveOperation.End)


class AssertionsForm(QWidget):
    """`changed` when the user changes an assertion."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: list[_Line] = []
        self.add = link(
            tr("Add an assertion"), tr("A JSONPath, a Python function or a judge model on the result")
        )
        self.add.setObjectName("addAssertion")
        self._column = vbox((self.add, 0, Qt.AlignmentFlag.AlignLeft), parent=self, spacing=8)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.add.clicked.connect(self._add)

    def show_lines(self, lines: Sequence[AssertionLine]) -> None:
        """Other assertions, without a signal."""
        for line in list(self._lines):
            self._drop(line)
        for each in lines:
            self._put(each)

    def lines(self) -> tuple[AssertionLine, ...]:
        """Raises GlyphscopeError where a value cannot be read."""
        return tuple(line.line() for line in self._lines)

    def _add(self) -> None:
        self._put(AssertionLine("path", "$.")).target.setFocus()
        self.changed.emit()

    def _put(self, line: AssertionLine) -> _Line:
        widget = _Line(line, self)
        self._lines.append(widget)
        self._column.insertWidget(self._column.indexOf(self.add), widget)
        widget.changed.connect(self.changed)
        widget.removed.connect(self._remove)
        return widget

    def _remove(self) -> None:
        line = self.sender()
        assert isinstance(line, _Line)
        self._drop(line)
        self.add.setFocus()
        self.changed.emit()

    def _drop(self, line: _Line) -> None:
        self._lines.remove(line)
        self._column.removeWidget(line)
        line.hide()
        line.deleteLater()
