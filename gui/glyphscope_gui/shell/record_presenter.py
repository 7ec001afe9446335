"""While a record is shown, shows its settings in the top bar and the panels, marked, with a link to the project's."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import RunStarted
from glyphscope.registry import ToolRegistry
from glyphscope.runs import prepare
from glyphscope_gui.context import AppContext
from glyphscope_gui.history.model import when
from glyphscope_gui.model_picker.picker import ModelPicker
from glyphscope_gui.run_settings.header import RunHeader
from glyphscope_gui.shared.labels import push_button
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.marked_bar import MarkedBar
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.run_words import opened_name
from glyphscope_gui.shell.side_panels import SidePanels

MIN_CHARACTERS = 12
"""The least number of characters of the text that stay in one line with the links."""

PANELS_MS = 40
"""Delay after the record's first tokens, which would be painted later if the panels changed in the same event."""


class RecordBar(MarkedBar):
    """Marks the contents of the top bar and the panels as a record's; hidden without one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.use_button = push_button(
            tr("Use these settings"),
            name="useSettingsButton",
            tip=tr(
                "Copy the tools, prompt and settings of this run into the project. The model and the "
                "approval rules do not change. Edit › Undo restores the project’s settings."
            ),
        )
        self.back_button = push_button(
            tr("Return to the project"),
            name="projectSettingsButton",
            tip=tr(
                "Show the tools, the prompt and the options of the project again; the run stays in the history"
            ),
        )
        buttons = (self.use_button, self.back_button)
        super().__init__("recordBar", tr("Record"), buttons, MIN_CHARACTERS, parent)

    def show_record(self, started: RunStarted | None) -> None:
        self.setVisible(started is not None)
        if started is not None:
            time, model = when(started.time), opened_name(started.model).name
            words = tr("{time}, {model}. Run uses the project’s settings.", model=model, time=time)
            self.words.set_forms(words, f"{time}, {model}", time)
            self.setAccessibleName(words)


class RecordPresenter(QObject):
    """Shows a record's settings only on the page that shows the run; other pages use the project's settings."""

    def __init__(
        self, context: AppContext, bar: RecordBar, header: RunHeader, picker: ModelPicker, panels: SidePanels
    ) -> None:
        super().__init__(context.window)
        self._context = context
        self._bar = bar
        self._header = header
        self._picker = picker
        self._panels = panels
        self._shown: RunStarted | None = None
        self._later = QTimer(self, singleShot=True, interval=PANELS_MS)
        self._later.timeout.connect(self._show_panels)
        context.record.changed.connect(self._show)
        context.navigator.shown.connect(self._show)
        bar.use_button.clicked.connect(self._use)
        context.actions.run_again.triggered.connect(self._run_again)
        context.actions.run_again.setEnabled(False)
        bar.back_button.clicked.connect(context.record.leave)

    def _show(self, _change: object = None) -> None:
        in_front = self._context.navigator.current is PageId.PLAYGROUND
        started = self._context.record.started if in_front else None
        if started is self._shown:
            return
        self._shown = started
        project = self._context.project
        request = None if started is None else started.request
        self._bar.show_record(started)
        self._context.actions.run_again.setEnabled(started is not None)
        registry = self._registry()
        self._header.show_tools(project.tools.registry if registry is None else registry)
        self._header.show_record(request)
        if request is None:
            self._header.show_options(project.options)
        self._picker.show_record("" if started is None else opened_name(started.model).name)
        if request is None:  # the panels can be edited at once
            self._later.stop()
            self._show_panels()
        else:
            self._later.start()

    def _show_panels(self) -> None:
        started = self._shown
        self._panels.show_record(None if started is None else started.request, self._registry())

    def _registry(self) -> ToolRegistry | None:
        """The tools of the shown record, empty if they cannot be used; None without a record."""
        started = self._shown
        if started is None:
            return None
        whole = self._context.runs.state.whole_registry
        try:
            return whole or prepare(started.request).registry
        except GlyphscopeError:
            return ToolRegistry(())

    def _run_again(self) -> None:
        """Run the prompt of the record with the open model, in a notation that it can be asked for."""
        project, runs = self._context.project, self._context.runs
        self._use()
        info = runs.model.info
        if project.options.native and info is not None and not info.tool_calls:
            project.set_options(native="")
        if self._shown is None:
            runs.run(project.next_run())

    def _use(self) -> None:
        context = self._context
        started = context.record.started
        try:
            context.record.use()
        except GlyphscopeError as error:
            context.show_error(error)
            return
        stack = context.project.tools.undo_stack
        index = stack.index()

        def undo() -> None:
            if stack.index() == index:
                stack.undo()

        words = tr("The project now uses the settings of the record.")
        open_one = context.runs.model.info
        if (
            started is not None
            and open_one is not None
            and opened_name(open_one) != opened_name(started.model)
        ):
            words = tr(
                "The settings of the record are now the project’s. Its model, {model}, is not opened: choose it at "
                "the top left if it is on this computer.",
                model=opened_name(started.model).name,
            )
        context.offer(words, tr("Undo"), undo)
