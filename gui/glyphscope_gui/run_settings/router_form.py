"""The settings of route-execute: the router's information beside the tools' names, and both prompts."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu, QWidget

from glyphscope.events import RouterSettings
from glyphscope.prompting.strategies import strategy_preset
from glyphscope.strategies.routing.candidates import router_preset, router_presets
from glyphscope_gui.run_settings.strategy_texts import lines_of, named_lists
from glyphscope_gui.shared.labels import PlainLabel, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.settings_grid import LinesSetting, NumberSetting, StructForm


class RouterForm(StructForm):
    """A field for each of RouterSettings, and the bundled settings that fill them in."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(RouterSettings(), 1, parent)
        menu = QMenu(self)
        for name in router_presets():
            menu.addAction(name).triggered.connect(
                lambda _on=False, name=name: self._notify(router_preset(name))
            )
        tip = tr("Bundled settings for the registry of that name")
        self.presets_button = push_button(tr("Fill in"), self, tip=tip)
        self.presets_button.setMenu(menu)
        note = PlainLabel(tr("The router sees the names of the tools, not their arguments."), self, "hint")
        line = hbox(self.presets_button, (note, 1), spacing=10)
        self._fill()
        vbox(line, self.grid, parent=self, spacing=8)

    def _fill(self) -> None:
        rules = LinesSetting(_lines, "\n".join, tr("For general questions, choose no tool."))
        self._add("rules", tr("Rules"), rules, tr("Rules for the router, one per line"))
        synonyms = LinesSetting(named_lists, lines_of, tr("search: look up, find on the web"))
        self._add(
            "synonyms",
            tr("Synonyms"),
            synonyms,
            tr("Phrases for each tool, one tool per line: `tool: phrase, phrase`"),
        )
        names = LinesSetting(named_lists, lines_of, tr("city: Paris, London"))
        self._add(
            "names",
            tr("Known names"),
            names,
            tr("Names to find in the prompt before routing: `kind: name, name`"),
        )
        answers = LinesSetting(_lines, "\n".join, tr("ask me during the run"))
        self._add(
            "answers", tr("Answers"), answers, tr("Answers to the router’s questions, in order, one per line")
        )
        self._add(
            "max_questions",
            tr("Questions"),
            NumberSetting(0, 100),
            tr("Maximum number of questions from the router"),
        )
        for name, title in (("router", tr("Router prompt")), ("executor", tr("Executor prompt"))):
            field = LinesSetting(_template, _template_text, tr("the preset “{preset}”", preset=name))
            field.document().setDocumentMargin(4)
            tip = tr(
                "A custom template that replaces the preset:\n\n{template}",
                template=strategy_preset(name),
            )
            self._add(f"{name}_system", title, field, tip)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _template(text: str) -> str | None:
    """The custom template; None for the preset's."""
    return text if text.strip() else None


def _template_text(value: str | None) -> str:
    return value or ""
