"""One column of a comparison: its settings, the state of its run, the stream or a notice, the call, and the figures."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QTabBar, QWidget

from glyphscope.base.shorten import capitalised
from glyphscope.base.visible import visible
from glyphscope.evals.costs import RunFigures, run_figures
from glyphscope.events import RunRequest
from glyphscope.runs import RunState
from glyphscope_gui.compare.comparison import Column
from glyphscope_gui.compare.experiment import RunPhase
from glyphscope_gui.compare.variant_settings import VariantPicker
from glyphscope_gui.compare.words import ColumnVerdict, call_words, figures_of, verdict
from glyphscope_gui.runs.stage_choice import ShownRun, ShownStage, StageChoice
from glyphscope_gui.runs.stream_view import StreamView
from glyphscope_gui.shared.icon_button import IconButton
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, link, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import FollowsSize, ScrollArea, grid_layout, hbox, stack, vbox
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.verdict import Pill
from glyphscope_gui.theme import mono_font, use_font
from glyphscope_gui.theme.sizes import PAD

MIN_WIDTH = 258
"""Pixels of width below which the columns are scrolled instead."""
WIDE = 420
"""Width in pixels from which two figures share a line."""
_NO_FIGURES = RunFigures(tokens=0, forced=0, characters=0, bytes=0)


class ColumnStream(StreamView):
    """The stream in smaller text, to leave room for other columns."""

    LARGER = 1.5

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("compareStream")

    def sizeHint(self) -> QSize:
        """Return a small height: the stream takes the remaining height of the column."""
        return QSize(200, self.minimumSizeHint().height())


class _Notice(ScrollArea):
    """A sentence in place of the stream, scrolled if it does not fit."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("compareNotice")
        self.label = PlainLabel(self, role="muted", wordWrap=True, alignment=Qt.AlignmentFlag.AlignTop)
        self.label.setContentsMargins(PAD - 2, 8, 8, 4)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setWidget(self.label)

    def sizeHint(self) -> QSize:
        return QSize(200, 40)

    minimumSizeHint = sizeHint


class CompareColumn(FollowsSize, QFrame):
    """One column. `ComparePage` connects its buttons, whose texts name their actions."""

    def __init__(self, number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.setMinimumWidth(MIN_WIDTH)
        self._number = number
        self._column: Column | None = None
        self._run: RunState | None = None
        """The run whose stages have the tabs."""
        self.title = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="title")
        self.title.setMinimumHeight(26)
        self.pill = Pill(self)
        self.picker = VariantPicker(self)
        remove = QAction(tr("Remove this column"), self, toolTip=tr("Remove this column"))
        self.remove_button = IconButton("remove", remove, self)
        self.tabs = named(QTabBar(self, expanding=False, drawBase=False), words=tr("Stage shown"))
        self._verdict = ColumnVerdict("", "open")
        self.stream = ColumnStream(self)
        self.notice = _Notice(self)
        self.detail = PlainLabel(self, role="muted", wordWrap=True)
        self.call = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="mono")
        opens = tr("Open this run in the playground, with its tokens, alternatives, fields and transcript")
        self.open_button = link(tr("Open run"), opens, self)
        self._lay_out()
        self.choice = StageChoice(self)
        self.choice.shown.connect(self._show_stage)
        self.tabs.tabBarClicked.connect(self._choose_stage)
        self.tabs.currentChanged.connect(self._choose_stage)

    def _fit(self) -> None:
        self._arrange_figures(self.width() >= WIDE)

    def minimumSizeHint(self) -> QSize:
        return QSize(MIN_WIDTH, super().minimumSizeHint().height())

    # -- what it shows -----------------------------------------------------------------------------------------

    def show_column(
        self,
        column: Column,
        names: Sequence[str],
        base: RunRequest,
        models: Sequence[str],
        *,
        editable: bool,
        removable: bool,
    ) -> None:
        """Show a column with the settings of these names, and its run so far."""
        self._column = column
        name = tr("column {number}, {name}", number=self._number, name=column.name)
        self.setAccessibleName(capitalised(name))
        self.title.setText(f"{self._number}   {capitalised(column.name)}")
        self.picker.show_variant(column.variant, names, base, models, name)
        self.open_button.setAccessibleName(tr("Open {column} in the playground", column=name))
        self.remove_button.setAccessibleName(tr("Remove {column}", column=name))
        self.stream.setAccessibleName(tr("The text of {column}", column=name))
        self.set_editable(editable, removable)
        self.show_phase()

    def set_editable(self, editable: bool, removable: bool) -> None:
        """Set whether the column can be changed and removed, which is not possible while a comparison runs."""
        self.picker.setEnabled(editable)
        self.remove_button.setVisible(removable)
        self.remove_button.setEnabled(editable)

    def show_free(self, free: bool) -> None:
        """Show whether the model is free: only then can the run be opened."""
        column = self._column
        self.open_button.setEnabled(free and column is not None and column.state.started is not None)

    def show_run(self, state: RunState) -> None:
        """Show what is new in the run."""
        self.choice.show_run(ShownRun(state))
        if self.stack.currentWidget() is not self.stream and state.started is not None:
            self.stack.setCurrentWidget(self.stream)

    def show_phase(self) -> None:
        """Show the state of the run."""
        column = self._column
        if column is None:
            return
        running = column.phase is RunPhase.RUNNING
        now = verdict(column)
        self.pill.set_words(now.words, now.role, plain_tip(now.detail))
        has_text = any(stage.tokens for stage in column.state.stages)
        call = visible(call_words(column.state), spaces=True)
        self.notice.label.setText("" if running else visible(now.detail, spaces=True))
        self.stack.setCurrentWidget(self.stream if has_text or running else self.notice)
        self._verdict = now if has_text and not call else ColumnVerdict("", "open")
        self._show_detail()
        self.call.setText(call)
        self.call.setAccessibleName(tr("The answer: {answer}", answer=call) if call else tr("No answer yet"))
        self.call.setVisible(not self._verdict.detail)
        self.choice.show_run(ShownRun(column.state, over=not running))
        self.show_figures()

    def _show_detail(self) -> None:
        """Show the details; in a narrow column only the essentials, with the rest on hover."""
        now = self._verdict
        self.detail.setText(visible(now.detail if self._wide else now.short or now.detail, spaces=True))
        self.detail.setToolTip(plain_tip(now.detail))
        self.detail.setAccessibleName(visible(now.detail, lines=True))
        self.detail.setVisible(bool(now.detail))

    def show_figures(self) -> None:
        """Show the cost so far."""
        column = self._column
        figures = run_figures(column.state) if column is not None else _NO_FIGURES
        for label, figure in zip(self._values, figures_of(figures), strict=True):
            if label.text() != figure.value:
                label.setText(figure.value)
                label.setAccessibleName(f"{figure.title}: {figure.value}")

    # -- stages ------------------------------------------------------------------------------------------------

    def _show_stage(self, shown: ShownStage) -> None:
        """Show the stage, and a tab for each one that has a text, if there are several."""
        self.stream.show_stage(shown)
        run, before = shown.run, self._run
        self._run = run
        stages = [n for n, stage in enumerate(run.stages) if stage.kind != "tool" and stage.name]
        with QSignalBlocker(self.tabs):
            while run is not before and self.tabs.count():
                self.tabs.removeTab(0)
            for place in stages[self.tabs.count() :]:
                stage = run.stages[place]
                tab = self.tabs.addTab(stage.name)
                self.tabs.setTabToolTip(tab, plain_tip(stage.title))
                self.tabs.setTabData(tab, place)
            if self.choice.place in stages:
                self.tabs.setCurrentIndex(stages.index(self.choice.place))
        self.tabs.setVisible(len(stages) > 1)

    def _choose_stage(self, tab: int) -> None:
        place = self.tabs.tabData(tab)
        if place is not None:
            self.choice.choose(place, pin=True)

    def _lay_out(self) -> None:
        head = hbox((self.title, 1), self.pill, self.remove_button, spacing=8)
        line = named(QFrame(self), "cardLine")
        self.stack = stack(self.notice, self.stream)
        self.stack.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
        self.stack.setMinimumHeight(self.stream.minimumSizeHint().height())
        use_font(self.call, mono_font, -0.5)
        top = vbox(head, self.picker, margins=(PAD, 0, PAD, 2), spacing=6)
        result = hbox(
            (self.detail, 1), (self.call, 1), (self.open_button, 0, Qt.AlignmentFlag.AlignBottom), spacing=8
        )
        foot = vbox(result, self._figure_box(), margins=(PAD, 0), spacing=4)
        vbox(top, line, self.tabs, (self.stack, 1), foot, parent=self, margins=(1, 8), spacing=4)

    def _figure_box(self) -> QWidget:
        box = QWidget(self)
        self._grid = grid_layout(box, spacing=(12, 2), margins=(0, 2))
        self._titles: list[QLabel] = []
        self._values: list[ElidedLabel] = []
        self._wide: bool | None = None
        for figure in figures_of(_NO_FIGURES):
            title = PlainLabel(figure.title, box, role="muted", toolTip=figure.tip)
            value = ElidedLabel(box, Qt.TextElideMode.ElideRight)
            value.setText(figure.value)
            named(value, words=tr("{figure}: no value yet", figure=figure.title), description=figure.tip)
            self._titles.append(title)
            self._values.append(value)
        self._arrange_figures(False)
        return box

    def _arrange_figures(self, wide: bool) -> None:
        """Stack the figures, or place them in two columns if there is room."""
        if wide == self._wide:
            return
        self._wide = wide
        self._show_detail()
        rows = (len(self._values) + 1) // 2 if wide else len(self._values)
        for index, (title, value) in enumerate(zip(self._titles, self._values, strict=True)):
            row, side = index % rows, 2 * (index // rows)
            self._grid.addWidget(title, row, side)
            self._grid.addWidget(value, row, side + 1)
        self._grid.setColumnStretch(1, 3)
        self._grid.setColumnStretch(3, 2 if wide else 0)
