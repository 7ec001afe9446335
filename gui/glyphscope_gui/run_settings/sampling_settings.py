"""The settings for sampling tokens and ending an answer, with the effect of each sampling filter in the shown run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import msgspec
from PySide6.QtWidgets import QLabel, QMenu, QWidget

from glyphscope.base.figures import count
from glyphscope.evals.matrix.profiles import Profile, profiles
from glyphscope.events import ModelInfo, RunRequest, Sampling, settings_of
from glyphscope.runs import RunState
from glyphscope.runs.sampling import sampling_words, stop_lines, stop_problem, stop_strings
from glyphscope_gui.run_settings.popup import SettingsPopup
from glyphscope_gui.shared.labels import PlainLabel, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox
from glyphscope_gui.shared.settings_grid import FormRow, LinesSetting, SettingsGrid, setting_row

_NAMES = {
    "default": tr("llama.cpp’s defaults"),
    "deterministic": tr("Deterministic"),
    "recommended": tr("Recommended for the model"),
    "conversation": tr("Conversation"),
    "creative": tr("Creative"),
    "tool_calling": tr("Tool calling"),
}
GREEDY = tr(
    "At temperature 0 the most likely allowed token is always taken: top-k, top-p and "
    "min-p have no effect. Choose a preset, or raise the temperature."
)


_MEASURED = ("top_k", "top_p", "min_p", "max_tokens")
"""The settings that show their effect in the shown run (`_effects`)."""


def sampling_fields(*others: str) -> dict[str, FormRow]:
    """A row for each setting of `Sampling` except temperature and seed (with these `others` first), and for the two of
    a request that end an answer.
    """
    fields = settings_of(Sampling)
    names = [*others, *(name for name in fields if name not in ("temperature", "seed"))]
    shown = (*(fields[name] for name in names), settings_of(RunRequest)["max_tokens"])
    rows = {setting.name: setting_row(setting) for setting in shown}
    stop = LinesSetting(read_stops, lambda stops: "\n".join(stop_lines(stops)), tr("none; one per line"))
    tip = tr("The answer ends before the first of these strings; \\n is a line feed, \\t a tab")
    return {**rows, "stop": FormRow(tr("Stop strings"), stop, tip)}


class SamplingSettings(SettingsPopup):
    WIDTH = 520

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("samplingSettings", tr("Sampling"), parent)
        self._model = ""
        self._run: RunState | None = None
        self.presets_button = push_button(tr("Presets"), self, name="samplingPresets")
        self.presets_button.setMenu(self._preset_menu())
        self.preset_note = PlainLabel(self, role="hint")
        self.greedy_note = words_label(GREEDY)
        self.run_note = words_label("")
        self.effects: dict[str, QLabel] = {}
        """By field, the label of the filter's effect, in the order of the form."""
        self._make_fields()
        self._lay_out()

    def show_options(self, options: RunRequest) -> None:
        self._options = options
        for name, field in self._fields.items():
            field.show_value(getattr(options.sampling, name))
        self.max_tokens.show_value(options.max_tokens)
        self.stop.show_value(options.stop)
        self._fields["repeat_last_n"].setEnabled(options.sampling.repeat_penalty != 1)
        self.greedy_note.setVisible(options.sampling.temperature == 0)
        self._show_preset()

    def field_of(self, name: str) -> QWidget | None:
        return self.max_tokens if name == "max_tokens" else self._fields.get(name.partition(".")[2])

    def show_model(self, model: ModelInfo | None) -> None:
        """Set the open model, for its recommended settings."""
        self._model = "" if model is None else model.name
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
        grid = SettingsGrid(2)
        for name, (title, field, tip) in self._rows.items():
            grid.add(title, field, tip, wide=field is self.stop)
            if name in _MEASURED:
                self.effects[name] = grid.add_note(PlainLabel(self))
        presets = hbox(self.presets_button, (self.preset_note, 1), spacing=10)
        self.column.addLayout(presets)
        self.column.addWidget(self.greedy_note)
        self.column.addWidget(grid)
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
        family = next((each for each in same.for_models if each.fits(self._model)), None)
        self.preset_note.setText(_NAMES.get(same.name, same.name) if family is None else family.source)

    def _show_effect(self) -> None:
        """Show the tokens that each filter left in the shown run."""
        run = self._run
        effect = None if run is None or run.started is None else effect_of(run)
        for label, words in zip(self.effects.values(), _effects(effect)):
            label.setText(words)
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


def read_stops(text: str) -> tuple[str, ...]:
    """The stop texts of a text, one per line. Raises ValueError with the reason in words."""
    stops = stop_strings(text.splitlines())
    if wrong := stop_problem(stops):
        raise ValueError(wrong)
    return stops


def _effects(effect: SamplingEffect | None) -> tuple[str, str, str, str]:
    """The words beside top-k, top-p, min-p and the most tokens, as in `SamplingSettings.effects`."""
    if effect is None:
        return "", "", "", ""
    longest = tr("{count} used", count=count(effect.longest)) if effect.longest else ""
    if not effect.sampled:
        return "", "", "", longest
    return (
        tr("{left} of {all} left", left=count(effect.top_k), all=count(effect.allowed)),
        tr("{left} left", left=count(effect.top_p)),
        tr("{left} left", left=count(effect.min_p)),
        longest,
    )


@dataclass(frozen=True)
class SamplingEffect:
    """Medians over the `sampled` tokens of a run: how many tokens were allowed, and how many of them each filter left.

    `single` counts the steps at which only one token was left, `longest` the tokens of the longest answer.
    """

    sampled: int
    allowed: int
    top_k: int
    top_p: int
    min_p: int
    single: int
    longest: int


def effect_of(state: RunState) -> SamplingEffect:
    """The effect over all stages of a run. Without a sampled token (greedy, endpoint), all but `longest` are 0."""
    left = list(_left(state))
    allowed, top_k, top_p, min_p = (median_low(column) for column in zip(*left)) if left else (0, 0, 0, 0)
    return SamplingEffect(
        sampled=len(left),
        allowed=allowed,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        single=sum(each[-1] == 1 for each in left),
        longest=max((len(stage.tokens) for stage in state.stages), default=0),
    )


def _left(state: RunState) -> Iterator[tuple[int, int, int, int]]:
    for stage in state.stages:
        for token in stage.tokens:
            if len(token.step.left) == 3:
                top_k, top_p, min_p = token.step.left
                yield token.step.allowed, top_k, top_p, min_p
