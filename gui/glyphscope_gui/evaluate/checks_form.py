"""The checks of an expected call: a line for each argument, with what it must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QSizePolicy, QWidget

from glyphscope.evals.suites.call_form import ArgumentCheck, CheckKind
from glyphscope_gui.evaluate.check_values import field_text, field_value
from glyphscope_gui.shared.labels import link, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.text_edits import LineEdit

KINDS: tuple[tuple[CheckKind, str, str], ...] = (
    ("equals", tr("equals"), tr("The value: text without quotes, anything else as JSON")),
    ("one_of", tr("is one of"), tr("Values separated by |, or a JSON array")),
    ("matches", tr("matches"), tr("A regular expression that is found in the text")),
    ("schema", tr("matches JSON Schema"), tr("A JSON Schema for the value")),
    ("optional", tr("is ignored"), tr("Optional, with any value")),
)


class _Line(QWidget):
    """One check; `is_text` tells of an argument whether it is a string."""

    changed = Signal()
    removed = Signal()

    def __init__(self, check: ArgumentCheck, arguments: Mapping[str, bool], parent: QWidget) -> None:
        super().__init__(parent)
        self._arguments = arguments
        self.name = QComboBox(self)
        self.name.setAccessibleName(tr("Argument"))
        self.name.addItems([*dict.fromkeys((*arguments, check.name))])
        self.name.setCurrentText(check.name)
        self.kind = QComboBox(self)
        self.kind.setAccessibleName(tr("Check"))
        for kind, words, _tip in KINDS:
            self.kind.addItem(words, kind)
        for box in (self.name, self.kind):
            box.setMinimumWidth(80)  # large letters are cut before the form scrolls sideways
        self.kind.setCurrentIndex(self.kind.findData(check.kind))
        self.value = LineEdit(field_text(check.kind, check.value, is_text=self._is_text), self)
        self.value.setAccessibleName(tr("Value"))
        self.remove = push_button(tr("Remove"), self, role="link")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        for column, part in enumerate((self.name, self.kind, self.value, self.remove)):
            grid.addWidget(part, 0, column)
        grid.setColumnStretch(2, 1)
        self.name.currentIndexChanged.connect(lambda _place: self.changed.emit())
        self.kind.currentIndexChanged.connect(self._kind_changed)
        self.value.textChanged.connect(lambda _text: self.changed.emit())
        self.remove.clicked.connect(self.removed)
        self._show_kind()

    @property
    def _is_text(self) -> bool:
        return self._arguments.get(self.name.currentText(), False)

    def check(self) -> ArgumentCheck:
        """Raises GlyphscopeError where the value cannot be read."""
        kind: CheckKind = self.kind.currentData()
        return ArgumentCheck(
            self.name.currentText(), kind, field_value(kind, self.value.text(), is_text=self._is_text)
        )

    def _kind_changed(self, _place: int) -> None:
        self._show_kind()
        self.changed.emit()

    def _show_kind(self) -> None:
        tip = KINDS[self.kind.currentIndex()][2]
        self.value.setPlaceholderText(tip)
        self.value.setToolTip(tip)
        self.value.setEnabled(self.kind.currentData() != "optional")


class ChecksForm(QWidget):
    """`changed` when the user changes a check."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: list[_Line] = []
        self._arguments: Mapping[str, bool] = {}
        self.add = link(tr("Add a check"), tr("Add a check of another argument"), name="addCheck")
        self._column = vbox((self.add, 0, Qt.AlignmentFlag.AlignLeft), parent=self, spacing=6)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.add.clicked.connect(self._add_next)

    def show_checks(self, checks: tuple[ArgumentCheck, ...], arguments: Mapping[str, Any]) -> None:
        """Other checks; `arguments` are the tool's, with whether each is a string."""
        for line in list(self._lines):
            self._drop(line)
        self._arguments = arguments
        for check in checks:
            self._put(check)
        self._show_add()

    def checks(self) -> tuple[ArgumentCheck, ...]:
        """Raises GlyphscopeError where a value cannot be read."""
        return tuple(line.check() for line in self._lines)

    def _add_next(self) -> None:
        taken = {line.name.currentText() for line in self._lines}
        name = next((name for name in self._arguments if name not in taken), None)
        if name is not None:
            line = self._put(ArgumentCheck(name, "equals", "" if self._arguments[name] else 0))
            line.value.setFocus()
            line.value.selectAll()
            self._show_add()
            self.changed.emit()

    def _put(self, check: ArgumentCheck) -> _Line:
        line = _Line(check, self._arguments, self)
        self._lines.append(line)
        self._column.insertWidget(self._column.indexOf(self.add), line)
        line.changed.connect(self.changed)
        line.removed.connect(self._remove)
        return line

    def _remove(self) -> None:
        line = self.sender()
        assert isinstance(line, _Line)
        self._drop(line)
        self._show_add()
        self.add.setFocus()
        self.changed.emit()

    def _drop(self, line: _Line) -> None:
        self._lines.remove(line)
        self._column.removeWidget(line)
        line.hide()
        line.deleteLater()

    def _show_add(self) -> None:
        self.add.setVisible(len(self._lines) < len(self._arguments))
