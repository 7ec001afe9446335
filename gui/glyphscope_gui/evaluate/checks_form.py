"""The checks of an expected call: a line for each argument, with the condition on its value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtWidgets import QComboBox, QWidget

from glyphscope.evals.suites.call_form import ArgumentCheck, CheckKind
from glyphscope_gui.evaluate.check_values import field_text, field_value
from glyphscope_gui.evaluate.lines_form import MIN_BOX, FormLine, LinesForm
from glyphscope_gui.shared.labels import link, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox
from glyphscope_gui.shared.text_edits import LineEdit

KINDS: tuple[tuple[CheckKind, str, str], ...] = (
    ("equals", tr("equals"), tr("The value: text without quotes, anything else as JSON")),
    ("one_of", tr("is one of"), tr("Values separated by |, or a JSON array")),
    ("matches", tr("matches"), tr("A regular expression that is found in the text")),
    ("schema", tr("matches JSON Schema"), tr("A JSON Schema for the value")),
    ("optional", tr("is ignored"), tr("Optional, with any value")),
)
"""The kinds of checks: value, words, and the hint in the field of the value."""


class _Line(FormLine):
    """One check; `arguments` maps each argument to whether it is a string."""

    def __init__(self, check: ArgumentCheck, arguments: Mapping[str, bool], parent: QWidget) -> None:
        super().__init__(parent)
        self._arguments = arguments
        self.name = named(QComboBox(self), words=tr("Argument"))
        self.name.addItems([*dict.fromkeys((*arguments, check.name))])
        self.name.setCurrentText(check.name)
        self.name.setMinimumWidth(MIN_BOX)
        self.kind = self.choice_box(tr("Check"), KINDS, check.kind)
        self.value = LineEdit(field_text(check.kind, check.value, is_text=self._is_text), self)
        self.value.setAccessibleName(tr("Value"))
        hbox(self.name, self.kind, (self.value, 1), self.remove, parent=self, spacing=8)
        self.name.currentIndexChanged.connect(lambda _place: self.changed.emit())
        self.kind.currentIndexChanged.connect(self._kind_changed)
        self.value.textChanged.connect(lambda _text: self.changed.emit())
        self._show_kind()

    @property
    def _is_text(self) -> bool:
        return self._arguments.get(self.name.currentText(), False)

    def check(self) -> ArgumentCheck:
        """Raises GlyphscopeError if the value cannot be read."""
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


class ChecksForm(LinesForm[_Line]):
    """The checks of a call."""

    def __init__(self, parent: QWidget | None = None) -> None:
        add = link(tr("Add a check"), tr("Add a check of another argument"), name="addCheck")
        super().__init__(add, 6, parent)
        self._arguments: Mapping[str, bool] = {}
        self.add.clicked.connect(self._add_next)

    def show_checks(self, checks: tuple[ArgumentCheck, ...], arguments: Mapping[str, Any]) -> None:
        """Show these checks; `arguments` maps each of the tool's arguments to whether it is a string."""
        self._clear()
        self._arguments = arguments
        for check in checks:
            self._put(_Line(check, arguments, self))
        self._show_add()

    def checks(self) -> tuple[ArgumentCheck, ...]:
        """Raises GlyphscopeError if a value cannot be read."""
        return tuple(line.check() for line in self._lines)

    def _add_next(self) -> None:
        checked = {line.name.currentText() for line in self._lines}
        name = next((name for name in self._arguments if name not in checked), None)
        if name is not None:
            check = ArgumentCheck(name, "equals", "" if self._arguments[name] else 0)
            line = self._put(_Line(check, self._arguments, self))
            line.value.setFocus()
            line.value.selectAll()
            self._show_add()
            self.changed.emit()

    def _drop(self, line: _Line) -> None:
        super()._drop(line)
        self._show_add()

    def _show_add(self) -> None:
        self.add.setVisible(len(self._lines) < len(self._arguments))
