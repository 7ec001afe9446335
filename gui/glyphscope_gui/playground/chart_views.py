"""The charts of a run with their legends and words: its steps, the sizes of its call, and what early aborts saved.

A chart is made when its view is first seen with something to show: the charts' library and numpy, which nothing else in
the window needs, take 23 MB and a quarter of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLayout, QSizePolicy, QWidget

from glyphscope_gui.playground.evidence_words import SAVED, STYLES, size_words
from glyphscope_gui.runs.run_controller import Saving
from glyphscope_gui.runs.stage_choice import ShownStage
from glyphscope_gui.runs.worker.jobs import Measured
from glyphscope_gui.shared import layouts
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.chart_roles import edge_role
from glyphscope_gui.shared.labels import PlainLabel, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.segmented import Segmented
from glyphscope_gui.slices import Slices, Steps, are_charts_imported, charts_imported, import_charts
from glyphscope_gui.theme import FollowsLooks, theme
from glyphscope_gui.theme.sizes import PAD

if TYPE_CHECKING:
    from glyphscope_gui.playground.charts import SavingsChart, SizeChart, StepChart

_MEASURES = (
    ("allowed", tr("Allowed"), tr("Tokens allowed by the constraint at each step, on a logarithmic scale")),
    (
        "feasible",
        tr("Mass"),
        tr("Feasible mass: the share of the raw probability that the allowed tokens have"),
    ),
    ("ms", tr("Time"), tr("Milliseconds per step: mask, sampling and decoding")),
)


_ABOVE, _LEAST = 6, 76
"""Pixels above and below a tab's content, and of a chart's least height."""


C = TypeVar("C", bound=QWidget)


class _ChartPlace(layouts.LateWidget[C]):
    """The place of a chart."""

    def __init__(self, make: Callable[[], C]) -> None:
        super().__init__(lambda: self._imported(make))
        self._background = Background(self)
        self._slices = Slices(self)

    def draw(self, draw: Callable[[C], object]) -> None:
        """Call `draw` with the chart, which is made first, in slices."""
        if self.is_made or are_charts_imported():
            draw(self.widget)
        else:
            numpy = partial(import_module, "numpy")  # which does not know Qt
            self._background.start("numpy", numpy, lambda _: self._slices.begin(self._made(draw)))

    def _made(self, draw: Callable[[C], object]) -> Steps:
        yield from import_charts()
        self._slices.end_slice()
        yield
        draw(self.widget)

    def _imported(self, make: Callable[[], C]) -> C:
        charts_imported()
        return make()


class _ChartTab(layouts.FollowsSize, layouts.FilledWhenSeen, layouts.ScrollArea):
    """A chart as high as the tab, and beside it a column that may scroll."""

    def __init__(self, place: QWidget, column: QLayout, parent: QWidget | None) -> None:
        super().__init__(parent=parent)
        self._room = layouts.holder(layouts.vbox(place))
        parts = ((self._room, 3, Qt.AlignmentFlag.AlignTop), (column, 2))
        self._columns = layouts.hbox(*parts, margins=(PAD, _ABOVE), spacing=PAD)
        layouts.replace_content(self, layouts.holder(self._columns))

    def _fit(self) -> None:
        self._room.setFixedHeight(max(self.viewport().height() - 2 * _ABOVE, _LEAST))
        layouts.turn_if_narrow(self._columns, self)


class StepsView(_ChartTab):
    """`tokenChosen` carries the index, in the shown stage, of a token selected in the chart."""

    tokenChosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        self._shown = ShownStage()
        self._index: int | None = None
        self.measure = Segmented(_MEASURES, small=True)
        self.measure.setAccessibleName(tr("Values of the step chart"))
        self.measure.chosen.connect(lambda measure: self.chart.set_measure(measure))  # noqa: PLW0108 - made then
        self._place = _ChartPlace(self._make)
        sampled, forced = (tr("sampled"), "chart-main"), (tr("forced by grammar"), "chart-forced")
        keys = layouts.vbox(self.measure, 4, Key(*sampled), Key(*forced, width=4), layouts.STRETCH, spacing=6)
        super().__init__(self._place, keys, parent)

    @property
    def chart(self) -> StepChart:
        return self._place.widget

    def show_stage(self, shown: ShownStage) -> None:
        """Show what is new in the stage, or all of another one."""
        self._shown = shown
        self.fill()

    def select(self, index: int | None) -> None:
        """Mark a token; None for none."""
        self._index = index
        if self._place.is_made:
            self.chart.select(index)

    def _fill(self) -> None:
        if self._shown.stage.tokens or self._place.is_made:
            self._place.draw(self._draw)

    def _draw(self, chart: StepChart) -> None:
        chart.show_tokens(self._shown.stage.tokens, over=self._shown.over)
        chart.select(self._index)

    def _make(self) -> StepChart:
        from glyphscope_gui.playground.charts import StepChart

        chart = StepChart(self)
        chart.tokenChosen.connect(self.tokenChosen)
        return chart


class SizesView(_ChartTab):
    """The sizes of a run's calls, or of its answer, in GLYPH and JSON."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._measured: Measured | None = None
        self.title = PlainLabel(role="title")
        self.note = words_label()
        self._place = _ChartPlace(self._make)
        self._legend = legend(STYLES.values())
        column = layouts.vbox(self.title, self._legend, self.note, layouts.STRETCH, spacing=5)
        super().__init__(self._place, column, parent)
        self.show_sizes(None)

    @property
    def chart(self) -> SizeChart:
        return self._place.widget

    def show_sizes(self, measured: Measured | None, reasoned: int = 0) -> None:
        """Show the sizes of a run; `reasoned` tokens of reasoning were written with them. None: not measured."""
        self._measured = measured
        self._legend.setVisible(measured is not None)
        self._room.setVisible(measured is not None)
        if measured is None:
            self.title.hide()
            self.note.setText(tr("Available when a run has finished with a call or a value."))
            return
        show_words(
            self.title,
            tr("Size of this call")
            if measured.calls == 1
            else tr("Size of these calls")
            if measured.calls
            else tr("Size of this answer"),
        )
        apart = " " + tr("Not counted: %n token(s) of reasoning.", "", reasoned) if reasoned else ""
        self.note.setText(size_words(measured.sizes, measured.instructions) + apart)
        self.fill()

    def _fill(self) -> None:
        if self._measured is not None:
            self._place.draw(self._draw)

    def _draw(self, chart: SizeChart) -> None:
        if self._measured is not None:
            chart.show_sizes(self._measured.sizes)

    def _make(self) -> SizeChart:
        from glyphscope_gui.playground.charts import SizeChart

        return SizeChart(self)


class SavingsView(layouts.FilledWhenSeen, QWidget):
    """The tokens that early aborts saved in each continued run."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._savings: list[Saving] = []
        self._place = _ChartPlace(self._make)
        note = words_label(
            tr("Tokens decoded without and with early abort, measured by continuing each run.")
        )
        layouts.vbox(legend(SAVED), self._place, note, parent=self, spacing=8)

    @property
    def chart(self) -> SavingsChart:
        return self._place.widget

    def add(self, saving: Saving) -> None:
        self._savings.append(saving)
        self.fill()

    def _fill(self) -> None:
        self._place.draw(lambda chart: chart.show_savings(self._savings))

    def _make(self) -> SavingsChart:
        from glyphscope_gui.playground.charts import SavingsChart

        return SavingsChart(self)


def legend(entries: Iterable[tuple[str, str]]) -> QWidget:
    """The legend of a chart's bars: texts with their colour roles."""
    box = layouts.Flow()
    for words, role in entries:
        box.add(Key(words, role))
    return box


class Key(FollowsLooks, QWidget):
    """A bar in a role's colour, and its name."""

    def __init__(self, words: str, role: str, *, width: int = 9) -> None:
        super().__init__()
        self._role = role
        self._width = width
        self._square = PlainLabel()
        label = PlainLabel(words, role="hint")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        layouts.hbox(self._square, label, parent=self, spacing=5)
        self._restyle()

    def _restyle(self) -> None:
        self._square.setFixedSize(self._width, 9)
        fill, edge = theme().roles[self._role], theme().roles[edge_role(self._role)]
        self._square.setStyleSheet(f"background: {fill}; border: 1px solid {edge}; border-radius: 2px;")
