"""The bar at the top: the settings of a run that are changed most often, the buttons of the others, and Run.

It decides which parts are shown on a page, and how they fit: on one line or two, with or without icons and words.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

import msgspec
from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDoubleSpinBox, QFrame, QHBoxLayout, QPushButton, QSpinBox, QWidget

from glyphscope.base.errors import RequestProblem
from glyphscope.events import CALL, AnswerKind, ModelInfo, RunRequest, Sampling, settings_of
from glyphscope.registry import ToolRegistry
from glyphscope.runs.sampling import limits_in_words, sampling_words
from glyphscope_gui.run_settings.popup import SettingsPopup
from glyphscope_gui.run_settings.sampling_settings import SamplingSettings
from glyphscope_gui.run_settings.strategy_settings import StrategySettings
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import PlainLabel, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, vbox
from glyphscope_gui.shared.page_ids import HeaderPart
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.run_words import (
    ANSWERS,
    CONSTRAINTS,
    MAX_SEED,
    MAX_TEMPERATURE,
    NOTATIONS,
    SHAPES,
    STRATEGIES,
)
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.settings_grid import mark_refused, setting_tip
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import PAD

SEED_DIGITS = 4
"""Number of digits of a seed for which there is room; longer seeds get more."""
_CUSTOM = tr(
    "Only tokens that the custom grammar allows, from the page Grammar; the tools judge the text afterwards"
)
TWO_LINES_BRAND, TWO_LINES_SHORT = 1240, 1140
"""With two lines: widths in pixels from which the name is shown, and below which words are shortened."""


class RunHeader(FollowsSize, QFrame):
    """`optionsChosen` carries a dict of the fields of RunRequest that the user changed; `picker` shows the model."""

    optionsChosen = Signal(object)

    def __init__(self, picker: QWidget, run: QAction, stop: QAction, step: QAction) -> None:
        super().__init__()
        self.setObjectName("header")
        self._sampling = RunRequest(prompt="", registry={}).sampling
        self._native = False
        self._is_record, self._is_editable = False, True
        self._custom = False  # the project's runs use a custom grammar
        self.picker = picker
        self.logo = PlainLabel(self, accessibleName="Glyphscope")
        self.brand = PlainLabel("Glyphscope", self, role="brand")
        self._marked: dict[QWidget, str] = {}  # the marked fields, with their usual hints
        self._run_tip = run.toolTip()
        self._make_pickers()
        self._make_spins()
        self.step_button = self._button("stepButton", step)
        self.stop_button = self._button("stopButton", stop)
        self.run_button = self._button("runButton", run)
        self.run_button.setProperty("role", "primary")
        self._lay_out()
        self.restyle()

    # -- shown values ------------------------------------------------------------------------------------------

    def show_options(self, options: RunRequest) -> None:
        """Show the options of the project, without a signal and, until they are checked, without problems."""
        self.show_problems(())
        self._sampling = options.sampling
        self.notation.set_value("native" if options.native else options.notation)
        self._native = bool(options.native) and options.answer.is_call
        self.shape.setEnabled(self.notation.isEnabled() and not self._native)
        # an endpoint's constraint is not a choice: any other becomes it there
        self.constraint.set_value("mask" if options.constraint == "endpoint" else options.constraint)
        shown = options.shape if options.answer.is_call else options.answer.kind
        self.shape.setCurrentIndex(self.shape.findData(shown))
        self.strategy.setCurrentIndex(self.strategy.findData(options.strategy))
        about = self.strategy.currentData(Qt.ItemDataRole.ToolTipRole) or ""
        self.strategy.setToolTip(tr("How a run asks the model. {about}", about=about))
        self.settings.show_options(options)
        self.sampling.show_options(options)
        self.sampling_button.setToolTip(_sampling_tip(options))
        with QSignalBlocker(self.seed), QSignalBlocker(self.temperature):
            self.seed.setValue(min(max(options.sampling.seed, 0), MAX_SEED))  # a file may contain any number
            self.temperature.setValue(options.sampling.temperature)
        self._fit_seed()

    def show_problems(self, problems: Collection[RequestProblem]) -> None:
        """Mark the settings for which the next run would be rejected, and list all of the problems at Run."""
        reasons: dict[QWidget, list[str]] = {}
        inside: dict[SettingsPopup, list[str]] = {self.settings: [], self.sampling: []}
        for problem in problems:
            field, popup = self._field_of(problem.field)
            words = problem.error.words
            if popup is not None:
                inside[popup].append(words)
                if (inner := popup.field_of(problem.field)) is not None:
                    reasons.setdefault(inner, []).append(words)
            if field is not None:
                parts = field.findChildren(QPushButton) if isinstance(field, Segmented) else (field,)
                for part in parts:
                    reasons.setdefault(part, []).append(words)
        for field, tip in self._marked.items():
            mark_refused(field, "")
            field.setToolTip(tip)
        self._marked = {field: field.toolTip() for field in reasons}
        for field, words_of in reasons.items():
            mark_refused(field, "\n".join(words_of))
        for popup, of_popup in inside.items():
            popup.show_problems(of_popup)
        every = "\n".join(problem.error.words for problem in problems)
        self.run_button.setAccessibleDescription(every)
        self.run_button.setToolTip(plain_tip(every or self._run_tip))

    def _field_of(self, name: str) -> tuple[QWidget | None, SettingsPopup | None]:
        """The field of that setting of a request; for one in a popup, the button that shows it, and the popup."""
        direct = {
            "notation": self.notation,
            "native": self.notation,
            "form": self.notation,
            "shape": self.shape,
        }
        direct |= {"constraint": self.constraint, "grammar": self.constraint, "strategy": self.strategy}
        direct |= {"sampling.seed": self.seed, "sampling.temperature": self.temperature}
        if name in direct:
            return direct[name], None
        if name == "answer":
            return self.shape, self.settings
        if name in ("registry", "relaxed", "written"):
            return None, None
        if name.startswith("sampling.") or name in ("max_tokens", "stop"):
            return self.sampling_button, self.sampling
        return self.settings_button, self.settings

    def show_record(self, request: RunRequest | None) -> None:
        """Show the settings of a record, read-only; None shows the project's again."""
        self._is_record = request is not None
        if request is not None:
            self.show_options(request)
        self._show_constraints(self._custom if request is None else request.grammar is not None)
        self.set_editable(self._is_editable)

    def show_custom_grammar(self, custom: bool) -> None:
        """Show whether the project's runs use a custom grammar in place of the tools'."""
        self.show_problems(())
        self._custom = custom
        if not self._is_record:
            self._show_constraints(custom)

    def _show_constraints(self, custom: bool) -> None:
        for value, _words, about in CONSTRAINTS:
            own = custom and value != "off"
            self.constraint.button(value).setToolTip(_CUSTOM if own else about)
        self.constraint.setAccessibleDescription(_CUSTOM if custom else "")

    def show_model(self, model: ModelInfo | None) -> None:
        """Set the open model, which decides the available settings; None while none is open."""
        self.settings.show_model(model)
        self.sampling.show_model(model)

    def show_parts(self, parts: frozenset[HeaderPart]) -> None:
        """Show only these parts, which the page in front uses."""
        self._parts = parts
        for part, widgets in self._widgets.items():
            for widget in widgets:
                widget.setVisible(part in parts)
        self._fit()

    def show_tools(self, registry: ToolRegistry) -> None:
        """Set the tools of the project, one of which can be required."""
        self.settings.answer.show_tools(tool.name for tool in registry.allowed)

    def set_editable(self, editable: bool) -> None:
        """Enable or disable the settings: they are disabled during a run, which they show. A record's always are, but
        another model can be chosen for the project.
        """
        self._is_editable = editable
        self.picker.setEnabled(editable)
        editable = editable and not self._is_record
        for widget in (self.notation, self.constraint, *self._lower):
            widget.setEnabled(editable)
        self.shape.setEnabled(editable and not self._native)

    # -- parts -------------------------------------------------------------------------------------------------

    def _make_pickers(self) -> None:
        self.notation = named(Segmented(NOTATIONS, parent=self), "notationPicker", tr("Notation"))
        self.notation.chosen.connect(self._choose_notation)
        tip = tr(
            "Shape of a call: the keys for the tool's name and its arguments; or an answer that is not a call"
        )
        self.shape = choice_box(
            self, "shapePicker", tr("Shape of a call"), tip=tip, choices=(*SHAPES, *ANSWERS)
        )
        self.shape.insertSeparator(len(SHAPES))
        self.shape.activated.connect(lambda index: self._choose_shape(self.shape.itemData(index)))
        self.constraint = named(
            Segmented(CONSTRAINTS, parent=self), "constraintPicker", tr("Constraint on tokens")
        )
        self.constraint.chosen.connect(lambda value: self.optionsChosen.emit({"constraint": value}))
        self.strategy = choice_box(self, "strategyPicker", tr("Strategy"), choices=STRATEGIES)
        self.strategy.view().setMinimumWidth(self.fontMetrics().horizontalAdvance(tr("Route → execute")) + 40)
        self.strategy.activated.connect(
            lambda index: self.optionsChosen.emit({"strategy": self.strategy.itemData(index)})
        )
        self.settings = StrategySettings(self)
        self.settings.optionsChosen.connect(self.optionsChosen)
        self.settings_button = push_button(
            "",
            self,
            name="strategySettingsButton",
            spoken=tr("Strategy settings"),
            tip=tr("Strategy settings: thinking, calls, repairs, limits, approval"),
            clicked=lambda: self.settings.show_below(self.settings_button),
        )

    def _make_spins(self) -> None:
        self._seed_digits = SEED_DIGITS
        self.seed = named(QSpinBox(self, prefix=tr("Seed ")), "seedSpin", tr("Seed"))
        self.seed.setRange(0, MAX_SEED)
        self.seed.setToolTip(setting_tip(settings_of(Sampling)["seed"]))
        self.temperature = named(_Temperature(self), "temperatureSpin", tr("Temperature"))
        self.temperature.setRange(0, MAX_TEMPERATURE)
        self.temperature.setDecimals(2)
        self.temperature.setSingleStep(0.1)
        self.temperature.setPrefix(tr("Temp "))
        self.temperature.setToolTip(setting_tip(settings_of(Sampling)["temperature"]))
        for spin in (self.seed, self.temperature):
            spin.setKeyboardTracking(False)
            spin.lineEdit().setTextMargins(7, 0, 0, 0)
        self.seed.valueChanged.connect(lambda value: self._sample(seed=value))
        self.seed.valueChanged.connect(self._fit_seed)
        self.temperature.valueChanged.connect(lambda value: self._sample(temperature=round(value, 2)))
        self.sampling = SamplingSettings(self)
        self.sampling.optionsChosen.connect(self.optionsChosen)
        self.sampling_button = push_button("", self, name="samplingButton", spoken=tr("Sampling"))
        self.sampling_button.clicked.connect(lambda: self.sampling.show_below(self.sampling_button))

    def _button(self, name: str, action: QAction) -> QPushButton:
        """A button that triggers the action, and is enabled with it. A click leaves the focus where it is."""
        button = push_button(action.iconText(), self, name=name, tip=action.toolTip())
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleName(action.iconText())
        button.setEnabled(action.isEnabled())
        button.clicked.connect(action.trigger)
        action.enabledChanged.connect(lambda enabled: self._enable(button, enabled))
        return button

    def _enable(self, button: QPushButton, enabled: bool) -> None:
        """Enable the button, or give its focus to Stop or Run: Qt would give it to the rail of pages."""
        if button.hasFocus() and not enabled:
            others = (each for each in (self.stop_button, self.run_button) if each is not button)
            if other := next((each for each in others if each.isEnabled()), None):
                other.setFocus(Qt.FocusReason.OtherFocusReason)
        button.setEnabled(enabled)

    def _choose_shape(self, value: str) -> None:
        """Choose the shape of a call, or an answer other than a call: its text is in the strategy's settings."""
        if value not in {kind for kind, _, _ in ANSWERS}:
            self.optionsChosen.emit({"shape": value, "answer": CALL})
            return
        self.settings.answer.choose_kind(cast(AnswerKind, value))
        self.settings.show_below(self.shape)

    def _choose_notation(self, value: str) -> None:
        native = value == "native"
        self.optionsChosen.emit({"native": "auto"} if native else {"native": "", "notation": value})

    def _sample(self, **changes: float) -> None:
        self._sampling = msgspec.structs.replace(self._sampling, **changes)
        self.optionsChosen.emit({"sampling": self._sampling})

    def _lay_out(self) -> None:
        self._upper = (self.logo, self.brand, self.picker, self.notation, self.shape, self.constraint)
        self._lower = (self.strategy, self.settings_button, self.seed, self.temperature, self.sampling_button)
        self._buttons = (self.step_button, self.stop_button, self.run_button)
        self._all = (*self._upper, *self._lower, *self._buttons)
        self._widgets: dict[HeaderPart, tuple[QWidget, ...]] = {
            HeaderPart.MODEL: (self.picker,),
            HeaderPart.CALL: (self.notation, self.shape, self.constraint),
            HeaderPart.STRATEGY: (self.strategy, self.settings_button),
            HeaderPart.SEED: (self.seed, self.temperature),
            HeaderPart.SAMPLING: (self.sampling_button,),
            HeaderPart.RUN: self._buttons,
        }
        self._parts = frozenset(HeaderPart)
        self._lines = (QHBoxLayout(), QHBoxLayout())
        self._column = vbox(*self._lines, parent=self, margins=None, spacing=0)
        self._has_two_lines: bool | None = None
        self._set_lines(two=False)

    # -- one line or two, at any width and text size -----------------------------------------------------------

    def minimumSizeHint(self) -> QSize:
        return QSize(640, self._height(super().minimumSizeHint()))

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(hint.width(), self._height(hint))

    def restyle(self) -> None:
        """Apply the current theme's colours and font sizes."""
        scale = self.devicePixelRatioF()
        size = self._icon_size
        height = self.notation.sizeHint().height()
        for field in (self.shape, *self._lower):
            field.setFixedHeight(height)
        self._fit()
        self.logo.setPixmap(theme().pixmap("logo", "accent", round(size * 1.25), scale))
        for button, icon, role in (
            (self.step_button, "step", "text"),
            (self.stop_button, "stop", "text"),
            (self.run_button, "run", "on-accent"),
            (self.settings_button, "settings", "text-muted"),
            (self.sampling_button, "sampling", "text-muted"),
        ):
            button.setIcon(theme().icon(icon, role, size=max(size, 16)))
            button.setIconSize(QSize(size, size))

    def _fit(self) -> None:
        """Hide the least important parts in turn: the name, then the icons and the words of Step and Stop.

        Two lines are the last resort, with the parts that fit the width.
        """
        width = self.width()
        ways = ((True, False), (False, False), (False, True))  # brand, short
        whole = HeaderPart.CALL in self._parts  # otherwise there is room for all parts
        for brand, short in ways if whole else ways[:1]:
            self._set_form(brand=brand, short=short)
            if self._needs() <= width:
                self._set_lines(two=False)
                return
        self._set_form(brand=width >= TWO_LINES_BRAND or not whole, short=width < TWO_LINES_SHORT and whole)
        self._set_lines(two=self._needs() > width)

    def _fit_seed(self) -> None:
        """Fit again if the seed has more digits than there is room for, or fewer."""
        digits = max(SEED_DIGITS, len(str(self.seed.value())))
        if digits != self._seed_digits:
            self._seed_digits = digits
            self._fit()

    def _set_form(self, *, brand: bool, short: bool) -> None:
        """Show or hide the program's name; `short`: without icons, prefixes and words that can be omitted.

        Fields are as wide as their longest usual text: with a style sheet, Qt's size hint is far too wide.
        """
        self.brand.setVisible(brand)
        self.logo.setVisible(not short)
        self.picker.setMaximumWidth(max(110, 13 * self._icon_size // 2) if short else 16_777_215)
        for spin, prefix, figures in (
            (self.seed, tr("Seed "), "0" * self._seed_digits),
            (self.temperature, tr("Temp "), "0.00"),
        ):
            spin.setPrefix("" if short else prefix)
            widest = figures if short else prefix + figures
            spin.setFixedWidth(self.fontMetrics().horizontalAdvance(widest) + 20)
        for line in self._lines:
            line.setSpacing(5 if short else 8)
        self._column.setContentsMargins(*((10, 8, 10, 8) if short else (PAD, 8, PAD, 8)))
        widest = tr("Two-stage") if short else tr("Route → execute")
        self.strategy.setFixedWidth(self.fontMetrics().horizontalAdvance(widest) + (40 if short else 56))
        self.shape.setFixedWidth(self.fontMetrics().horizontalAdvance("name/args") + (36 if short else 50))
        for button in (self.settings_button, self.sampling_button):
            button.setFixedWidth(max(30 if short else 34, self._icon_size + (14 if short else 18)))
        for button in (self.step_button, self.stop_button):
            button.setText("" if short else button.accessibleName())
            button.setMaximumWidth(max(36, self._icon_size + 20) if short else 16_777_215)

    def _set_lines(self, *, two: bool) -> None:
        """Use one line, or two if large text leaves no room for all parts in one."""
        if two == self._has_two_lines:
            return
        self._has_two_lines = two
        upper, lower = self._lines
        for line in self._lines:
            while line.count():
                line.takeAt(0)
        for widget in self._upper:
            upper.addWidget(widget)
        if two:
            upper.addStretch(1)
        last = lower if two else upper
        for widget in self._lower:
            last.addWidget(widget)
        last.addStretch(1)
        for button in self._buttons:
            last.addWidget(button)
        self._column.setSpacing(8 if two else 0)

    def _needs(self) -> int:
        """The width in pixels that all parts need in one line."""
        widgets = [widget for widget in self._all if not widget.isHidden()]
        widths = [min(max(w.minimumSizeHint().width(), w.minimumWidth()), w.maximumWidth()) for w in widgets]
        margins = self._column.contentsMargins()
        return sum(widths) + len(widths) * self._lines[0].spacing() + margins.left() + margins.right()

    def _height(self, hint: QSize) -> int:
        """As high with few parts as with a full line, so that nothing below moves between pages."""
        inner, outer = self._column.contentsMargins(), self.contentsMargins()
        around = inner.top() + inner.bottom() + outer.top() + outer.bottom()
        heights = (min(widget.sizeHint().height(), widget.maximumHeight()) for widget in self._all)
        return max(hint.height(), max(heights) + around)

    @property
    def _icon_size(self) -> int:
        return max(self.fontMetrics().height(), 14)


class _Temperature(QDoubleSpinBox):
    """Shows one decimal place, or two if the second is not 0."""

    def textFromValue(self, value: float) -> str:
        return self.locale().toString(value, "f", 1 if round(value * 100) % 10 == 0 else 2)


def _sampling_tip(options: RunRequest) -> str:
    return tr(
        "Sampling: top-k, top-p, min-p, repeat penalty, stop strings\nNow: {settings}, {limits}",
        settings=sampling_words(options.sampling),
        limits=limits_in_words(options),
    )
