"""Accessibility: every part is named and reached by keys, and text of twice the size fits. Colours: test_contrast."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise, product

import pytest
from PySide6 import QtWidgets
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QFont
from PySide6.QtTest import QTest

from every_page import ABORTED, dialogs, in_sight, in_turn
from examples import rounds
from fake_context import scripted
from glyphscope.models.scripted import ScriptedModel
from glyphscope_gui.evaluate.page import RESULT
from glyphscope_gui.runs.field_table import FIELD, VALUE
from glyphscope_gui.runs.recorder import bundled_run, bundled_runs
from glyphscope_gui.shared import CodeEdit, ElidedLabel, ElidedLink, focus_next
from glyphscope_gui.shared.page_ids import PageId
from glyphscope_gui.shared.table_model import MAX_TITLE
from glyphscope_gui.theme import ThemeManager
from glyphscope_gui.theme.fonts import window_points
from glyphscope_gui.theme.sizes import ROW
from made_results import made_result

CALL = '{action="search" query="AI news" max_results=10}'


@pytest.fixture
def opened(open_window, qtbot):
    """The window after a run that was aborted."""

    def build(**looks):
        window = open_window(lambda _name, **_options: ScriptedModel(CALL), **looks)
        with qtbot.waitSignal(window.runs.ended):
            window.runs.replay(bundled_run(ABORTED), 0)
        return window

    return build


def reported(wrong):
    return "\n".join(f"{page}: {words}" for words, page in wrong.items())


def stops(top):
    """Return the visible widgets that Tab should reach."""
    return [
        widget
        for widget in in_sight(top)
        if widget.isEnabled()
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None
    ]


def name_of(widget):
    """Return the name that a screen reader uses."""
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name).strip()


def is_named(widget):
    name = name_of(widget)
    if not name or name == widget.objectName() or not re.search(r"[^\W\d_]{2}", name):
        return len(name) == 1 and isinstance(widget, QtWidgets.QAbstractButton)
    return not re.fullmatch(r"Q[A-Z]\w+|[a-z]+(?:[A-Z][a-z]+)+", name)


def call_it(widget):
    """Return the widget's description in a test's failure."""
    return f"{type(widget).__name__} {widget.objectName()} “{name_of(widget)}” in {widget.parentWidget().objectName()}"


def goes_back(before, after, top):
    """Whether `after` is before `before` in the reading order, from left to right and from top to bottom."""
    above = before
    while not above.isAncestorOf(after):
        above = above.parentWidget()
    if above in (before, after):
        return False
    a, b = (_child_of(above, widget) for widget in (before, after))
    over, left_of = b.bottom() <= a.top(), b.right() <= a.left()
    beside = b.top() < a.bottom() and a.top() < b.bottom()
    below_each_other = b.left() < a.right() and a.left() < b.right()
    return (over and (left_of or below_each_other)) or (left_of and beside)


def _child_of(above, widget):
    while widget.parentWidget() is not above:
        widget = widget.parentWidget()
    return widget.geometry()


def walk(top, first):
    """Return the widgets that Tab reaches from `first`, until it is there again."""
    first.setFocus(Qt.FocusReason.TabFocusReason)
    seen = [top.focusWidget()]
    for _ in range(400):
        QTest.keyClick(top.focusWidget(), Qt.Key.Key_Tab)
        now = top.focusWidget()
        if now is seen[0]:
            return seen
        if now is seen[-1] and isinstance(now, QtWidgets.QLabel):
            continue  # from link to link
        assert now not in seen, f"the focus stays in {call_it(now)}"
        seen.append(now)
    raise AssertionError("Tab does not return to the first widget")


def unnamed(top):
    """Describe the widgets that take the focus and have no name, and the buttons with neither text nor tip."""
    found = [call_it(widget) for widget in stops(top) if not is_named(widget)]
    buttons = [widget for widget in stops(top) if isinstance(widget, QtWidgets.QAbstractButton)]
    return found + [f"no tip: {call_it(each)}" for each in buttons if not (each.text() or each.toolTip())]


def twice_named(top):
    """Describe the buttons with the name of another one, from which only their place differs."""
    buttons = [
        each for each in stops(top) if isinstance(each, QtWidgets.QAbstractButton) and not each.isCheckable()
    ]
    names = Counter(map(name_of, buttons))
    return [f"two of one name: {call_it(each)}" for each in buttons if names[name_of(each)] > 1]


@pytest.mark.slow
def test_everything_that_takes_the_focus_has_a_name_and_tab_reaches_it_in_order(opened, qtbot, tmp_path):
    window = opened()
    window.activateWindow()
    wrong = {}
    for page in in_turn(qtbot, window, tmp_path):
        wrong.update(dict.fromkeys((*unnamed(window), *twice_named(window.navigator.page.widget)), page))
        first = window.picker if window.picker.isVisible() else window.rail.button(PageId.PLAYGROUND)
        seen = walk(window, first)
        for widget in stops(window):
            empty = isinstance(widget, QtWidgets.QAbstractItemView) and not widget.model().rowCount()
            if empty is (widget in seen):  # in a list without rows, the focus would not be seen
                wrong.setdefault(f"{'empty' if empty else 'never reached'}: {call_it(widget)}", page)
        for before, after in pairwise(seen):
            if goes_back(before, after, window):
                wrong.setdefault(f"from {call_it(before)} back to {call_it(after)}", page)
    assert not wrong, reported(wrong)


def test_tab_indents_in_a_code_editor_only_after_typing(qtbot):
    top = QtWidgets.QWidget()
    column = QtWidgets.QVBoxLayout(top)
    before, edit, after = QtWidgets.QLineEdit(), CodeEdit(), QtWidgets.QLineEdit()
    for part in (before, edit, after):
        column.addWidget(part)
    qtbot.addWidget(top)
    top.show()
    top.activateWindow()
    before.setFocus()
    qtbot.waitUntil(before.hasFocus)
    QTest.keyClick(before, Qt.Key.Key_Tab)
    assert edit.hasFocus()
    QTest.keyClick(edit, Qt.Key.Key_Tab)
    assert after.hasFocus() and edit.toPlainText() == ""
    QTest.keyClick(after, Qt.Key.Key_Backtab)
    QTest.keyClick(edit, Qt.Key.Key_A)
    QTest.keyClick(edit, Qt.Key.Key_Tab)
    assert edit.hasFocus() and edit.toPlainText() == "a  "
    QTest.keyClick(edit, Qt.Key.Key_Escape)
    QTest.keyClick(edit, Qt.Key.Key_Tab)
    assert after.hasFocus() and edit.toPlainText() == "a  "


class ReadInOrder(QtWidgets.QWidget):
    """A window with the tab order of the program."""

    def focusNextPrevChild(self, forward):
        return focus_next([self], self.focusWidget(), forward=forward)


@pytest.mark.parametrize("ending", ["hidden", "disabled", "hidden with its part"])
def test_the_focus_moves_to_the_neighbour_of_a_control_that_disappears(qtbot, ending):
    top = ReadInOrder()
    column = QtWidgets.QVBoxLayout(top)
    first, part, last = QtWidgets.QLineEdit(), QtWidgets.QWidget(), QtWidgets.QLineEdit()
    for widget in (first, part, last):
        column.addWidget(widget)
    row = QtWidgets.QVBoxLayout(part)
    before, button = QtWidgets.QLineEdit(), QtWidgets.QPushButton()
    row.addWidget(before)
    row.addWidget(button)
    qtbot.addWidget(top)
    top.show()
    top.activateWindow()
    button.setFocus()
    qtbot.waitUntil(button.hasFocus)
    if ending == "disabled":
        button.setEnabled(False)
    else:
        (button if ending == "hidden" else part).hide()
    assert last.hasFocus()


@pytest.mark.slow
def test_everything_in_a_dialog_has_a_name_and_tab_reaches_it(opened, qtbot):
    window = opened()
    for dialog in dialogs(window):
        dialog.show()
        dialog.activateWindow()
        assert unnamed(dialog) + twice_named(dialog) == [], dialog.objectName()
        expected = sorted(stops(dialog), key=lambda widget: widget.mapTo(dialog, QPoint()).toTuple()[::-1])
        if expected:
            seen = walk(dialog, expected[0])
            assert [call_it(widget) for widget in expected if widget not in seen] == [], dialog.objectName()
            back = [(call_it(a), call_it(b)) for a, b in pairwise(seen) if goes_back(a, b, dialog)]
            assert back == [], dialog.objectName()
        dialog.close()


# -- letters of twice the size -------------------------------------------------------------------------------------


@pytest.fixture
def own_letters(qapp):
    """Restore the font and the theme after a test."""
    before = QFont(qapp.font())
    yield
    qapp.setFont(before)
    ThemeManager(qapp, "light").deleteLater()  # the sheet has sizes, too


@pytest.fixture
def twice(qapp, own_letters):
    """Text of twice the usual size."""
    font = qapp.font()
    font.setPointSizeF(2 * font.pointSizeF())
    qapp.setFont(font)


def is_small(widget):
    """Whether a label or button has less space than its text needs."""
    needed = widget.sizeHint()
    if isinstance(widget, QtWidgets.QLabel) and widget.wordWrap():
        needed = QSize(0, widget.heightForWidth(widget.width()))
    return widget.width() < needed.width() - 1 or widget.height() < needed.height() - 1


def is_clipped(widget, top):
    """Whether a part of it is outside of its container, and cannot be scrolled to."""
    box, here = QRect(widget.rect()), widget
    while here is not top and not box.isEmpty():
        above = here.parentWidget()
        box.translate(here.pos())
        area = above.parentWidget()
        if isinstance(area, QtWidgets.QAbstractScrollArea) and area.viewport() is above:
            if area.horizontalScrollBar().maximum() > 0:
                box.setLeft(max(box.left(), 0))
                box.setRight(min(box.right(), above.width() - 1))
            if area.verticalScrollBar().maximum() > 0:
                box.setTop(max(box.top(), 0))
                box.setBottom(min(box.bottom(), above.height() - 1))
        if not box.isEmpty() and not above.rect().contains(box):
            return True
        here = above
    return False


def cut_off(window):
    """Describe the labels and buttons that are cut off, except for those whose tip has the whole text."""
    found = []
    for widget in in_sight(window):
        if not isinstance(widget, QtWidgets.QLabel | QtWidgets.QAbstractButton) or isinstance(
            widget, ElidedLabel | ElidedLink
        ):
            continue
        if widget.text() and (is_small(widget) or is_clipped(widget, window)):
            has, needs = widget.size().toTuple(), widget.sizeHint().toTuple()
            found.append(f"{call_it(widget)} has {has}, needs {needs}")
    return found


def once_laid_out(qtbot, describe, window):
    """Return what `describe` finds: layouts are laid out again once they know their width."""
    for _ in range(40):
        if not (found := describe(window)):
            break
        qtbot.wait(25)
    return found


@pytest.mark.slow
def test_letters_of_twice_the_size_are_not_cut_off_in_a_small_window(twice, opened, qtbot, tmp_path):
    """Those of the system. Those of the setting are looked at in a larger window, with all else that may be cut."""
    size = (1024, 700)
    window = opened(size=size)

    def found(window):
        return cut_off(window) + narrow_columns(window)

    wrong = {}
    for page in every_page(qtbot, window, tmp_path):
        assert (window.width(), window.height()) == size, page
        wrong.update(dict.fromkeys(once_laid_out(qtbot, found, window), page))
    assert not wrong, reported(wrong)


def cut_words(window):
    """Describe the buttons and tabs whose words end in dots, and the labels of whose forms none is whole."""
    for widget in in_sight(window):
        if isinstance(widget, QtWidgets.QTabBar) and widget.elideMode() is not Qt.TextElideMode.ElideNone:
            needed = widget.sizeHint().width()
            if needed > widget.width():
                yield f"{call_it(widget)} has {widget.width()} pixels for tabs that need {needed}"
        if isinstance(widget, ElidedLink) and "…" in widget.text() and "…" not in widget.words:
            yield f"{call_it(widget)} shows {widget.text()!r} of {widget.words!r}"
        if isinstance(widget, ElidedLabel) and widget._shorter:
            shown = widget.elided(widget.contentsRect().width())
            if shown not in (widget.text(), *widget._shorter):
                yield f"{call_it(widget)} shows {shown!r} of {widget.text()!r}"


@pytest.mark.slow
def test_tables_of_an_open_window_grow_with_the_letters(opened, own_letters, qtbot):
    window = opened(size=(1440, 900))
    page = window.page(PageId.PLAYGROUND)
    tables = (page.view.tokens, page.view.fields, page.evidence.alternatives)
    before = [table.verticalHeader().defaultSectionSize() for table in tables]
    window.context.themes.choose("light", 2 * window.font().pointSize())
    window.context.themes.finish()

    def have_grown():
        for table, height in zip(tables, before, strict=True):
            head, model = table.horizontalHeader(), table.model()
            assert table.verticalHeader().defaultSectionSize() > 1.5 * height, call_it(table)
            for column in range(model.columnCount()):
                title = str(model.headerData(column, Qt.Orientation.Horizontal) or "")
                shared = table is page.view.fields and column in (FIELD, VALUE)  # elided, and whole in a hint
                if not (shared or head.isSectionHidden(column)):
                    assert head.sectionSize(column) >= head.fontMetrics().horizontalAdvance(title), title

    qtbot.waitUntil(have_grown)  # the sides are joined, which leaves the page more room


# -- tables at large text ------------------------------------------------------------------------------------------


def every_page(qtbot, window, folder):
    """Show every page, and a run with a timeline; yield their names."""
    yield from in_turn(qtbot, window, folder)
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record(bundled_run("verbs-loop.jsonl"))
    yield "playground with a timeline"


def narrow_columns(window):
    """Describe the columns of visible tables that are too narrow, or that nothing scrolls to."""
    found = []
    for table in in_sight(window):
        if not isinstance(table, QtWidgets.QTableView | QtWidgets.QTreeView):
            continue
        head = table.horizontalHeader() if isinstance(table, QtWidgets.QTableView) else table.header()
        if head.isHidden() or not head.isVisible():
            continue
        for column in range(head.count()):
            title = str(head.model().headerData(column, Qt.Orientation.Horizontal) or "")
            is_whole = 0 < len(title) <= MAX_TITLE and isinstance(table, QtWidgets.QTableView)
            words = max(map(head.fontMetrics().horizontalAdvance, title[:MAX_TITLE].split("\n")))
            whole = head.sectionSizeHint(column) if is_whole else words
            least = max(whole, 3 * table.fontMetrics().averageCharWidth() if title else 0)
            if not head.isSectionHidden(column) and head.sectionSize(column) < least:
                found.append(f"{call_it(table)}: “{title}” has {head.sectionSize(column)}, needs {least}")
        over = head.length() - table.viewport().width()
        if over > 1 and table.horizontalScrollBar().maximum() < over:
            found.append(f"{call_it(table)} cannot be scrolled to its last column")
    return found


def hidden_rows(window):
    """Describe the tables, trees and lists whose last row nothing scrolls to, or that another widget covers."""
    found = []
    for view in in_sight(window):
        is_view = isinstance(view, QtWidgets.QAbstractItemView) and not isinstance(
            view, QtWidgets.QHeaderView
        )
        model = view.model() if is_view else None
        if model is None or not model.rowCount(view.rootIndex()):
            continue
        area, place = view.viewport(), view.verticalScrollBar().value()
        view.scrollToBottom()
        last = view.visualRect(last_row(view))
        line = min(last.height(), view.fontMetrics().height() + ROW)  # a row of several lines may need more
        if last.bottom() > area.height() or area.height() < line:
            found.append(
                f"{call_it(view)}: its last row is at {last.top()} to {last.bottom()} of {area.height()}"
            )
        if is_clipped(view, window):
            found.append(f"{call_it(view)}: a part is outside of its container")
        seen = seen_part(area, window)
        if min(seen.width(), seen.height()) < 3:
            continue  # the places that are looked at are one pixel within
        for x, y in product(
            (seen.left() + 1, seen.center().x(), seen.right() - 1), (seen.top() + 1, seen.bottom() - 1)
        ):
            above = window.childAt(QPoint(x, y))
            if (
                above is None
                or above is area
                or area.isAncestorOf(above)
                or isinstance(above, QtWidgets.QSplitterHandle)
            ):
                continue  # the invisible part of a handle covers some pixels beside it
            found.append(f"{call_it(view)} lies under {call_it(above)}")
        view.verticalScrollBar().setValue(place)
    return found


def cut_rows(window):
    """Describe the tables, trees and lists that, from the top, end with a part of a row, which others follow."""
    found = []
    for view in in_sight(window):
        is_view = isinstance(view, QtWidgets.QAbstractItemView) and not isinstance(
            view, QtWidgets.QHeaderView
        )
        bar, area = view.verticalScrollBar() if is_view else None, view.viewport() if is_view else None
        if not is_view or view.model() is None or bar.maximum() <= 0:
            continue
        if view.verticalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff:
            continue  # what is around it scrolls
        place = bar.value()
        bar.setValue(0)
        row = view.visualRect(view.indexAt(QPoint(4, area.height() - 1)))
        bar.setValue(place)
        tall = row.height() > 3 * view.fontMetrics().height()  # which would leave much empty
        if row.top() > 0 and row.bottom() > area.height() + 1 and not tall:
            found.append(f"{call_it(view)}: a row is at {row.top()} to {row.bottom()} of {area.height()}")
    return found


def last_row(view):
    """The index of the last row that can be scrolled to."""
    model, index = view.model(), view.rootIndex()
    while (rows := model.rowCount(index)) and (
        not index.isValid() or not isinstance(view, QtWidgets.QTreeView) or view.isExpanded(index)
    ):
        index = model.index(rows - 1, 0, index)
        if not isinstance(view, QtWidgets.QTreeView):
            break
    return index


def seen_part(widget, top):
    """The part of a widget that its containers do not cut off, in the coordinates of `top`."""
    box = QRect(widget.mapTo(top, QPoint()), widget.size())
    while widget is not top:
        widget = widget.parentWidget()
        box &= QRect(widget.mapTo(top, QPoint()), widget.size())
    return box


SMALL, LARGE = (1024, 700), (1440, 900)
LOOKS = [(SMALL, 1), (SMALL, 1.5), (LARGE, 1.5), (LARGE, 2), (LARGE, 1), (SMALL, 2)]
"""Sizes of windows and of letters. The last two are for a deeper profile: what fits is harder in the others."""


@pytest.mark.slow
@pytest.mark.parametrize(("size", "times"), LOOKS[: rounds(4, 6)])
def test_no_words_columns_rows_or_letters_are_cut_off_and_nothing_lies_under_another_widget(
    opened, own_letters, qtbot, tmp_path, size, times
):
    """Of twice the size, labels and buttons need all of their space; rows may be cut, and scarce labels shortened."""
    window = opened(size=size)
    window.context.themes.choose("light", round(window_points() * times))
    window.context.themes.finish()

    def words(window):
        return list(cut_words(window))

    def found(window):
        more = cut_off(window) if times == 2 else words(window) + hidden_rows(window) + cut_rows(window)
        return narrow_columns(window) + more

    wrong = {}
    for record in (*bundled_runs(), ABORTED) if times < 2 else ():
        with qtbot.waitSignal(window.runs.ended):
            window.runs.show_record(bundled_run(record))
        wrong.update(dict.fromkeys(once_laid_out(qtbot, words, window), record))
    for page in every_page(qtbot, window, tmp_path):
        wrong.update(dict.fromkeys(once_laid_out(qtbot, found, window), page))
    assert not wrong, reported(wrong)


@pytest.mark.slow
def test_the_table_of_results_shows_no_part_of_a_row_above_its_line_of_figures(
    opened, own_letters, qtbot, tmp_path
):
    window = opened(size=(1440, 900))
    page = window.page(PageId.EVALUATE)
    window.navigator.show(PageId.EVALUATE)
    qtbot.waitUntil(lambda: not page.is_busy)
    page.open_result(made_result(tmp_path))
    qtbot.waitUntil(lambda: not page.is_busy)
    page.view.show_view(RESULT)
    table = page.view.result.table

    def is_whole():
        height = table.verticalHeader().defaultSectionSize()
        return table.viewport().height() >= height and table.viewport().height() % height == 0

    for points in (0, 15, 20):
        window.context.themes.choose("light", points)
        window.context.themes.finish()
        qtbot.waitUntil(is_whole)


@pytest.mark.slow
def test_another_text_size_reaches_every_widget(open_window, qtbot, tmp_path, own_letters):
    window = open_window(scripted)
    for _page in in_turn(qtbot, window, tmp_path):
        pass
    window.context.themes.choose("light", 20)
    window.context.themes.finish()
    shown = [
        each
        for each in QtWidgets.QApplication.allWidgets()
        if each.testAttribute(Qt.WidgetAttribute.WA_WState_Polished)
    ]
    sizes = {each.objectName() or type(each).__name__: each.font().pointSizeF() - 20 for each in shown}
    assert sizes.pop("lessonTitle") == 7
    assert {name: larger for name, larger in sizes.items() if not -1.5 <= larger <= 2} == {}
