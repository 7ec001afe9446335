"""A result: the heat map, below it the chosen cell's runs, and beside it the tabs: failures, summary, charts, two arms,
and the judge's verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, QUrl, Signal
from PySide6.QtGui import QFontMetrics, QShowEvent
from PySide6.QtWidgets import QFrame, QTabWidget, QTextBrowser, QWidget

from glyphscope.base.figures import percent
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.evals.results.figures import ArmFigures, Summary
from glyphscope.evals.results.sample import JudgeVerdict, Sample
from glyphscope.evals.statistics import Share
from glyphscope_gui.evaluate.result_details import EvalFailures, EvalFailuresModel, EvalPair, EvalPairsModel
from glyphscope_gui.evaluate.table import EvalRuns, EvalRunsModel, EvalTable
from glyphscope_gui.evaluate.table_model import EvalTableModel
from glyphscope_gui.evaluate.words import MEASURES, MeasureName
from glyphscope_gui.runs.compare_fields import CompareFieldsModel
from glyphscope_gui.shared.card import Card, CardHeading
from glyphscope_gui.shared.chart import BarChart, Chart, Series
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import ElidedLabel, named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import ScrollArea, fill_splitter, holder, splitter, vbox
from glyphscope_gui.shared.plain_table import WholeRows
from glyphscope_gui.shared.run_words import model_name
from glyphscope_gui.theme import theme, ui_font
from glyphscope_gui.theme.sizes import PAD

WIDE = 1180
"""Width in pixels from which the side has its full width."""
_HINT = tr("stronger colour = higher, bar = 95% interval")
_HINT_OF_QUANTITY = tr("median; stronger colour = higher, bar = range")
_NO_SUMMARY = tr("The summary appears when the evaluation has finished.")


class _HtmlTab(QTextBrowser):
    """A tab of the side that shows HTML."""

    def __init__(self, name: str, accessible: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, openLinks=False)
        named(self, name, accessible)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(PAD)


class JudgeVerdicts(_HtmlTab):
    """The judge's verdicts on the selected run: model, reason, rubric and prompt, with a link to the judge's own run.

    `openRequested` carries the Sample and the number of the verdict whose run is requested.
    """

    openRequested = Signal(object, int)
    _sample: Sample | None = None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("evalJudge", tr("Verdicts of the judge"), parent)
        self.anchorClicked.connect(self._open)
        self.show_sample(None)

    def show_sample(self, sample: Sample | None) -> None:
        """Show the verdicts on a sample; None clears them."""
        self._sample = sample if sample is not None and sample.judged else None
        if self._sample is None:
            words = tr("Select a run that a judge has decided.")
            self.setHtml(f"<p>{escape(words)}</p>")
        else:
            self.setHtml(
                "".join(_verdict_html(number, each) for number, each in enumerate(self._sample.judged))
            )

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:  # another theme: the text contains the colours
            self.show_sample(self._sample)

    def _open(self, link: QUrl) -> None:
        if self._sample is not None and link.toString().isdigit():
            self.openRequested.emit(self._sample, int(link.toString()))


def _verdict_html(number: int, judged: JudgeVerdict) -> str:
    if judged.passed is None:
        role, words = "text-muted", tr("– no verdict")
    else:
        role = "holds" if judged.passed else "impossible"
        words = tr("✓ pass") if judged.passed else tr("✕ fail")
    verdict = f'<span style="color: {theme().color(role).name()}">{escape(words)}</span>'
    turn = tr(" · turn {turn}", turn=judged.turn) if judged.turn > 1 else ""
    judge = f"{_escaped(model_name(judged.model).name)}{escape(turn)}"
    action, rubric, prompt = tr("Open the judge’s run"), tr("Rubric"), tr("Prompt")
    style = f"color: {theme().color('accent').name()}"
    link = f'<p><a href="{number}" style="{style}">{escape(action)}</a></p>'
    return (
        f"<h4>{verdict} · {judge}</h4>"
        f"<p>{_escaped(judged.reason or judged.error)}</p>{link if judged.run else ''}"
        f"<h4>{escape(rubric)}</h4><p>{_escaped(judged.rubric)}</p>"
        f"<h4>{escape(prompt)}</h4><p>{_escaped(judged.prompt)}</p>"
    )


def _escaped(text: str) -> str:
    return escape(visible(text, lines=True)).replace("\n", "<br>")


class EvalResultView(QWidget):
    """Places the parts of a result, and owns their models."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = EvalTableModel(self)
        self.runs_model = EvalRunsModel(self)
        self.failures_model = EvalFailuresModel(self)
        self.pairs_model = EvalPairsModel(self)
        self.table = EvalTable(self.model, self)
        self.runs = EvalRuns(self.runs_model, self)
        self.failures = EvalFailures(self.failures_model, self)
        self.pair = EvalPair(self.pairs_model, CompareFieldsModel(self), self)
        self.charts = EvalCharts(self)
        self.judge = JudgeVerdicts(self)
        self.summary = _HtmlTab("evalSummary", tr("Summary of the result"), self)
        measures = ((spec.name, spec.title, spec.tip) for spec in MEASURES)
        words = tr("Measure shown in the cells")
        self.measure = choice_box(self, "evalMeasure", words, choices=measures)
        self.provenance = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self.provenance.setObjectName("evalProvenance")
        self.provenance.setContentsMargins(PAD - 5, 4, PAD - 5, 2)
        self.population = words_label(role="hint", parent=self, name="evalPopulation")
        self.population.setToolTip(tr("Failures, summary, charts and pairs cover these scenarios."))
        self.population.setContentsMargins(PAD - 5, 6, PAD - 5, 2)
        self._wide: bool | None = None
        self.setFocusProxy(self.table)

    @property
    def chosen_measure(self) -> MeasureName:
        name: MeasureName = self.measure.currentData()
        return name

    def show_runs_of(self, words: str, count: int) -> None:
        """Show the number of runs that are listed below, and their cell, reason or arm."""
        self.runs_card.heading.hint.setText(
            tr("{count:,} of {chosen}", count=count, chosen=words) if words else ""
        )

    def show_judge(self, judged: bool) -> None:
        """Show the judge's tab only if a judge decided anything in this result."""
        self.tabs.setTabVisible(self.tabs.indexOf(self.judge), judged)

    def show_summary(self, parts: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Show the summary: headings, each with its paragraphs; if empty, that there is no summary yet."""
        html = []
        for title, sentences in parts:
            html.append(f"<h4>{escape(title)}</h4>")
            html.extend(f"<p>{escape(visible(sentence))}</p>" for sentence in sentences)
        if not html:
            html = [f"<p>{escape(_NO_SUMMARY)}</p>"]
        self.summary.setHtml("".join(html))

    def arrange(self, width: int) -> None:
        """Set widths that suit the window; the user's widths stay until it changes between wide and narrow."""
        wide = width >= WIDE
        if wide == self._wide:
            return
        self._wide = wide
        side = round(width * (0.33 if wide else 0.36))
        self.columns.setSizes([width - side, side])

    def show_measure(self) -> None:
        """Show the chosen measure in the cells."""
        if self.model.measure.name == self.chosen_measure:
            return
        self.model.set_measure(self.chosen_measure)
        self.table_card.heading.hint.setText(_HINT if self.model.measure.is_share else _HINT_OF_QUANTITY)

    def lay_out(self) -> None:
        """Place the parts, once: a separate step, as it takes as long as making them."""
        self.columns = splitter(Qt.Orientation.Horizontal, parent=self)
        self.rows = splitter(Qt.Orientation.Vertical, parent=self.columns)
        upper = holder(vbox((WholeRows(self.table, self), 1), self.provenance, spacing=0), self)
        self.table_card = Card(
            tr("Result"), upper, hint=_HINT, actions=(self.measure,), padded=False, parent=self.rows
        )
        self.runs_card = Card(tr("Runs"), WholeRows(self.runs), padded=False, parent=self.rows)
        fill_splitter(self.rows, (self.table_card, self.runs_card), (5, 3))
        side = named(QFrame(self.columns), "card")
        fill_splitter(self.columns, (self.rows, side), (2, 1))
        self.tabs = named(QTabWidget(side, documentMode=True), "evalTabs")
        self.tabs.tabBar().setAccessibleName(tr("Details of the result"))
        for part, title in (
            (self.failures, tr("Failures")),
            (self.summary, tr("Summary")),
            (self.charts, tr("Charts")),
            (self.pair, tr("Pairs")),
            (self.judge, tr("Judge")),
        ):
            self.tabs.addTab(part, title)
        self.show_judge(False)
        vbox(self.population, self.tabs, parent=side, margins=(1, 1, 1, 6))
        vbox(self.columns, parent=self)


MAX_ARMS = 12
"""Arms that can be distinguished in a chart this wide; the table has all."""
MIN_HEIGHT, EACH = 34, 24
"""Pixels of a chart of shares without arms, and of each arm, at the usual text size."""
_NAMES, _FIGURES = 0.4, 0.5
"""Largest shares of a chart's width: for names on the left, and, of the rest, for figures on the right."""


class ShareChart(Chart):
    """A line for each arm: a dot at its share, its 95% interval as a bar, the figure on the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            "evalShareChart", tr("Success of each configuration with its 95% interval"), 150, parent
        )
        self._rows: list[tuple[str, Share]] = []
        self.getViewBox().sigResized.connect(self.draw)

    def show_shares(self, rows: Sequence[tuple[str, Share]]) -> None:
        self._rows = list(rows)
        self._lines = (MIN_HEIGHT + EACH * max(len(rows), 1)) / 15
        self.setAccessibleDescription("; ".join(f"{name}: {_share_words(share)}" for name, share in rows))
        self._dress_axes()
        self.draw()

    def draw(self, _resized: object = None) -> None:
        if not hasattr(self, "_rows"):
            return
        self.clear()
        if not self._rows:
            return
        count = len(self._rows)
        y = np.arange(count, 0, -1, dtype=float)
        shares = np.array([share.share for _name, share in self._rows])
        low = np.array([share.low for _name, share in self._rows])
        high = np.array([share.high for _name, share in self._rows])
        main = theme().color("chart-main")
        bars = pg.BarGraphItem(
            x0=low, x1=high, y=y, height=0.34, brush=theme().color("chart-main-soft"), pen=pg.mkPen(None)
        )
        self.addItem(bars)
        self.addItem(
            pg.ScatterPlotItem(
                x=shares, y=y, size=9, brush=main, pen=pg.mkPen(theme().color("panel"), width=1.5)
            )
        )
        figures, end = self._figures()
        for place, words in zip(y, figures):
            label = pg.TextItem(words, color=theme().color("text-muted"), anchor=(0, 0.5))
            label.setFont(ui_font(-1.5))
            label.setPos(1.03, place)
            self.addItem(label, ignoreBounds=True)
        metrics, left = QFontMetrics(ui_font(-1.5)), self.getAxis("left")
        most = round(self.width() * _NAMES)
        names = [metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, most) for name, _share in self._rows]
        left.setTicks([list(zip(y, names))])
        left.setWidth(max(map(metrics.horizontalAdvance, names)) + 10)
        self.getAxis("bottom").setTicks([[(0, "0"), (0.25, ""), (0.5, "50%"), (0.75, ""), (1, "100%")]])
        self.setXRange(0, end, padding=0)
        self.setYRange(0.4, count + 0.6, padding=0)

    def _figures(self) -> tuple[list[str], float]:
        """The words on the right of each row, shorter if there is little room, and the end of the axis behind them."""
        metrics, room = QFontMetrics(ui_font(-1.5)), max(self.getViewBox().width(), 1)
        for form in ("{share}  n {n:,}", "{share}"):
            words = [form.format(share=percent(share.share, 0), n=share.n) for _name, share in self._rows]
            need = max(map(metrics.horizontalAdvance, words)) + 12
            if need <= room * _FIGURES:
                break
        return words, 1.03 / (1 - min(need / room, _FIGURES))

    def table(self) -> list[Sequence[Any]]:
        head = ("arm", "correct", "n", "share", "low", "high", "effective n")
        return [
            head,
            *((name, s.correct, s.n, s.share, s.low, s.high, s.effective) for name, s in self._rows),
        ]

    def describe(self, place: QPointF) -> str:
        row = len(self._rows) - round(place.y())
        if not 0 <= row < len(self._rows):
            return ""
        name, share = self._rows[row]
        return f"{name}\n{_share_words(share)}"


class EvalCharts(ScrollArea):
    """Stacked charts; the menu of each writes it to a file.

    They are made when they are first shown, as they cost more than the rest of the page together.
    """

    success: ShareChart
    sizes: BarChart
    times: BarChart
    savings: BarChart

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._headings: dict[Chart, CardHeading] = {}
        self._waiting: tuple[Summary | None, dict[str, str]] | None = None

    def show_summary(self, summary: Summary | None, labels: dict[str, str]) -> None:
        """Set the summary; the charts are drawn once visible."""
        self._waiting = (summary, labels)
        if self.isVisible():
            self._draw()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw()

    def _make(self) -> None:
        self.success = ShareChart(self)
        self.sizes = BarChart("evalSizeChart", tr("Tokens of each configuration"), 165, self)
        self.times = BarChart("evalTimeChart", tr("Time of each configuration in milliseconds"), 165, self)
        self.savings = BarChart("evalSavingsChart", tr("Tokens saved by early aborts"), 165, self)
        inside = QWidget(self)
        inside.setObjectName("right")
        column = vbox(parent=inside, margins=10, spacing=6)
        for chart, title, hint in (
            (self.success, tr("Success"), tr("all correct, 95% interval")),
            (self.sizes, tr("Size"), tr("tokens: decoded (median), instructions")),
            (self.times, tr("Time"), tr("median ms: first token, total")),
            (self.savings, tr("Saved by early abort"), tr("tokens, measured runs only")),
        ):
            heading = CardHeading(title, hint, parent=inside)
            self._headings[chart] = heading
            column.addWidget(heading)
            column.addWidget(chart)
            column.addSpacing(8)
        column.addStretch(1)
        self.setWidget(inside)

    def _draw(self) -> None:
        if self._waiting is None:
            return
        if not self._headings:
            self._make()
        summary, labels = self._waiting
        self._waiting = None
        arms = [arm for arm in summary.arms if arm.tools.answered][:MAX_ARMS] if summary is not None else []
        names = [labels.get(arm.arm, arm.arm) for arm in arms]
        self.success.show_shares([(name, arm.tools.ok) for name, arm in zip(names, arms)])
        short = [_lines(name) for name in names]
        lines = max((name.count("\n") + 1 for name in short), default=1)
        for chart in (self.sizes, self.times, self.savings):
            chart.getAxis("bottom").setHeight(lines * QFontMetrics(ui_font(-1.5)).height() + 8)
        decoded = [_median(arm.tools.decoded) for arm in arms]
        instructions = [round(arm.tools.instructions) for arm in arms]
        self.sizes.show_series(
            short,
            [
                Series(tr("decoded"), "chart-main", decoded),
                Series(tr("instructions"), "chart-other", instructions),
            ],
        )
        first = [_median(arm.tools.first_token_ms) for arm in arms]
        total = [_median(arm.tools.total_ms) for arm in arms]
        self.times.show_series(
            short, [Series(tr("first token"), "chart-other", first), Series(tr("total"), "chart-main", total)]
        )
        self._show_savings(arms, short)

    def _show_savings(self, arms: Sequence[ArmFigures], names: Sequence[str]) -> None:
        known = [(name, arm.tools.saving) for name, arm in zip(names, arms) if arm.tools.saving.measured]
        self.savings.show_series(
            [name for name, _saving in known],
            [
                Series(tr("without stopping"), "chart-other", [saving.would_have for _name, saving in known]),
                Series(tr("with early abort"), "chart-main", [saving.decoded for _name, saving in known]),
            ],
        )
        for part in (self.savings, self._headings[self.savings]):
            part.setVisible(bool(known))


def _median(spread: Any) -> int | None:
    return None if spread is None else round(spread.p50)


def _share_words(share: Share) -> str:
    return tr(
        "{correct:,} of {samples:,}, {share}, 95% interval {low} to {high}",
        correct=share.correct,
        samples=share.n,
        share=percent(share.share, 0),
        low=percent(share.low, 0),
        high=percent(share.high, 0),
    )


def _lines(name: str) -> str:
    """The parts of an arm's name, one per line."""
    return "\n".join(shorten(part, 14) for part in name.split(" · "))
