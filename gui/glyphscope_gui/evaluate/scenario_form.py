"""Edits one scenario: its prompt and its correct call as a form, or as JSON if a form cannot show it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QLineEdit, QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.structs import ready
from glyphscope.evals.suites.call_form import (
    ArgumentCheck,
    CallChecks,
    CheckKind,
    assertion_lines,
    call_of,
    form_of,
    with_assertions,
)
from glyphscope.evals.suites.reading import given_answer
from glyphscope.evals.suites.suite import Scenario
from glyphscope.events import ANSWER_CHOICES, CALL, Answer, AnswerKind, ExpectedCall, FinalText
from glyphscope.registry import Tool, ToolRegistry
from glyphscope_gui.evaluate.assertions_form import (
    MAX_LINES,
    MIN_BOX,
    AssertionsForm,
    FormLine,
    LinesForm,
    field_text,
    field_value,
    loose_text,
    loose_value,
)
from glyphscope_gui.shared.labels import link, named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, holder, stack, vbox
from glyphscope_gui.shared.plain_text import document_part, is_long
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.settings_grid import translated
from glyphscope_gui.shared.text_edits import GrowingEdit, LineEdit, WrappingEdit
from glyphscope_gui.theme import mono_font, use_font

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

    def removal(self, number: int) -> str:
        return tr("Remove check {number}", number=number)

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


FORM, JSON = "form", "json"
NO_CALL, ANY_CALLS = "", "*"
"""Values in place of a tool's name, which is never empty: no call is allowed, or any, which assertions judge."""


class ScenarioForm(QWidget):
    """`changed` is emitted when the user changes anything."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scenario: Scenario | None = None
        self._tools: dict[str, Tool] = {}
        self._showing = False
        self._simple = True
        """Whether the form can show the expected call."""
        self._plain = True
        """Whether the form can show the assertions."""
        self._answer = CALL
        self._suite_answer: Answer | None = None
        self._plain_final = True
        """Whether the form can show the rules for an answer that is not a call."""
        self._long = False
        """Whether the scenario is too long to be edited: the beginning of its JSON is shown."""
        self.views = Segmented(
            (
                (FORM, tr("Form"), tr("The common fields of a scenario")),
                (JSON, tr("JSON"), tr("The whole scenario, as in the file")),
            ),
            small=True,
            parent=self,
        )
        self.views.setAccessibleName(tr("Form or JSON"))
        self.id_edit = _line(tr("Name of the scenario"), "scenarioId")
        self.group_edit = _line(tr("Group"), "scenarioGroup")
        self.prompt_edit = named(WrappingEdit(self), "scenarioPrompt", tr("Prompt"))
        self.prompt_edit.setTabChangesFocus(True)
        self.prompt_edit.setMaximumHeight(96)
        self.answer_box = named(QComboBox(self), "scenarioAnswerKind", tr("Answer"))
        for value, words, _hint in translated(ANSWER_CHOICES):
            self.answer_box.addItem(words, value)
        self.answer_edit = named(GrowingEdit(MAX_LINES, self), "scenarioAnswer", tr("Text of the answer"))
        self.answer_edit.setPlaceholderText(
            tr("The schema, the pattern, the texts (one per line) or the grammar")
        )
        self.right_edit = _line(tr("Right answer"), "scenarioRight")
        self.right_edit.setPlaceholderText(
            tr("A text, or the value of a schema as JSON; empty: any valid answer")
        )
        self.tool_box = named(QComboBox(self), "scenarioTool", tr("Expected call"))
        self.checks = ChecksForm(self)
        self.others_box = QCheckBox(tr("Other arguments are allowed"), self)
        self.loose_box = QCheckBox(tr("Ignore case and white space"), self)
        self.complex_label = words_label(
            tr("The expected call is too complex for a form: edit it as JSON."), parent=self
        )
        self.complex_answer = words_label(
            tr("The rules for the answer are too complex for a form: edit them as JSON."), parent=self
        )
        self.assertions = AssertionsForm(self)
        self.complex_assertions = words_label(
            tr("The assertions are too complex for a form: edit them as JSON."), parent=self
        )
        self.long_label = words_label(
            tr(
                "This scenario is too long to be edited here: its beginning is shown. Edit the file of the suite."
            ),
            "problem",
            self,
        )
        self.long_label.hide()
        self.json_edit = named(WrappingEdit(self), "scenarioJson", tr("The scenario as JSON"))
        self.json_edit.setTabChangesFocus(True)
        use_font(self.json_edit, mono_font, -0.5)
        self._lay_out()
        self._connect()

    # -- what is shown -----------------------------------------------------------------------------------------

    def show_scenario(
        self, scenario: Scenario, registry: ToolRegistry | None, suite_answer: Answer | None = None
    ) -> None:
        """Show another scenario; with `registry` None its tools cannot be read, and only the JSON is shown.
        `suite_answer` is the suite's.
        """
        self._showing = True
        self._answer = scenario.answer or suite_answer or CALL
        self._suite_answer = suite_answer
        self._scenario = scenario
        document = msgspec.to_builtins(scenario)
        self._show_long(document) if is_long(document) else self._show_fields(scenario, registry)
        self._showing = False

    def _show_long(self, document: dict[str, Any]) -> None:
        self._long = True
        self.json_edit.setPlainText(document_part(document))
        self._show_as(JSON)

    def _show_as(self, view: str) -> None:
        """Show the form or the JSON, which is all that there is of a long scenario."""
        self.views.setEnabled(not self._long)
        self.long_label.setVisible(self._long)
        self.json_edit.setReadOnly(self._long)
        self.views.set_value(view)
        self.stack.setCurrentIndex(0 if view == FORM else 1)

    def _show_fields(self, scenario: Scenario, registry: ToolRegistry | None) -> None:
        if self._long:
            self._long = False
            self._show_as(FORM)
        self._tools = {} if registry is None else {tool.name: tool for tool in registry.allowed}
        self.id_edit.setText(scenario.id)
        self.group_edit.setText(scenario.group)
        self.prompt_edit.setPlainText(scenario.prompt)
        self.json_edit.setPlainText(_as_json(scenario))
        calls = scenario.expect.calls
        form = form_of(calls[0]) if len(calls) == 1 else None
        simple = not calls or (form is not None and form.tool in self._tools)
        self.tool_box.clear()
        self.tool_box.addItem(tr("No call"), NO_CALL)
        self.tool_box.addItem(tr("Any calls, or none"), ANY_CALLS)
        for name in self._tools:
            self.tool_box.addItem(name, name)
        any_calls = scenario.expect.extra_calls and not calls
        self._show_call(form or CallChecks(ANY_CALLS if any_calls else NO_CALL, others=True))
        lines = assertion_lines(scenario.expect)
        self._plain = lines is not None
        self.assertions.show_lines(lines or ())
        self.assertions.setVisible(self._plain)
        self.complex_assertions.setVisible(not self._plain)
        self._simple = simple
        self._show_answer(scenario.expect.final)

    def scenario(self) -> Scenario:
        """Return the edited scenario. Raises GlyphscopeError if a field cannot be read."""
        assert self._scenario is not None
        if self._long:
            return self._scenario
        if self.views.value == JSON:
            return _of_json(self.json_edit.toPlainText())
        expect = self._scenario.expect
        answer = self._edited_answer()
        if not answer.is_call:
            expect = msgspec.structs.replace(expect, calls=(), extra_calls=False, final=self._final(answer))
        elif self._simple:
            final = expect.final if self._answer.is_call else None
            expect = msgspec.structs.replace(
                expect, calls=self._calls(), extra_calls=self._extra_calls(), final=final
            )
        if self._plain:
            expect = with_assertions(expect, self.assertions.lines())
        return msgspec.structs.replace(
            self._scenario,
            id=self.id_edit.text().strip(),
            group=self.group_edit.text().strip(),
            prompt=self.prompt_edit.toPlainText(),
            expect=expect,
            answer=self._scenario.answer if answer == self._answer else answer,
        )

    def _edited_answer(self) -> Answer:
        kind: AnswerKind = self.answer_box.currentData()
        return CALL if kind == "call" else Answer(kind, self.answer_edit.toPlainText())

    def _final(self, answer: Answer) -> FinalText | None:
        """Return the rules for an answer that is not a call. Raises GlyphscopeError."""
        assert self._scenario is not None
        if not self._plain_final:
            return self._scenario.expect.final
        if not (text := self.right_edit.text()):
            return None
        value = loose_value("equals", text) if answer.kind == "schema" else text
        return FinalText(equals=value, folded=self.loose_box.isChecked())

    def _show_answer(self, final: FinalText | None) -> None:
        """Show the answer and the rules for one that is not a call."""
        self._plain_final = final is None or final == FinalText(equals=final.equals, folded=final.folded)
        self.answer_box.setCurrentIndex(self.answer_box.findData(self._answer.kind))
        self.answer_edit.setPlainText(self._answer.text)
        right = "" if final is None or final.equals is msgspec.UNSET else final.equals
        is_value = self._answer.kind == "schema" and right != ""
        self.right_edit.setText(loose_text("equals", right) if is_value else str(right))
        if final is not None and not self._answer.is_call:
            self.loose_box.setChecked(final.folded)
        self._show_parts()

    def _show_parts(self) -> None:
        """Show the fields of a call, or those of another answer."""
        is_call = self.answer_box.currentData() == "call"
        call, final = is_call and self._simple, not is_call and self._plain_final
        for row, is_shown in (
            (self.answer_edit, not is_call),
            (self.right_edit, final),
            (self.tool_box, call),
        ):
            self.rows.setRowVisible(row, is_shown)
        for part, is_shown in (
            (self.checks, call),
            (self.others_box, call),
            (self.loose_box, call or final),
            (self.complex_label, is_call and not self._simple),
            (self.complex_answer, not is_call and not self._plain_final),
        ):
            part.setVisible(is_shown)
        self._enable_call()

    def _calls(self) -> tuple[ExpectedCall, ...]:
        tool = self.tool_box.currentData()
        if tool in (NO_CALL, ANY_CALLS):
            return ()
        others, loose = self.others_box.isChecked(), self.loose_box.isChecked()
        form = CallChecks(tool, self.checks.checks(), others, loose)
        assert self._scenario is not None
        before = self._scenario.expect.calls
        return before if before and form == form_of(before[0]) else (call_of(form),)

    def _extra_calls(self) -> bool:
        """Return whether calls besides the expected one are allowed: as in the suite."""
        assert self._scenario is not None
        tool, before = self.tool_box.currentData(), self._scenario.expect
        return tool == ANY_CALLS or (tool != NO_CALL and bool(before.calls) and before.extra_calls)

    def _show_call(self, form: CallChecks) -> None:
        self.tool_box.setCurrentIndex(max(self.tool_box.findData(form.tool), 0))
        self.checks.show_checks(form.checks, self._arguments(form.tool))
        self.others_box.setChecked(form.others)
        self.loose_box.setChecked(form.folded)
        self._enable_call()

    def _arguments(self, tool: str) -> dict[str, bool]:
        known = self._tools.get(tool)
        properties = {} if known is None else known.parameters.get("properties", {})
        return {
            name: isinstance(schema, dict) and schema.get("type") == "string"
            for name, schema in properties.items()
        }

    def _enable_call(self) -> None:
        has_tool = self.tool_box.currentData() not in (NO_CALL, ANY_CALLS)
        for part in (self.checks, self.others_box, self.loose_box):
            part.setEnabled(has_tool)
        if self.answer_box.currentData() != "call":
            self.loose_box.setEnabled(True)

    def _tool_chosen(self, _place: int) -> None:
        """Show the arguments of the chosen tool, which has no checks yet."""
        tool = self.tool_box.currentData()
        self.checks.show_checks((), self._arguments(tool))
        self._enable_call()
        self._notify()

    def _show_view(self, view: str) -> None:
        """Switch between the form and the JSON, with the edits; invalid JSON stays in its view."""
        self.views.set_value(JSON if view == FORM else FORM)
        try:
            edited = self.scenario()
        except GlyphscopeError:
            self._notify()
            return
        self._show_as(view)
        registry = ToolRegistry(tuple(self._tools.values())) if self._tools else None
        self.show_scenario(edited, registry, self._suite_answer)

    def _kind_chosen(self, _place: int) -> None:
        self._show_parts()
        self._notify()

    def _notify(self) -> None:
        if not self._showing:
            self.changed.emit()

    def _connect(self) -> None:
        for edit in (self.id_edit, self.group_edit, self.right_edit):
            edit.textChanged.connect(lambda _text: self._notify())
        for text in (self.prompt_edit, self.json_edit, self.answer_edit):
            text.textChanged.connect(self._notify)
        for box in (self.others_box, self.loose_box):
            box.toggled.connect(lambda _on: self._notify())
        self.answer_box.activated.connect(self._kind_chosen)
        self.tool_box.activated.connect(self._tool_chosen)
        self.checks.changed.connect(self._notify)
        self.assertions.changed.connect(self._notify)
        self.views.chosen.connect(self._show_view)

    def _lay_out(self) -> None:
        fields = QWidget(self)
        form = self.rows = QFormLayout(fields)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(14)
        form.setVerticalSpacing(9)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        form.addRow(tr("Name"), self.id_edit)
        form.addRow(tr("Group"), self.group_edit)
        form.addRow(tr("Prompt"), self.prompt_edit)
        form.addRow(tr("Answer"), self.answer_box)
        form.addRow(tr("Text of the answer"), self.answer_edit)
        form.addRow(tr("Right answer"), self.right_edit)
        form.addRow(tr("Expected call"), self.tool_box)
        form.addRow("", self.checks)
        form.addRow("", self.others_box)
        form.addRow("", self.loose_box)
        form.addRow("", self.complex_label)
        form.addRow("", self.complex_answer)
        form.addRow(tr("Assertions"), self.assertions)
        form.addRow("", self.complex_assertions)
        top = holder(vbox(fields, STRETCH), self)
        self.stack = stack(top, self.json_edit)
        vbox(self.views, self.long_label, (self.stack, 1), parent=self, spacing=10)


def _line(words: str, name: str) -> QLineEdit:
    return named(LineEdit(), name, words)


def _as_json(scenario: Scenario) -> str:
    return json.dumps(msgspec.to_builtins(scenario), ensure_ascii=False, indent=1)


def _of_json(text: str) -> Scenario:
    """Raises GlyphscopeError."""
    try:
        document = json.loads(text)
        given = document.get("answer") if isinstance(document, dict) else None
        if isinstance(given, str) or (isinstance(given, dict) and "schema" in given):
            document["answer"] = msgspec.to_builtins(given_answer(given, _no_file))
        return msgspec.convert(document, ready(Scenario))
    except (ValueError, RecursionError) as error:
        raise GlyphscopeError(tr("Not a scenario: {why}.", why=str(error))) from None


def _no_file(name: str) -> str:
    raise GlyphscopeError(
        tr("{name} is read only from the file of a suite. Write the text itself.", name=name)
    )
