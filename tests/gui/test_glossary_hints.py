"""Hints from the glossary: on every label, option and column that names a term."""

from __future__ import annotations

import pytest
from PySide6 import QtWidgets
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent

from glyphscope_gui.help.presenter import GlossaryHints, entries, glossary, hint, words_at
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared.page_ids import PageId

QUIET = pytest.mark.qt_log_ignore("does not support raise", extend=True)


def hover(widget: QtWidgets.QWidget, at: QPoint | None = None) -> str:
    """Return the hint at a place of a widget, by default its middle."""
    QtWidgets.QToolTip.hideText()
    place = widget.rect().center() if at is None else at
    event = QHelpEvent(QEvent.Type.ToolTip, place, widget.mapToGlobal(place))
    QtWidgets.QApplication.sendEvent(widget, event)
    return QtWidgets.QToolTip.text() if event.isAccepted() else ""


@pytest.mark.parametrize(
    ("label", "meaning"),
    [("Scenarios", "a prompt with its expected calls"), ("Seed:", "random number generator"),
     ("TOKEN", "a unit of text"), ("Top-k", "discard unlikely tokens"), ("&Strategy", "how a run asks the model"),
     ("outcome", "how a run ended"), ("Mask impact", "by field")],
)  # fmt: skip
def test_a_label_is_explained_by_the_term_that_it_names(label, meaning):
    assert meaning in hint(entries(label))


def test_a_term_with_two_meanings_shows_both():
    assert [entry.term for entry in entries("Constraint")] == [
        "constraint (of a run)",
        "constraint (of a schema)",
    ]


@pytest.mark.parametrize("label", ["", "Seed 7", "Tokens decoded", "meaning", "term", "pass"])
def test_other_labels_have_no_hint_from_the_glossary(label):
    assert not entries(label)


def test_every_row_of_the_glossary_is_read():
    assert len({entry for found in glossary().values() for entry in found}) >= 110
    assert all(entry.meaning and "`" not in entry.meaning for found in glossary().values() for entry in found)


@QUIET
def test_hovering_a_term_shows_its_meaning_and_a_hint_of_its_own_comes_first(qtbot):
    window = QtWidgets.QWidget()
    qtbot.addWidget(window)
    plain, own, other = (
        QtWidgets.QLabel("Seed", window),
        QtWidgets.QLabel("Seed", window),
        QtWidgets.QLabel("Nothing", window),
    )
    own.setToolTip("1 to 9")
    choice = QtWidgets.QComboBox(window)
    choice.setAccessibleName("Notation")
    tabs = QtWidgets.QTabBar(window)
    tabs.addTab("Events")
    column = QtWidgets.QVBoxLayout(window)
    for widget in (plain, own, other, choice, tabs):
        column.addWidget(widget)
    window.resize(300, 300)
    window.show()
    hints = GlossaryHints(window)
    assert "random number generator" in hover(plain) and "F1" in hover(plain)
    assert hover(own) == "1 to 9" and hover(other) == ""
    assert "GLYPH, JSON, or native" in hover(choice)
    assert "one step of a run" in hover(tabs, tabs.tabRect(0).center())
    assert hints.parent() is window


def places_with_words(window: QtWidgets.QWidget):
    """Yield the visible labels, buttons, tabs and columns, with their texts."""
    for widget in window.findChildren(QtWidgets.QWidget):
        if widget.isWindow() or not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        if isinstance(widget, QtWidgets.QLabel | QtWidgets.QAbstractButton):
            middle = widget.visibleRegion().boundingRect().center()
            if window.childAt(widget.mapTo(window, middle)) is widget:
                yield words_at(widget, widget.mapToGlobal(middle)), widget, middle
        elif isinstance(widget, QtWidgets.QTabBar):
            for tab in range(widget.count()):
                yield widget.tabText(tab), widget, widget.tabRect(tab).center()
        elif isinstance(widget, QtWidgets.QHeaderView) and widget.orientation() is Qt.Orientation.Horizontal:
            for section in range(widget.count()):
                at = QPoint(widget.sectionViewportPosition(section) + 6, widget.viewport().height() // 2)
                if widget.viewport().visibleRegion().contains(at) and not widget.isSectionHidden(section):
                    yield (
                        words_at(widget.viewport(), widget.viewport().mapToGlobal(at)),
                        widget.viewport(),
                        at,
                    )


@pytest.mark.slow
@QUIET
def test_every_term_that_labels_something_in_the_window_has_a_hint(window, qtbot):
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record(bundled_run("search-mask.jsonl"))
    seen = set()
    for page in PageId:
        window.navigator.show(page)
        for words, widget, at in list(places_with_words(window)):
            if entries(words):
                seen.add(words.casefold())
                assert hover(widget, at), f"{words!r} on {page} has no hint"
    assert len(seen) >= 20, sorted(seen)


@pytest.mark.slow
def test_f1_on_a_term_opens_the_glossary_there(window, monkeypatch):
    window.actions_.guide.trigger()
    assert window.help.guide.page == "guide.md"
    monkeypatch.setattr("glyphscope_gui.help.presenter.term_at_cursor", lambda: "constraint (of a run)")
    window.actions_.guide.trigger()
    guide = window.help.guide
    assert guide.page == "glossary.md" and guide.text.textCursor().selectedText().strip().startswith(
        "constraint"
    )
    guide.close()
