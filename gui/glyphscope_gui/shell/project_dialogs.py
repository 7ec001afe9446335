"""The questions about projects: where to save, about another window's changes, before closing, after a crash.

Nothing here blocks: every dialog is opened, and its answer continues the action.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from glyphscope.base.errors import StorageError
from glyphscope.store.journal import Leftover
from glyphscope_gui.project.project_controller import ProjectController
from glyphscope_gui.shared.dialogs import Role, ask, ask_for_file, ask_where_to_save
from glyphscope_gui.shared.errors import show_error
from glyphscope_gui.shared.language import tr
from glyphscope_gui.tools.actions import show_unused

SUFFIX = "glyphscope"
_FILTER = tr("Glyphscope projects (*.glyphscope);;All files (*)")
_OPEN = tr("Projects and request bodies (*.glyphscope *.json);;All files (*)")


class ProjectDialogs(QObject):
    """Asks for a ProjectController, on top of `window`."""

    def __init__(self, controller: ProjectController, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._window = window
        controller.conflicted.connect(self._ask_conflict)
        controller.failed.connect(lambda error: show_error(window, error))
        controller.unusedFound.connect(
            lambda found: show_unused(window, found, tr("The request is open as a project"), kept=True)
        )

    def open(self) -> None:
        """Choose a project to open; unsaved edits are asked about first."""
        choose = partial(ask_for_file, self._window, tr("Open a project"), self._controller.open, _OPEN)
        self.before_leaving(choose)

    def open_path(self, path: Path) -> None:
        """Open this project, such as one from the recent list or a drop."""
        self.before_leaving(lambda: self._controller.open(path))

    def save(self) -> None:
        """Save to the project's file, or ask where to."""
        if self._controller.path is None:
            self.save_as()
        else:
            self._controller.save()

    def save_as(self, then: Callable[[], None] | None = None) -> None:
        """Ask for a file and save there; `then` is called on success."""

        def save(path: Path) -> None:
            if self._controller.save(path) and then:
                then()

        start = str(self._controller.path or tr("Untitled"))
        ask_where_to_save(
            self._window,
            tr("Save the project"),
            save,
            _FILTER,
            start=start,
            suffix=SUFFIX,
            name="saveProjectDialog",
        )

    def before_leaving(self, then: Callable[[], None]) -> None:
        """Call `then` once the unsaved edits are saved or discarded; never after Cancel."""
        if not self._controller.is_dirty:
            then()
            return

        def save() -> None:
            if self._controller.path is None:
                self.save_as(then)
            elif self._controller.save():
                then()

        ask(
            self._window,
            "unsavedQuestion",
            tr("Save the changes to {name}?", name=self._controller.name),
            tr("Unsaved changes will be lost."),
            (tr("Save"), Role.AcceptRole, save),
            (tr("Don’t save"), Role.DestructiveRole, then),
        )

    def offer_leftovers(self) -> None:
        """Offer the newest unsaved edits of a program that crashed; older ones are offered at the next start."""
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
        ask(
            self._window,
            "leftoverQuestion",
            tr("Restore unsaved changes?"),
            text,
            (tr("Restore"), Role.AcceptRole, lambda: self._controller.restore(leftover)),
            (tr("Discard"), Role.DestructiveRole, lambda: self._controller.discard(leftover)),
            (tr("Later"), Role.RejectRole, lambda: None),
        )

    def _ask_conflict(self, error: StorageError) -> None:
        ask(
            self._window,
            "conflictQuestion",
            error.message,
            tr(
                "{file}\nThe file changed on disk. Nothing was written. Which version do you want to keep?",
                file=error.where,
            ),
            (tr("Save as…"), Role.AcceptRole, self.save_as),
            (tr("Reload from disk"), Role.DestructiveRole, self._controller.reload),
            (
                tr("Overwrite with mine"),
                Role.DestructiveRole,
                lambda: self._controller.save(overwrite=True),
            ),
        )
