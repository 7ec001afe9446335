"""A result: the heat map, below it the chosen cell's runs, and beside it the tabs: failures, summary, charts, two arms,
and the judge's verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QEvent, Qt, QUrl, Signal
from PySide6.QtWidgets import QFrame, QTabWidget, QTextBrowser, QWidget

from glyphscope.evals.results.sample import JudgeVerdict, Sample
from glyphscope.visible import visible
from glyphscope_gui.evaluate.charts import EvalCharts
from glyphscope_gui.evaluate.failures import EvalFailures, EvalFailuresModel
from glyphscope_gui.evaluate.pair import EvalPair, EvalPairsModel
from glyphscope_gui.evaluate.runs import EvalRuns, EvalRunsModel
from glyphscope_gui.evaluate.table import EvalTable
from glyphscope_gui.evaluate.table_model import EvalTableModel
from glyphscope_gui.evaluate.words import MEASURES, MeasureName
from glyphscope_gui.runs.compare_fields import CompareFieldsModel
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.fields import choice_box
from glyphscope_gui.shared.labels import ElidedLabel, named, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import fill_splitter, holder, splitter, vbox
from glyphscope_gui.shared.plain_table import WholeRows
from glyphscope_gui.shared.run_words import model_name
from glyphscope_gui.theme import theme
from glyphscope_gui.theme.sizes import PAD

WIDE = 1180
"""Width in pixels from which the side has its full width."""
_HINT = tr("stronger colour is higher, the bar is the 95% interval")
_HINT_OF_QUANTITY = tr("median; stronger colour is higher, the bar is the range")
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
        self.runs_card = Card(tr("Runs"), self.runs, padded=False, parent=self.rows)
        fill_splitter(self.rows, (self.table_card, self.runs_card), (5, 3))
        side = named(QFrame(self.columns), "card")
        fill_splitter(self.columns, (self.rows, side), (2, 1))
        self.tabs = named(QTabWidget(side, documentMode=True), "evalTabs")
        self.tabs.tabBar().setAccessibleName(tr("Details of the result"))
        for part, title in (
            (self.failures, tr("Failures")),
            (self.summary, tr("Summary")),
            (self.charts, tr("Charts")),
            (self.pair, tr("Two arms")),
            (self.judge, tr("Judge")),
        ):
            self.tabs.addTab(part, title)
        self.show_judge(False)
        vbox(self.population, self.tabs, parent=side, margins=(1, 1, 1, 6))
        vbox(self.columns, parent=self)
