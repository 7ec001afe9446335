"""The window in another theme, with other fonts, and on a small screen."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import msgspec
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QStandardItemModel
from PySide6.QtWidgets import QApplication, QComboBox, QFrame, QScrollArea, QWidget

from every_page import ABORTED, in_turn, show_masked
from examples import some
from fake_context import scripted
from glyphscope.events import RunFinished
from glyphscope.runs import run_state
from glyphscope_gui.model_picker import ModelDialog
from glyphscope_gui.playground.verdict_line import BudgetGauges, LoopBudget, budgets
from glyphscope_gui.run_settings.options import shorter_words
from glyphscope_gui.runs.alternatives_table import FINAL, RAW
from glyphscope_gui.runs.field_table import COLUMNS, CONSTRAINT, FIELD, VALUE
from glyphscope_gui.runs.recorder import bundled_run
from glyphscope_gui.shared import MIN_NAME, ElidedLabel, PlainLabel, PlainTable
from glyphscope_gui.shared.card import Card
from glyphscope_gui.shared.page_ids import PageId, PanelId
from glyphscope_gui.shell.main_window import (
    FIRST_SIZE,
    LEFT,
    RIGHT,
    MainWindow,
    first_geometry,
    inside_screen,
)
from glyphscope_gui.theme import mono_font, theme
from glyphscope_gui.theme.fonts import window_points
from made_runs import loop_run

RECORD = "search-mask.jsonl"
FREE = QRect(0, 27, 1440, 873)
"""A screen of 1440 by 900 with a panel at the top."""


def resize_text(window, points):
    window.context.themes.choose("light", points)
    window.context.themes.finish()


class Count(QObject):
    """Counts the style changes of each widget."""

    def __init__(self) -> None:
        super().__init__()
        self.styled: Counter[QObject] = Counter()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.StyleChange:
            self.styled[watched] += 1
        return False


@pytest.mark.slow
def test_a_change_of_theme_restyles_each_widget_only_a_few_times(open_window, qapp):
    window = open_window(scripted)
    count = Count()
    qapp.installEventFilter(count)
    window.context.themes.choose("dark")
    window.context.themes.finish()
    qapp.removeEventFilter(count)
    assert count.styled.total() <= 3 * len(QApplication.allWidgets())  # a deep style sheet took ten
    resize_text(window, 0)


@pytest.mark.slow
@pytest.mark.parametrize("points", [0, 15])
def test_a_page_that_was_hidden_so_far_has_the_look_of_the_window(open_window, points):
    """It gets the style sheet when it is first shown, or with another text size."""
    window = open_window(scripted)
    resize_text(window, points)
    window.navigator.show(PageId.COMPARE)
    font = window.page(PageId.COMPARE).view.run_button.font()
    assert font.weight() == QFont.Weight.DemiBold and font.pointSizeF() == window_points()
    resize_text(window, 0)


@pytest.mark.slow
def test_a_window_at_its_first_start_is_inside_the_screen_with_its_frame(open_window, qtbot, monkeypatch):
    """Also where the frame, which is known only after the window is shown, is larger than expected."""

    class Screen:
        def availableGeometry(self):
            return FREE

    monkeypatch.setattr(MainWindow, "screen", lambda _window: Screen())
    window = open_window(scripted, size=None)
    assert window._begun == first_geometry(FREE).size()
    window.hide()
    window.setGeometry(QRect(0, 27, 1440, 900))
    window._begun = window.size()
    window.show()
    qtbot.waitUntil(lambda: FREE.contains(window.frameGeometry()))
    QApplication.processEvents()
    assert FREE.contains(
        QRect(window.status.mapToGlobal(window.status.rect().topLeft()), window.status.size())
    )
    window.hide()
    window.resize(1500, 950)  # a size that the user chose is unchanged
    window.show()
    qtbot.waitUntil(lambda: not window._framed.isActive())
    assert window.size() == QSize(1500, 950)


def test_the_first_place_leaves_room_for_a_frame_and_is_in_the_middle_of_a_large_screen():
    assert FREE.contains(first_geometry(FREE).adjusted(-4, -40, 4, 4))
    large = QRect(0, 0, 2560, 1400)
    place = first_geometry(large)
    assert place.size() == FIRST_SIZE and abs(place.center().x() - large.center().x()) <= 2


def test_a_table_hides_columns_rather_than_the_name(qtbot):
    model = QStandardItemModel(1, 3)
    table = PlainTable(model, stretch=0)
    qtbot.addWidget(table)
    for column in (1, 2):
        table.fit_column(column, "enforced by all")
    table.give_way(1, 2)
    table.resize(700, 100)
    table.show()
    assert not table.isColumnHidden(1) and not table.isColumnHidden(2)
    table.resize(250, 100)
    qtbot.waitUntil(lambda: table.isColumnHidden(1))
    assert table.columnWidth(0) >= MIN_NAME * table.fontMetrics().averageCharWidth()
    table.resize(700, 100)
    qtbot.waitUntil(lambda: not table.isColumnHidden(1))


@pytest.mark.slow
def test_sides_stored_by_a_larger_window_are_fitted_to_a_smaller_one(open_window, qtbot):
    large = open_window(scripted)
    large.resizeDocks([large.right], [480], Qt.Orientation.Horizontal)
    QApplication.processEvents()
    large.services.settings.update(state=bytes(large.saveState().toBase64()).decode())
    window = open_window(scripted, size=(1024, 700))
    qtbot.waitUntil(lambda: not window.navigator.is_cut_off)


@pytest.mark.slow
def test_both_sides_are_there_again_once_the_window_has_room_for_them(open_window, qtbot):
    window = open_window(scripted, size=(1440, 860))
    resize_text(window, 16)
    qtbot.waitUntil(lambda: bool(window.tabifiedDockWidgets(window.right)))
    window.navigator.show(PageId.GRAMMAR)
    resize_text(window, 0)
    window.navigator.show(PageId.PLAYGROUND)
    qtbot.waitUntil(lambda: not window.tabifiedDockWidgets(window.right))
    qtbot.waitUntil(lambda: window.right.isVisible() and window.right.x() > window.width() / 2)
    window.tabifyDockWidget(next(iter(window.panels.docks.values())), window.right)  # as a user would
    window.resize(1500, 860)
    QApplication.processEvents()
    assert window.tabifiedDockWidgets(window.right)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1440, 900), (1024, 700)])
def test_a_side_is_hidden_by_its_key_and_comes_back_with_its_width_after_a_start(open_window, qtbot, size):
    first = open_window(scripted, size=size)
    page, right = first.page(PageId.PLAYGROUND).view, first.right.toggleViewAction()
    docks = first.panels.docks
    first.resizeDocks([docks[PanelId.TOOLS]], [330], Qt.Orientation.Horizontal)
    first.panels.reveal(PanelId.PROMPT)
    QApplication.processEvents()
    wide, keys = page.width(), [action.shortcut().toString() for action in (first.left_action, right)]
    assert len(set(keys)) == 2 and all(keys)
    first.left_action.trigger()
    right.trigger()
    assert (
        all(dock.isHidden() for dock in (*docks.values(), first.right)) and not first.left_action.isChecked()
    )
    qtbot.waitUntil(lambda: page.width() > wide + 500)
    first.shut_down()
    second = open_window(scripted, size=None)
    docks = second.panels.docks
    assert all(dock.isHidden() for dock in (*docks.values(), second.right))
    second.left_action.trigger()
    assert not any(dock.isHidden() for dock in docks.values()) and second.left_action.isChecked()
    qtbot.waitUntil(lambda: abs(docks[PanelId.TOOLS].width() - 330) < 10)
    second.left_action.trigger()
    second.panels.reveal(PanelId.HISTORY)
    assert second.left_action.isChecked()


@pytest.mark.slow
def test_the_tab_below_the_transcript_and_the_open_sections_are_those_of_the_last_start(open_window, qtbot):
    first = open_window(scripted)
    page = first.page(PageId.PLAYGROUND)
    with qtbot.waitSignal(first.runs.ended):
        first.runs.replay(bundled_run(RECORD), 0)
    assert page.view.fields.isVisible()
    assert [name for name, section in page.evidence.sections.items() if section.is_open] == ["branch"]
    assert not page.evidence.influence_place.is_made, "what is folded costs nothing"
    page.view.tabs.setCurrentWidget(page.view.steps)
    page.evidence.sections["influence"].button.click()
    first.panels.tools.section.button.click()
    with qtbot.waitSignal(first.runs.ended):
        first.runs.show_record(bundled_run("search-relaxed.jsonl"))
    qtbot.waitUntil(lambda: page.view.tabs.currentWidget() is page.view.branches)
    first.shut_down()
    second = open_window(scripted)
    page = second.page(PageId.PLAYGROUND)
    assert page.view.tabs.currentWidget() is page.view.steps, "the branches come to the front by themselves"
    assert page.evidence.sections["influence"].is_open and second.panels.tools.section.is_open


def test_the_state_of_the_model_is_whole_in_the_status_line_beside_a_long_note(window, qtbot):
    window.resize(1024, 700)
    window.status.set_state("ready", "Model process ready · the next run has 2 problems")
    window.status.set_note("A note of many words " * 20)
    message = window.status.message
    qtbot.waitUntil(lambda: message.width() >= message.fontMetrics().horizontalAdvance(message.text()))
    assert window.width() == 1024
    window.status.set_note("")


@pytest.mark.parametrize("page", [PageId.PLAYGROUND, PageId.GRAMMAR, PageId.SERVERS])
def test_a_notice_moves_nothing_and_stays_in_sight(open_page, qtbot, page):
    shown = open_page(page, ready=False)
    view = shown.widget
    qtbot.wait(50)
    qtbot.waitUntil(lambda: not shown.is_busy)
    parts = [part for part in view.findChildren(QWidget) if part.isVisible()]
    before = [(part, part.geometry()) for part in parts]
    view.notice.show_words("A long notice about something. " * 8, "Undo", lambda: None)
    QApplication.processEvents()
    assert [(part, part.geometry()) for part in parts] == before
    for size in ((1100, 800), (700, 500)):
        view.resize(*size)
        QApplication.processEvents()
        assert view.rect().contains(view.notice.geometry()) and view.notice.height() > 20
        assert view.notice.geometry().bottom() > view.height() - 40


def test_the_actions_of_a_long_notice_are_below_its_words_where_the_page_is_narrow(open_page):
    view = open_page(PageId.PLAYGROUND, ready=False).widget
    notice, below = view.notice, {}
    for width in (1100, 400):  # in both, one place is lower by a line in each version of the font
        view.resize(width, 700)
        notice.show_words(
            "The model file ends early. Download it again. " * 5, "Replay", other=("Get one…", print)
        )
        QApplication.processEvents()
        words, button = notice.label.geometry(), notice.dismiss.geometry()
        assert not words.intersects(button)
        below[width] = button.top() > words.bottom()
    assert below == {1100: False, 400: True}


def test_a_number_at_the_end_of_an_elided_line_is_whole_or_left_out(qtbot):
    label = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
    qtbot.addWidget(label)
    label.setText("464 tokens     tools 1,219, examples 121, prompt 7")
    shown = {label.elided(width) for width in range(20, label.sizeHint().width() + 20)}
    wide = {text for text in shown if text.startswith("464 tokens ")} - {label.text()}
    assert wide == {
        "464 tokens …",
        "464 tokens     tools 1,219 …",
        "464 tokens     tools 1,219, examples 121 …",
    }
    assert all(len(text.rstrip("…").strip()) >= 4 for text in shown if text), "less says nothing"
    numbers = {number for text in shown for number in re.findall(r"[\d,]*\d", text)}
    assert numbers == {"464", "1,219", "121", "7"}


@pytest.mark.slow
def test_a_run_that_was_stopped_before_its_first_token_has_no_empty_line_and_no_empty_tab(window, qtbot):
    window.resize(1024, 700)
    started, *_ = bundled_run("search-mask.jsonl")
    finished = next(each for each in bundled_run("search-mask.jsonl") if isinstance(each, RunFinished))
    stopped = msgspec.structs.replace(finished, t=1.0, reason="cancelled", valid=False, tokens=0)
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record((started, stopped))
    view = window.page(PageId.PLAYGROUND).view
    QApplication.processEvents()
    assert view.verdict.isVisible() and not view.verdict.figures.isVisible()
    for name in ("fields", "tokens"):
        view.show_detail(name)
        assert "No token" in getattr(view, name).accessibleDescription()
    assert view.impact.words.text() == view.fields.accessibleDescription()


def test_the_options_that_do_not_fit_are_counted():
    assert list(shorter_words(["Direct", "seed 1", "temp 0"])) == ["Direct · seed 1 +1", "Direct +2"]


@pytest.mark.slow
def test_the_top_bar_is_one_line_whatever_the_models_name(window, qtbot):
    window.picker.set_model("embedded", "SmolLM2-135M-Instruct-with-a-long-name", "Q4_1")
    for size in ((1432, 820), (1280, 800), (1024, 700)):
        window.resize(*size)
        QApplication.processEvents()
        qtbot.waitUntil(lambda: window.header.options_button.y() == window.header.notation.y())
        assert window.width() == size[0]


@pytest.mark.parametrize(
    ("window", "fits"),
    [
        (QRect(10, 80, 800, 600), QRect(10, 80, 800, 600)),
        (QRect(0, 0, 1440, 900), QRect(2, 67, 1436, 831)),
        (QRect(1000, 500, 800, 600), QRect(638, 298, 800, 600)),
    ],
)
def test_a_window_that_reaches_beyond_the_screen_is_moved_and_made_smaller(window, fits):
    frame = window.adjusted(-2, -40, 2, 2)
    placed = inside_screen(window, frame, FREE)
    assert placed == fits and FREE.contains(placed.adjusted(-2, -40, 2, 2))


RUNS = {
    "empty": (),
    "valid": bundled_run("search-mask.jsonl"),
    "abort": bundled_run(ABORTED),
    "branch": bundled_run("search-relaxed.jsonl"),
    "loop of three turns": loop_run(),
}
LEAST = {(1440, 900): 0.45, (1024, 700): 0.38}
"""The transcript's least share of the window's height, by size."""


@pytest.mark.slow
@pytest.mark.parametrize("size", LEAST)
def test_the_transcript_has_its_share_of_the_window_in_every_state(window, qtbot, size):
    window.resize(*size)
    view = window.page(PageId.PLAYGROUND).view
    shares = {}
    for state, events in RUNS.items():
        with qtbot.waitSignal(window.runs.ended):
            window.runs.show_record(tuple(events))
        QApplication.processEvents()
        shares[state] = round(view.stream.height() / window.height(), 3)
    assert min(shares.values()) >= LEAST[size], shares


@pytest.mark.slow
@pytest.mark.parametrize("size", LEAST)
def test_the_panel_below_the_transcript_has_whole_rows_and_two_of_them_in_every_state(window, qtbot, size):
    window.resize(*size)
    view = window.page(PageId.PLAYGROUND).view
    view.show_detail("fields")
    for state, events in RUNS.items():
        with qtbot.waitSignal(window.runs.ended):
            window.runs.show_record(tuple(events))
        view.show_detail("fields")
        table = view.fields

        def has_whole_rows(table=table):
            row, room = table.verticalHeader().defaultSectionSize(), table.viewport().height()
            rows = table.model().rowCount()
            assert room >= min(rows, 2) * row, (room, row)
            assert room >= rows * row or room % row == 0, (room, row)

        if state != "empty":
            qtbot.waitUntil(has_whole_rows)


@pytest.mark.slow
def test_the_fields_of_a_short_call_are_whole_in_a_narrow_window(window, qtbot):
    window.resize(1024, 700)
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record(bundled_run("search-mask.jsonl"))
    table = window.page(PageId.PLAYGROUND).view.fields

    def is_whole():
        for column in (FIELD, VALUE, CONSTRAINT):
            assert table.columnWidth(column) >= table._needed(column), COLUMNS[column]

    qtbot.waitUntil(is_whole)


@pytest.mark.slow
def test_the_raw_and_the_final_probability_do_not_touch(window, qtbot):
    window.resize(1024, 700)
    with qtbot.waitSignal(window.runs.ended):
        window.runs.show_record(bundled_run("search-mask.jsonl"))
    table = window.page(PageId.PLAYGROUND).evidence.alternatives
    whole = QFontMetrics(mono_font(-0.5)).horizontalAdvance("100.0%")
    qtbot.waitUntil(lambda: table.columnWidth(FINAL) >= whole + 8 and table.columnWidth(RAW) >= whole + 8)


def test_the_models_have_one_heading_no_holes_and_are_no_higher_than_the_screen(window, qtbot):
    dialog = ModelDialog(window.models.downloads, window)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.show_found((), [])
    screen = dialog.screen().availableGeometry()
    dialog.move(screen.left() + 20, screen.bottom() - dialog.height())
    dialog.hub._show_error(RuntimeError("An error of several lines.\n" * 20))
    shown = [part for part in dialog.findChildren(PlainLabel) if part.isVisible()]
    assert [label.text() for label in shown].count(dialog.windowTitle()) == 1
    qtbot.waitUntil(lambda: dialog.hub.words.height() > 100)
    assert screen.contains(dialog.geometry())
    column = [part for part in dialog.title.parentWidget().children() if isinstance(part, QWidget)]
    places = sorted((part.y(), part.geometry().bottom()) for part in column if part.isVisible())
    gaps = [below[0] - above[1] for above, below in pairwise(places)]
    assert max(gaps) <= 30, gaps


@pytest.mark.slow
def test_the_reply_is_below_the_text_of_a_continuation(window, qtbot):
    window.resize(1024, 700)
    with qtbot.waitSignal(window.runs.ended):
        window.runs.replay(bundled_run(ABORTED), 0)
    stream = window.page(PageId.PLAYGROUND).view.stream
    stream.show_continuation('https://example.com"}\n\nThe answer is: 0.78')
    foot = window.page(PageId.PLAYGROUND).view.reply

    def is_below():
        end = stream.document().documentLayout().blockBoundingRect(stream.document().lastBlock()).bottom()
        assert foot.isVisible() and foot.y() >= end - stream.verticalScrollBar().value() - 1

    qtbot.waitUntil(is_below)


def test_the_limit_that_ended_a_run_is_in_sight_where_there_is_no_room_for_all(qtbot):
    gauges = BudgetGauges()
    qtbot.addWidget(gauges)
    used = budgets(run_state(loop_run()), 60.0)
    gauges.show_budgets((*used, LoopBudget("max_identical_calls", "Same call", 2, 1, fired=True)))
    whole = gauges.sizeHint().width()
    gauges.resize(whole, 20)
    assert len(gauges.in_sight()) == len(used) + 1
    gauges.resize(whole // 3, 20)
    assert [budget.fired for budget in gauges.in_sight()][-1] and len(gauges.in_sight()) <= 2
    gauges.resize(5, 20)
    assert gauges.in_sight() == ()


@pytest.mark.slow
@pytest.mark.parametrize("theme_name", ["light", "dark"])
def test_the_list_of_a_box_has_one_frame_and_the_selection_of_other_lists(window, qtbot, theme_name):
    window.context.themes.choose(theme_name)
    window.context.themes.finish()
    box = QComboBox(window)
    box.addItems(["one", "two", "three"])
    popup, view = box.view().parentWidget(), box.view()
    popup.resize(120, 90)
    view.setCurrentIndex(box.model().index(0, 0))
    popup.grab()  # which lays it out: popups of the test's platform print warnings
    image, origin = popup.grab().toImage(), view.viewport().mapTo(popup, QPoint(0, 0))
    first, last = (view.visualRect(box.model().index(row, 0)).translated(origin).center() for row in (0, 2))
    edge = [image.pixelColor(x, last.y()).name() for x in range(9)]
    colors = [theme().color(role).name() for role in ("border-strong", "panel", "selection")]
    assert edge == [colors[0], *colors[1:2] * 8]
    assert image.pixelColor(popup.width() - 12, first.y()).name() == colors[2]
    resize_text(window, 0)


@pytest.mark.slow
def test_every_card_of_the_servers_has_a_title_and_the_cost_of_an_evaluation_is_whole(window, qtbot):
    window.resize(1024, 700)
    window.navigator.show(PageId.SERVERS)
    frames = window.page(PageId.SERVERS).widget.findChildren(QFrame, "card")
    assert len(frames) > 3
    for frame in frames:
        assert isinstance(frame, Card) and frame.heading.title.text(), frame.accessibleName()
    window.navigator.show(PageId.EVALUATE)
    page = window.page(PageId.EVALUATE)
    qtbot.waitUntil(lambda: page._is_made and not page.is_busy)
    setup = page.view.setup
    qtbot.waitUntil(lambda: "samples" in setup.cost.text())
    trials, area = setup.numbers["trials"], setup._cost_area
    qtbot.waitUntil(
        lambda: (
            area.viewport().rect().contains(QRect(trials.mapTo(area.viewport(), QPoint(0, 0)), trials.size()))
        )
    )


@pytest.mark.slow
def test_the_sides_have_their_widths_whatever_the_other_pages_need_and_follow_the_window(window, qtbot):
    assert max(page.widget.minimumSizeHint().width() for page in window.pages.values()) > 800
    window.fit_sides()
    qtbot.waitUntil(lambda: abs(window.right.width() - RIGHT) < 10)
    qtbot.waitUntil(lambda: abs(window.panels.docks[PanelId.TOOLS].width() - LEFT) < 10)
    window.resize(1024, 700)
    qtbot.waitUntil(lambda: window.right.width() < 0.8 * RIGHT)
    window.resize(1440, 900)
    qtbot.waitUntil(lambda: abs(window.right.width() - RIGHT) < 10)


@pytest.mark.slow
def test_the_reason_of_an_abort_fits_a_narrow_page_and_is_one_line_high_in_a_wide_one(window, qtbot):
    with qtbot.waitSignal(window.runs.ended):
        window.runs.replay(bundled_run(ABORTED), 0)
    banner = window.page(PageId.PLAYGROUND).view.verdict
    assert banner.isVisible()
    line = banner.title.fontMetrics().height()
    banner.setMaximumWidth(260)
    qtbot.waitUntil(lambda: banner.title.height() > 1.5 * line)
    narrow, title = banner.title.height(), banner.title
    banner.setMaximumWidth(10_000)
    qtbot.waitUntil(lambda: narrow > title.height() < 1.5 * line)


def test_the_cost_and_the_expected_answer_are_in_sight_at_every_width_of_the_page(window, qtbot):
    with qtbot.waitSignal(window.runs.ended):
        window.runs.replay(bundled_run(ABORTED), 0)
    line = window.page(PageId.PLAYGROUND).view.verdict
    parts = (line.figures, line.button, line.expected_link)
    for width, above in ((900, parts), (700, parts[2:]), (500, ()), (900, parts)):
        line.setFixedWidth(width)
        qtbot.waitUntil(lambda width=width: line.width() == width)
        QApplication.processEvents()
        assert all(part.isVisible() and line.rect().contains(part.geometry()) for part in parts), width
        first = line.title.geometry()
        assert tuple(part for part in parts if part.y() < first.bottom()) == above
        assert sorted(parts, key=lambda part: (part.y() >= first.bottom(), part.x())) == [
            *above, *(part for part in parts if part not in above)
        ], "in the same order"  # fmt: skip
    line.setMinimumWidth(0)  # the window is shared
    line.setMaximumWidth(16_777_215)


@pytest.mark.slow
def test_the_top_bar_is_restored_after_larger_text(window, qtbot):
    header, themes = window.header, window.context.themes

    def sizes():
        QApplication.processEvents()
        parts = (header, header.notation, header.run_button, header.options_button)
        return [part.size().toTuple() for part in parts]

    before, icon = sizes(), header.run_button.iconSize()
    themes.choose("light", 15)
    themes.finish()
    assert sizes()[0][1] > before[0][1] and header.run_button.iconSize().width() > icon.width()
    themes.choose("light", 0)
    themes.finish()
    qtbot.waitUntil(lambda: (sizes(), header.run_button.iconSize()) == (before, icon))


@pytest.mark.slow
def test_a_branch_of_a_record_scrolls_nothing_sideways(window, qtbot):
    """The fullest state of the playground: a record, a notice, branches, four entries of the legend."""
    points = window_points()
    for size, scale in (((1024, 700), 1.0), ((1440, 900), 1.5)):
        window.resize(*size)
        resize_text(window, round(points * scale))
        with qtbot.waitSignal(window.runs.ended):
            window.runs.show_record(bundled_run(ABORTED))
        for _name in show_masked(qtbot, window):
            areas = [area for area in window.findChildren(QScrollArea) if area.isVisible()]
            wide = [area.objectName() for area in areas if area.horizontalScrollBar().isVisible()]
            assert not wide, size
    resize_text(window, 0)


@pytest.mark.slow
def test_the_playground_does_not_scroll_sideways_where_letters_become_larger(window, qtbot):
    for width, points in ((1280, 13), (1440, 15)):
        window.resize(width, 860)
        resize_text(window, points)
        QApplication.processEvents()
        qtbot.waitUntil(lambda: not window.navigator.is_cut_off)
    resize_text(window, 0)


@pytest.mark.slow
def test_no_page_scrolls_sideways_with_large_text_in_a_window_of_1024_pixels(window, qtbot, tmp_path):
    """In either order: the text was enlarged first, then the window made smaller.

    From 1.5 on, a table may: the titles and signs of its columns are whole instead.
    """
    with qtbot.waitSignal(window.runs.ended):
        window.runs.replay(bundled_run(RECORD), 0)
    points = window_points()

    def all_fit(times):
        tables = window.findChildren(PlainTable) if times < 1.5 else []
        for area in (*window.findChildren(QScrollArea), *tables):
            if area.isVisible() and area.horizontalScrollBar().isVisible():
                raise AssertionError(f"{times}, {area.objectName()}: {area.viewport().size()}")

    for times in some((1.25, 1.5, 1.67), 2):
        window.navigator.show(PageId.PLAYGROUND)
        window.resize(1440, 900)
        resize_text(window, round(points * times))
        window.resize(1024, 700)
        QApplication.processEvents()
        qtbot.waitUntil(lambda: bool(window.tabifiedDockWidgets(window.right)))  # no room for both sides
        for page in in_turn(qtbot, window, tmp_path):
            assert page and window.width() == 1024
            qtbot.waitUntil(lambda: all_fit(times))  # noqa: B023 - called at once
    resize_text(window, 0)
