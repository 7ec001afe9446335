"""The commands of the Help menu, and the tour of the first start: cards beside the controls of the header, about the
run that is shown; and a hint on every label, option and column that names a term of docs/glossary.md and has no other
hint.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from PySide6 import QtWidgets
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QCursor, QHelpEvent, QKeyEvent, QPainter, QPaintEvent, QPen

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import percent
from glyphscope.base.resources import read_page
from glyphscope.base.shorten import shorten
from glyphscope.events import CallReady, Shape
from glyphscope.models.opening import embedded_path
from glyphscope.notation.write import Style, write_call
from glyphscope.runs import RunState
from glyphscope_gui.context import AppContext
from glyphscope_gui.help.commands import Command, CommandPalette, commands_of
from glyphscope_gui.help.guide import SHORTCUTS, GuideDialog, slug_of
from glyphscope_gui.shared.labels import PlainLabel, named, push_button, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.theme import mono_font, theme, use_font
from glyphscope_gui.theme.sizes import GAP, PAD, letters


class HelpPresenter(QObject):
    """The palette lists the commands of the menu bar and of the panels' menus, the guide their keys."""

    def __init__(self, context: AppContext, bar: QtWidgets.QMenuBar, *panels: QtWidgets.QMenu) -> None:
        super().__init__(context.window)
        self._context, self._bar, self._panels = context, bar, panels
        self.guide: GuideDialog | None = None
        self.tour: Tour | None = None
        actions = context.actions
        self._hints = GlossaryHints(context.window)
        actions.guide.triggered.connect(self._show_guide_or_term)
        actions.shortcuts.triggered.connect(lambda: self.show_guide(SHORTCUTS))
        actions.glossary.triggered.connect(lambda: self.show_guide(GLOSSARY))
        actions.palette.triggered.connect(self.show_palette)
        actions.tour.triggered.connect(self.show_tour)
        context.navigator.shown.connect(self._page_shown)

    def show_guide(self, page: str, heading: str = "") -> GuideDialog:
        """Open the guide at a page, or bring it there."""
        if self.guide is None:
            self.guide = GuideDialog(self._commands(), self._context.window)
            self.guide.finished.connect(self._guide_closed)
        self.guide.show_page(page, heading)
        self.guide.show()
        self.guide.activateWindow()
        return self.guide

    def show_palette(self) -> CommandPalette:
        palette = CommandPalette(self._commands(), self._context.window)
        palette.open()
        return palette

    def welcome(self) -> None:
        """Show the tour at the very first start."""
        if not self._context.settings.value.welcomed:
            self._context.settings.update(welcomed=True)
            self.show_tour()

    def show_tour(self) -> None:
        """Over the playground, about the run that is shown."""
        self._context.navigator.show(PageId.PLAYGROUND)
        if self.tour is not None:
            self.tour.end()
        runs = self._context.runs
        call = next((event for event in reversed(runs.events) if isinstance(event, CallReady)), None)
        cards = tour_cards(runs.state, call, is_included=embedded_path() is not None)
        self.tour = Tour(cards, self._context.window, self._tour_ended)

    def close(self) -> None:
        """Close the guide and end the tour."""
        if self.tour is not None:
            self.tour.end()
        if self.guide is not None:
            self.guide.close()

    def _show_guide_or_term(self) -> None:
        """The guide, or the glossary at the term whose hint is shown."""
        term = term_at_cursor()
        if term:
            self.show_guide(GLOSSARY, slug_of(term))
        else:
            self.show_guide("guide.md")

    def _commands(self) -> list[Command]:
        return commands_of(self._bar, *self._panels)

    def _guide_closed(self) -> None:
        self.guide = None

    def _page_shown(self, page: PageId) -> None:
        if self.tour is not None:
            self.tour.set_in_sight(page is PageId.PLAYGROUND)

    def _tour_ended(self) -> None:
        self.tour = None


WIDTH = 380
MAX_LENGTH = 120
EXAMPLE: tuple[str, dict[str, object]] = ("search", {"query": "AI news", "max_results": 10})
_MARGIN = 4


@dataclass(frozen=True)
class TourCard:
    """`target` is the object name of the widget that the card is about; `example` is set in the code font."""

    target: str
    title: str
    words: str
    example: str = ""


def tour_cards(state: RunState, call: CallReady | None, *, is_included: bool) -> list[TourCard]:
    """The cards; their examples are those of the shown run, if it has a valid call. `is_included`: whether the embedded
    model is installed.
    """
    model = tr("A small model is included, so that everything can be tried at once.")
    if not is_included:
        model = tr("The small model that can be included is not installed (pip install 'glyphscope[demo]').")
    glyph, json = _written(call, "glyph"), _written(call, "json")
    shapes: tuple[Shape, ...] = ("flat", "tool-args")
    return [
        TourCard(
            "modelPicker",
            tr("A model on this computer"),
            tr(
                "{model} Others are files in the GGUF format: the list has those on this computer, and “Get a "
                "model…” finds more, or uses an endpoint. Nothing is sent anywhere unless you choose an endpoint or "
                "a download.",
                model=model,
            ),
        ),
        TourCard(
            "notationPicker",
            tr("GLYPH, JSON, or the model's own notation"),
            tr(
                "A tool call can be written in several notations. GLYPH is compact; JSON is widely used; Native is the "
                "notation that the model was trained on. The same call in GLYPH and in JSON:"
            ),
            f"{glyph}\n{json}",
        ),
        TourCard(
            "optionsButton",
            tr("Options, such as the shape of a call"),
            tr(
                "The button names the options that differ from their defaults, and opens all. One is the shape: "
                "where the tool's name and the arguments are. Flat puts them side by side; the other shapes nest the "
                "arguments in a separate object:"
            ),
            "\n".join(_written(call, "glyph", shape) for shape in shapes),
        ),
        TourCard(
            "constraintPicker",
            tr("Off and Mask"),
            tr(
                "Off lets the model write anything; Glyphscope stops it at the first character after which no valid "
                "call exists. Mask allows only tokens that can still become a valid call, and shows for each token the "
                "probability that it removed. {share}",
                share=_share_left(state),
            ).strip(),
        ),
        TourCard(
            "constraintPicker",
            tr("GBNF, and what to do next"),
            tr(
                "GBNF uses llama.cpp's own grammar sampler in place of the mask. The Grammar page shows and checks "
                "that grammar. Press Run (Ctrl+Enter), then click a token in the transcript: the panel on the "
                "right shows why its alternatives were masked. Help › User guide (F1) continues from here."
            ),
        ),
    ]


def _written(call: CallReady | None, style: Style, shape: Shape = "flat") -> str:
    tool, arguments = EXAMPLE if call is None else (call.tool, call.arguments)
    try:
        text = write_call(tool, arguments, style=style, shape=shape)
    except GlyphscopeError:
        return ""
    return shorten(text, MAX_LENGTH)


def _share_left(state: RunState) -> str:
    """The token of the shown run from which the mask removed most."""
    steps = [token.step for token in state.tokens if token.step.feasible is not None]
    if not steps:
        return ""
    least = min(steps, key=lambda step: step.feasible or 0.0)
    return tr(
        "In this run, the mask kept {share} of the probability mass at its strictest token.",
        share=percent(least.feasible or 0.0),
    )


class Tour(QtWidgets.QFrame):
    """One card at a time over the window, beside its target; `place` is its number. Esc ends it; it deletes itself."""

    def __init__(
        self, cards: Sequence[TourCard], window: QtWidgets.QWidget, ended: Callable[[], None]
    ) -> None:
        super().__init__(window)
        self._cards, self.place, self._ended = list(cards), 0, ended
        self._window = window
        named(self, "tourCard", tr("Tour"))
        self.setAutoFillBackground(True)
        self._frame = _Frame(window)
        self.title = PlainLabel(self, role="title", wordWrap=True)
        self.words = words_label("", "", self)
        self.example = words_label("", "", self, selectable=True)
        self.count = PlainLabel(self, role="hint")
        self.end_button = push_button(tr("End tour"), self, name="tourEnd", clicked=self.end)
        self.back_button = push_button(tr("Back"), self, name="tourBack", clicked=lambda: self._go(-1))
        self.next_button = push_button("", self, name="tourNext", role="primary", clicked=lambda: self._go(1))
        self._lay_out()
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop)
        for watched in (window, *filter(None, map(self._target, self._cards))):
            watched.installEventFilter(self)
        self._show()

    def set_in_sight(self, in_sight: bool) -> None:
        """Hidden while another page than that of its targets is in front."""
        self.setVisible(in_sight)
        self._move()

    def end(self) -> None:
        self.hide()
        self._frame.hide()
        self._frame.deleteLater()
        self.deleteLater()
        self._ended()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc ends the tour; during a run it is Stop's, and a shortcut here as well would be ambiguous.

        Enter presses the button with the focus, which push buttons do only in dialogs.
        """
        if event.key() == Qt.Key.Key_Escape:
            self.end()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            focused = self.focusWidget()
            (focused if isinstance(focused, QtWidgets.QPushButton) else self.next_button).click()
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.LayoutRequest):
            self._move()
        of_window = watched is self._window and event.type() == QEvent.Type.KeyPress  # the focus is elsewhere
        if of_window and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            self.end()
            return True
        return super().eventFilter(watched, event)

    def _lay_out(self) -> None:
        buttons = hbox(self.count, STRETCH, self.end_button, self.back_button, self.next_button)
        self._column = vbox(
            self.title, (self.words, 1), self.example, buttons, parent=self, margins=PAD, spacing=GAP
        )

    def _go(self, by: int) -> None:
        if self.place + by >= len(self._cards):
            self.end()
            return
        self.place = max(self.place + by, 0)
        self._show()

    def _show(self) -> None:
        card = self._cards[self.place]
        self._fill(card)
        self.count.setText(tr("{place} of {count}", place=self.place + 1, count=len(self._cards)))
        self.back_button.setEnabled(self.place > 0)
        last = self.place == len(self._cards) - 1
        self.next_button.setText(tr("Done") if last else tr("Next"))
        self.setAccessibleDescription(f"{card.title}. {card.words}")
        self.show()
        self._move()
        self.raise_()
        self.next_button.setFocus()

    def _target(self, card: TourCard) -> QtWidgets.QWidget | None:
        return self._window.findChild(QtWidgets.QWidget, card.target)

    def _fill(self, card: TourCard) -> None:
        self.title.setText(card.title)
        self.words.setText(card.words)
        use_font(self.example, mono_font)
        self.example.setText(card.example)
        self.example.setVisible(bool(card.example.strip()))

    def _fit(self, width: int) -> None:
        """Take the height of the highest card, so that the buttons stay under the pointer."""
        heights = []
        for card in (*self._cards, self._cards[self.place]):
            self._fill(card)
            heights.append(self._column.totalHeightForWidth(width))
        self.setFixedSize(width, max(heights))

    def _move(self) -> None:
        """Frame the target; the card stays below the first one, within the window."""
        window = self._window
        first, target = self._target(self._cards[0]), self._target(self._cards[self.place])
        self._fit(min(round(WIDTH * letters(self)), window.width() - 2 * GAP))
        if target is None or not target.isVisible() or self.isHidden():
            self._frame.hide()
        else:
            place = QRect(target.mapTo(window, QPoint(0, 0)), target.size())
            self._frame.setGeometry(place.adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN))
            self._frame.show()
            self._frame.raise_()
        if first is None or not first.isVisible():
            self.move(window.rect().center() - self.rect().center())
            return
        corner = first.mapTo(window, QPoint(0, first.height() + GAP))
        left = min(max(corner.x(), GAP), window.width() - self.width() - GAP)
        self.move(left, min(corner.y(), window.height() - self.height() - GAP))
        self.raise_()


class _Frame(QtWidgets.QWidget):
    """Around the target; clicks go through it."""

    def __init__(self, window: QtWidgets.QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setObjectName("tourFrame")

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme().color("accent"), 2))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -2, -2), 6, 6)


GLOSSARY = "glossary.md"
_ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<meaning>.+) \|$", re.MULTILINE)
_NARROWED = re.compile(r" \([^)]*\)$")
_AROUND = " \t\n:…*?&"


class GlossaryEntry(NamedTuple):
    """A row of the glossary; `term` as it is written there, such as `constraint (of a run)`."""

    term: str
    meaning: str


@cache
def glossary() -> dict[str, tuple[GlossaryEntry, ...]]:
    """The entries by the terms that they explain, in small letters. Empty where the page is missing."""
    try:
        page = read_page(GLOSSARY)
    except OSError:
        return {}
    found: dict[str, tuple[GlossaryEntry, ...]] = {}
    for row in list(_ROW.finditer(page))[1:]:  # the first row is the table's head
        entry = GlossaryEntry(row["term"], row["meaning"].replace("`", ""))
        if not entry.term.strip("-| "):
            continue
        for name in _NARROWED.sub("", entry.term).split(", "):
            found[name.casefold()] = (*found.get(name.casefold(), ()), entry)
    return found


def entries(words: str) -> tuple[GlossaryEntry, ...]:
    """The glossary's entries for a label whose words are a term, or the plural of one. Empty for all others."""
    terms = glossary()
    label = " ".join(words.strip(_AROUND).casefold().split())
    singular = label[:-1] if label.endswith("s") else label
    return terms.get(label) or terms.get(singular) or ()


class GlossaryHints(QObject):
    """Watches the windows of the program for hovering that nothing in them has answered.

    Qt passes the event for a hint from a widget to its parents until one of them has a hint; the last of them is the
    window, so that every hint of a widget or a model comes first.
    """

    def __init__(self, window: QtWidgets.QWidget) -> None:
        super().__init__(window)
        window.installEventFilter(self)
        app = QtWidgets.QApplication.instance()
        assert isinstance(app, QtWidgets.QApplication), "a window has an application"
        app.focusChanged.connect(self._watch)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.ToolTip
            and isinstance(event, QHelpEvent)
            and isinstance(watched, QtWidgets.QWidget)
        ):
            widget = watched.childAt(event.pos()) or watched
            found = entries(words_at(widget, event.globalPos()))
            if found:
                QtWidgets.QToolTip.showText(event.globalPos(), hint(found), widget)
                return True
        return super().eventFilter(watched, event)

    def _watch(self, _before: QtWidgets.QWidget | None, now: QtWidgets.QWidget | None) -> None:
        """Dialogs and the lists of options are windows too; one gets the focus before anybody hovers over it.

        The tabs of docks are watched themselves: they keep the event.
        """
        if now is None:
            return
        window = now.window()
        docked = window.findChildren(QtWidgets.QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        for each in (window, *docked):
            each.installEventFilter(self)


def hint(found: Sequence[GlossaryEntry]) -> str:
    """The meanings, each with its term, as rich text: only that is wrapped."""
    lines = [f"<b>{html.escape(entry.term)}</b>: {html.escape(entry.meaning)}." for entry in found]
    key = tr("F1 opens the glossary.")  # lupdate reads no text inside an f-string
    return "<p>" + "<br>".join([*lines, f"<i>{html.escape(key)}</i>"]) + "</p>"


def term_at_cursor() -> str:
    """The term under the pointer while a hint is shown, whoever shows it; empty where there is none."""
    if not QtWidgets.QToolTip.isVisible():
        return ""
    widget = QtWidgets.QApplication.widgetAt(QCursor.pos())
    found = entries(words_at(widget, QCursor.pos())) if widget is not None else ()
    return found[0].term if found else ""


def words_at(widget: QtWidgets.QWidget, place: QPoint) -> str:
    """The words of a label, a button, a tab, a title of a column, or an option at a place on the screen."""
    at = widget.mapFromGlobal(place)
    parent = widget.parentWidget()
    if isinstance(widget, QtWidgets.QLabel):
        return widget.accessibleName() or widget.text()
    if isinstance(widget, QtWidgets.QAbstractButton):
        return widget.text().replace("&", "")
    if isinstance(widget, QtWidgets.QTabBar):
        return widget.tabText(widget.tabAt(at)).replace("&", "")
    if isinstance(widget, QtWidgets.QGroupBox):
        return widget.title()
    match parent:
        case QtWidgets.QHeaderView():
            section = parent.logicalIndexAt(at)
            return "" if section < 0 else _text(parent.model().headerData(section, parent.orientation()))
        case QtWidgets.QAbstractItemView():
            return _text(parent.indexAt(at).data())
        case QtWidgets.QAbstractSpinBox() | QtWidgets.QComboBox():
            return parent.accessibleName()
    return (
        widget.accessibleName()
        if isinstance(widget, QtWidgets.QAbstractSpinBox | QtWidgets.QComboBox)
        else ""
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
