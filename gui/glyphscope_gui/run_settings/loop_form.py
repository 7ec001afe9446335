"""The settings of the tool loop: presets that fill them in, and every one of them in the open."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from glyphscope.events import LoopSettings
from glyphscope.runs.transforms.registry import TRANSFORMS
from glyphscope.strategies.loop.guards import calls_per_turn
from glyphscope.strategies.loop.presets import compose, loop_presets
from glyphscope_gui.run_settings.strategy_texts import names_text, read_names
from glyphscope_gui.shared.labels import PlainLabel
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.settings_grid import (
    ChoiceSetting,
    FlagSetting,
    NumberSetting,
    StructForm,
    TextSetting,
)

_MOST = 2**31 - 1
_NUMBERS = (  # member of LoopSettings, title, least, most, unit, hint
    ("max_turns", tr("Turns"), 1, 10_000, "", tr("Maximum number of turns")),
    ("max_total_tokens", tr("Total tokens"), 1, _MOST, "", tr("Maximum number of tokens in all turns")),
    ("max_seconds", tr("Time"), 1, 86_400, tr(" s"), tr("Maximum duration of the run")),
    (
        "max_tool_seconds",
        tr("Time per call"),
        1,
        86_400,
        tr(" s"),
        tr("Maximum duration of a call; then it is cancelled"),
    ),
    (
        "max_tool_args_bytes",
        tr("Arguments"),
        1,
        _MOST,
        tr(" bytes"),
        tr("Calls with larger arguments are not executed; the model is informed"),
    ),
    (
        "max_tool_output_bytes",
        tr("Results"),
        1,
        _MOST,
        tr(" bytes"),
        tr("For a larger result, the model receives only its size"),
    ),
    (
        "max_identical_calls",
        tr("Same call"),
        1,
        1000,
        tr(" times"),
        tr("Maximum executions of an identical call"),
    ),
    (
        "max_invalid_turns",
        tr("No-progress turns"),
        1,
        1000,
        "",
        tr("Consecutive turns without progress before the run stops"),
    ),
)
_USES = (
    ("relaxed", tr("Auto"), tr("The model may call tools or answer directly")),
    ("enforced", tr("Required"), tr("An answer is rejected until a call has succeeded")),
    ("disabled", tr("None"), tr("No tools are offered or executed")),
)
_POLICIES = (
    ("fatal", tr("Must not fail"), tr("The last call of every tool must have succeeded")),
    ("tolerated", tr("May fail"), tr("The run continues after a failed call")),
)


class LoopForm(StructForm):
    """A field for each of LoopSettings, and the presets that set several of them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(LoopSettings(), 2, parent)
        self.presets_button = self._make_menu_button(
            tr("Presets"),
            self._checked_menu([(each.name, each.about) for each in loop_presets()], self._compose),
        )
        self.transforms_button = self._make_menu_button(
            tr("None"),
            self._checked_menu(
                [(each.name, f"{each.about} ({each.surface})") for each in TRANSFORMS.values()],
                self._transform,
            ),
        )
        self.presets_note = PlainLabel(self, role="hint")
        line = hbox(self.presets_button, (self.presets_note, 1), spacing=10)
        self._fill()
        vbox(line, self.grid, parent=self, spacing=8)

    def show_settings(self, settings: LoopSettings) -> None:
        effective = calls_per_turn(settings) or 0  # 1 where parallel calls are off
        super().show_settings(msgspec.structs.replace(settings, max_tool_calls_per_turn=effective))
        self._settings = settings
        self._fields["max_tool_calls_per_turn"].setEnabled(settings.parallel_tool_calls)
        self._fields["fix_empty_final_disable_tools"].setEnabled(settings.fix_empty_final)
        self.transforms_button.setText(names_text(settings.transforms)[:60] or tr("None"))
        for action in self.transforms_button.menu().actions():
            action.setChecked(action.data() in settings.transforms)
        for action in self.presets_button.menu().actions():
            action.setChecked(action.data() in settings.presets)
        if not settings.presets:
            note = tr("Selected individually")
        else:
            note = names_text(settings.presets)
            if settings != compose(settings.presets):
                note = tr("{presets}, edited", presets=note)
        self.presets_note.setText(note)

    # -- inside ------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        self._add(
            "tool_use",
            tr("Tool choice"),
            ChoiceSetting(_USES),
            tr("Whether a run may, must or must not call tools"),
        )
        self._add(
            "failure_policy",
            tr("Failed calls"),
            ChoiceSetting(_POLICIES),
            tr("Effect of a failed call on the run"),
        )
        for name, title, least, most, suffix, tip in _NUMBERS:
            self._add(name, title, NumberSetting(least, most, suffix), tip)
        per_turn = NumberSetting(0, 1000)
        per_turn.setSpecialValueText(tr("no limit"))
        parallel = FlagSetting(tr("Parallel calls"))
        self._add_check(
            "parallel_tool_calls",
            parallel,
            tr("Off: only the first call of a turn is executed; the others are counted"),
        )
        self._add(
            "max_tool_calls_per_turn",
            tr("Calls per turn"),
            per_turn,
            tr("Maximum executed calls per turn, with parallel calls"),
        )
        empty = FlagSetting(tr("Retry an empty answer"))
        self._add_check("fix_empty_final", empty, tr("Once, with a request for an answer in text"))
        without = FlagSetting(tr("… without tools"))
        self._add_check("fix_empty_final_disable_tools", without, tr("Offer no tools in that retry"))
        allow = TextSetting(lambda text: read_names(text) or None, names_text, tr("all tools"))
        self._add(
            "allow",
            tr("Only these"),
            allow,
            tr("Tool names separated by commas: only these are offered and executed"),
        )
        deny = TextSetting(read_names, names_text, tr("none"))
        self._add(
            "deny",
            tr("Never these"),
            deny,
            tr("Tool names separated by commas: these are neither offered nor executed"),
        )
        self.grid.add(
            tr("Transforms"),
            self.transforms_button,
            tr("Workarounds for models with unusual calls; each use is reported"),
            wide=True,
        )

    def _set(self, name: str, value: Any) -> None:
        if name == "max_tool_calls_per_turn":
            value = value or None
        if name in ("max_seconds", "max_tool_seconds"):
            value = float(value)
        super()._set(name, value)

    def _make_menu_button(self, words_: str, menu: QMenu) -> QPushButton:
        button = QPushButton(words_, self)
        button.setMenu(menu)
        menu.setParent(button, menu.windowFlags())
        return button

    def _checked_menu(self, choices: Iterable[tuple[str, str]], slot: Callable[[], None]) -> QMenu:
        """Names with their hints, each of which can be checked; the slot follows a change."""
        menu = QMenu(self, toolTipsVisible=True)
        for name, about in choices:
            action = QAction(name, menu, checkable=True, toolTip=about)
            action.setData(name)
            action.triggered.connect(slot)
            menu.addAction(action)
        return menu

    def _compose(self) -> None:
        """All settings from the checked presets, in their order."""
        names = [a.data() for a in self.presets_button.menu().actions() if a.isChecked()]
        self._notify(compose(names))

    def _transform(self) -> None:
        """Those that were on keep their order; a new one comes last."""
        on = [a.data() for a in self.transforms_button.menu().actions() if a.isChecked()]
        kept = [name for name in self._settings.transforms if name in on]
        self._set("transforms", (*kept, *(name for name in on if name not in kept)))
