"""A user of a page, a panel, a dialog or the whole window: finds each part by the name that a screen reader says, uses
it as with mouse and keys, and reads the texts that are in sight.

    page.press("Run")                          a button, a link, a tab, a tick, or an entry of a menu
    page.choose("Notation", "JSON")            one of the choices of a box, a row of buttons, a list, a table or a menu
    page.enter("Your prompt", "Find llamas")   the text or number of a field, as if it was typed and then left
    page.texts("Fields of the call…")          the rows of a table as lists, those of a list or box as texts
    page.wait("valid call of search")          until these words are in sight, or the function is true
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QGroupBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QTreeView,
    QWidget,
)

Kinds: TypeAlias = type[QWidget] | tuple[type[QWidget], ...]
FIELDS = QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox, QComboBox, QAbstractSlider


def plain(words: str) -> str:
    """Words without the marks of their keys: `&Run` is Run, and `…` at the end only promises a dialog."""
    return (
        words.replace("&&", "\0")
        .replace("&", "")
        .replace("\0", "&")
        .replace("\u200b", "")
        .rstrip("…")
        .strip()
    )


def name_of(widget: QWidget) -> str:
    """The name that a screen reader says."""
    if name := widget.accessibleName():
        return plain(name)
    if isinstance(widget, QAbstractButton | QLabel):
        return plain(widget.text())
    if isinstance(widget, QGroupBox):
        return plain(widget.title())
    return plain(widget.windowTitle())


class PageDriver:
    """`tops` are the parts that the user sees, with their dialogs and menus; `qtbot` waits."""

    def __init__(self, qtbot: Any, *tops: QWidget | None) -> None:
        self.qtbot = qtbot
        self.tops = [top for top in tops if top is not None]

    # -- finding -----------------------------------------------------------------------------------------------------

    def in_sight(self, *kinds: type[QWidget]) -> Iterator[Any]:
        """The visible widgets, of these kinds, those of open dialogs first."""
        dialogs = [
            top for top in QApplication.topLevelWidgets() if isinstance(top, QDialog) and top.isVisible()
        ]
        seen: set[int] = set()
        for top in (*reversed(dialogs), *self.tops):
            for widget in _visible(top):
                if id(widget) not in seen:
                    seen.add(id(widget))
                    if not kinds or isinstance(widget, kinds):
                        yield widget

    def all(self, name: str, kinds: Kinds = QWidget) -> list[Any]:
        """The visible widgets of that name: `name` is all of it, or its beginning before `…`."""
        every = kinds if isinstance(kinds, tuple) else (kinds,)
        return [widget for widget in self.in_sight(*every) if _matches(name_of(widget), name)]

    def find(self, name: str, kinds: Kinds = QWidget) -> Any:
        """The first visible widget of that name and of one of these kinds."""
        if found := self.all(name, kinds):
            return found[0]
        there = {
            name_of(widget) for widget in self.in_sight(*(kinds if isinstance(kinds, tuple) else (kinds,)))
        }
        raise AssertionError(f"“{name}” is not in sight, but {sorted(there - {''})}")

    def shows(self, name: str, kinds: Kinds = QWidget) -> bool:
        """Whether something of that name is in sight."""
        return bool(self.all(name, kinds))

    def action(self, name: str) -> QAction | None:
        """The entry of a menu with these words, or that beginning; None if there is none."""
        actions = (action for top in self.tops for action in top.findChildren(QAction))
        return next((action for action in actions if _matches(plain(action.text()), name)), None)

    # -- using -------------------------------------------------------------------------------------------------------

    def can_press(self, name: str) -> bool:
        """Whether a button or an entry of a menu is there and enabled."""
        if buttons := self.all(name, QAbstractButton):
            return bool(buttons[0].isEnabled())
        action = self.action(name)
        return action is not None and action.isEnabled()

    def press(self, name: str) -> None:
        """Press a button, a link or a tick, go to a tab, or choose an entry of a menu, by its words."""
        if buttons := self.all(name, QAbstractButton):
            assert buttons[0].isEnabled(), f"“{name}” is disabled"
            buttons[0].click()
            return
        for bar in self.in_sight(QTabBar):
            for tab in range(bar.count()):
                if plain(bar.tabText(tab)) == name:
                    bar.setCurrentIndex(tab)
                    return
        action = self.action(name)
        assert action is not None, (
            f"“{name}” is not there, but {sorted(map(name_of, self.in_sight(QAbstractButton)))}"
        )
        assert action.isEnabled(), f"“{name}” is disabled"
        action.trigger()

    def choose(self, name: str, value: str) -> None:
        """Choose by its words one of the values of a box, a group of buttons, a list, a table, or a button's menu."""
        widget = self._main(name, (QComboBox, QAbstractItemView))
        if isinstance(widget, QComboBox):
            places = (widget.currentIndex(), *range(widget.count()))  # the chosen one can be chosen again
            place = next((n for n in places if plain(widget.itemText(n)) == value), -1)
            assert place >= 0, f"“{name}” has not “{value}”, but {self.texts(name)}"
            widget.setCurrentIndex(place)
            widget.activated.emit(place)
        elif isinstance(widget, QAbstractItemView):
            index = self._row(widget, value)
            assert index.isValid(), f"“{name}” has no row “{value}”, but {self.texts(name)}"
            widget.setCurrentIndex(index)
        elif isinstance(widget, QAbstractButton):
            menu = widget.menu()
            menu.aboutToShow.emit()
            next(action for action in menu.actions() if plain(action.text()) == value).trigger()
        else:
            buttons = widget.findChildren(QAbstractButton)
            next(button for button in buttons if value in (plain(button.text()), name_of(button))).click()

    def enter(self, name: str, value: object) -> None:
        """Write a text or a number into a field, in place of what it has, and leave the field."""
        field = self.find(name, FIELDS)
        assert field.isEnabled(), f"“{name}” is disabled"
        if isinstance(field, QComboBox):
            field.setEditText(str(value))
        elif isinstance(field, QAbstractSpinBox | QAbstractSlider):
            field.setValue(value)
        elif isinstance(field, QLineEdit):
            field.selectAll()
            field.insert(str(value)) if value else field.backspace()
            field.editingFinished.emit()
        else:
            field.selectAll()
            field.textCursor().insertText(str(value))

    def type(self, name: str, keys: str) -> None:
        """Type at the place of the cursor of a field, key by key."""
        field = self.find(name, FIELDS)
        field.setFocus()
        QTest.keyClicks(field, keys)

    def key(self, name: str, *keys: str) -> None:
        """Press keys, such as `Ctrl+Return`, on a part that gets the focus."""
        widget = self._main(name, (*FIELDS, QAbstractItemView))
        widget.setFocus()
        for each in keys:
            pressed = QKeySequence(each)[0]
            QTest.keyClick(widget, pressed.key(), pressed.keyboardModifiers())

    # -- reading -----------------------------------------------------------------------------------------------------

    def text(self, name: str) -> str:
        """The text of a field, or the chosen one of a box."""
        field = self.find(name, FIELDS)
        if isinstance(field, QComboBox):
            return plain(field.currentText())
        return str(field.toPlainText() if isinstance(field, QPlainTextEdit | QTextEdit) else field.text())

    def texts(self, name: str) -> list[Any]:
        """The rows of a table, each with the texts of its visible columns; the texts of a list, a box or tabs."""
        widget = self.find(name, (QComboBox, QAbstractItemView, QTabBar))
        if isinstance(widget, QComboBox):
            return [plain(widget.itemText(place)) for place in range(widget.count())]
        if isinstance(widget, QTabBar):
            return [plain(widget.tabText(place)) for place in range(widget.count())]
        return list(self._rows(widget))

    def chosen(self, name: str) -> Any:
        """The chosen row of a table or list, as in `texts`."""
        view = self.find(name, QAbstractItemView)
        return self._cells(view, view.currentIndex())

    def said(self) -> str:
        """All texts in sight, but for those of tables."""
        return "\n".join(self._said())

    def says(self, words: str) -> bool:
        return words in self.said()

    def wait(self, *expected: str | Callable[[], bool]) -> None:
        """Wait until all these words are in sight, and these functions true."""
        for each in expected:
            try:
                self.qtbot.waitUntil(each if callable(each) else lambda words=each: self.says(words))
            except AssertionError as error:
                raise AssertionError(f"{each!r} is not in sight, but:\n{self.said()}") from error

    def _main(self, name: str, kinds: tuple[type[QWidget], ...]) -> Any:
        """The part of that name of one of these kinds, before a label or a card that is called the same."""
        return self.find(name, kinds if self.all(name, kinds) else QWidget)

    def _said(self) -> Iterator[str]:
        for widget in self.in_sight():
            if isinstance(widget, QLabel | QAbstractButton):
                yield widget.text().replace("\u200b", "")
            elif isinstance(widget, QPlainTextEdit | QTextEdit):
                yield widget.toPlainText()
            elif isinstance(widget, QGroupBox):
                yield widget.title()

    def _rows(self, view: QAbstractItemView) -> Iterator[Any]:
        model = view.model()
        for row in range(model.rowCount(view.rootIndex())):
            yield self._cells(view, model.index(row, 0, view.rootIndex()))

    def _cells(self, view: QAbstractItemView, index: QModelIndex) -> Any:
        """The texts of a row: of a list or tree its one text, of a table those of the visible columns."""
        if isinstance(view, QListView | QTreeView) and view.model().columnCount(view.rootIndex()) == 1:
            return _text(index)
        head: QHeaderView = view.horizontalHeader()  # type: ignore[attr-defined]
        shown = [column for column in range(head.count()) if not head.isSectionHidden(column)]
        return [_text(index.siblingAtColumn(column)) for column in shown]

    def _row(self, view: QAbstractItemView, value: str) -> QModelIndex:
        """The row, or the place below a row of a tree, with a cell of these words."""
        model, waiting = view.model(), [view.rootIndex()]
        while waiting:
            above = waiting.pop(0)
            for row in range(model.rowCount(above)):
                for column in range(max(model.columnCount(above), 1)):
                    index = model.index(row, column, above)
                    if value in (_text(index), plain(_text(index))):
                        return index
                waiting.append(model.index(row, 0, above))
        return QModelIndex()


def _visible(widget: QWidget) -> Iterator[QWidget]:
    """The widget and all that is visible in it."""
    if widget.isVisible():
        yield widget
        for child in widget.children():
            if isinstance(child, QWidget):
                yield from _visible(child)


def _matches(words: str, name: str) -> bool:
    """Whether these are the words, or begin so where `name` ends with `…`."""
    return words.startswith(name[:-1]) if name.endswith("…") else words == name


def _text(index: QModelIndex) -> str:
    """The text of a cell: what is shown, or what a screen reader says in place of it."""
    shown = index.data(Qt.ItemDataRole.DisplayRole)
    return str(shown if shown not in (None, "") else index.data(Qt.ItemDataRole.AccessibleTextRole) or "")
