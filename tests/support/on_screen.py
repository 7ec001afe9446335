"""A page as its user sees and uses it: parts are found by accessible names, results are visible words.

screen.press("Run")                     a button, a link, a tick, a tab, or an entry of a menu
screen.choose("Notation", "JSON")       an entry of a box, a group of buttons, a table, a tree, tabs or a menu
screen.write("Your prompt", "Llamas")   the text or number of a field, in place of what it has
screen.rows("Examples…")                the words of a table by row; a name may be cut with `…`
screen.until("valid call of search")    until these words are visible, or a function is true
"""

from __future__ import annotations

from PySide6 import QtWidgets
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAccessible, QAction, QDragEnterEvent, QDropEvent, QKeySequence
from PySide6.QtTest import QTest

from glyphscope_gui.shared.verdict import Pill

FIELDS = (
    QtWidgets.QAbstractSlider
    | QtWidgets.QAbstractSpinBox
    | QtWidgets.QComboBox
    | QtWidgets.QLineEdit
    | QtWidgets.QPlainTextEdit
    | QtWidgets.QTextEdit
)
CONTROLS = FIELDS | QtWidgets.QAbstractButton | QtWidgets.QAbstractItemView | QtWidgets.QTabBar


def plain(words):
    """Words without the marks of their keys, and places to break a line."""
    return words.replace("&&", "\0").replace("&", "").replace("\0", "&").replace("\u200b", "")


def words_of(widget):
    """The words that a widget shows; "" for a view of items."""
    if isinstance(widget, QtWidgets.QComboBox):
        return widget.currentText()
    if isinstance(widget, QtWidgets.QPlainTextEdit | QtWidgets.QTextEdit):
        return widget.toPlainText()
    if isinstance(widget, QtWidgets.QGroupBox):
        return widget.title()
    text = widget.words if isinstance(widget, Pill) else getattr(widget, "text", "")
    words = str(text() if callable(text) else text)
    return words.replace("\u200b", "") if isinstance(widget, QtWidgets.QLabel) else words


def name_of(widget):
    """The name that a screen reader uses: that of a button may be its words."""
    if name := widget.accessibleName():
        return name
    if isinstance(widget, FIELDS):  # that of its label
        return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)
    return plain(widget.text()) if isinstance(widget, QtWidgets.QAbstractButton) else ""


def visible(widget):
    """The widget and all that is visible in it, from the top."""
    if widget.isVisible():
        yield widget
        for child in widget.children():
            if isinstance(child, QtWidgets.QWidget):
                yield from visible(child)


class Screen:
    """Pages, panels, dialogs or a window, or a part of one. Only what is visible is there."""

    def __init__(self, qtbot, root, *others):
        self.qtbot, self.root, self.roots = qtbot, root, (root, *others)

    def named(self, name, kind=QtWidgets.QWidget):
        """The widgets with that name, or whose names begin with it."""
        there = [each for root in self.roots for each in visible(root) if isinstance(each, kind)]
        return chosen_by_name(there, name_of, name)

    def find(self, name, kind=QtWidgets.QWidget):
        """The one widget with that name: one of a dialog that is open rather than another, a control rather than its
        label.
        """
        found = self.named(name, kind)
        if len(found) > 1:
            found = [each for each in found if isinstance(each.window(), QtWidgets.QDialog)] or found
            found = [each for each in found if isinstance(each, CONTROLS)] or found
        others = sorted({name_of(each) for each in self.named("", kind)} - {""})
        assert len(found) == 1, f"{len(found)} have the name {name!r} of {others}"
        return found[0]

    def part(self, name):
        return Screen(self.qtbot, self.find(name))

    def action(self, name):
        """The entry of a menu with that name, or whose name begins with it; None if there is none."""
        there = (action for root in self.roots for action in root.findChildren(QAction))
        return next(iter(chosen_by_name(there, lambda action: plain(action.text()), name)), None)

    # -- what it does --------------------------------------------------------------------------------------------

    def press(self, *names):
        for name in names:
            if self.named(name, QtWidgets.QAbstractButton):
                button = self.find(name, QtWidgets.QAbstractButton)
                assert button.isEnabled(), f"{name} is disabled"
                button.click()
            elif bars := [bar for bar in self.named("", QtWidgets.QTabBar) if name in tabs_of(bar)]:
                bars[0].setCurrentIndex(tabs_of(bars[0]).index(name))
            else:
                action = self.action(name)
                assert action is not None, (
                    f"{name!r} is none of {sorted(map(name_of, self.named('', QtWidgets.QAbstractButton)))}"
                )
                assert action.isEnabled(), f"{name} is disabled"
                action.trigger()

    def choose(self, name, words):
        """Choose the entry of a box, of a group of buttons or of a button's menu, the tab, or the first row of a table
        or tree with these words.
        """
        chooser = self.find(name)
        assert chooser.isEnabled(), f"{name} is disabled"
        if isinstance(chooser, QtWidgets.QComboBox):
            place = max(chooser.findText(words), chooser.findText(words, Qt.MatchFlag.MatchStartsWith))
            place = chooser.currentIndex() if chooser.currentText() == words else place
            assert place >= 0, f"{words} is none of {[chooser.itemText(n) for n in range(chooser.count())]}"
            chooser.setCurrentIndex(place)
            chooser.activated.emit(place)
        elif isinstance(chooser, QtWidgets.QTabBar):
            chooser.setCurrentIndex(tabs_of(chooser).index(words))
        elif isinstance(chooser, QtWidgets.QAbstractItemView):
            cells = [(str(index.data() or ""), index) for index in indices(chooser)]
            there = [index for text, index in cells if text == words] or [
                i for text, i in cells if words in text
            ]
            assert there, f"{words} is in none of {self.rows(name)}"
            chooser.setCurrentIndex(there[0])
        elif isinstance(chooser, QtWidgets.QAbstractButton):
            chooser.menu().aboutToShow.emit()
            actions = chooser.menu().actions()
            next(action for action in actions if plain(action.text()).startswith(words)).trigger()
        else:
            Screen(self.qtbot, chooser).press(words)

    def write(self, name, text):
        """Write a text or a number in a field, in place of what it has, and leave it."""
        field = self.find(name, FIELDS)
        assert field.isEnabled(), f"{name} is disabled"
        if isinstance(field, QtWidgets.QAbstractSpinBox | QtWidgets.QAbstractSlider):
            field.setValue(text)
        elif isinstance(field, QtWidgets.QComboBox):
            field.setEditText(text)
        elif isinstance(field, QtWidgets.QLineEdit):
            field.selectAll()
            field.insert(text) if text else field.backspace()
            field.editingFinished.emit()
        else:
            field.selectAll()
            field.textCursor().insertText(text)

    def type(self, name, text):
        """Type at the cursor of a field, key by key."""
        field = self.find(name, FIELDS)
        field.setFocus()
        QTest.keyClicks(field, text)

    def key(self, name, *keys):
        """Press keys such as `Ctrl+Z` on a part, which gets the focus; or one of Qt's, with its modifiers."""
        part = self.find(name)
        part.setFocus()
        if not isinstance(keys[0], str):
            QTest.keyClick(part, *keys)
            return
        for each in keys:
            pressed = QKeySequence(each)[0]
            QTest.keyClick(part, pressed.key(), pressed.keyboardModifiers())

    # -- what it shows -------------------------------------------------------------------------------------------

    def can(self, name):
        """Whether the part of that name, or the entry of a menu, is enabled."""
        if not self.named(name) and (action := self.action(name)):
            return action.isEnabled()
        return self.find(name).isEnabled()

    def read(self, name):
        """The words in a field, or on a button or label."""
        return words_of(self.find(name))

    def texts(self):
        """All visible words, but for those in tables."""
        return [words for root in self.roots for each in visible(root) if (words := words_of(each))]

    def __contains__(self, words):
        return any(words in text for text in self.texts())

    def rows(self, name, role=Qt.ItemDataRole.DisplayRole):
        """The words in the cells of a table or list, by row; a table's names of rows come first."""
        view = self.find(name, QtWidgets.QAbstractItemView)
        model, top = view.model(), view.rootIndex()
        columns, titles = range(max(model.columnCount(top), 1)), []
        if isinstance(view, QtWidgets.QTableView) and view.verticalHeader().isVisible():
            titles = [str(model.headerData(n, Qt.Orientation.Vertical)) for n in range(model.rowCount(top))]
        cells = [
            [str(model.index(row, column, top).data(role) or "") for column in columns]
            for row in range(model.rowCount(top))
        ]
        return [[title, *row] for title, row in zip(titles, cells)] if titles else cells

    def spoken(self, name):
        """The words that a screen reader says for the cells of a table, by row."""
        return self.rows(name, Qt.ItemDataRole.AccessibleTextRole)

    def chosen(self, name):
        """The words of the first cell of the chosen row."""
        return str(self.find(name, QtWidgets.QAbstractItemView).currentIndex().data() or "")

    # -- what comes later ----------------------------------------------------------------------------------------

    def until(self, *expected):
        """Wait until all of these words are visible, and these functions true."""
        for each in expected:
            try:
                self.qtbot.waitUntil(lambda each=each: bool(each() if callable(each) else each in self))
            except AssertionError as error:
                raise AssertionError(f"{each!r} is not in:\n" + "\n".join(self.texts())) from error

    def until_can(self, name):
        self.qtbot.waitUntil(lambda: bool(self.named(name)) and self.can(name))

    def dialog(self, kind=QtWidgets.QDialog):
        """The newest dialog, once there is one."""

        def opened():
            shown = [each for each in QtWidgets.QApplication.topLevelWidgets() if isinstance(each, kind)]
            return [each for each in shown if each.isVisible()]

        self.qtbot.waitUntil(lambda: bool(opened()))
        return Screen(self.qtbot, opened()[-1])

    def pick_file(self, path):
        """Answer the dialog that asks for a file."""
        dialog = self.dialog(QtWidgets.QFileDialog).root
        dialog.close()
        dialog.fileSelected.emit(str(path))
        dialog.filesSelected.emit([str(path)])


def drop(widget, path):
    """Drop a file on a part; return whether it says that it takes it."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), copy, data, left, none)
    enter.ignore()
    widget.dragEnterEvent(enter)
    widget.dropEvent(QDropEvent(QPointF(5, 5), copy, data, left, none))
    return enter.isAccepted()


def chosen_by_name(things, name_of, name):
    """Those of that name, or otherwise those whose names begin with it."""
    names, start = [(name_of(each), each) for each in things], name.removesuffix("…")
    whole = [each for own, each in names if name and own == name]
    return whole or [each for own, each in names if own.startswith(start)]


def tabs_of(bar):
    return [plain(bar.tabText(place)) for place in range(bar.count())]


def indices(view):
    """All cells of a table or tree, those of the upper levels first."""
    model, waiting = view.model(), [view.rootIndex()]
    while waiting:
        above = waiting.pop(0)
        for row in range(model.rowCount(above)):
            yield from (model.index(row, column, above) for column in range(max(model.columnCount(above), 1)))
            waiting.append(model.index(row, 0, above))
