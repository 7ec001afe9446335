"""The bar at the top: model, notation, constraint, the button of the options, which says what they are, and Run.

It decides which parts are shown on a page, and how they fit: on one line or two, with or without icons and words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from glyphscope.base.errors import RequestProblem
from glyphscope.events import ModelInfo, RunRequest
from glyphscope.registry import ToolRegistry
from glyphscope.runs.problems import notation_obstacle
from glyphscope_gui.run_settings.options import option_words, shorter_words
from glyphscope_gui.run_settings.panel import OptionsPanel
from glyphscope_gui.shared.labels import ElidedLink, PlainLabel, link, named, push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, vbox
from glyphscope_gui.shared.page_ids import HeaderPart
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.run_words import CONSTRAINTS, NOTATIONS
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.shared.settings_grid import mark_refused
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import PAD

OPTIONS_ROOM = 32
"""Pixels of the button of options beside its words."""
_BESIDE = ("notation", "native", "form", "constraint", "grammar", "registry", "relaxed", "written")
"""The settings of a request that are not options."""
_CUSTOM = tr(
    "Only tokens that the custom grammar allows, from the page Grammar; the tools judge the text afterwards"
)
TWO_LINES_BRAND, TWO_LINES_SHORT = 1240, 1140
"""With two lines: widths in pixels from which the name is shown, and below which words are shortened."""


class RunHeader(FollowsSize, QFrame):
    """`optionsChosen` carries a dict of the fields of RunRequest that the user changed; `picker` shows the model.
    `lackingRequested`: the constraints that the next run does not enforce are to be shown.
    """

    optionsChosen = Signal(object)
    lackingRequested = Signal()

    def __init__(self, picker: QWidget, run: QAction, stop: QAction, step: QAction) -> None:
        super().__init__()
        self.setObjectName("header")
        self._options = RunRequest(prompt="", registry={})
        self._model: ModelInfo | None = None
        self._is_record, self._is_editable = False, True
        self._custom = False  # the project's runs use a custom grammar
        self.picker = picker
        self.logo = PlainLabel(self, accessibleName="Glyphscope")
        self.brand = PlainLabel("Glyphscope", self, role="brand")
        self._marked: dict[QWidget, str] = {}  # the marked fields, with their usual hints
        self._run_tip = run.toolTip()
        self._make_pickers()
        self._lacking = 0
        self.lacking_link = link("", "", self, name="lackingLink", clicked=self.lackingRequested)
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
        self._options = options
        self.notation.set_value("native" if options.native else options.notation)
        # an endpoint's constraint is not a choice: any other becomes it there
        self.constraint.set_value("mask" if options.constraint == "endpoint" else options.constraint)
        self.panel.show_options(options)
        words, brief = option_words(options), option_words(options, brief=True)
        self.options_button.set_words(*map(" · ".join, (words, brief)), *shorter_words(brief))
        tip = tr("Options of a run: {words}", words=", ".join(words))
        named(self.options_button, words=tip, description=tip, tip=plain_tip(tip))
        self._show_notations()
        self._fit()

    def show_problems(self, problems: Collection[RequestProblem]) -> None:
        """Mark the settings for which the next run would be rejected, and list all of the problems at Run."""
        reasons: dict[QWidget, list[str]] = {}
        inside = [problem for problem in problems if problem.field not in _BESIDE]
        for problem in problems:
            for field in self._fields_of(problem.field):
                reasons.setdefault(field, []).append(problem.error.words)
        for field, tip in self._marked.items():
            mark_refused(field, "")
            field.setToolTip(tip)
        self._marked = {field: field.toolTip() for field in reasons}
        for field, words_of in reasons.items():
            mark_refused(field, "\n".join(words_of))
        self.panel.show_problems(inside)
        every = "\n".join(problem.error.words for problem in problems)
        self.run_button.setAccessibleDescription(every)
        self.run_button.setToolTip(plain_tip(every or self._run_tip))

    def show_lacking(self, count: int, words: str) -> None:
        """Show beside Run how many constraints the next run does not enforce; `words` name them."""
        self._lacking = count
        mask = self._options.constraint == "mask"
        short = tr("{count} not masked", count=count) if mask else tr("{count} not enforced", count=count)
        named(self.lacking_link, words=words, description=words, tip=plain_tip(words)).setText(short)
        self.show_parts(self._parts)

    def _fields_of(self, name: str) -> Iterable[QWidget]:
        """The widgets to mark for that setting of a request: the buttons of a choice, or the one of the options."""
        match name:
            case "notation" | "native" | "form":
                return self.notation.findChildren(QPushButton)
            case "constraint" | "grammar":
                return self.constraint.findChildren(QPushButton)
            case "registry" | "relaxed" | "written":
                return ()
        return (self.options_button,)

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
        self._model = model
        self.panel.show_model(model)
        self._show_notations()

    def _show_notations(self) -> None:
        """Enable the notations that the answer and the model have, or say why not; a chosen one can be left."""
        for value, _words, about in NOTATIONS:
            button = self.notation.button(value)
            obstacle = notation_obstacle(self._options, self._model, native=value == "native")
            button.setEnabled(obstacle is None)
            tip = about if obstacle is None else f"{about}. {obstacle.words}"
            if button not in self._marked:
                named(button, description=tip, tip=plain_tip(tip))

    def show_parts(self, parts: frozenset[HeaderPart]) -> None:
        """Show only these parts, which the page in front uses."""
        self._parts = parts
        for part, widgets in self._widgets.items():
            for widget in widgets:
                widget.setVisible(part in parts)
        self.lacking_link.setVisible(HeaderPart.RUN in parts and self._lacking > 0)
        self._fit()

    def show_tools(self, registry: ToolRegistry) -> None:
        """Set the tools of the project, one of which can be required."""
        self.panel.show_tools(tool.name for tool in registry.allowed)

    def set_editable(self, editable: bool) -> None:
        """Enable or disable the settings: they are disabled during a run, which they show. A record's always are, but
        another model can be chosen for the project.
        """
        self._is_editable = editable
        self.picker.setEnabled(editable)
        editable = editable and not self._is_record
        for widget in (self.notation, self.constraint):
            widget.setEnabled(editable)
        self.panel.set_editable(editable)

    # -- parts -------------------------------------------------------------------------------------------------

    def _make_pickers(self) -> None:
        self.notation = named(Segmented(NOTATIONS, parent=self), "notationPicker", tr("Notation"))
        self.notation.chosen.connect(self._choose_notation)
        self.constraint = named(
            Segmented(CONSTRAINTS, parent=self), "constraintPicker", tr("Constraint on tokens")
        )
        self.constraint.chosen.connect(lambda value: self.optionsChosen.emit({"constraint": value}))
        self.panel = OptionsPanel(self)
        self.panel.optionsChosen.connect(self.optionsChosen)
        self.options_button = named(
            ElidedLink(self, role="", around=OPTIONS_ROOM, tail=" ▾"), "optionsButton"
        )
        self.options_button.clicked.connect(self.open_options)

    def open_options(self) -> None:
        """Open the panel of options, or close it."""
        self.panel.show_below(self.options_button)

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

    def _choose_notation(self, value: str) -> None:
        native = value == "native"
        self.optionsChosen.emit({"native": "auto"} if native else {"native": "", "notation": value})

    def _lay_out(self) -> None:
        self._upper = (self.logo, self.brand, self.picker, self.notation, self.constraint)
        self._buttons = (self.step_button, self.stop_button, self.run_button)
        self._ends = (self.lacking_link, *self._buttons)
        self._all = (*self._upper, self.options_button, *self._ends)
        self._widgets: dict[HeaderPart, tuple[QWidget, ...]] = {
            HeaderPart.MODEL: (self.picker,),
            HeaderPart.CALL: (self.notation, self.constraint),
            HeaderPart.OPTIONS: (self.options_button,),
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
        self.options_button.setFixedHeight(self.notation.sizeHint().height())
        self._fit()
        self.logo.setPixmap(theme().pixmap("logo", "accent", round(size * 1.25), scale))
        for button, icon, role in (
            (self.step_button, "step", "text"),
            (self.stop_button, "stop", "text"),
            (self.run_button, "run", "on-accent"),
        ):
            button.setIcon(theme().icon(icon, role, size=max(size, 16)))
            button.setIconSize(QSize(size, size))

    def _fit(self) -> None:
        """Hide the least important parts in turn: the name, then the icons and the words of Step and Stop.

        Two lines are the last resort, with the parts that fit the width.
        """
        width, button = self.width(), self.options_button
        ways = ((True, False), (False, False), (False, True))  # brand, short
        whole = HeaderPart.CALL in self._parts  # otherwise there is room for all parts
        for brand, short in ways if whole else ways[:1]:
            self._set_form(brand=brand, short=short)
            if (room := width - self._needs()) >= self._preferred:
                if short:  # the model's name gets what the words of the options leave
                    spare = max(room + self._least(button) - button.sizeHint().width(), 0)
                    self.picker.setFixedWidth(min(self._slim + spare, self.picker.sizeHint().width()))
                self._set_lines(two=False)
                return
        self._set_form(brand=width >= TWO_LINES_BRAND or not whole, short=width < TWO_LINES_SHORT and whole)
        self._set_lines(two=self._needs() > width)

    def _set_form(self, *, brand: bool, short: bool) -> None:
        """Show or hide the program's name; `short`: without icons and words that can be omitted."""
        self.brand.setVisible(brand)
        self.logo.setVisible(not short)
        self.picker.setMinimumWidth(0)
        self.picker.setMaximumWidth(self._slim if short else 16_777_215)
        self.options_button.setMinimumWidth((5 if short else 8) * self._icon_size)
        for line in self._lines:
            line.setSpacing(5 if short else 8)
        self._column.setContentsMargins(*((10, 8, 10, 8) if short else (PAD, 8, PAD, 8)))
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
        last.addWidget(self.options_button, 100)
        last.addStretch(1)
        for button in self._ends:
            last.addWidget(button)
        self._column.setSpacing(8 if two else 0)
        self.updateGeometry()

    @property
    def _slim(self) -> int:
        """The width in pixels of the model's name where there is no room for all of it."""
        return max(110, 6 * self._icon_size)

    @property
    def _preferred(self) -> int:
        """The pixels that the words of the options and the model's name need besides the least ones; long words of
        options are cut before icons are.
        """
        hints = {
            self.options_button: min(self.options_button.sizeHint().width(), 16 * self._icon_size),
            self.picker: min(self.picker.sizeHint().width(), self.picker.maximumWidth()),
        }
        return sum(max(w - self._least(one), 0) for one, w in hints.items() if not one.isHidden())

    @staticmethod
    def _least(widget: QWidget) -> int:
        return min(max(widget.minimumSizeHint().width(), widget.minimumWidth()), widget.maximumWidth())

    def _needs(self) -> int:
        """The width in pixels that all parts need in one line."""
        widgets = [widget for widget in self._all if not widget.isHidden()]
        margins = self._column.contentsMargins()
        around = len(widgets) * self._lines[0].spacing() + margins.left() + margins.right()
        return sum(map(self._least, widgets)) + around

    def _height(self, hint: QSize) -> int:
        """As high with few parts as with a full line, so that nothing below moves between pages."""
        inner, outer = self._column.contentsMargins(), self.contentsMargins()
        around = inner.top() + inner.bottom() + outer.top() + outer.bottom()
        heights = (min(widget.sizeHint().height(), widget.maximumHeight()) for widget in self._all)
        return max(hint.height(), max(heights) + around)

    @property
    def _icon_size(self) -> int:
        return max(self.fontMetrics().height(), 14)
