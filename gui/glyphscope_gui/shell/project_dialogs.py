"""The questions about projects: where to save, over another window's work, before closing, after a crash.

Nothing here blocks: every dialog is opened, and its answer continues the action.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QMessageBox, QPushButton, QWidget

from glyphscope.errors import StorageError
from glyphscope.sessions.journal import Leftover
from glyphscope_gui.project.project_controller import ProjectController
from glyphscope_gui.shared.dialogs import ask_for_file, open_once
from glyphscope_gui.shared.errors import show_error
from glyphscope_gui.shared.labels import named
from glyphscope_gui.shared.language import tr

SUFFIX = "glyphscope"
_FILTER = tr("Glyphscope projects (*.glyphscope);;All files (*)")
_Role = QMessageBox.ButtonRole


class ProjectDialogs(QObject):
    """Asks for a ProjectController, on top of `window`."""

    def __init__(self, controller: ProjectController, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._window = window
        controller.conflicted.connect(self._ask_conflict)
        controller.failed.connect(self._show_error)

    def open(self) -> None:
        """Choose a project to open; unsaved edits are asked about first."""
        self.before_leaving(self._choose_file)

    def open_path(self, path: Path) -> None:
        """Open this one, as from the recent list or a drop."""
        self.before_leaving(lambda: self._controller.open(path))

    def save(self) -> None:
        """Save to the project's file, or ask where to."""
        if self._controller.path is None:
            self.save_as()
        else:
            self._controller.save()

    def save_as(self, then: Callable[[], None] | None = None) -> None:
        """Ask for a file and save there; `then` follows when that worked."""
        dialog = QFileDialog(
            self._window, tr("Save the project"), str(self._controller.path or tr("Untitled")), _FILTER
        )
        dialog.setObjectName("saveProjectDialog")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(SUFFIX)

        def save(path: str) -> None:
            if self._controller.save(Path(path)) and then:
                then()

        dialog.fileSelected.connect(save)
        open_once(dialog)

    def before_leaving(self, then: Callable[[], None]) -> None:
        """Call `then` once the unsaved edits are saved or discarded; on Cancel, never."""
        if not self._controller.is_dirty:
            then()
            return
        box = self._box(
            "unsavedQuestion",
            tr("Save the changes to {name}?", name=self._controller.name),
            tr("Unsaved changes will be lost."),
        )
        save = box.addButton(tr("Save"), _Role.AcceptRole)
        drop = box.addButton(tr("Don’t save"), _Role.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)

        def save_then_go() -> None:
            if self._controller.path is None:
                self.save_as(then)
            elif self._controller.save():
                then()

        self._open(box, {save: save_then_go, drop: then}, default=save)

    def offer_leftovers(self) -> None:
        """Offer the newest unsaved edits of a program that ended badly; the others wait for the next start."""
        leftovers = self._controller.leftovers()
        if leftovers:
            self._offer(leftovers[0])

    def _offer(self, leftover: Leftover) -> None:
        unsaved = leftover.unsaved
        time = unsaved.time[:16].replace("T", " ")
        text = (
            tr(
                "Glyphscope ended before your changes to {name} were saved ({time}).",
                name=Path(unsaved.path).stem,
                time=time,
            )
            if unsaved.path
            else tr(
                "Glyphscope ended before your changes to an untitled project were saved ({time}).", time=time
            )
        )
        if unsaved.changed_since:
            text += tr(" The project file has changed since; Glyphscope asks before overwriting it.")
        box = self._box("leftoverQuestion", tr("Restore unsaved changes?"), text)
        take = box.addButton(tr("Restore"), _Role.AcceptRole)
        drop = box.addButton(tr("Discard"), _Role.DestructiveRole)
        box.addButton(tr("Later"), _Role.RejectRole)
        self._open(
            box,
            {
                take: lambda: self._controller.restore(leftover),
                drop: lambda: self._controller.discard(leftover),
            },
            default=take,
        )

    def _ask_conflict(self, error: StorageError) -> None:
        box = self._box(
            "conflictQuestion",
            error.message,
            tr(
                "{file}\nThe file changed on disk. Nothing was written. Which version do you want to keep?",
                file=error.where,
            ),
        )
        save_as = box.addButton(tr("Save as…"), _Role.AcceptRole)
        reload_ = box.addButton(tr("Reload from disk"), _Role.DestructiveRole)
        overwrite = box.addButton(tr("Overwrite with mine"), _Role.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        self._open(
            box,
            {
                save_as: self.save_as,
                reload_: self._controller.reload,
                overwrite: lambda: self._controller.save(overwrite=True),
            },
            default=save_as,
        )

    def _show_error(self, error: BaseException) -> None:
        show_error(self._window, error)

    def _choose_file(self) -> None:
        ask_for_file(self._window, tr("Open a project"), self._controller.open, _FILTER)

    def _box(self, name: str, text: str, more: str) -> QMessageBox:
        box = named(QMessageBox(self._window, text=text, informativeText=more), name)
        box.setWindowTitle("Glyphscope")
        return box

    def _open(
        self, box: QMessageBox, answers: dict[QPushButton, Callable[[], object]], default: QPushButton
    ) -> None:
        for button, answer in answers.items():
            button.clicked.connect(lambda _checked=False, go=answer: go())
        box.setDefaultButton(default)
        open_once(box)
