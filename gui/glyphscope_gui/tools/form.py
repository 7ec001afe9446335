"""The form beside the tree: the selected tool, or its selected argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QScrollArea, QWidget

from glyphscope.base.pointer import readable, to_pointer
from glyphscope.grammar import example_arguments
from glyphscope.grammar.builder.contradictions import Contradiction, contradictions
from glyphscope.registry import Tool
from glyphscope.registry.keywords import CUSTOM
from glyphscope.registry.saving import strict_problems
from glyphscope_gui.calls.arguments import check_arguments
from glyphscope_gui.project import RegistryDocument
from glyphscope_gui.project import argument_schema as schema
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.labels import ElidedLabel, named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, holder, vbox
from glyphscope_gui.shared.settings_grid import ChoiceSetting, FlagSetting
from glyphscope_gui.shared.verdict import Enforcement, EnforcementMap
from glyphscope_gui.tools.keyword_fields import (
    ChoiceField,
    Field,
    FormGrid,
    LineField,
    NumberField,
    ObjectField,
    TextField,
    ValuesField,
)
from glyphscope_gui.tools.tree import Item

MAX_WARNINGS = 8
"""Contradictions of one tool that are listed."""
NOT_APPLIED = tr("Not applied: fix the errors. The last valid version is in use.")


TOO_LONG = tr(
    "This schema is too long to be edited here: its beginning is shown. Export the tools, edit the file, and import it."
)


_Seen: TypeAlias = tuple[tuple[Contradiction, ...], dict[str, Any] | None, str, tuple[str, ...]]


class _ToolPage(QWidget):
    """Name and description of a tool, and its example in the prompt."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        grid = FormGrid(self)
        vbox(grid, parent=self)
        self.name_field = named(LineField(), role="mono")
        self.description_field = TextField()
        self.example_field = named(ObjectField(), role="mono")
        grid.add_row(tr("Name"), self.name_field, tr("The name of the tool, as the model writes it."))
        grid.add_row(
            tr("Description"), self.description_field, tr("The description of the tool that the model sees.")
        )
        hint = tr("The arguments of its example call in the prompt, as JSON. An empty field generates one.")
        grid.add_row(tr("Example"), self.example_field, hint, wide=True)
        self.strict_field = ChoiceSetting(
            [(None, tr("not stated"), ""), (True, tr("on"), ""), (False, tr("off"), "")]
        )
        hint = tr(
            "Whether an endpoint is asked to enforce the schema. A call of a strict tool has no other arguments, "
            "even if the registry allows them."
        )
        grid.add_row(tr("Strict"), self.strict_field, hint)


class ToolForm(QScrollArea):
    """Shows one Item, also after it was renamed here."""

    def __init__(self, document: RegistryDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "toolForm", tr("The selected tool or argument"))
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._document = document
        self._item: Item | None = None
        self._kinds: EnforcementMap = {}
        self._refusal = ""
        """Why the value in a field is invalid; "" if it is valid."""
        self._tool: Tool | None = None
        """The tool whose contradictions are known or being computed."""
        self._contradictions: tuple[Contradiction, ...] = ()
        self._example: dict[str, Any] | None = None
        """The arguments of the example that the prompt has, own or generated; None until they are known."""
        self._unused = ""
        """Why the tool's own example is not used."""
        self._strict: tuple[str, ...] = ()
        """The places of the schema that APIs reject in a strict tool."""
        self.background = Background(self)
        self.title = ElidedLabel(role="title")
        self.tool_page = _ToolPage()
        self.argument_form = ArgumentForm(document)
        self.problem = words_label(role="problem", name="toolFormProblem")
        self.warning = words_label(role="problem", name="toolFormWarning", selectable=True)
        parts = (self.title, self.tool_page, self.argument_form, self.problem, self.warning, STRETCH)
        body = holder(vbox(*parts, margins=(14, 12, 14, 14), spacing=10), self)
        self.setWidget(body)
        body.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)
        self.tool_page.name_field.edited.connect(self._rename)
        self.tool_page.description_field.edited.connect(self._describe)
        self.tool_page.example_field.edited.connect(self._set_example)
        self.tool_page.strict_field.edited.connect(self._set_strict)
        self.tool_page.example_field.valueRejected.connect(self._refuse_example)
        self.argument_form.renaming.connect(self._follow)
        self.argument_form.problemChanged.connect(self._set_refusal)
        for signal in (document.changed, document.textChanged, document.problemsChanged):
            signal.connect(self._refresh)
        self.show_item(None)

    def focus_name(self) -> None:
        """Focus the name field and select its text."""
        page = self.argument_form if self.argument_form.isVisibleTo(self) else self.tool_page
        page.name_field.setFocus(Qt.FocusReason.OtherFocusReason)
        page.name_field.selectAll()
        self.ensureWidgetVisible(page.name_field)

    def show_item(self, item: Item | None) -> None:
        """Show the tool or argument to edit; None if nothing is selected."""
        if item != self._item:
            self._refusal = ""
        self._item = item
        self._refresh()

    def set_enforcement(self, kinds: EnforcementMap) -> None:
        self._kinds = kinds
        self._refresh()

    def _refresh(self, _change: object = None) -> None:
        item = self._item
        tool = self._document.registry.get(item.tool) if item else None
        if item is None or tool is None:
            self.tool_page.hide()
            self.argument_form.hide()
            self.title.setText(tr("Select a tool to edit it."))
            self.problem.hide()
            self.warning.hide()
            return
        self.tool_page.setVisible(item.argument is None)
        self.argument_form.setVisible(item.argument is not None)
        if item.argument is None:
            self.title.setText(tool.name)
            self.tool_page.name_field.show_value(tool.name)
            self.tool_page.description_field.show_value(tool.description)
            self.tool_page.strict_field.show_value(tool.strict)
            self.tool_page.strict_field.setEnabled(tool.format is None)
        else:
            self.title.setText(f"{tool.name} · {item.argument}")
            self.argument_form.show_item(item)
        self._look_into(tool)
        self._show_enforcement(item)
        self._show_problem(item)

    def _look_into(self, tool: Tool) -> None:
        """Find contradictions and the example in the background: both take longer than a frame for a large schema."""
        if self._tool is not None and self._tool == replace(tool, description=self._tool.description):
            return self._show_example(tool)

        own = self._document.example(tool.name)

        def look() -> _Seen:
            problem = "" if own is None else check_arguments(tool, own).words
            example = example_arguments(tool.parameters, tool.input_examples)
            return contradictions(tool), example, problem, strict_problems(tool)

        def found(result: _Seen) -> None:
            self._contradictions, self._example, self._unused, self._strict = result
            if self._item is not None:
                self._show_enforcement(self._item)
                self._show_example(tool)
                self._show_problem(self._item)

        self._tool, self._contradictions, self._example, self._unused, self._strict = tool, (), None, "", ()
        self.background.start("schema", look, found)
        return self._show_example(tool)

    def _show_example(self, tool: Tool) -> None:
        field = self.tool_page.example_field
        field.show_value(self._document.example(tool.name) or self._example)
        if self._document.is_long(tool.name):
            field.setReadOnly(True)

    def _show_enforcement(self, item: Item) -> None:
        """Show the enforcement of the argument's constraints, and the parts of the schema that can never match."""
        place = "" if item.argument is None else to_pointer(("properties", item.argument))
        here = [one for one in self._contradictions if f"{one.pointer}/".startswith(f"{place}/")]
        if item.argument is not None:
            kinds = {pointer: kind for (name, pointer), kind in self._kinds.items() if name == item.tool}
            kinds |= dict.fromkeys((one.pointer for one in here), "contradiction")
            self.argument_form.set_enforcement(kinds)
        lines = [
            f"{readable(one.pointer.removeprefix(place).removeprefix('/properties'))}: {one.message}".removeprefix(
                ": "
            )
            for one in here
        ]
        if item.argument is None:
            lines += (tr("Strict: {problem}", problem=problem) for problem in self._strict)
        show_words(self.warning, "\n".join(lines[:MAX_WARNINGS]))

    def _show_problem(self, item: Item) -> None:
        """Show why a field's value is invalid, or the problems of the schema as typed."""
        found = self._document.problems.get(item.tool, ())
        text = self._refusal
        if not text and found:
            first = found[0]
            place = first.pointer.removeprefix("/properties/").replace("/", " · ")
            place = place or tr("Schema, line {line}", line=first.line)
            text = f"{place}: {first.message}\n{NOT_APPLIED}"
        if not text and item.argument is None and self._unused:
            text = tr("Example: {problem}. The prompt has another one.", problem=self._unused.rstrip("."))
        if not text and item.argument is not None and self._document.is_long(item.tool):
            text = TOO_LONG
        show_words(self.problem, text)

    def _set_refusal(self, reason: str) -> None:
        self._refusal = reason
        if self._item is not None:
            self._show_problem(self._item)

    def _rename(self, name: str | None) -> None:
        if self._item is None:
            return
        problem = self._document.name_problem(self._item.tool, name or "")
        self.tool_page.name_field.set_refused(bool(problem))
        self._set_refusal(
            tr("Name: {problem} The last valid name is in use.", problem=problem) if problem else ""
        )
        if not problem and name:
            old, self._item = self._item, Item(name)
            self._document.rename(old.tool, name)

    def _describe(self, text: str | None) -> None:
        if self._item is not None:
            self._document.set_description(self._item.tool, text or "")

    def _set_example(self, arguments: dict[str, Any] | None) -> None:
        if self._item is not None:
            self._set_refusal("")
            self._document.set_example(self._item.tool, arguments)

    def _set_strict(self, strict: bool | None) -> None:
        if self._item is not None:
            self._document.set_strict(self._item.tool, strict)

    def _refuse_example(self, reason: str) -> None:
        self._set_refusal(tr("Example: {reason} The last valid value is in use.", reason=reason))

    def _follow(self, item: Item) -> None:
        self._item = item


Kind = Literal["text", "words", "number", "count", "values", "flag", "format", "items"]


class KeywordInput(NamedTuple):
    """`name` is the keyword of JSON Schema; `types` are the types that can have it, empty for all."""

    name: str
    label: str
    kind: Kind
    types: tuple[str, ...]
    hint: str
    example: str = ""


_NUMBERS = ("integer", "number")
_HIDDEN_VALUES = frozenset({"$ref", "const", *schema.COMBINATIONS})
"""Keywords beside which an empty list of values would be a false statement."""

KEYWORDS = (
    KeywordInput("minimum", tr("Minimum"), "number", _NUMBERS, tr("The smallest allowed number (minimum).")),
    KeywordInput("maximum", tr("Maximum"), "number", _NUMBERS, tr("The largest allowed number (maximum).")),
    KeywordInput(
        "minLength", tr("Min length"), "count", ("string",), tr("The minimum number of characters (minLength)."),
    ),
    KeywordInput(
        "maxLength", tr("Max length"), "count", ("string",), tr("The maximum number of characters (maxLength)."),
    ),
    KeywordInput(
        "pattern", tr("Pattern"), "text", ("string",),
        tr("A regular expression that must match in the text; anchor it with ^ and $ (pattern)."), "^https?://",
    ),
    KeywordInput(
        "format", tr("Format"), "format", ("string",),
        tr("A predefined format of the text, such as a date (format)."),
    ),
    KeywordInput("items", tr("Items"), "items", ("array",), tr("The type of every item (items).")),
    KeywordInput("minItems", tr("Min items"), "count", ("array",), tr("The minimum number of items (minItems).")),
    KeywordInput("maxItems", tr("Max items"), "count", ("array",), tr("The maximum number of items (maxItems).")),
    KeywordInput(
        "uniqueItems", tr("Unique items"), "flag", ("array",), tr("All items must be different (uniqueItems)."),
    ),
    KeywordInput(
        "enum", tr("Enum"), "values", ("string", *_NUMBERS, ""),
        tr("The allowed values, separated by commas (enum)."), tr("low, high"),
    ),
    KeywordInput(
        CUSTOM, tr("Grammar"), "words", ("string",),
        tr("A constraint then writes exactly the texts of this grammar (x-grammar)."),
        r'"\"" [a-z ]+ "\""',
    ),
)  # fmt: skip


def offered(kind: str, keyword: KeywordInput) -> bool:
    """Whether an argument of type `kind` can have the keyword."""
    return kind in keyword.types


def keyword_field(keyword: KeywordInput) -> Field:
    """The field that edits a keyword's value."""
    match keyword.kind:
        case "number" | "count":
            field: Field = NumberField(whole=keyword.kind == "count")
        case "values":
            field = ValuesField()
        case "flag":
            field = FlagSetting()
        case "words":
            field = TextField()
        case "format":
            field = ChoiceField(schema.FORMATS, none=tr("any"))
        case "items":
            field = ChoiceField(schema.TYPES, none=tr("any"))
        case _:
            field = LineField()
    if isinstance(field, LineField | TextField):
        field.setPlaceholderText(keyword.example or "–")
        field.setProperty("role", "mono")
    return field


def _shown_items(items: Any, parameters: dict[str, Any]) -> tuple[Any, str]:
    """The value of the field for `items`, and its words: a type alone is a choice, any other schema is kept."""
    if items is None or items is True or items == {}:
        return None, ""
    if isinstance(items, dict) and items.keys() == {"type"} and isinstance(items["type"], str):
        return items["type"], ""
    return items, schema.summary(items, parameters)


class ArgumentForm(QWidget):
    """Edits one argument of the document's tool; shows the text as typed, even while it is invalid.

    `renaming` carries an Item with the argument's new name, before the document is changed. `problemChanged` carries
    why a field's value is invalid, "" if all are valid.
    """

    renaming = Signal(object)
    problemChanged = Signal(object)

    def __init__(self, document: RegistryDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._item: Item | None = None
        self.grid = grid = FormGrid(self)
        vbox(grid, parent=self)
        self.name_field = LineField()
        self.name_field.setProperty("role", "mono")
        self.type_field = ChoiceField(schema.TYPES)
        self.required_field = FlagSetting()
        self.description_field = TextField()
        grid.add_row(
            tr("Name"), self.name_field, tr("The name of the argument, as the model writes it."), wide=True
        )
        self._type_row = grid.add_row(tr("Type"), self.type_field, tr("The type of the value."))
        self.keyword_rows = {
            keyword: grid.add_row(
                keyword.label, keyword_field(keyword), keyword.hint, wide=keyword.kind == "words"
            )
            for keyword in KEYWORDS
        }
        self._syntax_row = grid.add_row(
            tr("Syntax"),
            ChoiceField(schema.SYNTAXES, none=tr("none")),
            tr(
                "GBNF describes the value as it is written, with its quotes; Lark and a regular expression describe "
                "the text of a string, as in OpenAI’s custom tools."
            ),
        )
        self._required_row = grid.add_row(
            tr("Required"), self.required_field, tr("A call without this argument is invalid.")
        )
        grid.add_row(
            tr("Description"), self.description_field, tr("The description that the model sees."), wide=True
        )
        self.name_field.edited.connect(self._rename)
        self.type_field.edited.connect(self._set_type)
        self.required_field.edited.connect(self._set_required)
        self.description_field.edited.connect(partial(self._set_keyword, "description"))
        self._syntax_row.field.edited.connect(self._set_syntax)
        for keyword, row in self.keyword_rows.items():
            edit = self._set_grammar if keyword.name == CUSTOM else partial(self._set_keyword, keyword.name)
            row.field.edited.connect(edit)
            if isinstance(row.field, LineField):
                row.field.valueRejected.connect(partial(self._refuse, keyword.label))

    def show_item(self, item: Item) -> None:
        """Show this argument, or show it again after an edit."""
        argument = item.argument or ""
        if self._item != item and self._item is not None:
            self.problemChanged.emit("")
        self._item = item
        self.grid.setEnabled(not self._document.is_long(item.tool))
        parameters, values = self._parameters(), self._values()
        self.name_field.show_value(argument)
        self.type_field.show_value(values.get("type"))
        has_choices = _HIDDEN_VALUES.isdisjoint(values)
        self.required_field.show_value(argument in schema.required(parameters))
        self.description_field.show_value(values.get("description"))
        for keyword, row in self.keyword_rows.items():
            suits = offered(schema.type_of(values), keyword) and (keyword.kind != "values" or has_choices)
            row.set_visible(suits or keyword.name in values)
            value = values.get(keyword.name)
            if keyword.name == CUSTOM:
                syntax, value = schema.grammar_of(values)
                self._syntax_row.field.show_value(syntax or None)
                self._syntax_row.set_visible(suits or keyword.name in values)
            if keyword.kind == "items" and isinstance(row.field, ChoiceField):
                row.field.show_value(*_shown_items(value, parameters))
            else:
                row.field.show_value(value)

    def set_enforcement(self, kinds: Mapping[str, Enforcement]) -> None:
        """Set the enforcement of each constraint, by JSON Pointer into the tool's parameters."""
        if self._item is None or self._item.argument is None:
            return
        place = to_pointer(("properties", self._item.argument))
        self._type_row.badge.set_kind(kinds.get(place) or kinds.get(f"{place}/type"))
        needed = self.required_field.isChecked()
        self._required_row.badge.set_kind(kinds.get("/required") if needed else None)
        for keyword, row in self.keyword_rows.items():
            row.badge.set_kind(kinds.get(f"{place}/{keyword.name}") if row.field.isVisibleTo(self) else None)

    # -- edits -------------------------------------------------------------------------------------------------

    def _put(self, parameters: dict[str, Any], key: str) -> None:
        if self._item is not None:
            self.problemChanged.emit("")
            self._document.set_parameters(self._item.tool, parameters, f"{self._item.argument} {key}")

    def _values(self) -> dict[str, Any]:
        """The schema of the argument."""
        values = schema.arguments(self._parameters()).get(self._argument())
        return values if isinstance(values, dict) else {}

    def _parameters(self) -> dict[str, Any]:
        return self._document.shown_parameters(self._item.tool if self._item else "")

    def _rename(self, name: str | None) -> None:
        if self._item is None or name == self._item.argument:
            self.problemChanged.emit("")
            return
        parameters = self._parameters()
        if not name or name in schema.arguments(parameters):
            self.name_field.set_refused(True)
            self.problemChanged.emit(
                tr("Name: another argument has this name.") if name else tr("Name: required.")
            )
            return
        old, self._item = self._item, Item(self._item.tool, name)
        renamed = schema.renamed(parameters, old.argument or "", name)
        self.problemChanged.emit("")
        place = list(schema.arguments(renamed)).index(name)
        self.renaming.emit(self._item)
        self._document.set_parameters(old.tool, renamed, f"argument {place} name")

    def _set_type(self, kind: Any) -> None:
        if isinstance(kind, str):
            self._put(schema.with_type(self._parameters(), self._argument(), kind), "")

    def _set_required(self, needed: bool) -> None:
        self._put(schema.with_required(self._parameters(), self._argument(), needed), "")

    def _set_keyword(self, name: str, value: Any) -> None:
        if name == "items" and isinstance(value, str):
            value = {"type": value}
        elif value is False:  # from a flag that is not set
            value = None
        self._put(schema.with_keyword(self._parameters(), self._argument(), name, value), name)

    def _set_grammar(self, text: str | None) -> None:
        syntax = schema.grammar_of(self._values())[0]
        syntax = syntax if syntax in schema.SYNTAXES else schema.SYNTAXES[0]
        self._put(schema.with_grammar(self._parameters(), self._argument(), syntax, text or ""), CUSTOM)

    def _set_syntax(self, syntax: str | None) -> None:
        text = schema.grammar_of(self._values())[1]
        self._put(schema.with_grammar(self._parameters(), self._argument(), syntax or "", text), "syntax")

    def _refuse(self, label: str, reason: str) -> None:
        self.problemChanged.emit(
            tr("{label}: {reason} The last valid value is in use.", label=label, reason=reason)
        )

    def _argument(self) -> str:
        return (self._item.argument if self._item else None) or ""
