"""The line at the top: which model, how the call is written, what is enforced, and Run."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSpinBox,
    QWidget,
)

from glyphscope.events import RunRequest
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import PAD
from glyphscope_gui.widgets.segmented import Segmented
from glyphscope_gui.widgets.strategy_settings import STRATEGY_WORDS, StrategySettings

_SHAPES = (
    ("flat", "flat", '{"action": name, …arguments}'),
    ("tool-args", "tool/args", '{"tool": name, "args": {…}}'),
    ("name-arguments", "name/args", '{"name": name, "arguments": {…}}'),
)
SEED_MAX = 2**31 - 1


class Header(QFrame):
    """`optionsChosen` carries a dict of the fields of RunRequest that the user changed."""

    optionsChosen = Signal(object)

    def __init__(self, picker: QWidget, run: QAction, stop: QAction, step: QAction) -> None:
        super().__init__()
        self.setObjectName("header")
        self._sampling = RunRequest(prompt="", registry={}).sampling
        self._native = False
        self.picker = picker
        self.logo = QLabel(self)
        self.logo.setAccessibleName("Glyphscope")
        self.brand = QLabel("Glyphscope", self)
        self.brand.setProperty("role", "brand")
        self._make_pickers()
        self._make_spins()
        self._fit_fields()
        self.settings_button.setFixedSize(34, self.notation.sizeHint().height())
        self.step_button = self._button("stepButton", step, "step", "text")
        self.stop_button = self._button("stopButton", stop, "stop", "text")
        self.run_button = self._button("runButton", run, "run", "on-accent")
        self.run_button.setProperty("role", "primary")
        self._lay_out()
        self.restyle()

    def show_options(self, options: RunRequest) -> None:
        """What the project says, without telling it back."""
        self._sampling = options.sampling
        self.notation.set_value("native" if options.native else options.notation)
        self._native = bool(options.native)
        self.shape.setEnabled(self.notation.isEnabled() and not self._native)
        self.constraint.set_value(options.constraint)
        self.shape.setCurrentIndex(self.shape.findData(options.shape))
        self.strategy.setCurrentIndex(self.strategy.findData(options.strategy))
        about = self.strategy.currentData(Qt.ItemDataRole.ToolTipRole) or ""
        self.strategy.setToolTip(f"How the model is asked. {about}")
        self.settings.show_options(options)
        for spin, value in (
            (self.seed, options.sampling.seed),
            (self.temperature, options.sampling.temperature),
        ):
            spin.blockSignals(True)
            spin.setValue(value)
            spin.blockSignals(False)

    def set_editable(self, editable: bool) -> None:
        """While a run goes on its settings stand still: what is shown is what runs."""
        for widget in (
            self.notation,
            self.constraint,
            self.strategy,
            self.settings_button,
            self.seed,
            self.temperature,
        ):
            widget.setEnabled(editable)
        self.shape.setEnabled(editable and not self._native)
        self.picker.setEnabled(editable)

    def restyle(self) -> None:
        scale = self.devicePixelRatioF()
        size = max(self.fontMetrics().height(), 14)
        self.logo.setPixmap(theme().pixmap("logo", "accent", round(size * 1.25), scale))
        for button, icon, role in (
            (self.step_button, "step", "text"),
            (self.stop_button, "stop", "text"),
            (self.run_button, "run", "on-accent"),
            (self.settings_button, "settings", "text-muted"),
        ):
            button.setIcon(theme().icon(icon, role))
            button.setIconSize(QSize(size, size))

    def minimumSizeHint(self) -> QSize:
        return QSize(640, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit(event.size().width())

    # -- inside ------------------------------------------------------------------------------------------------

    def _make_pickers(self) -> None:
        self.notation = Segmented(
            (
                ("glyph", "GLYPH", "Calls are written in GLYPH"),
                ("json", "JSON", "Calls are written in JSON"),
                (
                    "native",
                    "Native",
                    "Calls are written as the model was trained to, by its own chat template, which also has the shape",
                ),
            ),
            parent=self,
        )
        self.notation.setObjectName("notationPicker")
        self.notation.setAccessibleName("Notation")
        self.notation.chosen.connect(self._choose_notation)
        self.shape = QComboBox(self)
        self.shape.setObjectName("shapePicker")
        self.shape.setAccessibleName("Shape of a call")
        for value, words, example in _SHAPES:
            self.shape.addItem(words, value)
            self.shape.setItemData(self.shape.count() - 1, example, Qt.ItemDataRole.ToolTipRole)
        self.shape.setToolTip("What a call looks like: its keys for the tool's name and its arguments")
        self.shape.activated.connect(
            lambda place: self.optionsChosen.emit({"shape": self.shape.itemData(place)})
        )
        self.constraint = Segmented(
            (
                (
                    "off",
                    "Off",
                    "The model writes what it wants; the run stops when no valid call can come any more",
                ),
                ("mask", "Mask", "Only tokens that can still become a valid call are allowed"),
                ("gbnf", "GBNF", "The same in llama.cpp’s own sampler, from the grammar’s GBNF text"),
            ),
            parent=self,
        )
        self.constraint.setObjectName("constraintPicker")
        self.constraint.setAccessibleName("Constraint on tokens")
        self.constraint.chosen.connect(lambda value: self.optionsChosen.emit({"constraint": value}))
        self.strategy = QComboBox(self)
        self.strategy.setObjectName("strategyPicker")
        self.strategy.setAccessibleName("Strategy")
        for value, words, about in STRATEGY_WORDS:
            self.strategy.addItem(words, value)
            self.strategy.setItemData(self.strategy.count() - 1, about, Qt.ItemDataRole.ToolTipRole)
        self.strategy.view().setMinimumWidth(self.fontMetrics().horizontalAdvance("Route → execute") + 40)
        self.strategy.activated.connect(
            lambda place: self.optionsChosen.emit({"strategy": self.strategy.itemData(place)})
        )
        self.settings = StrategySettings(self)
        self.settings.optionsChosen.connect(self.optionsChosen)
        self.settings_button = QPushButton(self)
        self.settings_button.setObjectName("strategySettingsButton")
        self.settings_button.setAccessibleName("Strategy settings")
        self.settings_button.setToolTip("Strategy settings: repairs, limits, what may run")
        self.settings_button.clicked.connect(lambda: self.settings.show_below(self.settings_button))

    def _make_spins(self) -> None:
        self.seed = QSpinBox(self)
        self.seed.setObjectName("seedSpin")
        self.seed.setAccessibleName("Seed")
        self.seed.setRange(0, SEED_MAX)
        self.seed.setPrefix("Seed ")
        self.seed.setToolTip("The same seed draws the same tokens again")
        self.temperature = QDoubleSpinBox(self)
        self.temperature.setObjectName("temperatureSpin")
        self.temperature.setAccessibleName("Temperature")
        self.temperature.setRange(0, 5)
        self.temperature.setDecimals(1)
        self.temperature.setSingleStep(0.1)
        self.temperature.setPrefix("Temp ")
        self.temperature.setToolTip("0 always takes the likeliest token; higher draws more freely")
        for spin in (self.seed, self.temperature):
            spin.setKeyboardTracking(False)
            spin.lineEdit().setTextMargins(7, 0, 0, 0)
        self.seed.valueChanged.connect(lambda value: self._sample(seed=value))
        self.temperature.valueChanged.connect(lambda value: self._sample(temperature=round(value, 2)))

    def _fit_fields(self) -> None:
        """As wide as the longest they are meant to show; style sheets make Qt's own guess far too wide."""
        metrics = self.fontMetrics()
        for field, widest, around in (
            (self.shape, "name/args", 50),
            (self.strategy, "Route → execute", 56),
            (self.seed, "Seed 0000", 20),
            (self.temperature, "Temp 0.0", 20),
        ):
            field.setFixedHeight(self.notation.sizeHint().height())
            field.setFixedWidth(metrics.horizontalAdvance(widest) + around)

    def _choose_notation(self, value: str) -> None:
        native = value == "native"
        self.optionsChosen.emit({"native": "auto"} if native else {"native": "", "notation": value})

    def _sample(self, **changes: float) -> None:
        self._sampling = msgspec.structs.replace(self._sampling, **changes)
        self.optionsChosen.emit({"sampling": self._sampling})

    def _button(self, name: str, action: QAction, icon: str, role: str) -> QPushButton:
        """A button that does what the action does, and can when it can."""
        button = QPushButton(action.iconText(), self)
        button.setObjectName(name)
        button.setAccessibleName(action.iconText())
        button.setToolTip(action.toolTip())
        button.setEnabled(action.isEnabled())
        button.clicked.connect(action.trigger)
        action.enabledChanged.connect(button.setEnabled)
        return button

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(PAD, 8, PAD, 8)
        row.setSpacing(8)
        row.addWidget(self.logo)
        row.addWidget(self.brand)
        row.addSpacing(6)
        for widget in (
            self.picker,
            self.notation,
            self.shape,
            self.constraint,
            self.strategy,
            self.settings_button,
        ):
            row.addWidget(widget)
        row.addWidget(self.seed)
        row.addWidget(self.temperature)
        row.addStretch(1)
        for button in (self.step_button, self.stop_button, self.run_button):
            row.addWidget(button)

    def _fit(self, width: int) -> None:
        """What is the least missed goes first: the name, the sign, the words of Step and Stop."""
        self.brand.setVisible(width >= 1240)
        short = width < 1140
        self.logo.setVisible(not short)
        self.picker.setMaximumWidth(110 if short else 16_777_215)
        for spin, prefix, widest in (
            (self.seed, "Seed ", "Seed 0000"),
            (self.temperature, "Temp ", "Temp 0.0"),
        ):
            spin.setPrefix("" if short else prefix)
            spin.setFixedWidth(self.fontMetrics().horizontalAdvance(widest[5:] if short else widest) + 20)
        self.layout().setSpacing(5 if short else 8)
        self.layout().setContentsMargins(*((10, 8, 10, 8) if short else (PAD, 8, PAD, 8)))
        widest = "Two-stage" if short else "Route → execute"
        self.strategy.setFixedWidth(self.fontMetrics().horizontalAdvance(widest) + (49 if short else 56))
        for button in (self.step_button, self.stop_button):
            button.setText("" if short else button.accessibleName())
            button.setMaximumWidth(40 if short else 16_777_215)
