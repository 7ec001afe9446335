"""The template of the next runs and its variables: the one that is used, and the values that are set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Signal

from glyphscope.events import RunRequest, pair_value
from glyphscope.models.template_variables import TemplateVariable, VariableValue
from glyphscope.models.templates import TemplateSource
from glyphscope_gui.project.project_controller import ProjectController
from glyphscope_gui.shared.language import tr
from glyphscope_gui.template.page import TemplatePage
from glyphscope_gui.template.tables import Row, TextCell, on_one_line

_NOTHING = tr("changes nothing in the tried conversations")


def variable_rows(variables: Sequence[TemplateVariable], used: dict[str, Any]) -> list[Row]:
    """A row for each value that was tried, with its change; the values in use are marked."""
    return [
        _row(variable, tried, variable.name if not place else "", used)
        for variable in variables
        for place, tried in enumerate(variable.values)
    ]


def _row(variable: TemplateVariable, tried: VariableValue, name: str, used: dict[str, Any]) -> Row:
    value = pair_value(tried.value)
    if variable.name in used and used[variable.name] == tried.value:
        note = tr("in use")
    else:
        note = tr("default") if variable.default == (tried.value,) else ""
    if tried.changes:
        words = f"{on_one_line(tried.before)} → {on_one_line(tried.after)}"
        change = TextCell(words, f"{tried.before}\n→\n{tried.after}", note=tried.where)
    else:
        change = TextCell("", note=tr("rejected: {error}", error=tried.error) if tried.error else _NOTHING)
    return TextCell(name), TextCell(value, note=note), change


class TemplateChoice(QObject):
    """Sets the project's chat template and variables from the page.

    `nameChosen` carries the name of another template in the same file.
    """

    nameChosen = Signal(str)

    def __init__(self, view: TemplatePage, project: ProjectController, parent: QObject) -> None:
        super().__init__(parent)
        self._view, self._project = view, project
        self._template: TemplateSource | None = None
        self._name: str | None = None
        self._variables: tuple[TemplateVariable, ...] = ()
        view.use_link.clicked.connect(self._use)
        view.own_link.clicked.connect(lambda: project.set_options(chat_template=""))
        view.names.activated.connect(lambda index: self.nameChosen.emit(view.names.itemData(index)))
        view.details.variables.opened.connect(self._toggle)
        view.details.given.edited.connect(lambda values: project.set_options(template_vars=values))
        project.optionsChanged.connect(self._show_options)
        self._show_options(project.options)

    def show_template(
        self, template: TemplateSource | None, variables: Sequence[TemplateVariable] = (), *, name: str | None
    ) -> None:
        """Show the inspected template, and the other ones in its file.

        `name` is its name in the open model, "" for the one that the model uses; None for a template from elsewhere.
        """
        self._template, self._name, self._variables = template, name, tuple(variables)
        names = () if template is None else template.names
        box = self._view.names
        box.clear()
        for each in ("", *names):
            box.addItem(each or tr("the usual template"), each)
        box.setVisible(bool(names))
        box.setCurrentIndex(max(box.findData("" if template is None else template.name), 0))
        self._show_options(self._project.options)

    def _show_options(self, options: RunRequest) -> None:
        view, template = self._view, self._template
        source = "" if template is None else template.source
        is_used = options.chat_template in (source, self._name) if template is not None else True
        view.use_link.setEnabled(not is_used)
        view.own_link.setVisible(bool(options.chat_template))
        view.details.given.show_value(options.template_vars)
        view.details.variables.rows.show_rows(variable_rows(self._variables, options.template_vars))

    def _use(self) -> None:
        """Use the inspected template from now on: by its name if it is one of the open model's."""
        if self._template is not None:
            name = self._template.source if self._name is None else self._name
            self._project.set_options(chat_template=name)

    def _toggle(self, index: QModelIndex) -> None:
        """Set the value of a row, or leave it out if it is set."""
        rows = [(each.name, tried.value) for each in self._variables for tried in each.values]
        if not 0 <= index.row() < len(rows):
            return
        name, value = rows[index.row()]
        values = dict(self._project.options.template_vars)
        if name in values and values[name] == value:
            del values[name]
        else:
            values[name] = value
        self._project.set_options(template_vars=values)
