"""The project: everything that decides the next run, as one value; its file and its unsaved changes.

The registry and the prompt have separate documents; the other fields of the request (`options`) are here. `request`,
the snapshot for a run, combines the three.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QUndoCommand

from glyphscope.base.errors import GlyphscopeError, StorageError
from glyphscope.events import RunRequest, under_constraint
from glyphscope.models.opening import EMBEDDED, model_name_of
from glyphscope.registry import default_registry
from glyphscope.runs import PreparedRequest, prepare
from glyphscope.runs.again import again
from glyphscope.store import (
    ChangedOnDisk,
    GrammarWork,
    Journal,
    Project,
    Settings,
    StoredProject,
    load_project,
    save_project,
)
from glyphscope.store.journal import Leftover
from glyphscope.tools.approval import without_permissions
from glyphscope_gui.project.grammar_document import GrammarDocument
from glyphscope_gui.project.prompt_document import PromptContext, PromptDocument, PromptState
from glyphscope_gui.project.registry_document import RegistryDocument, RegistryState, draft_state
from glyphscope_gui.project.settings_store import SettingsStore
from glyphscope_gui.shared.background import Background, end_work
from glyphscope_gui.shared.language import tr

FIRST_PROMPT = "Search for AI news, 10 results"
JOURNAL_DELAY_MS = 1000
"""Delay after the last edit before the journal is written: a crash loses at most the edits of this time."""


def first_project(settings: Settings) -> Project:
    """Seven tools, a prompt for which one of them is right, and the options from the user's settings."""
    registry = default_registry().to_document()
    return Project(request=RunRequest(prompt=FIRST_PROMPT, registry=registry, **settings.first_options()))


class ProjectController(QObject):
    """Does not ask the user: `conflicted` and `failed` report problems that need an answer.

    `optionsChanged` carries the RunRequest of the options, `stateChanged` nothing (title or dirty marker changed),
    `conflicted` the ChangedOnDisk of a save, `failed` any other GlyphscopeError, `permissionsDropped` how many rules of
    an opened file would have allowed calls unasked, `unusedFound` the unused parts of an opened request of another
    program, `modelChosen` the name of a model that is opened now.
    """

    optionsChanged = Signal(object)
    stateChanged = Signal()
    conflicted = Signal(object)
    failed = Signal(object)
    permissionsDropped = Signal(int)
    unusedFound = Signal(object)
    modelChosen = Signal(str)

    def __init__(
        self,
        tools: RegistryDocument,
        prompt: PromptDocument,
        settings: SettingsStore,
        journal: Journal,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.grammar = GrammarDocument(self)
        self.tools = tools
        self.prompt = prompt
        self._settings = settings
        self._journal = journal
        self._keeps_unsaved = False
        """Whether unsaved edits are kept for the next start, as the user cannot be asked about them."""
        self._options = RunRequest(prompt="", registry={})
        self._notes = ""
        self.path: Path | None = None
        self._digest = ""
        """The digest of the file when it was last read or written."""
        self._saved = self._parts()
        self._journal_failing = False
        self.background = Background(self)
        self._timer = QTimer(self, singleShot=True, interval=JOURNAL_DELAY_MS)
        self._timer.timeout.connect(self._write_journal)
        # Emitted after the edit: during an undo, the stack does not know yet whether it is clean.
        # The stack's cleanChanged is not suitable, as its destructor also emits it.
        self._state_timer = QTimer(self, singleShot=True, interval=0)
        self._state_timer.timeout.connect(self.stateChanged)
        tools.changed.connect(self._registry_changed)
        tools.textChanged.connect(self._edited)
        prompt.changed.connect(self._edited)
        self.grammar.changed.connect(self._edited)

    # -- the request -------------------------------------------------------------------------------------------

    @property
    def options(self) -> RunRequest:
        """Notation, shape, constraint, sampling and the rest; prompt and registry in it are empty."""
        return self._options

    @property
    def request(self) -> RunRequest:
        """The present snapshot for a run."""
        registry = self.tools.registry.to_document()
        return msgspec.structs.replace(self._options, registry=registry, **self.prompt.request_fields())

    @property
    def request_without_tools(self) -> RunRequest:
        """The same with its model, without the tools, whose document takes a while."""
        return msgspec.structs.replace(self._options, model=self.model, **self.prompt.request_fields())

    @property
    def model(self) -> str:
        """The model of the next run: the project's, or else the last chosen one."""
        return self._options.model or self._settings.value.model or EMBEDDED

    def choose_model(self, name: str) -> None:
        """Use that model from now on, here and in new projects. The current one leaves the project unchanged."""
        name = model_name_of(name)
        other = name != self.model
        self._settings.replace(
            msgspec.structs.replace(self._settings.value.with_recent_model(name), model=name)
        )
        if other:
            self.set_options(model=name)
        self.modelChosen.emit(name)

    def next_request(self) -> PreparedRequest:
        """The request with its model, under the tools' grammar."""
        return PreparedRequest(msgspec.structs.replace(self.request, model=self.model), self.tools.registry)

    def next_run(self) -> PreparedRequest:
        """The request that Run sends, with the custom grammar for calls if it is in use."""
        prepared, work = self.next_request(), self.grammar.work
        if not work.use or prepared.request.constraint == "off" or not prepared.request.answer.is_call:
            return prepared
        return prepared.changed(grammar=work.text)

    def set_options(self, **changes: Any) -> None:
        """Change fields of the request other than prompt and registry, by name.

        Another constraint sets its usual order of arguments, unless the order is also given or was chosen.
        """
        options = msgspec.structs.replace(self._options, **changes)
        if "order" not in changes:
            order = under_constraint(self._options, options.constraint).order
            options = msgspec.structs.replace(options, order=order)
        if options == self._options:
            return
        self._options = options
        self._update_prompt()
        self.optionsChanged.emit(options)
        self._edited()

    # -- the settings of a record --------------------------------------------------------------------------------

    def has_settings(self, request: RunRequest) -> bool:
        """Whether the next run would have the settings of that recorded run, which may be judged otherwise. Raises
        RegistryError.
        """
        own = self.project()
        recorded = with_settings_of(own, msgspec.structs.replace(request, expected=own.request.expected))
        used = None if self.next_run().request.grammar is None else self.grammar.work.text
        registry = prepare(recorded.request).registry.to_document()
        return used == request.grammar and own.request == msgspec.structs.replace(
            recorded.request, registry=registry
        )

    def use_settings(self, request: RunRequest) -> None:
        """Copy the settings of a recorded run, as one step of the tools' undo stack. Raises RegistryError."""
        project = with_settings_of(self.project(), request)
        prepare(project.request)
        self.tools.undo_stack.push(UseSettings(project, self.project, self._take_over))

    def _take_over(self, project: Project) -> None:
        registry = prepare(project.request).registry
        if registry == self.tools.registry:
            registry = self.tools.registry
        self._show_parts(project, draft_state(registry, project.drafts), at_once=False)

    # -- the file ----------------------------------------------------------------------------------------------

    @property
    def is_dirty(self) -> bool:
        """Whether there are changes that are not in the file."""
        return not self.tools.undo_stack.isClean() or self._saved != self._parts()

    @property
    def name(self) -> str:
        return self.path.stem if self.path else tr("Untitled")

    def project(self) -> Project:
        """The present project."""
        return Project(
            request=self.request,
            notes=self._notes,
            drafts=dict(self.tools.state.texts),
            grammar=self.grammar.saved_work,
        )

    def new(self, project: Project) -> None:
        """Start from `project`, without a file."""
        registry = prepare(project.request).registry
        self._show(project, None, "", draft_state(registry, project.drafts))

    def open(self, path: Path) -> None:
        """Read a project in the background and show it; the open project stays if that fails."""
        self.background.start(
            "open", partial(_read, path), lambda found: self._opened(path, *found), self.failed.emit
        )

    def open_last(self, then: Callable[[], None]) -> None:
        """Open the project that was open when the program ended, unless edits of a crash are to be offered; then, also
        after a reported failure, call `then`.
        """
        last = self._settings.value.last_project
        if not last or self._journal.leftovers():
            then()
            return
        path = Path(last)

        def failed(error: BaseException) -> None:
            then()
            self.failed.emit(error)

        def opened(found: tuple[StoredProject, RegistryState]) -> None:
            self._opened(path, *found)
            then()

        self.background.start("open", partial(_read, path), opened, failed)

    def save(self, path: Path | None = None, *, overwrite: bool = False) -> bool:
        """Write to `path`, or to the project's file. Returns False after a reported failure, with nothing changed.

        A project that another window saved in between is a conflict, unless `overwrite`.
        """
        target = path or self.path
        if target is None:
            return False
        expected = None if overwrite or target != self.path else self._digest or None
        try:
            self._digest = save_project(target, self.project(), expected)
        except ChangedOnDisk as error:
            self.conflicted.emit(error)
            return False
        except StorageError as error:
            self.failed.emit(error)
            return False
        self.path = target
        self._remember(target)
        self._now_saved()
        return True

    def reload(self) -> None:
        """Discard the present state and show the file on disk."""
        if self.path is not None:
            self.open(self.path)

    def leftovers(self) -> list[Leftover]:
        """Unsaved edits of a program that crashed, newest first."""
        return self._journal.leftovers()

    def restore(self, leftover: Leftover) -> None:
        """Restore unsaved edits; they are journalled again before the old journal is deleted."""
        unsaved = leftover.unsaved
        project, path = unsaved.project, Path(unsaved.path) if unsaved.path else None
        try:
            registry = prepare(project.request).registry
        except GlyphscopeError as error:
            self.failed.emit(error)
            return
        self._show(project, path, unsaved.digest, draft_state(registry, project.drafts))
        self.tools.undo_stack.resetClean()
        try:
            self._journal.write(unsaved.project, self.path, self._digest)
        except StorageError as error:
            self.failed.emit(error)
        else:
            self._journal.discard(leftover)
        self.stateChanged.emit()

    def discard(self, leftover: Leftover) -> None:
        self._journal.discard(leftover)

    def keep_unsaved(self) -> None:
        """Keep unsaved edits for the next start, as the program is ended from outside and cannot ask the user."""
        self._keeps_unsaved = True

    def close(self) -> None:
        """Remove the journal: the window closes, and the user has decided about unsaved edits."""
        end_work(self, self.prompt)
        if self._keeps_unsaved and self.is_dirty:
            with suppress(StorageError):  # the earlier journal still exists
                self._journal.write(self.project(), self.path, self._digest)
            self._journal.release()
        else:
            self._journal.clear()

    def _opened(self, path: Path, stored: StoredProject, tools: RegistryState) -> None:
        """Show a project from a file without its permissions, as anyone may have written it."""
        request = stored.project.request
        kept = without_permissions(request.approvals)
        project = msgspec.structs.replace(
            stored.project, request=msgspec.structs.replace(request, approvals=kept)
        )
        if stored.opened is None:
            self._show(project, path, stored.digest, tools)
            self._remember(path)
        else:  # it is saved as a project, under another name
            options = self._settings.value.first_options()
            settings = {name: value for name, value in options.items() if name in _OWN_SETTINGS}
            project = msgspec.structs.replace(
                project, request=msgspec.structs.replace(project.request, **settings)
            )
            self._show(project, None, "", tools)
            self.unusedFound.emit(stored.opened.unused)
        if dropped := len(request.approvals) - len(kept):
            self.permissionsDropped.emit(dropped)

    def _show(self, project: Project, path: Path | None, digest: str, tools: RegistryState) -> None:
        self.path, self._digest, self._notes = path, digest, project.notes
        self._show_parts(project, tools, at_once=True)
        self._now_saved()

    def _show_parts(self, project: Project, tools: RegistryState, *, at_once: bool) -> None:
        """Show everything that decides a run. `at_once`: there is nothing to undo, as after opening a file."""
        request = project.request
        self._options = msgspec.structs.replace(
            request,
            prompt="",
            registry={},
            preset="default",
            system=None,
            system_prompt="",
            history=(),
            expected=None,
        )
        if at_once:
            self.tools.reset(tools)
        else:
            self.tools.show_state(tools)
        self.prompt.set_state(
            PromptState(
                request.preset,
                request.system,
                request.prompt,
                request.system_prompt,
                request.history,
                request.expected,
            )
        )
        self.grammar.restore(project.grammar)
        self._update_prompt()
        self.optionsChanged.emit(self._options)
        self._edited()

    def _parts(self) -> tuple[object, ...]:
        """The parts to compare with the saved ones, except the registry, whose document compares itself."""
        return self.prompt.state, self._options, self.grammar.work

    def _now_saved(self) -> None:
        self._saved = self._parts()
        self.grammar.mark_base()
        self.tools.undo_stack.setClean()
        self._timer.stop()
        self.background.wait("journal")
        self._journal.clear()
        self.stateChanged.emit()

    def _remember(self, path: Path) -> None:
        self._settings.replace(self._settings.value.with_recent_project(str(path)))

    def _registry_changed(self, _registry: object) -> None:
        self._update_prompt()
        self._edited()

    def _update_prompt(self) -> None:
        """Update the variables of the prompt's template after a change of tools or notation."""
        options = self._options
        self.prompt.set_context(
            PromptContext(
                self.tools.registry, options.notation, options.shape, options.answer, options.examples
            )
        )

    def _edited(self, _change: object = None) -> None:
        self._timer.start()
        self._state_timer.start()

    def _write_journal(self) -> None:
        if not self.is_dirty:
            self._journal.clear()
            return
        project, path, digest = self.project(), self.path, self._digest
        self.background.start(
            "journal",
            lambda: self._journal.write(project, path, digest),
            self._journalled,
            self._journal_failed,
        )

    def _journalled(self, _nothing: object) -> None:
        self._journal_failing = False
        if not self.is_dirty:
            self._journal.clear()

    def _journal_failed(self, error: BaseException) -> None:
        """Report the error only once, as a full disk would otherwise be reported every second."""
        if not self._journal_failing:
            self.failed.emit(error)
        self._journal_failing = True


_OWN_SETTINGS = ("notation", "native", "shape", "constraint", "order", "evidence", "alternatives")
"""The user's settings that a request of another program has none of."""


def _read(path: Path) -> tuple[StoredProject, RegistryState]:
    stored = load_project(path)
    return stored, draft_state(stored.registry, stored.project.drafts)


def with_settings_of(project: Project, request: RunRequest) -> Project:
    """The project with all settings of a record's run.

    The model stays, as a record from elsewhere may name a missing file, or an address that the user did not choose. The
    user's approval rules also stay. Settings of a single run are omitted: the branch point, the prefix, and relaxed
    constraints.
    """
    own = project.request
    settings = msgspec.structs.replace(again(request), model=own.model, approvals=own.approvals)
    if request.native:  # its notation and shape follow from the form, not from a choice
        settings = msgspec.structs.replace(settings, notation=own.notation, shape=own.shape)
    if request.constraint == "endpoint":
        settings = under_constraint(settings, "mask")
    return Project(request=settings, notes=project.notes, grammar=_grammar(project.grammar, request.grammar))


def _grammar(work: GrammarWork | None, text: str | None) -> GrammarWork | None:
    """The work on a grammar, with the run's custom text in use, or none."""
    if text is not None:
        kept = work or GrammarWork()
        path = kept.path if kept.text == text else ""
        return msgspec.structs.replace(kept, source="text", text=text, path=path, use=True)
    return None if work is None else msgspec.structs.replace(work, use=False)


class UseSettings(QUndoCommand):
    """Changes one project's settings to another's. Edits in between are kept for undo."""

    def __init__(self, after: Project, now: Callable[[], Project], show: Callable[[Project], None]) -> None:
        super().__init__(tr("use the settings of the record"))
        self._other = after
        self._now = now
        self._show = show

    def redo(self) -> None:
        other, self._other = self._other, self._now()
        self._show(other)

    undo = redo
