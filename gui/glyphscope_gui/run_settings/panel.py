"""The panel of a run's options, with the effect of each sampling filter in the shown run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median_low
from typing import Any

import msgspec
from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QMenu, QWidget

from glyphscope.base.errors import GlyphscopeError, RequestProblem
from glyphscope.base.figures import count
from glyphscope.base.inputs import read_file, utf8_text
from glyphscope.base.shorten import shorten
from glyphscope.evals.matrix.profiles import Profile, run_profiles
from glyphscope.events import CALL, TOOL_CHOICES, Answer, AnswerKind, ModelInfo, RunRequest, Sampling
from glyphscope.events.sampling import FILTERS
from glyphscope.runs import RunState
from glyphscope.runs.sampling import sampling_words
from glyphscope.runs.strategies.loop.guards import calls_per_turn
from glyphscope.runs.strategies.loop.presets import compose
from glyphscope.runs.strategies.routing.candidates import router_preset, router_presets
from glyphscope_gui.run_settings.groups import SettingGroups, heading
from glyphscope_gui.run_settings.option_fields import option_rows
from glyphscope_gui.run_settings.options import (
    GROUPS,
    OPTIONS,
    SAMPLING,
    TEMPLATE,
    changed,
    defaults,
    differences,
    obstacle,
    relevant,
    usual,
    value_of,
)
from glyphscope_gui.shared.dialogs import ask_for_file
from glyphscope_gui.shared.labels import PlainLabel, link, named, push_button, show_obstacle, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import ScrollArea, hbox, holder, vbox
from glyphscope_gui.shared.settings_grid import LinesSetting, TextSetting, mark_refused, setting_tip
from glyphscope_gui.shared.tab_order import focus_next
from glyphscope_gui.theme.sizes import PAD

# A panel of settings below the button that opens it.

FRAME = 4
"""Pixels of the borders of popup and scroll area, above and below the settings."""


class SettingsPopup(QFrame):
    """A popup that scrolls if the screen has no room for it. `column` is the layout of its `body`.

    `optionsChosen` carries a dict of the fields of RunRequest that the user changed.
    """

    optionsChosen = Signal(object)

    WIDTH = 560

    def __init__(self, name: str, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        named(self, name, title)
        self._options = RunRequest(prompt="", registry={})
        self.body = named(QWidget(), "settingsBody")
        self.column = vbox(parent=self.body, margins=(PAD, 12, PAD, 14), spacing=14)
        self.problems = PlainLabel(self, role="problem", wordWrap=True)
        self.problems.hide()
        self.column.addWidget(self.problems)
        self.head = hbox(margins=(PAD, 10, PAD, 0))
        self._anchor: QWidget | None = None
        self._scroll = ScrollArea(self.body, self)
        self._late = QTimer(self, singleShot=True, interval=0)  # once all layouts agree
        self._late.timeout.connect(self._grow)
        self._scroll.verticalScrollBar().rangeChanged.connect(lambda _least, _most: self._late.start())
        vbox(self.head, self._scroll, parent=self, margins=1, spacing=0)

    def show_options(self, options: RunRequest) -> None:
        """Show the options of the project, without a signal."""
        raise NotImplementedError

    def show_words(self, words: Iterable[str]) -> None:
        """Show the problems of its settings."""
        text = "\n".join(words)
        self.problems.setText(text)
        self.problems.setVisible(bool(text))

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus in the order of the layout, whenever a field was made."""
        return focus_next((self,), self.focusWidget(), forward=forward) or super().focusNextPrevChild(forward)

    def show_below(self, anchor: QWidget) -> None:
        """Show it below the button, within the window's screen."""
        self._anchor = anchor
        self._fit()
        self.show()
        self._fit()  # its style, and so its size, is known now

    def _fit(self) -> None:
        """Make it as large as its settings need, within the screen."""
        if self._anchor is None:
            return
        self.body.adjustSize()
        room = self._anchor.screen().availableGeometry()
        bottom = self._anchor.mapToGlobal(QPoint(0, self._anchor.height() + 4))
        width = min(max(self.WIDTH, self.body.minimumSizeHint().width() + FRAME), room.width() - 16)
        wrapped = self.column.totalHeightForWidth(width - FRAME)
        needed = max(self.body.sizeHint().height(), wrapped) + self.head.sizeHint().height() + FRAME
        size = QSize(width, min(needed, room.bottom() - bottom.y() - 8))
        self.resize(size)
        self.move(max(min(bottom.x(), room.right() - size.width() - 8), room.left()), bottom.y())

    def _change(self, **changes: Any) -> None:
        """Show the options with the user's changes, and report these."""
        self.show_options(msgspec.structs.replace(self._options, **changes))
        self.optionsChosen.emit(changes)

    def _grow(self) -> None:
        """Make room, if the screen has any, for lines that no size hint included (wrapped, styled or typed later)."""
        if self.isVisible() and (missing := self._scroll.verticalScrollBar().maximum()):
            room = self.screen().availableGeometry().bottom() - self.y() - 8
            self.resize(self.width(), max(min(self.height() + missing, room), self.height()))


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
MAX_TOOLS, MAX_NAME = 300, 100
"""The first tools that are offered by name, and the characters of a name."""
_MEASURED = {f"sampling.{name}": words for name, words in FILTERS.items()} | {"max_tokens": ""}
"""The options that show their effect in the shown run, with the names of their filters."""
_EXAMPLES: dict[AnswerKind, str] = {
    "schema": '{"type": "object", "properties": {"name": {"type": "string"}}}',
    "regex": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "choice": "positive\nnegative",
    "gbnf": 'root ::= "a" | "b"',
    "lark": 'start: "a" | "b"',
}
"""An example of the text of each answer."""


class OptionsPanel(SettingsPopup):
    """Its fields are made when they are first shown."""

    WIDTH = 600

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("optionsPanel", tr("Options"), parent)
        self._model: ModelInfo | None = None
        self._run: RunState | None = None
        self._tools: tuple[str, ...] = ()
        self._before: RunRequest | None = None  # the options that were reset
        self._problems: tuple[RequestProblem, ...] = ()
        self._answers = {CALL.kind: CALL}  # the last of each kind
        leads = {"": self._file_lead(), SAMPLING: self._sampling_lead(), TEMPLATE: self._template_lead()}
        leads[tr("Router and executor")] = self._router_lead()
        self.groups = SettingGroups(GROUPS, option_rows(), leads=leads, noted=_MEASURED, parent=self)
        self.groups.made.connect(self._begin)
        self.groups.resized.connect(self._fit)
        tip = tr("Set every option to its default")
        self.reset_button = link(tr("Reset all"), tip, self, clicked=self._reset)
        self.read_only = words_label(tr("These are the options of the run shown; they cannot be changed."))
        self.read_only.hide()
        self.head.addWidget(heading(self.groups, self.reset_button))
        self.column.addWidget(self.read_only)
        self.column.addWidget(self.groups)
        self.column.addStretch(1)

    def show_options(self, options: RunRequest) -> None:
        self._options = options
        self._answers[options.answer.kind] = options.answer
        self._show_names()
        for name in self.groups.fields:
            self._show_field(name)
        self.groups.show_changes(dict(differences(options)))
        self.reset_button.setEnabled(
            any(getattr(options, name) != value for name, value in defaults(options).items())
        )
        self.open_button.setVisible(not options.answer.is_call)
        self.greedy_note.setVisible(options.sampling.temperature == 0)
        self.chosen.setVisible(bool(options.chat_template))
        self._show_preset()

    def show_model(self, model: ModelInfo | None) -> None:
        """Set the open model, which decides what has an effect; None while none is open."""
        self._model = model
        for name in self.groups.fields:
            self._show_obstacle(name)
        self._show_preset()

    def show_tools(self, names: Iterable[str]) -> None:
        """Set the tools that can be required by name; the chosen one stays, even if it is not among them."""
        self._tools = tuple(islice(names, MAX_TOOLS))
        if "tool_choice" in self.groups.fields:
            self._list_tools()

    def show_run(self, run: RunState) -> None:
        """Set the run whose filters the panel shows when it opens."""
        self._run = run

    def show_problems(self, problems: Iterable[RequestProblem]) -> None:
        """Mark the fields of these problems, in open groups, and show them above."""
        self._problems = tuple(problems)
        self.show_words(problem.error.words for problem in self._problems)
        self._show_names()
        for name in self.groups.fields:
            self._mark(name)

    def set_editable(self, editable: bool) -> None:
        """Enable the options, or only show them."""
        self.groups.set_editable(editable)
        self.reset_button.setVisible(editable)
        self.read_only.setVisible(not editable)

    def show_below(self, anchor: QWidget) -> None:
        """Show it below the button; a text that was invalid when it closed is reset."""
        self._before = None
        self.groups.finder.clear()
        self.reset_button.setText(tr("Reset all"))
        self.show_options(self._options)
        if self._wrong:
            self.groups.open(*self._wrong)
        self._show_effect()
        super().show_below(anchor)
        self.groups.finder.setFocus()

    @property
    def _wrong(self) -> frozenset[str]:
        """The options with problems."""
        return frozenset(name for problem in self._problems if (name := _option_of(problem)) in OPTIONS)

    def _show_names(self) -> None:
        self.groups.show_names(relevant(self._options) | self._wrong)

    # -- fields ------------------------------------------------------------------------------------------------

    def _begin(self, name: str) -> None:
        """Connect a field that was just made."""
        field: Any = self.groups.fields[name]
        field.edited.connect(lambda value: self._edit(name, value))
        if name == "tool_choice":
            self._list_tools()
        self._show_field(name)
        self._mark(name)

    def _edit(self, name: str, value: Any) -> None:
        options = self._options
        match name:
            case "answer.kind":
                self._change(answer=self._answers.get(value, Answer(value)))
            case "loop.presets":
                self._change(loop=compose(value))
            case "approvals":  # the identity to which a rule is bound is not in its text
                bound = {(rule.tool, rule.source, rule.action): rule for rule in options.approvals}
                self._change(approvals=tuple(bound.get((r.tool, r.source, r.action), r) for r in value))
            case _:
                self._change(**changed(options, name, value))

    def _show_field(self, name: str) -> None:
        options, field = self._options, self.groups.fields[name]
        shown: Any = field
        shown.set_usual(usual(options, name))
        value = value_of(options, name)
        if name == "loop.max_tool_calls_per_turn":
            value = calls_per_turn(options.loop)  # 1 if parallel calls are disabled
        if name == "answer.text":
            shown.setPlaceholderText(_EXAMPLES.get(options.answer.kind, ""))
        shown.show_value(value)
        if name == "loop.presets" and value and options.loop != compose(value):
            shown.setText(tr("{presets}, edited", presets=shown.text()))
        self._show_obstacle(name)

    def _show_obstacle(self, name: str) -> None:
        why_not = obstacle(self._options, self._model, name)
        show_obstacle(self.groups.fields[name], setting_tip(OPTIONS[name]), why_not)

    def _mark(self, name: str) -> None:
        field = self.groups.fields[name]
        if not isinstance(field, LinesSetting | TextSetting):  # a text checks itself
            mark_refused(
                field, "\n".join(each.error.words for each in self._problems if _option_of(each) == name)
            )

    def _list_tools(self) -> None:
        choice: Any = self.groups.fields["tool_choice"]
        chosen = choice.currentData()
        while choice.count() > len(TOOL_CHOICES):
            choice.removeItem(choice.count() - 1)
        for name in self._tools:
            if name not in TOOL_CHOICES:
                choice.addItem(tr("Only {tool}", tool=shorten(name, MAX_NAME)), name)
        choice.show_value(chosen)

    def _reset(self) -> None:
        """Set every option to its default, or restore those from before that."""
        before, self._before = self._before, self._options if self._before is None else None
        again = defaults(self._options)
        self._change(**(again if before is None else {name: getattr(before, name) for name in again}))
        self.reset_button.setText(tr("Reset all") if self._before is None else tr("Undo the reset"))
        self.reset_button.setEnabled(True)

    # -- above the rows of some groups -------------------------------------------------------------------------

    def _file_lead(self) -> QWidget:
        tip = tr("Read the schema, the pattern, the texts or the grammar of the answer from a file")
        self.open_button = push_button(
            tr("Answer from a file…"), name="answerFileButton", tip=tip, clicked=self._ask_for_file
        )
        self.open_button.hide()
        return holder(hbox(self.open_button, 1))

    def _template_lead(self) -> QWidget:
        self.own_link = link(tr("Use the model’s own"), tr("Use the template in the model’s file"))
        self.own_link.clicked.connect(lambda: self._change(chat_template=""))
        words = PlainLabel(tr("Another template than the model’s own is used."), role="muted")
        self.chosen = holder(hbox((words, 1), self.own_link))
        return self.chosen

    def _router_lead(self) -> QWidget:
        menu = QMenu(self)
        for name in router_presets():
            menu.addAction(name).triggered.connect(
                lambda _on=False, name=name: self._change(router=router_preset(name))
            )
        tip = tr("Bundled settings for the registry of that name")
        button = push_button(tr("Fill in"), tip=tip)
        button.setMenu(menu)
        note = PlainLabel(tr("The router sees the names of the tools, not their arguments."), role="hint")
        return holder(hbox(button, (note, 1), spacing=10))

    def _sampling_lead(self) -> QWidget:
        menu = QMenu(self, toolTipsVisible=True)
        for preset in run_profiles():
            action = menu.addAction(_NAMES.get(preset.name, preset.name))
            action.setToolTip(preset.about)
            action.triggered.connect(
                lambda _checked=False, preset=preset: self._change(sampling=self._of(preset))
            )
        self.presets_button = push_button(tr("Sampling presets"), name="samplingPresets")
        self.presets_button.setMenu(menu)
        self.preset_note = PlainLabel(role="hint")
        self.greedy_note, self.run_note = words_label(GREEDY), words_label("")
        self.run_note.hide()
        line = hbox(self.presets_button, (self.preset_note, 1), spacing=10)
        return holder(vbox(line, self.greedy_note, self.run_note, spacing=8))

    def _ask_for_file(self) -> None:
        filters = tr("Schemas, grammars and texts (*.json *.gbnf *.lark *.txt);;All files (*)")
        ask_for_file(self, tr("Open the text of an answer"), self.read_answer, filters=filters)

    def read_answer(self, path: Path) -> None:
        """Choose the answer of a file, whose ending says its kind; another file has the text of the chosen kind."""
        try:
            text = utf8_text(read_file(path), str(path), hint=tr("Give a text file in UTF-8."))
        except GlyphscopeError as error:
            mark_refused(self.groups.field("answer.text"), error.words)
            return
        kinds: dict[str, AnswerKind] = {".json": "schema", ".gbnf": "gbnf", ".lark": "lark"}
        kind = kinds.get(path.suffix, self._options.answer.kind)
        self._change(answer=Answer(kind if kind != "call" else "choice", text.strip("\n")))

    def _of(self, preset: Profile) -> Sampling:
        return preset.of(self._model or ModelInfo(name=""), self._options.sampling.seed)

    def _show_preset(self) -> None:
        """Show the preset that equals the settings, and the source that recommends it for the open model."""
        words = sampling_words(self._options.sampling)
        same = next((each for each in run_profiles() if sampling_words(self._of(each)) == words), None)
        source = same and same.source_of(self._model or ModelInfo(name=""))
        self.preset_note.setText(source or (_NAMES.get(same.name, same.name) if same else tr("Custom")))

    def _show_effect(self) -> None:
        """Show the tokens that each filter left in the shown run."""
        run = self._run
        effect = None if run is None or run.started is None else effect_of(run)
        for name, label in self.groups.notes.items():
            label.setText("" if effect is None else effect.words(_MEASURED[name]))
        self.groups.refresh()
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


def _option_of(problem: RequestProblem) -> str:
    """The option that the problem is about."""
    return "answer.kind" if problem.field == "answer" else problem.field


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
            return tr("{count} in the run shown", count=count(self.longest)) if self.longest else ""
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
