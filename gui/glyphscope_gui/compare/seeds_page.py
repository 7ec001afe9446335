"""One setting with several seeds: its answers, their frequencies, and the tokens at which they diverge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QLineF, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from glyphscope.base.figures import UNKNOWN, percent
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import visible
from glyphscope.evals.answers import AnswerGroup, Distribution, Divergence, TokenOption, divergence_words
from glyphscope.evals.results.words import rate_words, share_words
from glyphscope.evals.statistics import Share
from glyphscope.runs.endings import EndStatus
from glyphscope_gui.compare.page import LOW
from glyphscope_gui.compare.seeded_page import SeededPage
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.cells import paint_bar, paint_selection
from glyphscope_gui.shared.fields import choice_box, field_label
from glyphscope_gui.shared.labels import ElidedLabel, PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, hbox, holder, splitter, vbox
from glyphscope_gui.shared.plain_table import PlainTable
from glyphscope_gui.shared.table_model import Index, TableModel
from glyphscope_gui.shared.verdict import END_VERDICTS
from glyphscope_gui.theme import FollowsLooks, theme
from glyphscope_gui.theme.sizes import GAP

FIRST_WORDS = tr(
    "Run one setting once per seed and count the answers. No tools are executed. Select "
    "an answer to see its runs and the token at which it diverges from the most frequent "
    "answer."
)

MIN_OPTIONS = 3
"""Visible rows of the tokens at which answers diverge."""
NUMBER, ANSWER, RUNS, SHARE, DIFFERENCE = range(5)
"""The columns of the answers."""
TOKEN, SAMPLED, RAW, FINAL, ANSWERS = range(5)
"""The columns of the tokens at which answers diverge."""
SHARE_ROLE = Qt.ItemDataRole.UserRole + 1
_BAR_HEIGHT = 9
_WIDEST_RATE, _WIDEST_PERCENT, _WIDEST_COUNT = "> 99.9% [100, 100]", "> 99.9%", "000 of 000"


class AnswersModel(TableModel[AnswerGroup]):
    """A row for each different answer, the most frequent first."""

    titles = ("#", tr("Answer"), tr("Runs"), tr("Share, 95% interval"), tr("First difference"))
    tips = (
        "",
        tr("The same tools with equal arguments, the same text, or the same error"),
        "",
        tr("Share of the finished runs, with the Wilson interval"),
        tr("The character at which the runs of this answer differ from answer 1, at the latest"),
    )
    figures = frozenset({NUMBER, RUNS})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._result = Distribution(n=0)

    def show(self, result: Distribution) -> None:
        self._result = result
        self.show_rows(result.groups)

    def words(self, row: AnswerGroup, column: int) -> str:
        divergence = None if row.divergence is None else self._result.divergences[row.divergence]
        return (
            str(self._rows.index(row) + 1),
            _label(row),
            tr("{count} of {runs}", count=row.share.correct, runs=row.share.n),
            rate_words(row.share),
            UNKNOWN if divergence is None else tr("character {char:,}", char=divergence.char),
        )[column]

    def tip(self, row: AnswerGroup, column: int) -> str:
        other = tr("Not the expected one: {difference}", difference=row.difference) if row.difference else ""
        return "\n".join(filter(None, (_label(row), other, share_words(row.share))))

    def extra(self, row: AnswerGroup, column: int, role: int) -> Any:
        return row.share if role == SHARE_ROLE else None


def _label(group: AnswerGroup) -> str:
    status: EndStatus = "impossible" if not group.ok else "differs" if group.difference else "holds"
    return f"{END_VERDICTS[status].sign} {visible(group.label, spaces=True)}"


class ShareDelegate(QStyledItemDelegate):
    """The share as a bar with its confidence interval, and as figures beside it."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        share = index.data(SHARE_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_selection(painter, option)
        box = QRectF(option.rect).adjusted(8, 0, -8, 0)
        words = index.data(Qt.ItemDataRole.DisplayRole)
        widest = option.fontMetrics.horizontalAdvance(_WIDEST_RATE)
        bar = QRectF(box.left(), box.center().y() - _BAR_HEIGHT / 2, box.width() - widest - 12, _BAR_HEIGHT)
        if bar.width() > 20:
            _paint_share(painter, bar, share)
        painter.setPen(theme().color("text"))
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, words)
        painter.restore()


def _paint_share(painter: QPainter, bar: QRectF, share: Share) -> None:
    paint_bar(painter, bar, share.share, theme().color("accent"))
    painter.setPen(QPen(theme().color("text"), 1.4))
    left, right = (bar.left() + end * bar.width() for end in (share.low, share.high))
    y = bar.center().y()
    painter.drawLine(QLineF(left, y, right, y))
    for x in (left, right):
        painter.drawLine(QLineF(x, y - 3, x, y + 3))


class OptionsModel(TableModel[TokenOption]):
    """The tokens sampled where the answers diverge."""

    titles = (tr("Token"), tr("Sampled"), tr("Raw"), tr("Final"), tr("Answers"))
    tips = (
        tr("The token at which the runs diverge"),
        tr("Of the runs with the same text up to this token"),
        tr("The model’s own probability, before mask and sampling parameters"),
        tr("The probability with which the token was sampled"),
        tr("Numbers of the answers that runs with this token lead to"),
    )
    figures = frozenset({SAMPLED, RAW, FINAL})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs = 0

    def show(self, divergence: Divergence | None) -> None:
        self._runs = 0 if divergence is None else divergence.runs
        self.show_rows(() if divergence is None else divergence.options)

    def words(self, row: TokenOption, column: int) -> str:
        data = row.data or row.text.encode(errors="surrogatepass")
        return (
            tr("⟨end⟩") if row.end and not row.text else token_text(data, row.text),
            tr("{count} of {runs}", count=row.sampled, runs=self._runs),
            percent(row.raw),
            percent(row.final),
            ", ".join(str(place + 1) for place in row.groups),
        )[column]


class SeedLinks(FollowsLooks, PlainLabel):
    """A text with links, whose colour is that of the theme in which the text was set."""

    def _restyle(self) -> None:
        shown = self.text()
        self.clear()
        self.setText(shown)


class SeedsPage(FollowsSize, SeededPage):
    """`openRequested` carries a seed and the place at which to open its run: the Divergence (the token at which answers
    diverge), or None for the beginning.
    """

    openRequested = Signal(int, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        run = (tr("Run seeds"), tr("Run all seeds in the background (Ctrl+Enter)"))
        super().__init__("seeds", tr("One setting with several seeds"), run, FIRST_WORDS, parent)
        self._result = Distribution(n=0)
        self._make_settings()
        self.answers_model, self.options_model = AnswersModel(self), OptionsModel(self)
        self._make_tables()
        self.place = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="title")
        self.runs_label = SeedLinks(self, objectName="seedsRuns", wordWrap=True)
        self.runs_label.setTextFormat(Qt.TextFormat.RichText)
        self.runs_label.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.runs_label.linkActivated.connect(self._open)
        self._lay_out()
        self.setFocusProxy(self.source)
        self._show_group()

    def show_sources(self, names: Sequence[str], chosen: int) -> None:
        """Set the settings that can be run, without a signal."""
        self.source.clear()
        self.source.addItems(list(names))
        self.source.setCurrentIndex(chosen)

    def show_result(self, result: Distribution, why: str = "") -> None:
        """Show the answers so far; the chosen one stays chosen if it still exists."""
        group = self.answers_model.row(self.answers.currentIndex().row())
        self._result = result
        self.answers_model.show(result)
        labels = [each.label for each in result.groups]
        if labels:
            self.answers.selectRow(labels.index(group.label) if group and group.label in labels else 0)
        words = " ".join(part for part in (result.words[0], why) if part)
        self.show_words(words if result.n or result.failed or why else "")
        self._show_group()

    def show_running(self, *, running: bool, free: bool) -> None:
        for widget in (self.source, self.seeds, self.temperature):
            widget.setEnabled(not running)

    def _fit(self) -> None:
        for card in (self.setting_card, self.answers_card, self.detail_card):
            card.show_heading(self.height() >= LOW)

    def _make_settings(self) -> None:
        tip = tr("The settings of the playground, or of a column in “Side by side”")
        self.source = choice_box(self, "seedsSource", tr("Setting"), tip=tip, least=16)
        self.about = ElidedLabel(self, Qt.TextElideMode.ElideRight, role="muted")
        self.seeds.setText("1-20")
        self.seeds.setToolTip(tr("1-20, or 1,3,7-9; one run per seed"))

    def _make_tables(self) -> None:
        self.answers = named(PlainTable(self.answers_model, ANSWER, self), "seedsAnswers")
        self.answers.setAccessibleName(tr("Answers, most frequent first"))
        self.answers.setItemDelegateForColumn(SHARE, ShareDelegate(self.answers))
        for column, widest in ((NUMBER, "00"), (RUNS, _WIDEST_COUNT), (DIFFERENCE, tr("character 0,000"))):
            self.answers.fit_column(column, widest)
        self.answers.fit_column(SHARE, _WIDEST_RATE + 8 * "0")  # and a bar
        self.answers.selectionModel().currentRowChanged.connect(lambda _now, _before: self._show_group())
        self.answers.doubleClicked.connect(lambda _index: self._open_first())
        self.options = named(PlainTable(self.options_model, ANSWERS, self), "seedsOptions")
        self.options.setAccessibleName(tr("Tokens at which the answers diverge"))
        for column, widest in ((SAMPLED, _WIDEST_COUNT), (RAW, _WIDEST_PERCENT), (FINAL, _WIDEST_PERCENT)):
            self.options.fit_column(column, widest)
        self.options.setColumnWidth(TOKEN, 150)
        self.options.fit_rows(least=MIN_OPTIONS)
        self.options_model.modelReset.connect(self.options.updateGeometry)

    def _lay_out(self) -> None:
        top = QWidget(self)
        line = hbox(
            field_label(tr("Setting"), self.source),
            self.source,
            field_label(tr("Seeds"), self.seeds),
            self.seeds,
            field_label(tr("Temperature"), self.temperature),
            self.temperature,
            STRETCH,
            spacing=10,
        )
        vbox(line, self.about, self._run_line(), parent=top, spacing=8)
        detail = QWidget(self)
        texts = (hbox(part, margins=(14, 0)) for part in (self.place, self.runs_label))
        vbox(*texts, (self.options, 1), parent=detail, margins=(0, 8), spacing=6)
        padded = hbox(self.words, margins=(14, 0))
        above = holder(vbox(padded, (self.answers, 1), margins=(0, 10, 0, 0), spacing=8), self)
        self.detail_card = Card(tr("Selected answer"), detail, padded=False)
        self.answers_card = Card(tr("Answers"), above, padded=False)
        self.splitter = splitter(Qt.Orientation.Vertical, (self.answers_card, self.detail_card), (1, 1))
        self.setting_card = Card(tr("One setting, several seeds"), top, hint=tr("Ctrl+Enter runs them"))
        vbox(self.setting_card, (self.splitter, 1), parent=self, margins=(GAP + 4, GAP), spacing=GAP)

    @property
    def _group(self) -> AnswerGroup | None:
        return self.answers_model.row(self.answers.currentIndex().row())

    @property
    def _divergence(self) -> Divergence | None:
        """Where the chosen answer diverges from the most frequent one; for the latter, the first such place."""
        group, divergences = self._group, self._result.divergences
        if group is None or not divergences:
            return None
        return divergences[group.divergence or 0]

    def _show_group(self) -> None:
        group, divergence = self._group, self._divergence
        self.detail_card.setVisible(group is not None)
        self.options_model.show(divergence)
        self.options.setVisible(divergence is not None)
        if divergence is not None:
            self.place.setText(tr("Diverges at {place}", place=divergence_words(divergence)))
        else:
            self.place.setText(tr("All runs give this answer") if self._result.n > 1 else tr("One run"))
        links = ", ".join(f'<a href="{seed}">{seed}</a>' for seed in (group.seeds if group else ()))
        self.runs_label.setText(tr("Open the run of seed {seeds}", seeds=links))

    def _open(self, seed: str) -> None:
        self.openRequested.emit(int(seed), self._divergence)

    def _open_first(self) -> None:
        group = self._group
        if group is not None:
            self.openRequested.emit(group.seeds[0], self._divergence)
