"""A hint on every label, option and column that names a term of docs/glossary.md and has no other hint."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QCursor, QHelpEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QGroupBox,
    QHeaderView,
    QLabel,
    QTabBar,
    QToolTip,
    QWidget,
)

from glyphscope.resources import read_page
from glyphscope_gui.shared.language import tr

GLOSSARY = "glossary.md"
_ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<meaning>.+) \|$", re.MULTILINE)
_NARROWED = re.compile(r" \([^)]*\)$")
_AROUND = " \t\n:…*?&"


class Entry(NamedTuple):
    """A row of the glossary; `term` as it is written there, such as `constraint (of a run)`."""

    term: str
    meaning: str


@cache
def glossary() -> dict[str, tuple[Entry, ...]]:
    """The entries by the terms that they explain, in small letters. Empty where the page is missing."""
    try:
        page = read_page(GLOSSARY)
    except OSError:
        return {}
    found: dict[str, tuple[Entry, ...]] = {}
    for row in list(_ROW.finditer(page))[1:]:  # the first row is the table's head
        entry = Entry(row["term"], row["meaning"].replace("`", ""))
        if not entry.term.strip("-| "):
            continue
        for name in _NARROWED.sub("", entry.term).split(", "):
            found[name.casefold()] = (*found.get(name.casefold(), ()), entry)
    return found


def entries(words: str) -> tuple[Entry, ...]:
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

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.installEventFilter(self)
        app = QApplication.instance()
        assert isinstance(app, QApplication), "a window has an application"
        app.focusChanged.connect(self._watch)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.ToolTip
            and isinstance(event, QHelpEvent)
            and isinstance(watched, QWidget)
        ):
            widget = watched.childAt(event.pos()) or watched
            found = entries(words_at(widget, event.globalPos()))
            if found:
                QToolTip.showText(event.globalPos(), hint(found), widget)
                return True
        return super().eventFilter(watched, event)

    def _watch(self, _before: QWidget | None, now: QWidget | None) -> None:
        """Dialogs and the lists of options are windows too; one gets the focus before anybody hovers over it.

        The tabs of docks are watched themselves: they keep the event.
        """
        if now is None:
            return
        window = now.window()
        docked = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        for each in (window, *docked):
            each.installEventFilter(self)


def hint(found: Sequence[Entry]) -> str:
    """The meanings, each with its term, as rich text: only that is wrapped."""
    lines = [f"<b>{html.escape(entry.term)}</b>: {html.escape(entry.meaning)}." for entry in found]
    key = tr("F1 opens the glossary.")  # lupdate reads no text inside an f-string
    return "<p>" + "<br>".join([*lines, f"<i>{html.escape(key)}</i>"]) + "</p>"


def term_at_cursor() -> str:
    """The term under the pointer while a hint is shown, whoever shows it; empty where there is none."""
    if not QToolTip.isVisible():
        return ""
    widget = QApplication.widgetAt(QCursor.pos())
    found = entries(words_at(widget, QCursor.pos())) if widget is not None else ()
    return found[0].term if found else ""


def words_at(widget: QWidget, place: QPoint) -> str:
    """The words of a label, a button, a tab, a title of a column, or an option at a place on the screen."""
    at = widget.mapFromGlobal(place)
    parent = widget.parentWidget()
    if isinstance(widget, QLabel):
        return widget.accessibleName() or widget.text()
    if isinstance(widget, QAbstractButton):
        return widget.text().replace("&", "")
    if isinstance(widget, QTabBar):
        return widget.tabText(widget.tabAt(at)).replace("&", "")
    if isinstance(widget, QGroupBox):
        return widget.title()
    match parent:
        case QHeaderView():
            section = parent.logicalIndexAt(at)
            return "" if section < 0 else _text(parent.model().headerData(section, parent.orientation()))
        case QAbstractItemView():
            return _text(parent.indexAt(at).data())
        case QAbstractSpinBox() | QComboBox():
            return parent.accessibleName()
    return widget.accessibleName() if isinstance(widget, QAbstractSpinBox | QComboBox) else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
