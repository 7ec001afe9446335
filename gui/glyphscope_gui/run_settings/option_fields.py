"""The fields of a run's options, and the texts of those that are lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from glyphscope.base.shorten import shorten
from glyphscope.events import ApprovalRule, pairs_line, read_pairs_line
from glyphscope.runs.strategies.loop.presets import loop_presets
from glyphscope.runs.transforming import TRANSFORMS
from glyphscope.tools.approval import ApprovalError, parse_approvals
from glyphscope_gui.run_settings.options import OPTIONS
from glyphscope_gui.shared.language import in_language, tr
from glyphscope_gui.shared.run_words import STRATEGIES
from glyphscope_gui.shared.settings_grid import (
    ChoiceSetting,
    FormRow,
    LinesSetting,
    OfSetting,
    TextSetting,
    setting_field,
    setting_tip,
)


class ChecksSetting(OfSetting, QPushButton):
    """Some of several names, in the menu of a button; `choices` are the name and hint of each. Chosen names keep their
    order, and a new one is the last.
    """

    edited = Signal(object)
    is_wide = True

    def __init__(self, choices: Iterable[tuple[str, str]]) -> None:
        super().__init__()
        menu = QMenu(self, toolTipsVisible=True)
        self.setMenu(menu)
        self.setProperty("role", "field")
        for name, about in choices:
            action = QAction(name, menu, checkable=True, toolTip=about)
            action.triggered.connect(self._changed)
            menu.addAction(action)

    def show_value(self, value: Any) -> None:
        self._shows(value)
        for action in self.menu().actions():
            action.setChecked(action.text() in value)
        self.setText(shorten(", ".join(value), 60) or tr("None"))

    def _changed(self) -> None:
        chosen = [action.text() for action in self.menu().actions() if action.isChecked()]
        kept = [name for name in self._value if name in chosen]
        value = (*kept, *(name for name in chosen if name not in kept))
        self.show_value(value)
        self.edited.emit(value)


def option_rows() -> dict[str, FormRow]:
    """A row for each option, by name."""
    return {
        name: FormRow(in_language(field.setting.title), partial(option_field, name), setting_tip(field))
        for name, field in OPTIONS.items()
    }


def option_field(name: str) -> Any:
    """The field of that option."""
    setting = OPTIONS[name]
    if name not in _MADE:
        return setting_field(setting)
    field = _MADE[name]()
    field.of_setting(setting)
    return field


def read_lines(text: str) -> tuple[str, ...]:
    """The lines of a text that are not empty."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def lists_text(named: Mapping[str, Iterable[str]]) -> str:
    """`tool: phrase, phrase`, a line for each name."""
    return "\n".join(f"{name}: {', '.join(values)}" for name, values in named.items())


def read_lists(text: str) -> dict[str, tuple[str, ...]]:
    """The lists by name. Raises ValueError for a line without a name."""
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, values = line.partition(":")
        if not colon or not name.strip():
            raise ValueError(tr("Line {number} has no name before a colon.", number=number))
        parts = tuple(part.strip() for part in values.split(",") if part.strip())
        found[name.strip()] = (*found.get(name.strip(), ()), *parts)
    return found


def names_text(values: Iterable[str] | None) -> str:
    """`search, browse`."""
    return ", ".join(values or ())


def read_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, without duplicates."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def approvals_text(rules: Iterable[ApprovalRule]) -> str:
    """The rules in the form of `--approve`: `search=allow, demo/*=ask`, without the identities they are bound to."""
    texts = []
    for rule in rules:
        place = rule.tool if rule.source == "*" else f"{rule.source}/{rule.tool}"
        texts.append(rule.action if place == "*" else f"{place}={rule.action}")
    return ", ".join(texts)


def read_approvals(text: str) -> tuple[ApprovalRule, ...]:
    """The rules. Raises ValueError with the reason in words."""
    try:
        return parse_approvals(read_names(text))
    except ApprovalError as error:
        raise ValueError(str(error)) from error


def _lines(read: Callable[[str], Any], write: Callable[[Any], str], hint: str) -> Callable[[], LinesSetting]:
    return lambda: LinesSetting(read, write, hint)


def _line(read: Callable[[str], Any], write: Callable[[Any], str], hint: str) -> Callable[[], TextSetting]:
    return lambda: TextSetting(read, write, hint)


def _custom(preset: str) -> Callable[[], QWidget]:
    """The field of a custom template; without a text, it is the preset's."""

    def make() -> QWidget:
        hint = tr("the preset “{preset}”", preset=preset)
        field = LinesSetting(lambda text: text if text.strip() else None, lambda text: text or "", hint)
        field.document().setDocumentMargin(4)
        return field

    return make


_MADE: dict[str, Callable[[], Any]] = {
    "strategy": lambda: ChoiceSetting(STRATEGIES),
    "answer.text": _lines(str, str, ""),
    "template_vars": _line(read_pairs_line, pairs_line, tr("NAME=VALUE; NAME=VALUE")),
    "extra_body": _line(read_pairs_line, pairs_line, tr("NAME=VALUE; NAME=VALUE")),
    "approvals": _line(read_approvals, approvals_text, tr("every call needs approval")),
    "loop.presets": lambda: ChecksSetting((each.name, each.about) for each in loop_presets()),
    "loop.transforms": lambda: ChecksSetting(
        (each.name, f"{each.about} ({each.surface})") for each in TRANSFORMS.values()
    ),
    "loop.allow": _line(lambda text: read_names(text) or None, names_text, tr("all tools")),
    "loop.deny": _line(read_names, names_text, tr("none")),
    "router.rules": _lines(read_lines, "\n".join, tr("For general questions, choose no tool.")),
    "router.synonyms": _lines(read_lists, lists_text, tr("search: look up, find on the web")),
    "router.names": _lines(read_lists, lists_text, tr("city: Paris, London")),
    "router.answers": _lines(read_lines, "\n".join, tr("ask me during the run")),
    "router.router_system": _custom("router"),
    "router.executor_system": _custom("executor"),
}
"""The fields that are not made from the setting alone."""
