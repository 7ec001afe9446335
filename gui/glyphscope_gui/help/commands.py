"""Every command of the menus, with its path and its keys; and the palette, which finds them by typing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHeaderView, QMenu, QMenuBar, QTreeWidget, QTreeWidgetItem, QWidget

from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog
from glyphscope_gui.shared.text_edits import LineEdit
from glyphscope_gui.theme.sizes import GAP, letters

FITS = 70
"""How alike a typed word and one of the command have to be, of 100."""


@dataclass(frozen=True)
class Command:
    """`path` are the titles of its menus and its own text."""

    path: tuple[str, ...]
    action: QAction

    @property
    def words(self) -> str:
        return " › ".join(self.path)

    @property
    def keys(self) -> str:
        return self.action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)


def commands_of(bar: QMenuBar, *panels: QMenu) -> list[Command]:
    """In the order of the menus, submenus included; then those of the panels' menus that the bar does not have."""
    found = [command for top in bar.actions() for command in _inside(top, ())]
    known = {id(command.action) for command in found}
    of_panels = (command for menu in panels for command in _inside(menu.menuAction(), ()))
    return found + [command for command in of_panels if id(command.action) not in known]


def _inside(action: QAction, path: tuple[str, ...]) -> Iterator[Command]:
    words = (*path, action.text().replace("&&", "\0").replace("&", "").replace("\0", "&"))
    menu = action.menu()
    if not isinstance(menu, QMenu):
        if not action.isSeparator() and action.isVisible():
            yield Command(words, action)
        return
    menu.aboutToShow.emit()  # menus that are filled when they open
    for each in menu.actions():
        yield from _inside(each, words)


def matching(commands: Sequence[Command], typed: str) -> list[Command]:
    """Those that have all typed words, in their order; without any, those that have a word like each typed one, the
    most similar first. Enter runs the first, so a command that lacks a typed word is not among them.
    """
    typed_words = typed.casefold().split()
    found = [each for each in commands if all(word in each.words.casefold() for word in typed_words)]
    if found or not typed_words:
        return found
    alike = ((_likeness(each.words.casefold().split(), typed_words), each) for each in commands)
    ranked = sorted((one for one in alike if one[0] >= FITS), key=lambda one: -one[0])
    return [command for _score, command in ranked[:8]]


def _likeness(words: Sequence[str], typed_words: Sequence[str]) -> float:
    """How alike the least similar of the typed words is to a word of the command, of 100."""
    from rapidfuzz import fuzz  # only here: most windows do without it

    return min(max(fuzz.ratio(typed, word) for word in words) for typed in typed_words)


SIZE = QSize(560, 420)
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class CommandPalette(PlainDialog):
    """Enter runs the selected command after the palette has closed. Unavailable commands are grey."""

    def __init__(self, commands: Sequence[Command], parent: QWidget) -> None:
        super().__init__("commandPalette", tr("Command palette"), parent)
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self._commands = commands
        self.field = named(LineEdit(self, placeholderText=tr("Type a command")), "paletteField")
        self.field.setAccessibleName(tr("Command to find"))
        self.field.installEventFilter(self)
        self.list = named(QTreeWidget(self, columnCount=2), "paletteList", tr("Commands"))
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        head = self.list.header()
        head.setStretchLastSection(False)
        head.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        head.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        vbox(self.field, self.list, parent=self, margins=None, spacing=GAP)
        self.field.textChanged.connect(self._show)
        self.list.itemActivated.connect(self._run)
        self.resize(SIZE * letters(self))
        self._show("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The keys that move in the list work while typing."""
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in _MOVES:
                self.list.keyPressEvent(event)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._run(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)

    def _show(self, typed: str) -> None:
        self.list.clear()
        for command in matching(self._commands, typed):
            item = QTreeWidgetItem([command.words, command.keys])
            item.setData(0, Qt.ItemDataRole.UserRole, command)
            item.setToolTip(0, command.action.toolTip())
            if not command.action.isEnabled():
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
            self.list.addTopLevelItem(item)
        places = range(self.list.topLevelItemCount())
        items = [self.list.topLevelItem(place) for place in places]
        first = next((item for item in items if item is not None and not item.isDisabled()), None)
        self.list.setCurrentItem(first)  # type: ignore[arg-type]  # None selects nothing

    def _run(self, item: QTreeWidgetItem | None) -> None:
        if item is None or item.isDisabled():
            return
        command: Command = item.data(0, Qt.ItemDataRole.UserRole)
        self.accept()
        command.action.trigger()
