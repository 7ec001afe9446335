"""The settings for sampling tokens and ending an answer, with the effect of each sampling filter in the shown run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import msgspec
from PySide6.QtWidgets import QLabel, QMenu, QWidget

from glyphscope.base.figures import count
from glyphscope.evals.matrix.profiles import Profile, profiles
from glyphscope.events import ModelInfo, RunRequest, Sampling, is_needed, settings_of
from glyphscope.events.sampling import FILTERS
from glyphscope.runs import RunState
from glyphscope.runs.sampling import sampling_words
from glyphscope_gui.run_settings.popup import SettingsPopup
from glyphscope_gui.shared.labels import PlainLabel, link, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.settings_grid import (
    ChoiceSetting,
    FormRow,
    LinesSetting,
    SettingsGrid,
    setting_row,
)

_NAMES = {
    "file": tr("From the model’s file"),
    "default": tr("llama.cpp’s defaults"),
    "deterministic": tr("Deterministic"),
    "recommended": tr("Recommended for the model"),
    "conversation": tr("Conversation"),
    "creative": tr("Creative"),
    "tool_calling": tr("Tool calling"),
}
GREEDY = tr(
    "At temperature 0 the most likely allowed token is always taken: the filters, from top-k to "
    "XTC, have no effect. Choose a preset, or raise the temperature."
)


MORE = frozenset(settings_of(Sampling)) - {
    "temperature", "seed", "top_k", "top_p", "min_p", "repeat_penalty", "repeat_last_n",
}  # fmt: skip
"""The settings that few people use."""
_MEASURED = {**FILTERS, "max_tokens": ""}
"""The settings that show their effect in the shown run, with the names of their filters."""


def sampling_fields(*others: str) -> dict[str, FormRow]:
    """A row for each setting of `Sampling` except temperature and seed (with these `others` first), and for the two of
    a request that end an answer.
    """
    fields = settings_of(Sampling)
    names = [*others, *(name for name in fields if name not in ("temperature", "seed"))]
    ends = settings_of(RunRequest)
    shown = (*(fields[name] for name in names), ends["max_tokens"], ends["stop"])
    return {setting.name: setting_row(setting) for setting in shown}


class SamplingForm(QWidget):
    """The rows of `sampling_fields`. Those that few people use are below the others, and are shown by a button, or if
    one of them has an effect. `notes` are the labels beside the fields that are `measured`.
    """

    def __init__(self, rows: Mapping[str, FormRow], measured: Collection[str] = ()) -> None:
        super().__init__()
        self.notes: dict[str, QLabel] = {}
        self._rows = rows
        self.usual, self.more = SettingsGrid(2), SettingsGrid(2)
        for name, (title, field, tip) in rows.items():
            grid = self.more if name in MORE else self.usual
            grid.add(title, field, tip, wide=isinstance(field, ChoiceSetting | LinesSetting))
            if name in measured:
                self.notes[name] = grid.add_note(PlainLabel(self))
        tip = tr("Presence and frequency penalty, typical-p, top-n-sigma, XTC, DRY and logit biases")
        self.more_button = link(tr("More sampling settings"), tip, self, clicked=self._toggle)
        vbox(self.usual, hbox(self.more_button, STRETCH), self.more, parent=self, spacing=4)
        self.more.hide()

    def show_used(self, sampling: Sampling) -> None:
        """Enable the fields that can have an effect with these settings, and show those that have one."""
        for name, setting in settings_of(Sampling).items():
            if name in self._rows:
                self._rows[name].field.setEnabled(is_needed(sampling, setting))
        if not MORE.isdisjoint(sampling.in_effect):
            self._show_more(True)

    def _toggle(self) -> None:
        self._show_more(self.more.isHidden())

    def _show_more(self, shown: bool) -> None:
        self.more.setVisible(shown)
        self.more_button.setText(tr("Fewer sampling settings") if shown else tr("More sampling settings"))


class SamplingSettings(SettingsPopup):
    WIDTH = 520

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("samplingSettings", tr("Sampling"), parent)
        self._model = ModelInfo(name="")
        self._run: RunState | None = None
        self.presets_button = push_button(tr("Presets"), self, name="samplingPresets")
        self.presets_button.setMenu(self._preset_menu())
        self.preset_note = PlainLabel(self, role="hint")
        self.greedy_note = words_label(GREEDY)
        self.run_note = words_label("")
        self._make_fields()
        self._lay_out()

    def show_options(self, options: RunRequest) -> None:
        self._options = options
        for name, field in self._fields.items():
            field.show_value(getattr(options.sampling, name))
        self.form.show_used(options.sampling)
        self.max_tokens.show_value(options.max_tokens)
        self.stop.show_value(options.stop)
        self.greedy_note.setVisible(options.sampling.temperature == 0)
        self._show_preset()

    def field_of(self, name: str) -> QWidget | None:
        return self.max_tokens if name == "max_tokens" else self._fields.get(name.partition(".")[2])

    def show_model(self, model: ModelInfo | None) -> None:
        """Set the open model, for its recommended settings."""
        self._model = ModelInfo(name="") if model is None else model
        self._show_preset()

    def show_run(self, run: RunState) -> None:
        """Set the run whose filters the panel shows when it opens."""
        self._run = run

    def show_below(self, anchor: QWidget) -> None:
        self._show_effect()
        super().show_below(anchor)

    def _make_fields(self) -> None:
        self._rows = sampling_fields()
        self._fields = {name: row.field for name, row in self._rows.items()}
        self.max_tokens, self.stop = self._fields.pop("max_tokens"), self._fields.pop("stop")
        for name, field in self._fields.items():
            field.edited.connect(lambda value, name=name: self._sample(**{name: value}))
        self.max_tokens.edited.connect(lambda value: self._change(max_tokens=value))
        self.stop.edited.connect(lambda value: self._change(stop=value))

    def _lay_out(self) -> None:
        self.form = SamplingForm(self._rows, _MEASURED)
        self.effects = self.form.notes
        presets = hbox(self.presets_button, (self.preset_note, 1), spacing=10)
        self.column.addLayout(presets)
        self.column.addWidget(self.greedy_note)
        self.column.addWidget(self.form)
        self.column.addWidget(self.run_note)
        self.column.addStretch(1)

    def _preset_menu(self) -> QMenu:
        menu = QMenu(self, toolTipsVisible=True)
        for preset in profiles():
            action = menu.addAction(_NAMES.get(preset.name, preset.name))
            action.setToolTip(preset.about)
            action.triggered.connect(lambda _checked=False, preset=preset: self._choose(preset))
        return menu

    def _choose(self, preset: Profile) -> None:
        self._change(sampling=self._of(preset))

    def _of(self, preset: Profile) -> Sampling:
        return preset.of(self._model, self._options.sampling.seed)

    def _show_preset(self) -> None:
        """Show the preset that equals the settings, and the source that recommends it for the open model."""
        sampling = self._options.sampling
        same = next(
            (each for each in profiles() if sampling_words(self._of(each)) == sampling_words(sampling)), None
        )
        if same is None:
            self.preset_note.setText(tr("Custom"))
            return
        self.preset_note.setText(same.source_of(self._model) or _NAMES.get(same.name, same.name))

    def _show_effect(self) -> None:
        """Show the tokens that each filter left in the shown run."""
        run = self._run
        effect = None if run is None or run.started is None else effect_of(run)
        for name, label in self.effects.items():
            label.setText("" if effect is None else effect.words(_MEASURED[name]))
        self.run_note.setVisible(effect is not None)
        if effect is None or run is None or run.started is None:
            return
        used = run.started.request.sampling
        if not effect.sampled:
            words = tr("No token of the run shown was sampled ({settings}).", settings=sampling_words(used))
        else:
            words = tr(
                "Median of %n token(s) sampled in the run shown ({settings}).",
                "",
                effect.sampled,
                settings=sampling_words(used),
            )
            if effect.single:
                words += " " + tr("%n of them had a single candidate left.", "", effect.single)
        self.run_note.setText(words)

    def _sample(self, **changes: Any) -> None:
        self._change(sampling=msgspec.structs.replace(self._options.sampling, **changes))


@dataclass(frozen=True)
class SamplingEffect:
    """Medians over the `sampled` tokens of a run: the `allowed` tokens, and those that each filter left.

    `single` counts the steps at which only one token was left, `longest` the tokens of the longest answer.
    """

    sampled: int
    allowed: int
    left: dict[str, int]
    single: int
    longest: int

    def words(self, filter: str) -> str:
        """The words beside a filter's field, or with an empty name beside the most tokens; empty without an effect."""
        if not filter:
            return tr("{count} used", count=count(self.longest)) if self.longest else ""
        if filter not in self.left:
            return ""
        left = count(self.left[filter])
        if filter == next(iter(self.left)):
            return tr("{left} of {all} left", left=left, all=count(self.allowed))
        return tr("{left} left", left=left)


def effect_of(state: RunState) -> SamplingEffect:
    """The effect over all stages of a run. Without a sampled token (greedy, endpoint), only `longest` is known."""
    filters = () if state.started is None else state.started.request.sampling.filters
    steps = [token.step for stage in state.stages for token in stage.tokens]
    left = [step.left for step in steps if step.left and len(step.left) == len(filters)]
    return SamplingEffect(
        sampled=len(left),
        allowed=median_low(step.allowed for step in steps if step.left) if left else 0,
        left={name: median_low(column) for name, column in zip(filters, zip(*left))},
        single=sum(each[-1] == 1 for each in left),
        longest=max((len(stage.tokens) for stage in state.stages), default=0),
    )
