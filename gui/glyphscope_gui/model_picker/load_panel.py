"""The loading of a model: the facts of its file, its load options, and the memory that it then needs."""

from __future__ import annotations

from typing import Any

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QProgressBar, QWidget

from glyphscope.events import DEFAULT_LOAD, LoadOptions, settings_of
from glyphscope.models.batch_sizes import BatchTimes
from glyphscope.models.memory import ModelFacts, memory_needed
from glyphscope_gui.model_picker.words import batches_words, facts_words, memory_words, status_words
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.labels import named, push_button, set_role, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.settings_grid import SettingsGrid, setting_field

_STEPS = 1000


class LoadPanel(QWidget):
    """`optionsChosen` carries LoadOptions that llama.cpp can combine, after the user's edits. `measureRequested`: the
    model's batch size is to be measured again.
    """

    optionsChosen = Signal(object)
    measureRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("loadPanel")
        self._facts: ModelFacts | None = None
        self.options = DEFAULT_LOAD
        self.facts = words_label(parent=self, selectable=True)
        self.memory = words_label(parent=self, name="modelMemory")
        self.grid = SettingsGrid(2, self)
        self._fields = {
            name: setting_field(setting, self) for name, setting in settings_of(LoadOptions).items()
        }
        for name, field in self._fields.items():
            field.setObjectName(f"load_{name}")
            field.edited.connect(lambda value, name=name: self._edit(name, value))
            self.grid.add_setting(settings_of(LoadOptions)[name], field)
        self.batches = words_label(parent=self, name="modelBatches")
        set_role(self.batches, "muted")
        self.again = push_button(
            tr("Measure again"), self, name="measureAgainButton", clicked=self.measureRequested
        )
        tip = tr(
            "Forget the measured times; they are measured when the model is loaded the next time and idle"
        )
        self.again.setToolTip(tip)
        row = hbox((self.batches, 1), self.again, spacing=8)
        vbox(self.facts, self.grid, self.memory, row, parent=self, spacing=8)
        self.hide()

    def show_model(self, facts: ModelFacts, options: LoadOptions) -> None:
        """Show a model's facts and load options."""
        self._facts, self.options = facts, options
        self.facts.setText(facts_words(facts))
        for name, field in self._fields.items():
            field.show_value(getattr(options, name))
        self._show_memory()
        self.show()

    def show_batches(self, times: BatchTimes | None) -> None:
        """Show the times of batches with the shown options; None if there are none."""
        self.batches.setText("" if times is None else batches_words(times))
        self.again.setVisible(times is not None)

    def _edit(self, name: str, value: Any) -> None:
        self.options = msgspec.structs.replace(self.options, **{name: value})
        self._show_memory()
        if name not in ("context", "batch"):
            self.show_batches(None)  # of other options
        if not self.options.problem:
            self.optionsChosen.emit(self.options)

    def _show_memory(self) -> None:
        assert self._facts is not None, "fields are shown with a model only"
        memory = memory_needed(self._facts, self.options)
        self.memory.setText(self.options.problem or memory_words(memory))
        set_role(self.memory, "problem" if self.options.problem or memory.fits is False else "muted")


class OpenModelLine(QWidget):
    """The model that is loaded or loading, or the endpoint that is connected, with Unload."""

    unloadRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = words_label(parent=self, name="openModelWords")
        tip = tr("Unload the model and free its memory; the next run loads it again")
        self.unload = push_button(
            tr("Unload"), self, name="modelUnloadButton", tip=tip, clicked=self.unloadRequested
        )
        self.bar = named(QProgressBar(self, textVisible=False), "modelLoadProgress", tr("Loading progress"))
        row = hbox((self.words, 1), self.unload, spacing=8)
        vbox(row, self.bar, parent=self, spacing=4)

    def show_status(self, status: ModelStatus, *, can_unload: bool) -> None:
        """Show the state of the model's process."""
        self.words.setText(status_words(status))
        loading = status.phase == "opening"
        self.bar.setVisible(loading)
        self.bar.setMaximum(_STEPS if loading and status.progress is not None else 0)
        self.bar.setValue(round((status.progress or 0.0) * _STEPS))
        self.unload.setEnabled(can_unload)
