"""Dialogs that ask a question, or for a file or a folder. None blocks its caller."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QGridLayout,
    QMessageBox,
    QSizePolicy,
    QSpacerItem,
    QWidget,
)

from glyphscope_gui.shared.labels import named

Role = QMessageBox.ButtonRole
Answer: TypeAlias = tuple[str, Role, Callable[[], object]]
"""The words of a button, its role, and its action."""
_TITLE_BUTTONS = 150
"""Pixels of width that a window manager needs beside a title, about."""
_ENDING = re.compile(r"\*\.(\w+)")


def open_once(dialog: QDialog) -> None:
    """Open a dialog that is deleted when it is closed."""
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()


def ask(
    parent: QWidget, name: str, words: str, more: str, *answers: Answer, title: str = "Glyphscope"
) -> None:
    """Ask a question with these answers, and with Cancel unless one of them rejects.

    The default is the first answer that accepts, or Cancel. `name` is the dialog's object name.
    """
    box = QMessageBox(parent, text=words, informativeText=more, textFormat=Qt.TextFormat.PlainText)
    named(box, name, windowTitle=title)
    default = None
    for shown, role, do in answers:
        button = box.addButton(shown, role)
        button.clicked.connect(lambda _checked=False, do=do: do())
        if default is None and role == Role.AcceptRole:
            default = button
    if not any(role == Role.RejectRole for _, role, _ in answers):
        cancel = box.addButton(QMessageBox.StandardButton.Cancel)
        default = default or cancel
    if default is not None:
        box.setDefaultButton(default)
    show_whole_title(box)
    open_once(box)


def show_whole_title(box: QMessageBox) -> None:
    """Make the box wide enough for its title, which a window manager elides beside its buttons."""
    grid = box.layout()
    if isinstance(grid, QGridLayout):
        width = box.fontMetrics().horizontalAdvance(box.windowTitle()) + _TITLE_BUTTONS
        spacer = QSpacerItem(width, 0, QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Minimum)
        grid.addItem(spacer, grid.rowCount(), 0, 1, grid.columnCount())


def ask_for_file(
    parent: QWidget,
    title: str,
    then: Callable[[Path], object],
    filters: str = "",
    *,
    start: str = "",
    name: str = "",
) -> None:
    """Call `then` with an existing file if one is chosen. `start` is a file or folder, `name` the object name."""
    dialog = _file_dialog(parent, title, start, filters, name)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    dialog.fileSelected.connect(lambda path: then(Path(path)))
    open_once(dialog)


def ask_for_files(
    parent: QWidget, title: str, then: Callable[[list[Path]], object], filters: str = ""
) -> None:
    dialog = _file_dialog(parent, title, "", filters, "")
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    dialog.filesSelected.connect(lambda paths: then([Path(path) for path in paths]))
    open_once(dialog)


def ask_for_folder(parent: QWidget, title: str, then: Callable[[Path], object], start: str = "") -> None:
    dialog = _file_dialog(parent, title, start, "", "")
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    dialog.fileSelected.connect(lambda path: then(Path(path)))
    open_once(dialog)


def ask_where_to_save(
    parent: QWidget,
    title: str,
    then: Callable[[Path], object],
    filters: str = "",
    *,
    start: str,
    suffix: str = "",
    name: str = "",
) -> None:
    """A name without an extension gets the chosen filter's, or `suffix` if the filter has none."""
    dialog = _file_dialog(parent, title, start, filters, name)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(suffix)

    def follow(chosen: str) -> None:
        ending = _ENDING.search(chosen)
        dialog.setDefaultSuffix(ending[1] if ending else suffix)

    dialog.filterSelected.connect(follow)
    dialog.fileSelected.connect(lambda path: then(Path(path)))
    open_once(dialog)


def _file_dialog(parent: QWidget, title: str, start: str, filters: str, name: str) -> QFileDialog:
    return named(QFileDialog(parent, title, start, filters), name)
