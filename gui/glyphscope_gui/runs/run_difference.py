"""The settings of a shown run that differ from those of the next one, in a few words."""

from __future__ import annotations

from collections.abc import Iterator

from glyphscope.events import ModelInfo, RunRequest, RunStarted
from glyphscope.models.interface import same_model
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.model_names import opened_name
from glyphscope_gui.shared.run_choices import WORDS

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
    {"model", "prompt", "approvals", "native", "notation", "form", "written", "branch_of"}
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
        yield WORDS["native" if request.native else request.notation]
    if request.native:  # its shape follows from the form
        changed.discard("shape")
    for name in sorted(changed.intersection(_NAMED), key=_NAMED.index):
        yield WORDS[getattr(request, name)]
    changed.difference_update(_NAMED)
    for names, words in _OTHERS:
        if not changed.isdisjoint(names):
            changed.difference_update(names)
            yield words
    if changed:
        yield tr("other options")
