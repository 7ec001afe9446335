"""The look of a verdict: its colour, line and sign, none of which is the only cue; and pills, such as those that say
how a constraint is enforced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from glyphscope_gui.shared.labels import PlainLabel, named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, FollowsSize, hbox
from glyphscope_gui.theme import theme, ui_font, use_font
from glyphscope_gui.theme.fonts import smaller


class Verdict(NamedTuple):
    """`role` is its theme role, `sign` a character of the interface font, `tip` an explanation in a sentence.

    `short` are its words for little room, if they differ.
    """

    role: str
    words: str
    sign: str
    line: Qt.PenStyle
    width: float
    tip: str
    short: str = ""


VERDICTS = {
    "holds": Verdict(
        "holds",
        tr("valid", "a verdict"),
        "✓",
        Qt.PenStyle.SolidLine,
        2,
        tr("Complete and valid, whatever follows."),
    ),
    "open": Verdict(
        "open",
        tr("open", "a verdict"),
        "◌",
        Qt.PenStyle.DashLine,
        1.6,
        tr("Not decided yet: a continuation can still be valid."),
    ),
    "impossible": Verdict(
        "impossible",
        tr("impossible", "a verdict"),
        "✕",
        Qt.PenStyle.DotLine,
        2,
        tr("No continuation can be valid."),
    ),
}
DIFFERS = Verdict(
    "differs",
    tr("not as expected", "a verdict"),
    "≠",
    Qt.PenStyle.SolidLine,
    2,
    tr("Valid, and another answer than the expected one."),
)
END_VERDICTS = VERDICTS | {"differs": DIFFERS}
"""Those of a run, which can be compared with an expected answer."""
FORCED = Verdict(
    "forced",
    tr("forced by grammar"),
    "",
    Qt.PenStyle.SolidLine,
    1,
    tr("The grammar allowed only this token."),
    tr("forced"),
)


def paint_line(painter: QPainter, verdict: Verdict, left: float, right: float, y: float) -> None:
    """Paint the verdict's line under a piece of text."""
    paint_lines(painter, verdict, [QLineF(left, y, right, y)])


def paint_lines(painter: QPainter, verdict: Verdict, lines: Sequence[QLineF]) -> None:
    """Paint the verdict's line under several pieces of text, together: each call of Qt takes longer than a line."""
    pen = QPen(theme().color(f"{verdict.role}-line"), verdict.width, verdict.line)
    if verdict.line == Qt.PenStyle.DashLine:
        pen.setDashPattern([3.2, 2.0])
    elif verdict.line == Qt.PenStyle.DotLine:
        pen.setDashPattern([1.0, 1.3])
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    painter.drawLines(lines)


def pill_font(font: QFont) -> QFont:
    small = smaller(font, 1.5)
    small.setWeight(QFont.Weight.DemiBold)
    return small


def paint_pill(painter: QPainter, box: QRectF, words: str, role: str, font: QFont) -> float:
    """Paint a pill on the left of `box`, vertically centred; returns its width."""
    small = pill_font(font)
    metrics = QFontMetricsF(small)
    width = min(metrics.horizontalAdvance(words) + 16, box.width())
    height = min(metrics.height() + 5, box.height())
    pill = QRectF(box.left(), box.center().y() - height / 2, width, height)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme().color(f"{role}-soft"))
    painter.drawRoundedRect(pill, height / 2, height / 2)
    painter.setFont(small)
    painter.setPen(theme().color(role))
    painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, words)
    return width


class Swatch(QWidget):
    """A verdict's background and line, as in the stream."""

    def __init__(self, verdict: Verdict, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._verdict = verdict
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(22, 14)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        box = QRectF(self.rect()).adjusted(0, 1, 0, -2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme().color(f"{self._verdict.role}-soft")))
        painter.drawRoundedRect(box, 2, 2)
        paint_line(painter, self._verdict, box.left(), box.right(), box.bottom())


_LEGEND: tuple[Callable[[Verdict], str], ...] = (  # the words of an entry, shorter and shorter
    lambda verdict: f"{verdict.sign} {verdict.words}".strip(),
    lambda verdict: verdict.short or verdict.words,
    lambda verdict: "",  # the words appear on hover
)
_SPACE = 4


class VerdictLegend(FollowsSize, QWidget):
    """The meaning of the stream's colours and lines, shortened to fit the width."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = hbox(STRETCH, parent=self, spacing=_SPACE)
        self._entries: list[tuple[Verdict, Swatch, QLabel]] = []
        for verdict in (*VERDICTS.values(), FORCED):
            swatch, label = Swatch(verdict, self), PlainLabel("", self)
            label.setProperty("role", "hint")
            label.setContentsMargins(0, 0, _SPACE, 0)
            for widget in (swatch, label):
                widget.setToolTip(verdict.tip)
                row.addWidget(widget)
            self._entries.append((verdict, swatch, label))
        self.setAccessibleName(tr("Legend of the verdicts"))
        use_font(self, ui_font)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def show_forced(self, shown: bool) -> None:
        """Set whether to show the entry for forced tokens: without a constraint, no token is forced."""
        for verdict, *widgets in self._entries:
            if verdict is FORCED:
                for widget in widgets:
                    widget.setVisible(shown)
        self.updateGeometry()
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(self._needs(0), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(self._needs(len(_LEGEND) - 1), super().sizeHint().height())

    def _fit(self) -> None:
        fits = (way for way in range(len(_LEGEND)) if self._needs(way) <= self.width())
        words = _LEGEND[next(fits, -1)]
        for verdict, _swatch, label in self._entries:
            label.setText(words(verdict))

    def _needs(self, way: int) -> int:
        shown = [entry for entry in self._entries if not entry[1].isHidden()]
        widths = (
            swatch.sizeHint().width() + label.fontMetrics().horizontalAdvance(_LEGEND[way](verdict))
            for verdict, swatch, label in shown
        )
        return sum(widths) + 3 * _SPACE * len(shown)


_PLAIN = "open"
"""For roles without a soft background colour."""


class Pill(QWidget):
    """As wide as its words; hidden if they are empty. `gap` is the space on its left in pixels, hidden with it."""

    def __init__(self, parent: QWidget | None = None, *, gap: int = 0) -> None:
        super().__init__(parent)
        self._gap = gap
        self.words, self._role = "", _PLAIN
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.hide()

    def set_words(self, words: str, role: str, tip: str = "") -> None:
        self.words, self._role = words, role if f"{role}-soft" in theme().roles else _PLAIN
        self.setToolTip(tip)
        named(self, "", words, description=tip)
        self.setVisible(bool(words))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(pill_font(self.font()))
        return QSize(metrics.horizontalAdvance(self.words) + 18 + self._gap, metrics.height() + 6)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.words:
            box = QRectF(self.rect()).adjusted(self._gap, 0, 0, 0)
            paint_pill(QPainter(self), box, self.words, self._role, self.font())


Enforcement: TypeAlias = Literal["enforced", "checked", "unsupported", "contradiction"]
EnforcementMap: TypeAlias = Mapping[tuple[str, str], Enforcement]
"""By tool and JSON Pointer into its parameters."""

_ENFORCEMENT: dict[Enforcement, tuple[str, str, str]] = {
    "enforced": (
        tr("enforced"),
        "holds",
        tr("The grammar excludes every token that would violate this constraint."),
    ),
    "checked": (
        tr("checked after"),
        "open",
        tr("The grammar cannot enforce this; the validator checks it while the text is generated."),
    ),
    "contradiction": (
        tr("contradiction"),
        "impossible",
        tr(
            "Other constraints exclude it, partly or entirely: the grammar is built without the "
            "excluded values."
        ),
    ),
    "unsupported": (
        tr("not checked"),
        "impossible",
        tr("Neither the grammar nor the validator enforces this."),
    ),
}

_GAP = 6
"""Pixels to the field on the left: without a badge, the fields reach the edge."""


class EnforcementBadge(Pill):
    """Hidden until the constraint's enforcement is known."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, gap=_GAP)

    def set_kind(self, kind: Enforcement | None) -> None:
        self.set_words(*(("", "open") if kind is None else _ENFORCEMENT[kind]))
