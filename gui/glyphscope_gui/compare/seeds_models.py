"""The answers of several seeds as a table, and the tokens at which they diverge as another."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QLineF, QObject, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from glyphscope.evals.distribution import Distribution, Group, Option, Parting
from glyphscope.evals.results.words import rate_words, share_words
from glyphscope.text.figures import UNKNOWN, percent
from glyphscope.visible import visible
from glyphscope_gui.shared.cells import paint_bar, paint_selection
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.table_model import Index, TableModel
from glyphscope_gui.shared.token_words import token_text
from glyphscope_gui.theme import theme

NUMBER, ANSWER, RUNS, SHARE, PARTS = range(5)
TOKEN, DRAWN, RAW, FINAL, LEADS = range(5)
SHARE_ROLE = Qt.ItemDataRole.UserRole + 1
_BAR_HEIGHT = 9


class AnswersModel(TableModel[Group]):
    """A row for each different answer, the most frequent first."""

    titles = ("#", tr("Answer"), tr("Runs"), tr("Share, 95% interval"), tr("First difference"))
    tips = (
        "",
        tr("The same tools with equal arguments, or the same error"),
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

    def words(self, row: Group, column: int) -> str:
        parting = None if row.parting is None else self._result.partings[row.parting]
        return (
            str(self._rows.index(row) + 1),
            _label(row),
            tr("{drawn} of {runs}", drawn=row.share.correct, runs=row.share.n),
            rate_words(row.share),
            UNKNOWN if parting is None else tr("character {char:,}", char=parting.char),
        )[column]

    def tip(self, row: Group, column: int) -> str:
        return f"{_label(row)}\n{share_words(row.share)}"

    def extra(self, row: Group, column: int, role: int) -> Any:
        return row.share if role == SHARE_ROLE else None


class ShareDelegate(QStyledItemDelegate):
    """The share as a bar with its confidence interval, and as figures beside it."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        share = index.data(SHARE_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_selection(painter, option)
        box = QRectF(option.rect).adjusted(8, 0, -8, 0)
        words = index.data(Qt.ItemDataRole.DisplayRole)
        widest = option.fontMetrics.horizontalAdvance("> 99.9% [100, 100]")
        bar = QRectF(box.left(), box.center().y() - _BAR_HEIGHT / 2, box.width() - widest - 12, _BAR_HEIGHT)
        if bar.width() > 20:
            _paint_share(painter, bar, share.share, share.low, share.high)
        painter.setPen(theme().color("text"))
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, words)
        painter.restore()


class OptionsModel(TableModel[Option]):
    """The tokens sampled where the answers diverge."""

    titles = (tr("Token"), tr("Sampled"), tr("Raw"), tr("Final"), tr("Answers"))
    tips = (
        tr("The token at which the runs diverge"),
        tr("Of the runs with the same text up to this token"),
        tr("The model’s own probability, before mask and sampling parameters"),
        tr("The probability with which the token was sampled"),
        tr("Numbers of the answers that runs with this token lead to"),
    )
    figures = frozenset({DRAWN, RAW, FINAL})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs = 0

    def show(self, parting: Parting | None) -> None:
        self._runs = 0 if parting is None else parting.runs
        self.show_rows(() if parting is None else parting.options)

    def words(self, row: Option, column: int) -> str:
        data = row.data or row.text.encode(errors="surrogatepass")
        return (
            tr("⟨end⟩") if row.end and not row.text else token_text(data, row.text),
            tr("{drawn} of {runs}", drawn=row.drawn, runs=self._runs),
            percent(row.raw),
            percent(row.final),
            ", ".join(str(place + 1) for place in row.groups),
        )[column]


def _label(group: Group) -> str:
    return f"{'✓' if group.ok else '✕'} {visible(group.label, spaces=True)}"


def _paint_share(painter: QPainter, bar: QRectF, share: float, low: float, high: float) -> None:
    paint_bar(painter, bar, share, theme().color("accent"))
    painter.setPen(QPen(theme().color("text"), 1.4))
    left, right, y = bar.left() + low * bar.width(), bar.left() + high * bar.width(), bar.center().y()
    painter.drawLine(QLineF(left, y, right, y))
    for x in (left, right):
        painter.drawLine(QLineF(x, y - 3, x, y + 3))
