"""The cost of a relaxation in sentences, for the terminal and the window; no sentence where nothing is known."""

from __future__ import annotations

from collections.abc import Iterator

from glyphscope.explain.relaxation_cost import ArgumentChange, Freedom, RelaxationCost, Spent
from glyphscope.registry.pointer import readable
from glyphscope.text.figures import percent, pluralize
from glyphscope.text.shorten import json_excerpt

_LONGEST = 60
_CHANGES = 8


def cost_words(cost: RelaxationCost) -> list[str]:
    """The relaxed constraint, the whole registry's verdict on the new call, the allowed tokens, the arguments."""
    return [
        *_relaxed(cost),
        *_verdict(cost),
        *_freedom(cost),
        _tokens(cost.run, cost.branch),
        *_arguments(cost),
    ]


def _relaxed(cost: RelaxationCost) -> Iterator[str]:
    if cost.relaxed:
        yield f"Relaxed: {', '.join(f'{one.tool}:{one.pointer}' for one in cost.relaxed)}."
    else:
        yield "This branch relaxes nothing that its run had not already relaxed."


def _verdict(cost: RelaxationCost) -> Iterator[str]:
    if cost.valid:
        yield "The whole registry accepts the new call anyway."
    elif cost.valid is None:
        yield "The new text has no violations of the whole registry so far, but it is incomplete."
    for violation in cost.violations:
        yield (
            f"With the whole registry: {violation.code} at character {violation.char}: {violation.message}"
        )


def _freedom(cost: RelaxationCost) -> Iterator[str]:
    before, after = cost.before, cost.after
    if before == Freedom() and after == Freedom():
        yield f"At token {cost.token}, the allowed tokens were not recorded."
        return
    yield (
        f"At token {cost.token} the constraint allowed {_count(before.allowed)} before and "
        f"{_count(after.allowed)} after, with {_share(before.feasible)} and "
        f"{_share(after.feasible)} of the raw probability."
    )


def _tokens(run: Spent, branch: Spent) -> str:
    return (
        f"The branch decoded {pluralize(branch.decoded, 'token')} ({branch.forced} forced) "
        f"after {branch.written} kept ones; the run {run.decoded} ({run.forced} forced)."
    )


def _arguments(cost: RelaxationCost) -> Iterator[str]:
    before, after = cost.tools
    if cost.changes is None:
        yield "The arguments cannot be compared: one of the two has no complete call."
        return
    if before != after:
        yield f"The call is one of {after} instead of {before}."
    yield from (_change(change) for change in cost.changes[:_CHANGES])
    if len(cost.changes) > _CHANGES:
        yield f"And {len(cost.changes) - _CHANGES} more arguments differ."
    if not cost.changes and before == after:
        yield "The arguments are the same."


def _change(change: ArgumentChange) -> str:
    name = readable(change.pointer) or "arguments"
    if not change.has:
        return f"{name} was removed; it was {json_excerpt(change.before, _LONGEST)}."
    if not change.was:
        return f"{name} was added: {json_excerpt(change.after, _LONGEST)}."
    return (
        f"{name} changed from {json_excerpt(change.before, _LONGEST)} to "
        f"{json_excerpt(change.after, _LONGEST)}."
    )


def _count(allowed: int | None) -> str:
    return "an unknown number of tokens" if allowed is None else pluralize(allowed, "token")


def _share(feasible: float | None) -> str:
    return "an unknown share" if feasible is None else percent(feasible)
