"""A recorded run's settings as the project's, and the edit that applies them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtGui import QUndoCommand

from glyphscope.events import RunRequest, under_constraint
from glyphscope.sessions import GrammarWork, Project
from glyphscope_gui.shared.language import tr


def with_settings_of(project: Project, request: RunRequest) -> Project:
    """The project with all settings of a record's run.

    The model stays, as a record from elsewhere may name a missing file, or an address that the user did not choose. The
    user's approval rules also stay. Settings of a single run are omitted: the branch point, the prefix, and relaxed
    constraints.
    """
    own = project.request
    settings = msgspec.structs.replace(
        request,
        model=own.model,
        approvals=own.approvals,
        native="auto" if request.native else "",
        form={},
        grammar=None,
        written=(),
        branch_of=None,
        relaxed=(),
    )
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
