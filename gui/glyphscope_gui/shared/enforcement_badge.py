"""A small pill beside a constraint: who keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from glyphscope.visible import visible
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.plain_text import plain_tip
from glyphscope_gui.shared.verdict import paint_pill, pill_font

Enforcement: TypeAlias = Literal["enforced", "checked", "unsupported", "contradiction"]
EnforcementMap: TypeAlias = Mapping[tuple[str, str], Enforcement]
"""By tool and JSON Pointer into its parameters."""

_WORDS: dict[Enforcement, tuple[str, str, str]] = {
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


GAP = 6
"""The gap to the field at its left; part of the badge, so that without one the fields reach the edge."""


class EnforcementBadge(QWidget):
    """Hidden until the constraint's enforcement is known."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind: Enforcement | None = None
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.hide()

    def set_kind(self, kind: Enforcement | None) -> None:
        self._kind = kind
        self.setVisible(kind is not None)
        if kind is not None:
            words, _, explanation = _WORDS[kind]
            self.setToolTip(plain_tip(explanation))
            self.setAccessibleName(visible(f"{words}: {explanation}", lines=True))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        if self._kind is None:
            return QSize(0, 0)
        metrics = QFontMetrics(pill_font(self.font()))
        return QSize(metrics.horizontalAdvance(_WORDS[self._kind][0]) + 17 + GAP, metrics.height() + 5)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._kind is not None:
            words, role, _ = _WORDS[self._kind]
            paint_pill(QPainter(self), QRectF(self.rect()).adjusted(GAP, 0, 0, 0), words, role, self.font())
