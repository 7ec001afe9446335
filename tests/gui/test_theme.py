"""Themes: every role in each, and the style sheet knows all the roles it names. Contrasts are in test_contrast."""

from __future__ import annotations

import gc
import re

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QCheckBox, QDialog, QLineEdit, QPushButton, QTabWidget, QWidget

from glyphscope.base.resources import names, read_text
from glyphscope_gui.shared import PlainLabel
from glyphscope_gui.shared.layouts import STRETCH, Flow, stack, vbox
from glyphscope_gui.theme import ThemeManager, load_theme, mono_font, use_font
from glyphscope_gui.theme.manager import style_sheet, write_icons


@pytest.mark.parametrize("name", ["light", "dark"])
def test_every_role_and_picture_of_the_style_sheet_exists(qapp, tmp_path, name):
    theme = load_theme(name)
    write_icons(theme, tmp_path)
    sheet = style_sheet(theme, tmp_path)
    assert "$" not in sheet
    for picture in re.findall(r"url\(\"([^\"]*)\"\)", sheet):
        assert picture.startswith(tmp_path.as_posix())
        assert (tmp_path / picture.rsplit("/", 1)[1]).is_file()


def test_every_icon_takes_the_colour_of_the_theme():
    for name in names("icons", ".svg"):
        assert "currentColor" in read_text(f"icons/{name}"), name


@pytest.mark.parametrize("name", ["light", "dark"])
def test_a_disabled_box_looks_disabled(qapp, qtbot, name):
    box = QCheckBox("Other arguments are allowed", checked=True)
    qtbot.addWidget(box)
    ThemeManager(qapp, name, parent=box)
    pictures = []
    for enabled in (True, False):
        box.setEnabled(enabled)
        pictures.append(box.grab().toImage())
    words = pictures[0].rect().adjusted(24, 0, 0, 0)
    assert pictures[0].copy(words) != pictures[1].copy(words)
    mark = pictures[0].rect().adjusted(0, 0, 24 - box.width(), 0)
    assert pictures[0].copy(mark) != pictures[1].copy(mark)


class Seen(QObject):
    """The text sizes of all labels whenever one of them is painted or gets another size, by event."""

    def __init__(self, labels: list[QWidget]) -> None:
        super().__init__()
        self.labels = labels
        self.sizes: dict[QEvent.Type, set[tuple[float, ...]]] = {}

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched in self.labels and event.type() in (QEvent.Type.Paint, QEvent.Type.Resize):
            self.sizes.setdefault(event.type(), set()).add(tuple(map(size, self.labels)))
        return False


class Leaf(QWidget):
    """Only the collector can delete it, once nothing else refers to it."""

    def __init__(self) -> None:
        super().__init__()
        self.myself = self
        self.show()


class Dropper(QWidget):
    """Releases other objects while its style changes, where the collector might run."""

    def __init__(self, others: list[Leaf]) -> None:
        super().__init__()
        self.others = others
        self.left: list[int] = []
        self.show()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.StyleChange:
            self.others.clear()
            if gc.isenabled():
                gc.collect()
            self.left.append(sum(isinstance(widget, Leaf) for widget in QApplication.allWidgets()))
        super().changeEvent(event)


@pytest.mark.slow
def test_the_collector_waits_while_qt_restyles_widgets(qapp, qtbot):
    manager = ThemeManager(qapp, "light")
    dropper = Dropper([Leaf() for _ in range(20)])
    qtbot.addWidget(dropper)
    gc.enable()
    manager.choose("dark")
    manager.finish()
    assert set(dropper.left) == {20}
    assert gc.isenabled()
    gc.disable()
    manager.choose("light")


@pytest.fixture
def pages(qapp, qtbot, monkeypatch):
    """Two labels in a light theme, one behind the other; every step of a change is a slice."""
    monkeypatch.setattr("glyphscope_gui.slices.SLICE_MS", 0)
    manager = ThemeManager(qapp, "light")
    pages = stack(PlainLabel("shown", role="muted"), PlainLabel("hidden", role="muted"))
    qtbot.addWidget(pages)
    pages.show()
    for place in (1, 0):
        pages.setCurrentIndex(place)
    pages.themes = manager
    yield pages
    manager.deleteLater()


def color(label: QWidget) -> QColor:
    return label.palette().windowText().color()


def test_a_hidden_page_gets_the_theme_when_it_is_shown(pages, qtbot):
    light, dark = (load_theme(name).color("text-muted") for name in ("light", "dark"))
    with qtbot.waitSignal(pages.themes.changed):
        pages.themes.choose("dark")
    assert [color(pages.widget(place)) for place in (0, 1)] == [dark, light]
    pages.setCurrentIndex(1)
    assert color(pages.widget(1)) == dark


def test_hidden_pages_get_the_theme_a_little_later(pages, qtbot):
    pages.themes.choose("dark")
    qtbot.waitUntil(lambda: color(pages.widget(1)) == load_theme("dark").color("text-muted"))


def test_the_last_of_several_quick_changes_of_the_theme_counts(pages, qtbot, qapp):
    for name in ("dark", "light", "dark"):
        pages.themes.choose(name)
        qapp.processEvents()
    pages.themes.finish()
    dark = load_theme("dark")
    assert {color(pages.widget(place)).name() for place in (0, 1)} == {dark.color("text-muted").name()}
    assert qapp.palette().window().color() == dark.color("window")
    assert pages.updatesEnabled()


def test_a_widget_that_is_deleted_while_the_theme_changes_is_passed_over(pages, qapp):
    pages.themes.choose("dark")
    qapp.processEvents()
    pages.widget(1).deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    pages.themes.finish()
    assert color(pages.widget(0)) == load_theme("dark").color("text-muted")


def test_a_tab_gets_the_sheet_when_it_is_first_shown_not_with_its_page(qapp, qtbot):
    themes = ThemeManager(qapp, "light")
    with themes.undressed() as hidden:
        tabs = stack(*(stack(PlainLabel(f"{side}", role="muted"), QWidget()) for side in "abc"))
        window = stack(QWidget(), tabs)
        qtbot.addWidget(window)
        labels = [tabs.widget(place).widget(0) for place in range(3)]
        for label in labels:
            label.ensurePolished()  # as a layout that asks for its size does
        window.show()
        hidden.append(tabs)
    without = color(labels[0])
    muted = load_theme("light").color("text-muted")
    assert without != muted
    themes.dress(tabs)
    window.setCurrentIndex(1)
    assert [color(label) for label in labels] == [muted, without, without]
    tabs.setCurrentIndex(1)
    assert [color(label) for label in labels] == [muted, muted, without]
    themes.finish()
    assert [color(label) for label in labels] == [muted] * 3


def size(widget: QWidget) -> float:
    return widget.font().pointSizeF()


@pytest.fixture
def usual_size(qapp):
    """Restore the application's text size."""
    font = qapp.font()
    yield font.pointSizeF()
    qapp.setFont(font)


def test_another_text_size_is_first_in_sight_and_elsewhere_when_it_is_shown(pages, qtbot, usual_size):
    code, button = QLineEdit(), QPushButton("never shown")
    use_font(code, mono_font, -0.5)
    inside = stack(stack(code))
    pages.addWidget(inside)
    pages.setCurrentIndex(2)
    pages.setCurrentIndex(0)
    window = QWidget()
    qtbot.addWidget(window)
    qtbot.addWidget(button)
    sizes = [size(pages.widget(0)), size(code)]
    with qtbot.waitSignal(pages.themes.changed):
        pages.themes.choose("light", 15)
    assert size(pages.widget(0)) == sizes[0] + 15 - usual_size
    assert [size(each) for each in (inside, code)] == [usual_size, sizes[1]]
    pages.setCurrentIndex(2)
    assert [size(each) for each in (inside, code)] == [15, 14.5]
    pages.themes.finish()
    for each in (window, button):
        each.show()
        assert size(each) == 15
    pages.themes.choose("dark", 15)  # Qt restores the fonts that widgets had before their first sheet
    pages.themes.finish()
    assert [size(each) for each in (inside, code)] == [15, 14.5]


def test_a_row_that_wraps_has_room_for_its_larger_text(pages, qapp, usual_size):
    row, words = Flow(), [PlainLabel("Continue from here"), PlainLabel("Cut here")]
    for each in words:
        row.add(each)
    pages.setCurrentIndex(pages.addWidget(row))
    pages.resize(150, 200)
    for points in (18, usual_size):
        pages.themes.choose("light", points)
        pages.themes.finish()
        qapp.processEvents()
        assert [each.size() for each in words] == [each.sizeHint() for each in words]
        assert not words[0].geometry().intersects(words[1].geometry())
        assert row.height() >= words[1].geometry().bottom()


def test_a_change_of_theme_right_after_one_of_the_text_size_keeps_the_size(pages, qapp, usual_size):
    small = size(pages.widget(0)) - usual_size
    pages.themes.choose("light", 15)
    pages.themes.choose("dark", 15)
    qapp.processEvents()
    pages.themes.choose("light", 15)
    pages.themes.finish()
    assert [size(pages.widget(place)) for place in (0, 1)] == [15 + small] * 2


def test_a_lecture_that_begins_during_a_change_of_text_size_enlarges_only_its_part(pages, usual_size):
    code = QLineEdit()
    use_font(code, mono_font)
    pages.addWidget(code)
    pages.themes.choose("light", 15)
    pages.themes.enlarge(pages.widget(0), 30)
    pages.themes.finish()
    assert size(code) == 15
    pages.themes.enlarge(pages.widget(0), 0)
    assert size(pages.widget(0)) < 16


def test_nothing_is_arranged_or_painted_while_another_text_size_is_half_there(
    qapp, qtbot, usual_size, monkeypatch
):
    """Each widget with another font would arrange and paint the whole window again."""
    monkeypatch.setattr("glyphscope_gui.slices.SLICE_MS", 0)
    labels = [PlainLabel(words) for words in ("first", "second", "third")]
    window = QWidget()
    vbox(*labels, STRETCH, parent=window)  # so each label is as high as its text
    qtbot.addWidget(window)
    themes = ThemeManager(qapp, "light", parent=window)
    window.show()
    qtbot.waitUntil(lambda: not themes._dressing.is_busy)
    seen = Seen(labels)
    qapp.installEventFilter(seen)
    themes.choose("light", 15)
    qtbot.waitUntil(lambda: not themes._dressing.is_busy)
    qapp.removeEventFilter(seen)
    before, after = (usual_size,) * 3, (15.0,) * 3
    assert seen.sizes[QEvent.Type.Resize] == {after}
    assert seen.sizes[QEvent.Type.Paint] - {before} == {after}


def test_a_larger_text_size_reaches_the_tabs_of_a_hidden_page(qapp, qtbot):
    tabs = QTabWidget()
    tabs.addTab(QWidget(), "Side by side")
    pages = stack(QWidget(), tabs)
    qtbot.addWidget(pages)
    themes = ThemeManager(qapp, "light", parent=pages)
    pages.show()
    themes.choose("light", 15)
    themes.finish()
    assert tabs.tabBar().font().pointSizeF() == 15
    themes.choose("light")
    themes.finish()


class _Paints(QObject):
    """Counts how often a widget is painted."""

    def __init__(self, widget):
        super().__init__(widget)
        self.seen = 0
        widget.installEventFilter(self)

    def eventFilter(self, _watched, event):
        self.seen += event.type() == QEvent.Type.Paint
        return False


@pytest.mark.slow
def test_the_window_behind_the_settings_is_painted_in_the_new_text_size_and_their_list_fits(window, qtbot):
    window.actions_.settings.trigger()
    dialog = window.findChild(QDialog, "settingsDialog")
    assert dialog.list.currentRow() == 0, "the keyboard can be seen in the list"
    qtbot.wait(500)  # nothing asks for another picture: otherwise, the new one was painted with it
    paints = _Paints(window.rail)
    window.services.settings.update(font_size=16)
    qtbot.waitUntil(lambda: paints.seen > 0)
    sections = dialog.list
    qtbot.waitUntil(lambda: sections.sizeHintForColumn(0) <= sections.viewport().width())
    dialog.reject()
