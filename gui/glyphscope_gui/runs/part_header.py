"""The line above a part of an answer, or beside it in the margin: its kind, its cost, and its verdict."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from glyphscope.base.figures import duration, percent
from glyphscope.base.visible import visible
from glyphscope.explain.segments import EarlierCall, counted, seconds_of
from glyphscope.runs import CallState, Segment, StageState
from glyphscope_gui.shared.labels import fewer_parts, fitting, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.verdict import VERDICTS, paint_pill, pill_font
from glyphscope_gui.theme import theme, ui_font, use_font
from glyphscope_gui.theme.fonts import base_points

PREVIEW = 200
"""Characters of collapsed reasoning that its header may show."""
_GAP = 10


class PartWords(NamedTuple):
    """`pill` is the verdict with its role, `aside` a text on the right, `tip` its explanation, `cost` what it cost."""

    title: str
    facts: str = ""
    cost: str = ""
    aside: str = ""
    pill: str = ""
    role: str = ""
    collapsed: bool | None = None
    preview: str = ""
    tip: str = ""


def reasoning_words(
    stage: StageState, part: Segment, collapsed: bool, earlier: EarlierCall | None, budget: int | None
) -> PartWords:
    """The cost of the reasoning, and the highest probability of a call within it."""
    aside = (
        tr(
            "a call here: at most {share} raw, token {token}",
            share=percent(earlier.share),
            token=earlier.token,
        )
        if earlier is not None
        else ""
    )
    text = stage.text[
        part.start : min(part.start + PREVIEW, len(stage.text) if part.end is None else part.end)
    ]
    cost = _cost(stage, part, budget)
    return PartWords(
        tr("Reasoning"),
        cost,
        cost,
        aside,
        collapsed=collapsed,
        preview=visible(" ".join(text.split()), spaces=True) if collapsed else "",
        tip=tr(
            "Text that the model wrote before its answer. “A call here” is the highest raw "
            "probability, at any of these tokens, of the token with which the call later began."
        ),
    )


def text_words(stage: StageState, part: Segment) -> PartWords:
    """The cost of text between other parts."""
    cost = _cost(stage, part)
    return PartWords(tr("Text"), cost, cost)


def _cost(stage: StageState, part: Segment, budget: int | None = None) -> str:
    """The tokens of a part, if their number is known, and its time."""
    tokens = stage.tokens_between(part.start, part.end)
    count, time = counted(stage, tokens), duration(seconds_of(stage, tokens))
    if count is None:
        return time
    of_budget = tr("{count} of {budget} tokens", count=count, budget=budget)
    return f"{tr('%n token(s)', '', count) if budget is None else of_budget} · {time}"


def call_words(stage: StageState, call: CallState, number: int, count: int) -> PartWords:
    """The tool, and whether the call is valid."""
    verdict = VERDICTS[call.status]
    words = verdict.words
    if call.status == "impossible":
        words = visible(call.violations[0].message, spaces=True)
    tool = visible(call.tool.name, spaces=True) if call.tool is not None else ""
    title = tr("Call {number} of {count}", number=number, count=count) if count > 1 else tr("Call")
    cost = "" if call.part is None else text_words(stage, call.part).cost
    return PartWords(title, tool, cost, pill=f"{verdict.sign} {words}", role=verdict.role, tip=words)


class PartHeader(QAbstractButton):
    """The header of a part: it collapses reasoning by mouse, Space or Enter; a call's header has no action. `folding`
    carries the place of the segment.
    """

    folding = Signal(int)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.place = -1
        self.margin = 0
        """The width of the margin in which it is, 0 if it is above its part."""
        self._words = PartWords("")
        use_font(self, ui_font)
        self.clicked.connect(self._clicked)

    def show_part(self, index: int, words: PartWords) -> None:
        self.place = index
        if words == self._words:
            return
        self._words = words
        collapsible = words.collapsed is not None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if collapsible else Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor if collapsible else Qt.CursorShape.ArrowCursor)
        state = (tr("collapsed") if words.collapsed else tr("expanded")) if collapsible else ""
        parts = (words.title, words.facts, words.pill, words.aside, state)
        named(self, "", ", ".join(part for part in parts if part), description=words.tip)
        self.setToolTip(plain_tip("\n".join(part for part in (words.aside, words.tip) if part)))
        self.update()

    @staticmethod
    def height_of(*, stacked: bool = False) -> int:
        """The required height in pixels, at the present font size; `stacked`: with the cost below the title."""
        return round(QFontMetricsF(ui_font()).height()) * (2 if stacked else 1) + 8

    def sizeHint(self) -> QSize:
        return QSize(200, self.height_of())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        words, box = self._words, QRectF(self.rect()).adjusted(10, 0, -10, 0)
        if self.hasFocus():
            painter.setPen(QPen(theme().color("accent"), 1.4))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5), 4, 4)
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        sign = "" if words.collapsed is None else "▸ " if words.collapsed else "▾ "
        if self.margin:
            self._paint_stacked(painter, sign, bold)
            return
        self._write(painter, box, sign + words.title, "text", bold)
        self._write(painter, box, words.facts, "text-muted", self.font())
        if words.pill:
            self._pill(painter, box)
        elif words.aside:
            width = QFontMetricsF(self.font()).horizontalAdvance(words.aside)
            if width <= box.width():
                right = QRectF(box.right() - width, box.top(), width, box.height())
                painter.setFont(self.font())
                painter.setPen(theme().color("text-muted"))
                painter.drawText(right, Qt.AlignmentFlag.AlignVCenter, words.aside)
                box.setRight(right.left() - _GAP)
        self._write(painter, box, words.preview, "text-faint", self.font())

    def _paint_stacked(self, painter: QPainter, sign: str, bold: QFont) -> None:
        """Paint the title with the verdict's sign, and the cost below it, to the right in the margin; beside them the
        beginning of what is collapsed.
        """
        words = self._words
        box, title = QRectF(0, 4, self.margin, self.height()), f"{sign}{words.title} {words.pill[:1]}"
        paint_margin(painter, box, title, words.cost, words.role or "text")
        if words.collapsed:
            box = QRectF(
                self.margin + 10, 4, self.width() - self.margin - 16, QFontMetricsF(self.font()).height()
            )
            self._write(painter, box, words.preview, "text-muted", self.font())

    def _pill(self, painter: QPainter, box: QRectF) -> None:
        """Paint the pill on the right, elided if the words are long."""
        metrics = QFontMetricsF(pill_font(self.font()))
        most = max(box.width() - 16, 0)
        words = metrics.elidedText(visible(self._words.pill), Qt.TextElideMode.ElideRight, most)
        width = min(metrics.horizontalAdvance(words) + 17, box.width())
        paint_pill(painter, box.adjusted(box.width() - width, 1, 0, -1), words, self._words.role, self.font())

    def _write(self, painter: QPainter, box: QRectF, words: str, role: str, font: QFont) -> None:
        """Paint words at the left of `box`, and move the box's left edge behind them."""
        metrics = QFontMetricsF(font)
        text = metrics.elidedText(visible(words), Qt.TextElideMode.ElideRight, max(box.width(), 0))
        if len(text) <= min(len(words), 1):
            return
        painter.setFont(font)
        painter.setPen(theme().color(role))
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)
        box.setLeft(box.left() + metrics.horizontalAdvance(text) + _GAP)

    def _clicked(self) -> None:
        if self._words.collapsed is not None:
            self.folding.emit(self.place)


def paint_margin(painter: QPainter, box: QRectF, title: str, cost: str, role: str) -> None:
    """Paint a title in a role's colour, and its cost below it, to the right in a margin."""
    top = box.top()
    for words, font, colour in ((title, "title", role), (cost, "cost", "text-muted")):
        if not words:
            continue
        written, high, shown = _margin_words(words.strip(), font, round(box.width() - 16), base_points())
        if top + high <= box.bottom() + 1:
            painter.setFont(written)
            painter.setPen(theme().color(colour))
            line = QRectF(box.left(), top, box.width() - 10, high)
            painter.drawText(line, Qt.AlignmentFlag.AlignRight, shown)
        top += high


@lru_cache(maxsize=256)
def _margin_words(words: str, kind: str, width: int, points: float) -> tuple[QFont, float, str]:
    """Words of the margin as they fit into that width, if need be without their last parts (the hint has them), with
    their font and height. Fitting takes longer than painting; `points` is the text size for which the result is valid.
    """
    font = ui_font(-0.5 if kind == "title" else -1.5)
    if kind == "title":
        font.setWeight(QFont.Weight.DemiBold)
    metrics, shown = QFontMetrics(font), visible(words)
    whole = fitting(fewer_parts(shown), metrics, width)
    right = Qt.TextElideMode.ElideRight
    return (
        font,
        QFontMetricsF(font).height(),
        metrics.elidedText(shown, right, width) if whole is None else whole,
    )
