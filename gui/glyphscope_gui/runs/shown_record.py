"""A shown run, such as one from a file or the history, whose settings differ from the project's, and those settings in
a few words.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QObject, Signal

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import ModelInfo, RunRequest, RunStarted
from glyphscope.models.interface import same_model
from glyphscope_gui.project.project_controller import ProjectController
from glyphscope_gui.runs.run_controller import RunController
from glyphscope_gui.runs.stage_choice import ShownRun
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_words import opened_name, value_words

_NAMED = ("shape", "constraint", "strategy", "order")
_OTHERS = (
    (("registry",), tr("other tools")),
    (("preset", "system", "system_prompt"), tr("another system prompt")),
    (("history",), tr("another conversation")),
    (("grammar",), tr("another grammar")),
    (("sampling",), tr("other sampling")),
    (("relaxed",), tr("a relaxed schema")),
)
"""Settings that are named as a whole, as their values are long."""
_NOT_COMPARED = frozenset(
    {"model", "prompt", "approvals", "native", "notation", "form", "written", "branch_of", "expected"}
)
"""Settings that are compared otherwise, are shown elsewhere, or are of a single run."""


def differing_settings(started: RunStarted, following: RunRequest, model: ModelInfo | None) -> list[str]:
    """The settings of the run that differ from those of the `following` request to the open `model`, if one is open."""
    return list(_differing(started, following, model))


def _differing(started: RunStarted, following: RunRequest, model: ModelInfo | None) -> Iterator[str]:
    request = started.request
    compared = set(request.__struct_fields__) - _NOT_COMPARED
    changed = {name for name in compared if getattr(request, name) != getattr(following, name)}
    if model is not None and not same_model(started.model, model):
        yield opened_name(started.model).name
    if (bool(request.native), request.notation) != (bool(following.native), following.notation):
        yield value_words("notation", "native" if request.native else request.notation)
    if request.native:  # its shape follows from the form
        changed.discard("shape")
    if request.constraint == "off":  # nothing enforces an order
        changed.discard("order")
    for name in sorted(changed.intersection(_NAMED), key=_NAMED.index):
        yield value_words(name, getattr(request, name))
    changed.difference_update(_NAMED)
    for names, words in _OTHERS:
        if not changed.isdisjoint(names):
            changed.difference_update(names)
            yield words
    if changed:
        yield tr("other options")


class ShownRecord(QObject):
    """`changed` carries the RunStarted of a record whose settings are shown in place of the project's, or None.

    A run of the project ends that. So does any change of the project, so that the edited settings are shown.
    """

    changed = Signal(object)

    def __init__(
        self, runs: RunController, project: ProjectController, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._project = project
        self.started: RunStarted | None = None
        self._using = False
        self._began: RunStarted | None = None
        """The beginning of the shown run."""
        runs.shown.connect(self._show_run)
        project.optionsChanged.connect(self.leave)
        project.tools.changed.connect(self.leave)
        project.prompt.changed.connect(self.leave)

    def leave(self, _change: object = None) -> None:
        """Show the settings of the project again; the run stays visible."""
        if not self._using:
            self._set(None)

    def use(self) -> None:
        """Copy its settings into the project, as one undo step. Raises RegistryError if its tools are invalid."""
        if self.started is not None:
            self._using = True  # the views change once, after the whole project has changed
            try:
                self._project.use_settings(self.started.request)
            finally:
                self._using = False
            self.leave()

    def _show_run(self, shown: ShownRun) -> None:
        started = shown.run.started
        if started is self._began:
            return
        self._began = started
        if started is None:  # another run, of which nothing is known yet
            return
        # a branch of a record uses that record's settings
        follows = self.started is not None and started.request.branch_of is not None
        self._set(started if (shown.kind == "replay" or follows) and self._differs(started) else None)

    def _differs(self, started: RunStarted) -> bool:
        try:
            return not self._project.has_settings(started.request)
        except GlyphscopeError:  # its tools cannot be used
            return True

    def _set(self, started: RunStarted | None) -> None:
        if started is not self.started:
            self.started = started
            self.changed.emit(started)
