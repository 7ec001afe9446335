"""Every command of the menus, with its path and its keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar
from rapidfuzz import fuzz, process

FITS = 60
"""How alike a command and the typed words have to be, of 100."""


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


def commands_of(bar: QMenuBar) -> list[Command]:
    """In the order of the menus, submenus included."""
    return [command for top in bar.actions() for command in _inside(top, ())]


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
    """Those that have all typed words, in their order; without any, those that are alike, misspelt words included."""
    typed_words = typed.casefold().split()
    found = [each for each in commands if all(word in each.words.casefold() for word in typed_words)]
    if found or not typed_words:
        return found
    names = [each.path[-1].casefold() for each in commands]
    ranked = process.extract(typed.casefold(), names, scorer=fuzz.WRatio, score_cutoff=FITS, limit=8)
    return [commands[place] for _name, _score, place in ranked]
