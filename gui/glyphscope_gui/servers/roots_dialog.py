"""The roots of one server: the folders that it gets when it lists them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QListWidget, QPushButton, QWidget

from glyphscope.tools.mcp.config import MOST_ROOTS
from glyphscope.visible import visible
from glyphscope_gui.shared.dialogs import ask_for_folder
from glyphscope_gui.shared.labels import named, push_button, show_words, words_label
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.layouts import STRETCH, hbox, vbox
from glyphscope_gui.shared.plain_dialog import PlainDialog, Standard


class RootsDialog(PlainDialog):
    """`chosen` carries the folders as a tuple of absolute paths."""

    chosen = Signal(object)

    def __init__(self, server: str, roots: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__("rootsDialog", tr("Roots of {server}", server=server), parent)
        self._roots = list(roots)
        note = words_label(
            tr(
                "The server receives the paths of these folders when it lists the roots, and is notified of changes. "
                "They do not restrict what its process can read."
            ),
            parent=self,
        )
        self.list = named(QListWidget(self), "rootsList", tr("Roots"))
        self.problem = words_label(role="problem", parent=self)
        self.add_button = QPushButton(tr("Add a folder…"), self)
        self.remove_button = push_button(tr("Remove"), self, name="removeRootButton", clicked=self._remove)
        buttons = self.button_box(Standard.Ok | Standard.Cancel)
        row = hbox(self.add_button, self.remove_button, STRETCH)
        parts = (note, (self.list, 1), row, self.problem, buttons)
        vbox(*parts, parent=self, margins=(18, 16, 18, 14), spacing=10)
        self.add_button.clicked.connect(self._ask)
        self.list.currentRowChanged.connect(lambda row: self.remove_button.setEnabled(row >= 0))
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(520, 340)

    def add(self, folder: str) -> None:
        """Add a folder, once."""
        path = Path(folder)
        if not path.is_dir():
            self._show_problem(tr("Not a folder: {path}", path=folder))
        elif len(self._roots) >= MOST_ROOTS:
            self._show_problem(tr("A server has at most {count} roots.", count=MOST_ROOTS))
        elif str(path.absolute()) not in self._roots:
            self._roots.append(str(path.absolute()))
            self._show()

    def accept(self) -> None:
        self.chosen.emit(tuple(self._roots))
        super().accept()

    # -- inside ------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        self.list.clear()
        self.list.addItems([visible(root, spaces=True) for root in self._roots])
        self.remove_button.setEnabled(False)
        self._show_problem("")

    def _show_problem(self, words: str) -> None:
        show_words(self.problem, words)

    def _remove(self) -> None:
        row = self.list.currentRow()
        if row >= 0:
            del self._roots[row]
            self._show()

    def _ask(self) -> None:
        ask_for_folder(self, tr("Add a root"), lambda path: self.add(str(path)))
