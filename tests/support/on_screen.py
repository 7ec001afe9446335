"""A page as its user sees and uses it: parts are found by accessible names, results are visible words."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QFileDialog,
    QPlainTextEdit,
    QTabBar,
    QTableView,
    QTextEdit,
    QWidget,
)

from glyphscope_gui.shared.verdict import Pill


def words_of(widget):
    """The words that a widget shows; "" for a view of items."""
    if isinstance(widget, QComboBox):
        return widget.currentText()
    if isinstance(widget, QPlainTextEdit | QTextEdit):
        return widget.toPlainText()
    return widget.words if isinstance(widget, Pill) else str(getattr(widget, "text", str)())


def name_of(widget):
    """The name that a screen reader uses: that of a button may be its words."""
    words = widget.text().replace("&", "") if isinstance(widget, QAbstractButton) else ""
    return widget.accessibleName() or words


class Screen:
    """A page, a dialog or a window, or a part of one. Only what is visible is there."""

    def __init__(self, qtbot, root):
        self.qtbot, self.root = qtbot, root

    def named(self, name, kind=QWidget):
        """The widgets with that name, or whose names begin with it."""
        there = [each for each in (self.root, *self.root.findChildren(QWidget)) if isinstance(each, kind)]
        names = [(name_of(each), each) for each in there if each.isVisible()]
        whole = [each for own, each in names if own == name]
        return whole or [each for own, each in names if own.startswith(name)]

    def find(self, name, kind=QWidget):
        found = self.named(name, kind)
        others = sorted({name_of(each) for each in self.named("", kind)} - {""})
        assert len(found) == 1, f"{len(found)} have the name {name!r} of {others}"
        return found[0]

    def part(self, name):
        return Screen(self.qtbot, self.find(name))

    # -- what it does --------------------------------------------------------------------------------------------

    def press(self, *names):
        for name in names:
            button = self.find(name, QAbstractButton)
            assert button.isEnabled(), f"{name} is disabled"
            button.click()

    def choose(self, name, words):
        """Choose the entry of a box, the tab, or the first row of a table with these words."""
        chooser = self.find(name, QComboBox | QTabBar | QAbstractItemView)
        assert chooser.isEnabled(), f"{name} is disabled"
        if isinstance(chooser, QComboBox):
            place = max(chooser.findText(words), chooser.findText(words, Qt.MatchFlag.MatchStartsWith))
            assert place >= 0, f"{words} is none of {[chooser.itemText(n) for n in range(chooser.count())]}"
            chooser.setCurrentIndex(place)
            chooser.activated.emit(place)
        elif isinstance(chooser, QTabBar):
            chooser.setCurrentIndex([chooser.tabText(n) for n in range(chooser.count())].index(words))
        else:
            row = next(n for n, row in enumerate(self.rows(name)) if any(words in cell for cell in row))
            chooser.setCurrentIndex(chooser.model().index(row, 0))

    def write(self, name, text):
        """Write a text or a number in a field."""
        field = self.find(name)
        if isinstance(field, QAbstractSpinBox):
            field.setValue(text)
        else:
            (getattr(field, "setPlainText", None) or field.setText)(text)

    def key(self, name, key, modifiers=Qt.KeyboardModifier.NoModifier):
        self.qtbot.keyClick(self.find(name), key, modifiers)

    # -- what it shows -------------------------------------------------------------------------------------------

    def can(self, name):
        """Whether the part of that name is enabled."""
        return self.find(name).isEnabled()

    def read(self, name):
        """The words in a field, or on a button or label."""
        return words_of(self.find(name))

    def texts(self):
        """All visible words, but for those in tables."""
        there = (self.root, *self.root.findChildren(QWidget))
        return [words for each in there if each.isVisible() and (words := words_of(each))]

    def __contains__(self, words):
        return any(words in text for text in self.texts())

    def rows(self, name):
        """The words in the cells of a table or list, by row; a table's names of rows come first."""
        view = self.find(name, QAbstractItemView)
        model, top = view.model(), QModelIndex()
        columns, titles = range(model.columnCount(top)), []
        if isinstance(view, QTableView) and view.verticalHeader().isVisible():
            titles = [str(model.headerData(n, Qt.Orientation.Vertical)) for n in range(model.rowCount(top))]
        cells = [
            [str(model.index(row, column, top).data() or "") for column in columns]
            for row in range(model.rowCount(top))
        ]
        return [[title, *row] for title, row in zip(titles, cells)] if titles else cells

    # -- what comes later ----------------------------------------------------------------------------------------

    def until(self, *words):
        """Wait until all of these words are visible."""
        self.qtbot.waitUntil(lambda: all(each in self for each in words))

    def until_can(self, name):
        self.qtbot.waitUntil(lambda: bool(self.named(name)) and self.can(name))

    def dialog(self, kind=QDialog):
        """The newest dialog, once there is one."""

        def opened():
            shown = [each for each in QApplication.topLevelWidgets() if isinstance(each, kind)]
            return [each for each in shown if each.isVisible()]

        self.qtbot.waitUntil(lambda: bool(opened()))
        return Screen(self.qtbot, opened()[-1])

    def pick_file(self, path):
        """Answer the dialog that asks for a file."""
        dialog = self.dialog(QFileDialog).root
        dialog.close()
        dialog.fileSelected.emit(str(path))
