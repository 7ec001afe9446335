"""The alternatives of the chosen token: bars of raw probability, and the reason of a masked one.

A reason of several tokens is written once, with the letters of each where it names them: a number leads from the
others to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

from PySide6.QtCore import QModelIndex, QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QFontMetrics, QPainter, QTextLayout
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from glyphscope.base.figures import UNKNOWN, percent
from glyphscope.base.tokens import token_text
from glyphscope.base.visible import visible
from glyphscope.events import Alternative, RunRequest, Token
from glyphscope.explain.masked import AlternativeReasons, Reasons, token_reasons
from glyphscope.registry import ToolRegistry
from glyphscope.runs import StageState
from glyphscope.runs.state import NO_STAGE, StagePlace
from glyphscope.validation.reasons import one_of
from glyphscope_gui.shared.background import Background
from glyphscope_gui.shared.cells import (
    MAX_WORD_LINES,
    height_of,
    lay_out_text,
    paint_bar,
    paint_selection,
    paint_words,
)
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_table import WholeTable
from glyphscope_gui.shared.run_words import is_masked, numbered
from glyphscope_gui.shared.table_model import Index, TableModel
from glyphscope_gui.theme import mono_font, theme, ui_font

ALTERNATIVE_ROLE, REASON_ROLE, CHOSEN_ROLE, REFUSED_ROLE = (Qt.ItemDataRole.UserRole + n for n in range(4))
NUMBER_ROLE = Qt.ItemDataRole.UserRole + 20
"""The Alternative; why no valid call can follow; whether it was sampled; the reason of a masked one otherwise, if it
differs from the reason shown for all masked ones; the number of a reason that several have, each shown only once.
"""
_MARKS = "¹²³⁴⁵⁶⁷⁸⁹"
TEXT, BAR, RAW, FINAL = range(4)
MAX_TEXT = 4000
"""Characters of text before a token above which its alternatives are not explained."""


def reasons(
    request: RunRequest,
    registry: ToolRegistry,
    before: str,
    alternatives: Sequence[Alternative],
    place: StagePlace = NO_STAGE,
) -> list[str]:
    """For each alternative, why no valid call can continue with it; "" if one can, or if the reason is unknown."""
    return AlternativeReasons(request, registry, place).verdicts(before, alternatives)


class AlternativeRow(NamedTuple):
    """`reason` is why no valid call can follow, `refusal` the reason of a masked one otherwise; "" while unknown."""

    alternative: Alternative
    reason: str
    refusal: str = ""


class AlternativesModel(TableModel[AlternativeRow]):
    """The alternatives of one token, the most likely first."""

    titles = (tr("token"), "", tr("raw"), tr("final"))
    tips = (
        tr("The token, with a ✕ if it was masked"),
        tr("Raw probability as a bar"),
        tr("The model’s own probability, before mask and sampling parameters"),
        tr(
            "The probability of being sampled, or the filter that removed the token; – if it "
            "could not be sampled"
        ),
    )
    figures = frozenset({RAW, FINAL})

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = Background(self)
        self._refusal_of_all = ""
        self._said: dict[str, tuple[AlternativeRow, str, str]] = {}
        """For each reason, the first row that has it, the words there, and its number if others have it too."""
        self._chosen: int | bytes = -1
        self._special: frozenset[int] = frozenset()

    def show(self, alternatives: Sequence[Alternative], why: Sequence[str], chosen: int | bytes) -> None:
        """Show the alternatives; `chosen` is the id of the chosen token, or its bytes if it has no id."""
        self._chosen = chosen
        rows = [AlternativeRow(*each) for each in zip(alternatives, why, strict=True)]
        self._number(rows)
        self.show_rows(rows)

    def show_token(
        self,
        stage: StageState,
        token: Token,
        alternatives: Sequence[Alternative],
        request: RunRequest,
        registry: ToolRegistry | None,
    ) -> None:
        """Show the alternatives of a token of the stage, with the validator's reasons of the impossible ones.

        Those of masked ones follow by `set_refused` or `explain`.
        """
        why = [""] * len(alternatives)
        if registry is not None:
            why = reasons(request, registry, stage.text[: token.start], alternatives, stage.place)
        self.show(alternatives, why, token.step.id if token.step.id >= 0 else token.step.data)
        self.set_refused((), "")

    def explain(
        self, stage: StageState, index: int, request: RunRequest, registry: ToolRegistry | None
    ) -> None:
        """Add the reasons of the masked ones among the shown alternatives of that token, once they are found."""
        shown = [row.alternative for row in self.rows]
        if registry is None or not any(map(is_masked, shown)):
            return
        tokens, place = list(stage.tokens), stage.place

        def done(found: Reasons) -> None:
            if [row.alternative for row in self.rows] == shown:
                self.set_refused(found.texts, "")

        self._background.start(
            "reasons", lambda: token_reasons(request, registry, place, tokens, index, shown), done
        )

    def set_refused(self, words: Sequence[str], of_all: str) -> None:
        """Show the reason of each masked alternative; `of_all` is the grammar's expectation there, shown above them.

        The user's selection is kept.
        """
        self._rows = [
            row
            if not text or text == row.reason or not is_masked(row.alternative)
            else row._replace(reason="", refusal=text)
            for row, text in zip(self._rows, chain(words, repeat("")))
        ]
        self._refusal_of_all = of_all
        self._number(self._rows)
        self._changed()

    def _number(self, rows: Sequence[AlternativeRow]) -> None:
        """Number the reasons that several rows have, and join those that differ in the letters of their tokens."""
        found: dict[tuple[str, ...], list[AlternativeRow]] = {}
        for row in rows:
            if words := self._reason(row):
                found.setdefault(_frame(words, row.alternative), []).append(row)
        marks, self._said = iter(_MARKS), {}
        for frame, same in found.items():
            mark = next(marks, "") if len(same) > 1 else ""
            own = list(dict.fromkeys(_own(self._reason(row), row.alternative) for row in same))
            words = one_of(own).join(frame)
            self._said |= {self._reason(row): (same[0], words, mark) for row in same}

    def _reason(self, row: AlternativeRow) -> str:
        """The reason that is shown below the row; "" for none, or the one that is shown for all."""
        return row.reason or ("" if row.refusal == self._refusal_of_all else row.refusal)

    def set_special(self, special: frozenset[int]) -> None:
        """Set the ids of special tokens, which differ from the text of their names."""
        self._special = special
        self._changed(column=TEXT)

    def words(self, row: AlternativeRow, column: int) -> str:
        one = row.alternative
        if column == TEXT:
            words = token_text(one.data, one.text)
            return f"⟨{words}⟩" if one.id in self._special else words
        if column == RAW:
            return percent(one.raw)
        if column == FINAL:
            is_known = one.allowed and not one.removed and one.final is not None
            return percent(one.final) if is_known else one.removed or UNKNOWN
        return ""

    def spoken(self, row: AlternativeRow, column: int) -> str:
        words, removed = self.words(row, column), row.alternative.removed
        if removed and column == TEXT:
            return tr("{token}, removed by {filter}", token=words, filter=removed)
        return tr("{token}, masked", token=words) if is_masked(row.alternative) else words

    def tip(self, row: AlternativeRow, column: int) -> str:
        one = row.alternative
        masked = tr("Masked: the grammar does not allow the token here") if is_masked(one) else ""
        removed = tr("Allowed, and removed by {filter}", filter=one.removed) if one.removed else ""
        token = numbered(one.id)
        if one.id in self._special:
            token = tr("{token} (special)", token=token)
        first = tr("{token}, bytes {bytes}", token=token, bytes=one.data.hex(" ").upper())
        return "\n".join(line for line in (first, masked, removed, row.reason, row.refusal) if line)

    def color(self, row: AlternativeRow, column: int) -> str:
        return "text-faint" if is_masked(row.alternative) or row.alternative.removed else "text"

    def extra(self, row: AlternativeRow, column: int, role: int) -> Any:
        one = row.alternative
        if role == ALTERNATIVE_ROLE:
            return one
        first, words, mark = self._said.get(self._reason(row), (row, "", ""))
        if role == NUMBER_ROLE:
            return mark
        if role in (REASON_ROLE, REFUSED_ROLE):  # the hint contains all of them
            shown = words if first is row and (role == REASON_ROLE) is bool(row.reason) else ""
            return shown and f"{mark} {shown}".lstrip()
        return self._chosen in (one.id, one.data) if role == CHOSEN_ROLE else None


_QUOTED = re.compile(r"'[^']+'|\"(?:[^\"\\]|\\.)+\"")


def _own_place(words: str, one: Alternative) -> tuple[int, int]:
    """The last place of the reason that quotes letters of the token; its end twice if there is none."""
    quoted = [each for each in _QUOTED.finditer(words) if each[0][1:-1] in one.text]
    return quoted[-1].span() if quoted else (len(words), len(words))


def _frame(words: str, one: Alternative) -> tuple[str, str]:
    """The reason before and after the letters of the token that it quotes."""
    start, end = _own_place(words, one)
    return words[:start], words[end:]


def _own(words: str, one: Alternative) -> str:
    """The quoted letters of the token in the reason: `'a'`; empty without any."""
    start, end = _own_place(words, one)
    return words[start:end]


_BAR_HEIGHT = 11
MASKED = "✕ "
"""The sign of a masked token, as colour alone is not enough."""


class AlternativeDelegate(QStyledItemDelegate):
    """Token, bar and figures on the first line of a row, the reason for the mask on the next ones."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_selection(painter, option)
        line = QRectF(option.rect)
        line.setHeight(_line_height())
        alternative = index.data(ALTERNATIVE_ROLE)
        why = index.data(REASON_ROLE)
        if index.column() == BAR:
            impossible = bool(why or index.data(NUMBER_ROLE))
            self._paint_bar(painter, line, alternative, impossible)
        else:
            self._paint_text(painter, line.adjusted(2, 0, -2, 0), index)
        for words, role in ((why, "impossible"), (index.data(REFUSED_ROLE), "text-muted")):
            if words:
                self._paint_words(painter, option, line.bottom(), words, role)
        painter.restore()

    def _paint_bar(self, painter: QPainter, line: QRectF, alternative: Alternative, impossible: bool) -> None:
        box = QRectF(line.left() + 4, line.center().y() - _BAR_HEIGHT / 2, line.width() - 8, _BAR_HEIGHT)
        if is_masked(alternative):
            fill = QBrush(theme().color("text-faint"), Qt.BrushStyle.BDiagPattern)
        else:
            role = "impossible-line" if impossible else "text-faint" if alternative.removed else "accent"
            fill = QBrush(theme().color(role))
        paint_bar(painter, box, alternative.raw, fill)

    def _paint_text(self, painter: QPainter, line: QRectF, index: Index) -> None:
        alternative = index.data(ALTERNATIVE_ROLE)
        role = "text-muted" if is_masked(alternative) else "text-faint" if alternative.removed else ""
        if index.column() == TEXT:
            font = mono_font(-0.5)
            font.setBold(bool(index.data(CHOSEN_ROLE)))
            mark = index.data(NUMBER_ROLE)
            if mark:
                paint_words(painter, line, mark, ui_font(-1), "text-muted", Qt.AlignmentFlag.AlignRight)
                line = line.adjusted(0, 0, -QFontMetrics(ui_font(-1)).horizontalAdvance(mark) - 2, 0)
            sign = MASKED if is_masked(alternative) else ""
            paint_words(painter, line, sign + index.data(), font, role or "text")
        else:
            side = Qt.AlignmentFlag.AlignRight
            paint_words(painter, line, index.data(), mono_font(-1), role or "text-muted", side)

    def _paint_words(
        self, painter: QPainter, option: QStyleOptionViewItem, top: float, why: str, role: str
    ) -> None:
        """Paint a cell's part of a text that spans the whole table, as Qt may repaint any cell alone."""
        table = option.widget
        width = table.viewport().width() if isinstance(table, QAbstractItemView) else option.rect.width()
        painter.setClipRect(option.rect)
        painter.setPen(theme().color(role))
        reason_layout(why, width).draw(painter, QPointF(2, top))


def _line_height() -> int:
    return QFontMetrics(mono_font(-0.5)).height() + 7


def reason_layout(words: str, width: int) -> QTextLayout:
    """A reason below its token, in a table of that width."""
    return lay_out_text(visible(words), ui_font(-1.5), [], width - 4, MAX_WORD_LINES)


class AlternativesTable(WholeTable):
    """`rowChosen` carries the row that became current, `rowTaken` the row of a double click or Enter."""

    rowChosen = Signal(int)
    rowTaken = Signal(int)

    def __init__(self, model: AlternativesModel, parent: QWidget | None = None) -> None:
        super().__init__(model, stretch=BAR, parent=parent)
        named(self, "alternativesTable", tr("Alternatives of the chosen token"))
        self.setItemDelegate(AlternativeDelegate(self))
        self.horizontalHeader().setSectionResizeMode(TEXT, QHeaderView.ResizeMode.Fixed)
        self.fit_again()
        model.modelReset.connect(self._fit_heights)
        model.dataChanged.connect(lambda *_: self._fit_heights())
        self.setAccessibleDescription(
            tr("Up and Down select an alternative; Enter continues the run with it.")
        )
        self.selectionModel().currentRowChanged.connect(self._current_changed)
        self.on_open(lambda index: self.rowTaken.emit(index.row()))
        self.offer_menus()

    def fit_again(self) -> None:
        super().fit_again()
        figures = QFontMetrics(mono_font(-1)).horizontalAdvance("100.0%") + 14
        self.setColumnWidth(RAW, figures)
        self.setColumnWidth(FINAL, figures)
        self._fit_heights()

    def _fit(self) -> None:
        """Divide the room beside the figures between the token and its bar."""
        usual = QFontMetrics(mono_font(-0.5)).horizontalAdvance(f"{MASKED}·max_results"[:12]) + 8
        room = self.viewport().width() - self.columnWidth(RAW) - self.columnWidth(FINAL)
        self.setColumnWidth(TEXT, max(min(usual, room // 2), 24))
        self._fit_heights()

    def _current_changed(self, current: QModelIndex, _before: QModelIndex) -> None:
        if current.isValid():
            self.rowChosen.emit(current.row())

    def _fit_heights(self) -> None:
        line, width = _line_height(), self.viewport().width()
        for row in range(self.model().rowCount()):
            index = self.model().index(row, TEXT)
            words = index.data(REASON_ROLE) or index.data(REFUSED_ROLE)
            self.setRowHeight(row, line + (round(height_of(reason_layout(words, width))) + 2 if words else 0))
        self.updateGeometry()
