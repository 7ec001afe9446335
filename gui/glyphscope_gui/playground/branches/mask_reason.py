"""Why an alternative is masked, in words: the constraint, the grammar's expectation, the constraint to relax."""

from __future__ import annotations

from dataclasses import dataclass

from glyphscope.events import Relaxed, RunRequest
from glyphscope.explain.constraint_attribution import Attribution
from glyphscope.registry import ToolRegistry
from glyphscope.registry.pointer import follow
from glyphscope.text.shorten import json_excerpt
from glyphscope_gui.playground.branches.words import constraint_words
from glyphscope_gui.shared.language import tr

_MAX_VALUE = 60
LOOKING = tr("Looking for the schema constraint that blocks this token…")
NO_CONSTRAINT = tr("No single schema constraint blocks this token; only the whole constraint can be dropped.")
SPECIAL = tr("A special token of the model, which cannot be part of a call.")
OWN_GRAMMAR = tr("This run uses a custom grammar; only the whole constraint can be dropped.")


@dataclass(frozen=True)
class MaskReason:
    """`why` has the reasons, one per line; `relax` is the constraint to relax to allow the alternative, and `words` its
    name, such as `minimum of max_results`.
    """

    why: tuple[str, ...] = ()
    relax: Relaxed | None = None
    words: str = ""


def mask_reason(
    request: RunRequest,
    registry: ToolRegistry | None,
    message: str,
    said: str,
    attribution: Attribution | None,
    *,
    known: bool,
    special: bool = False,
) -> MaskReason:
    """The reasons why an alternative is masked.

    `message` is the schema's reason and `said` the grammar's, if any. `known`: the search for the blocking constraint
    is over, and `attribution` is its result. `special`: the alternative is a special token.
    """
    words = [SPECIAL] if special else []
    words += [message] if message else []
    if attribution is not None:
        words.append(_place(attribution, registry))
    if said:
        words.append(tr("The grammar: {reason}", reason=said))
    if request.grammar is not None:
        words.append(OWN_GRAMMAR)
    elif not known:
        words.append(LOOKING)
    elif attribution is None:
        words.append(NO_CONSTRAINT)
    else:
        relax = Relaxed(attribution.tool, attribution.pointer)
        return MaskReason(tuple(words), relax, constraint_words(attribution.pointer, attribution.tool))
    return MaskReason(tuple(words))


def _place(attribution: Attribution, registry: ToolRegistry | None) -> str:
    """`search, /properties/max_results/minimum: 1`."""
    tool = registry.get(attribution.tool) if registry is not None else None
    found = follow(tool.parameters, attribution.pointer) if tool else None
    if found is None:
        return tr(
            "Blocked by {keyword}: {tool}, {pointer}",
            keyword=attribution.keyword,
            tool=attribution.tool,
            pointer=attribution.pointer,
        )
    return tr(
        "Blocked by {keyword}: {tool}, {pointer} is {value}",
        keyword=attribution.keyword,
        tool=attribution.tool,
        pointer=attribution.pointer,
        value=json_excerpt(found[1], _MAX_VALUE),
    )
