"""The loading of a model: the facts of its file, its load options, and the memory that it then needs."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from msgspec import UNSET
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QProgressBar, QWidget

from glyphscope.events import DEFAULT_LOAD, FlashAttention, KvType, LoadOptions
from glyphscope.events.load_options import MAX_CONTEXT, MAX_LAYERS, MAX_THREADS, Batch
from glyphscope.models.batch_sizes import BatchTimes
from glyphscope.models.memory import ModelFacts, memory_needed
from glyphscope_gui.model_picker.words import batches_words, facts_words, memory_words, status_words
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.labels import named, push_button, set_role, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import hbox, vbox
from glyphscope_gui.shared.settings_grid import ChoiceSetting, NumberSetting, SettingsGrid

_STEPS = 1000
_MIN_CONTEXT = 256
_MEASURED = 0


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
        self._fields: dict[str, NumberSetting | ChoiceSetting] = {}
        context = NumberSetting(_MIN_CONTEXT, MAX_CONTEXT, tr(" tokens"), self)
        context.setSingleStep(1024)
        size = tr("Maximum tokens of prompt and answer together; the KV cache grows with it")
        self._add("context", tr("Context"), context, size)
        threads = NumberSetting(0, MAX_THREADS, parent=self)
        threads.setSpecialValueText(tr("one per core"))
        self._add(
            "threads", tr("Threads"), threads, tr("More threads than physical cores are usually slower")
        )
        layers = NumberSetting(-1, MAX_LAYERS, parent=self)
        layers.setSpecialValueText(tr("all"))
        gpu = tr("Layers offloaded to the GPU, if llama.cpp was built with GPU support")
        self._add("gpu_layers", tr("GPU layers"), layers, gpu)
        kv = ChoiceSetting([(kind, kind, "") for kind in get_args(KvType)], self)
        self._add(
            "kv_type",
            tr("KV cache type"),
            kv,
            tr("q8_0 needs half the memory of f16, with little loss of accuracy"),
        )
        attention = {"auto": tr("auto"), "on": tr("on"), "off": tr("off")}
        flash = ChoiceSetting([(each, attention[each], "") for each in get_args(FlashAttention)], self)
        self._add("flash_attention", tr("Flash attention"), flash, tr("Required by a quantised KV cache"))
        sizes = [(size, tr("{tokens} tokens", tokens=size), "") for size in get_args(Batch)]
        batch = ChoiceSetting([(_MEASURED, tr("as measured"), ""), *sizes], self)
        tip = tr("Prompt tokens evaluated at once; progress is shown after each batch")
        self._add("batch", tr("Prompt batches"), batch, tip)
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
            value = getattr(options, name)
            field.show_value(_MEASURED if value is UNSET else value)
        self._show_memory()
        self.show()

    def show_batches(self, times: BatchTimes | None) -> None:
        """Show the times of batches with the shown options; None if there are none."""
        self.batches.setText("" if times is None else batches_words(times))
        self.again.setVisible(times is not None)

    def _add(self, name: str, words: str, field: NumberSetting | ChoiceSetting, tip: str) -> None:
        field.setObjectName(f"load_{name}")
        field.edited.connect(lambda value: self._edit(name, value))
        self._fields[name] = field
        self.grid.add(words, field, tip)

    def _edit(self, name: str, value: Any) -> None:
        value = UNSET if name == "batch" and value == _MEASURED else value
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
