"""The form beside the tree: the selected tool, or its selected argument."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget

from glyphscope.grammar.builder.contradictions import Contradiction, contradictions
from glyphscope.registry import Tool
from glyphscope.registry.pointer import readable, to_pointer
from glyphscope_gui.project.registry_document import RegistryDocument
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.enforcement_badge import EnforcementMap
from glyphscope_gui.shared.labels import ElidedLabel, named, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, holder, vbox
from glyphscope_gui.tools.argument_form import ArgumentForm
from glyphscope_gui.tools.keyword_fields import FormGrid, LineField, TextField
from glyphscope_gui.tools.registry_tree_model import Item

MAX_WARNINGS = 8
"""Contradictions of one tool that are listed."""
NOT_APPLIED = tr("Not applied: fix the errors. The last valid version is in use.")


TOO_LONG = tr(
    "This schema is too long to be edited here: its beginning is shown. Export the tools, edit the file, and import it."
)


class _ToolPage(QWidget):
    """Name and description of a tool."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        grid = FormGrid(self)
        vbox(grid, parent=self)
        self.name_field = named(LineField(), role="mono")
        self.description_field = TextField()
        grid.add_row(tr("Name"), self.name_field, tr("The name of the tool, as the model writes it."))
        grid.add_row(
            tr("Description"), self.description_field, tr("The description of the tool that the model sees.")
        )


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
        else:
            self.title.setText(f"{tool.name} · {item.argument}")
            self.argument_form.show_item(item)
        self._look_for_contradictions(tool)
        self._show_enforcement(item)
        self._show_problem(item)

    def _look_for_contradictions(self, tool: Tool) -> None:
        """Find contradictions in the background: building the rules of a large schema takes longer than a frame."""
        if self._tool is not None and (self._tool is tool or self._tool.parameters == tool.parameters):
            return

        def found(contradictions: tuple[Contradiction, ...]) -> None:
            self._contradictions = contradictions
            if self._item is not None:
                self._show_enforcement(self._item)

        self._tool, self._contradictions = tool, ()
        self.background.start("contradictions", lambda: contradictions(tool), found)

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

    def _follow(self, item: Item) -> None:
        self._item = item
