"""Names, roles and hints of widgets, and their texts: labels of plain text, links and buttons.

Which label: PlainLabel for a line, `words_label` for a paragraph, ElidedLabel if width is scarce, WrappedLabel in a
splitter, FittedLabel if it must not make a page scroll, and LessonLabel in a lesson.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

from PySide6.QtCore import QObject, QSize, Qt, SignalInstance
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QLabel, QPushButton, QSizePolicy, QWidget

from glyphscope.base.visible import visible
from glyphscope_gui.shared.layouts import FollowsSize
from glyphscope_gui.shared.plain_text import MAX_LABEL, cut_at, plain_tip
from glyphscope_gui.theme import mono_font, use_font

OnClick: TypeAlias = Callable[..., object] | SignalInstance | None
Named = TypeVar("Named", bound=QObject)
_CUT_NUMBER = re.compile(r"[\d.,]+…$")
_CUT_PART = re.compile(r"(?: {2,}| · |, )[^·,]{0,14}…$| ·…$|,…$")
"""The beginning of a part of a list, too short to say which one it is."""
MIN_LEFT = 4
"""Characters of a text that is cut at its end; fewer say nothing, and only the hint has the text."""


def named(
    widget: Named, name: str = "", words: str = "", *, description: str = "", tip: str = "", **properties: Any
) -> Named:
    """Return the widget with its object name (for style sheets and tests), its accessible name `words`, its accessible
    description and its tip.

    `properties` are Qt's, or `role`, which the style sheet uses. Empty arguments leave the widget unchanged.
    """
    if name:
        widget.setObjectName(name)
    if isinstance(widget, QWidget):
        if words:
            widget.setAccessibleName(words)
        if description:
            widget.setAccessibleDescription(description)
        if tip:
            widget.setToolTip(tip)
    for property_, value in properties.items():
        if value is not None:
            is_known = widget.setProperty(property_, value)
            assert is_known or property_ == "role", f"{type(widget).__name__} has no property {property_}"
    return widget


def show_obstacle(control: QWidget, about: str, why_not: str) -> None:
    """Enable a control, or disable it with the reason `why_not`, which follows what it is `about`, as its tip."""
    control.setEnabled(not why_not)
    tip = " ".join(filter(None, (about, why_not)))
    if control.accessibleDescription() != tip:
        named(control, description=tip, tip=plain_tip(tip))


def set_role(widget: QWidget, role: object, *, key: str = "role") -> None:
    """Set the property that selects a style, on a widget that may already be visible."""
    if widget.property(key) != role:
        widget.setProperty(key, role)
        if widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
            widget.style().unpolish(widget)
            widget.style().polish(widget)


def show_words(label: QLabel | QAbstractButton, words: str) -> None:
    """Set the words of a label or button; hide it if they are empty."""
    label.setText(words)
    label.setVisible(bool(words))


class PlainLabel(QLabel):
    """Shows its text literally: no HTML, and a symbol for each invisible character.

    Every label of the window is one, as its text may come from a file, a model or a server. The style sheet uses
    `role`; `options` are Qt's.
    """

    def __init__(
        self, text: str | QWidget | None = "", parent: QWidget | None = None, role: str = "", **options: Any
    ) -> None:
        words, parent = (text, parent) if isinstance(text, str) else ("", text)
        super().__init__(visible(cut_at(words, MAX_LABEL), lines=True), parent, **options)
        self.setTextFormat(Qt.TextFormat.PlainText)
        if role:
            self.setProperty("role", role)

    def setText(self, text: str) -> None:
        super().setText(visible(cut_at(text, MAX_LABEL), lines=True))


def words_label(
    words: str = "",
    role: str = "muted",
    parent: QWidget | None = None,
    *,
    name: str = "",
    selectable: bool = False,
) -> QLabel:
    """A plain label that wraps."""
    label = PlainLabel(words, parent, role, wordWrap=True, objectName=name)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def elided(words: str, letters: QFontMetrics, width: int, mode: Qt.TextElideMode) -> str:
    """The part of a text that fits into that many pixels, without a part of a number, or of an item of a list, at its
    end.
    """
    shown = letters.elidedText(words, mode, width)
    return shown if shown == words else _CUT_PART.sub(" …", _CUT_NUMBER.sub("…", shown))


def fitting(forms: Iterable[str], letters: QFontMetrics, width: int) -> str | None:
    """The first of these texts, from long to short, that fits into that many pixels; None if none does."""
    return next((form for form in forms if letters.horizontalAdvance(form) <= width), None)


def fewer_parts(words: str) -> Iterator[str]:
    """A list of parts between dots, then without its last part, without the last two, and so on."""
    parts = words.split(" · ")
    return (" · ".join(parts[:count]) for count in range(len(parts), 0, -1))


class ElidedLabel(PlainLabel):
    """Requests only a few characters of width, so that it cannot widen a dock. A number is not cut at its end: `21…` of
    219 would be another number. A text with shorter forms (`set_forms`) is not cut as long as one of these fits.
    """

    _shorter: tuple[str, ...] = ()

    def __init__(
        self,
        parent: QWidget | None = None,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
        role: str = "",
    ) -> None:
        super().__init__(parent=parent, role=role)
        self._mode = mode
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        return QSize(20, super().minimumSizeHint().height())

    def setText(self, text: str) -> None:
        self.set_forms(text)

    def set_forms(self, text: str, *shorter: str) -> None:
        """Set the text, and what is shown where it does not fit, from long to short."""
        self._shorter = tuple(visible(each, lines=True) for each in shorter)
        super().setText(text)

    def elided(self, width: int) -> str:
        """Return the part of the text that fits into that many pixels."""
        if (whole := fitting((self.text(), *self._shorter), self.fontMetrics(), width)) is not None:
            return whole
        shown = elided(self.text(), self.fontMetrics(), width, self._mode)
        at_end = self._mode is Qt.TextElideMode.ElideRight
        return "" if at_end and len(shown.rstrip("…").strip()) < MIN_LEFT else shown

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        box = self.contentsRect()
        shown = self.elided(box.width())
        self.setToolTip(plain_tip(self.text()) if shown != self.text() else "")
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(box, self.alignment(), shown)


class WrappedLabel(FollowsSize, PlainLabel):
    """For splitters: Qt does not query a label's height when a splitter narrows it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setWordWrap(True)

    def setText(self, text: str) -> None:
        super().setText(text)
        self._fit()

    def needed(self) -> int:
        """Return the height in pixels that the words need at the current width."""
        self.setMinimumHeight(0)  # Qt's result is never less than the minimum
        return max(self.heightForWidth(max(self.width(), 60)), 0)

    def _fit(self) -> None:
        self.setMinimumHeight(self.needed() if self.text() else 0)


class FittedLabel(WrappedLabel):
    """Exactly as high as its words, so that it does not make a page too high and scroll."""

    def hasHeightForWidth(self) -> bool:
        return False

    def _fit(self) -> None:
        self.setFixedHeight(max(self.needed(), self.fontMetrics().height()))


def push_button(
    words: str,
    parent: QWidget | None = None,
    *,
    name: str = "",
    role: str = "",
    tip: str = "",
    spoken: str = "",
    clicked: OnClick = None,
) -> QPushButton:
    """The style sheet uses `role`; `tip` describes the action, also for screen readers, which use `spoken` if the words
    are not enough; `clicked` is connected.
    """
    button = named(QPushButton(words, parent), name, spoken, description=tip, tip=tip, role=role or None)
    if clicked is not None:
        button.clicked.connect(clicked)
    return button


def link(words: str, tip: str, parent: QWidget | None = None, **options: Any) -> QPushButton:
    """A button that looks like a link in a text; `options` as in `push_button`."""
    return push_button(words, parent, role="link", tip=tip, **options)


AROUND = 10
"""Pixels of a link's width in addition to its text."""


class ElidedLink(FollowsSize, QPushButton):
    """A link that is elided to fit; `words` is the full text, the button's text the shown part with the `tail`.

    `around` are the pixels beside its text. With another `role`, it has the look of that button.
    """

    def __init__(
        self, parent: QWidget | None = None, *, role: str = "link", around: int = AROUND, tail: str = ""
    ) -> None:
        super().__init__(parent)
        self._around, self._tail = around, tail
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(40)
        self.words = ""
        self._shorter: tuple[str, ...] = ()

    def set_words(self, words: str, *shorter: str) -> None:
        """Set the full text, which is also the accessible name, and what is shown where it does not fit."""
        self.words, self._shorter = words, shorter
        self.setAccessibleName(words)
        self._fit()
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(
            self.fontMetrics().horizontalAdvance(self.words + self._tail) + self._around, hint.height()
        )

    def minimumSizeHint(self) -> QSize:
        return QSize(self.minimumWidth(), super().minimumSizeHint().height())

    def _fit(self) -> None:
        letters = self.fontMetrics()
        room = max(self.width() - self._around + 2 - letters.horizontalAdvance(self._tail), 0)
        whole = fitting((self.words, *self._shorter), letters, room)
        right = Qt.TextElideMode.ElideRight
        self.setText((elided(self.words, letters, room, right) if whole is None else whole) + self._tail)


class LessonLabel(QLabel):
    """As high as its words need at its width, in any layout that respects size hints. The style sheet uses `role`.
    `code`, if given, is how many points larger than the window's text its fixed-pitch font is.
    """

    def __init__(
        self, words: str = "", role: str = "", parent: QWidget | None = None, code: float | None = None
    ) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        if code is not None:
            use_font(self, mono_font, code)
        self.set_words(words, role)

    def set_words(self, words: str, role: str = "") -> None:
        """Set the words; the label is hidden if they are empty."""
        set_role(self, role or self.property("role"))
        self.show_literally(visible(words, spaces=True))

    def show_literally(self, words: str) -> None:
        """Show words of the program, in which invisible characters are intended."""
        self.setText(words)
        self.setVisible(bool(words))
