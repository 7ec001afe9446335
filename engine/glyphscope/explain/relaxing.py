"""The cost of relaxing a constraint: the branch that continues without it, beside the constrained run.

Everything is read from both records; a missing figure is None, never a guess. `cost_words` puts it in sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.base.figures import percent, pluralize
from glyphscope.base.pointer import readable, to_pointer
from glyphscope.base.shorten import json_excerpt
from glyphscope.events import AnyEvent, Relaxed, RunRequest, Violation, violations_of
from glyphscope.notation.read import parse_value
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.runs.state import RunState, StageState, run_state
from glyphscope.runs.strategies.turns import answer_validator

_MAX_CHANGES = 200
"""Changed arguments that are reported."""
_SHOWN_CHANGES = 8
"""The maximum number of changed arguments that are described in words."""
_MAX_LENGTH = 60
"""Characters of a value in words."""


@dataclass(frozen=True)
class Freedom:
    """The allowed tokens at one step and their share of the model's raw probability; None: not recorded."""

    allowed: int | None = None
    feasible: float | None = None


@dataclass(frozen=True)
class RelaxingSpent:
    """Numbers of tokens: `decoded` by the model, of these `forced` without a choice, and `written` in the prefix, not
    among these.
    """

    decoded: int
    forced: int
    written: int = 0


@dataclass(frozen=True)
class ArgumentChange:
    """A differing argument, by JSON Pointer: `before` in the run's call, which has it if `was`; `after` in the branch's
    call, which has it if `has`.
    """

    pointer: str
    was: bool
    has: bool
    before: Any = None
    after: Any = None


@dataclass(frozen=True)
class RelaxationCost:
    """`valid` and `violations` are the verdict of the whole registry, without relaxing, on the branch's text.

    `valid` is None while that text is unfinished and has no violation. The branch begins at token `token`; `before` and
    `after` are the tokens that the run's and the branch's constraint allowed there. `tools` are the names of the tools
    that run and branch call. `changes` is None if one of the two is not complete. `has_values`: they have a schema.
    """

    relaxed: tuple[Relaxed, ...]
    token: int
    valid: bool | None
    violations: tuple[Violation, ...]
    before: Freedom
    after: Freedom
    run: RelaxingSpent
    branch: RelaxingSpent
    tools: tuple[str | None, str | None]
    changes: tuple[ArgumentChange, ...] | None
    has_values: bool = True


def relaxation_cost(parent_events: Iterable[AnyEvent], branch_events: Iterable[AnyEvent]) -> RelaxationCost:
    """The cost of the relaxed constraint. Raises PromptError if the second run is not a branch of the first."""
    parent, branch = run_state(parent_events), run_state(branch_events)
    if parent.started is None or branch.started is None:
        raise PromptError("A record lacks the beginning of its run.", hint="Give the whole record.")
    request = branch.started.request
    if request.branch_of is None or request.branch_of.run != parent.started.run:
        raise PromptError(
            f"The run {branch.started.run} is not a branch of the run {parent.started.run}.",
            hint="Give a run and a branch of it.",
        )
    token = request.branch_of.token
    registry = parse_document(request.registry)
    before = WholeVerdict(parent.started.request, registry, parent)
    after = WholeVerdict(request, registry, branch)
    return RelaxationCost(
        relaxed=request.relaxed[len(parent.started.request.relaxed) :],
        token=token,
        valid=after.valid,
        violations=after.violations,
        before=_freedom(parent.stages[0], token),
        after=_freedom(branch.stages[0], token),
        run=_spent(parent),
        branch=_spent(branch),
        tools=(before.tool, after.tool),
        changes=_changes(before, after),
        has_values=request.answer.has_schema,
    )


class WholeVerdict:
    """A run's answer, validated by the whole registry without relaxed constraints. `valid` is None while the text is
    unfinished and has no violation.
    """

    def __init__(self, request: RunRequest, registry: ToolRegistry, state: RunState) -> None:
        request = msgspec.structs.replace(request, relaxed=())
        validator = answer_validator(request, registry)
        stage = next((each for each in reversed(state.stages) if each.call is not None), state.stages[0])
        found = validator.feed(stage.text)
        if state.finished is not None and state.finished.reason not in ("aborted", "cancelled"):
            found += validator.finish()
        self.violations = tuple(violations_of(found))
        ended = state.finished is not None
        self.valid = False if self.violations else validator.valid if ended else None
        self.tool = validator.tool
        self.value: Any = validator.arguments
        if request.answer.kind == "schema" and state.answer is not None:
            self.value = parse_value(state.answer.text, request.notation)


def _freedom(stage: StageState, token: int) -> Freedom:
    """The allowed tokens at that step. In a record, 0 of them means that they were not counted."""
    if token >= len(stage.tokens):
        return Freedom()
    step = stage.tokens[token].step
    return Freedom(step.allowed or None, step.feasible)


def _spent(state: RunState) -> RelaxingSpent:
    steps = [token.step for stage in state.stages for token in stage.tokens]
    decoded = [step for step in steps if step.origin == "model"]
    return RelaxingSpent(len(decoded), sum(step.forced for step in decoded), len(steps) - len(decoded))


def _changes(before: WholeVerdict, after: WholeVerdict) -> tuple[ArgumentChange, ...] | None:
    if before.value is None or after.value is None:
        return None
    return tuple(islice(_differing(before.value, after.value), _MAX_CHANGES))


def _differing(before: Any, after: Any) -> Iterator[ArgumentChange]:
    """The changed leaves in the order of the first call, then those that only the second one has."""
    waiting = [ArgumentChange("", True, True, before, after)]
    while waiting:
        place = waiting.pop()
        one, other, both = place.before, place.after, place.was and place.has
        if both and isinstance(one, list) and isinstance(other, list):
            one, other = dict(enumerate(one)), dict(enumerate(other))
        if both and isinstance(one, dict) and isinstance(other, dict):
            keys: list[str | int] = list(dict.fromkeys((*one, *other)))
            for key in reversed(keys):
                pointer = place.pointer + to_pointer((key,))
                waiting.append(
                    ArgumentChange(pointer, key in one, key in other, one.get(key), other.get(key))
                )
        elif not both or not _same(one, other):
            yield place


def _same(one: Any, other: Any) -> bool:
    """Whether scalars are equal in JSON Schema: 1 equals 1.0, and neither equals true."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


# in words


def cost_words(cost: RelaxationCost) -> list[str]:
    """Sentences: the relaxed constraint, the whole registry's verdict on the new call, the tokens, the arguments."""
    return [
        *_relaxed_words(cost),
        *verdict_words(cost),
        *_freedom_words(cost),
        _tokens_words(cost.run, cost.branch),
        *(_arguments_words(cost) if cost.has_values else ()),
    ]


def _relaxed_words(cost: RelaxationCost) -> Iterator[str]:
    if cost.relaxed:
        yield f"Relaxed: {', '.join(f'{one.tool}:{one.pointer}' for one in cost.relaxed)}."
    else:
        yield "This branch relaxes nothing that its run had not already relaxed."


def verdict_words(whole: RelaxationCost | WholeVerdict) -> Iterator[str]:
    """Sentences: the verdict of the whole registry, or constraint, on the answer of a run with relaxed parts of it."""
    if whole.valid:
        yield "With all constraints, the new text is valid anyway."
    elif whole.valid is None:
        yield "With all constraints, the new text has no violations so far, but it is incomplete."
    for violation in whole.violations:
        yield (f"With all constraints: {violation.code} at character {violation.char}: {violation.message}")


def _freedom_words(cost: RelaxationCost) -> Iterator[str]:
    before, after = cost.before, cost.after
    if before == Freedom() and after == Freedom():
        yield f"At token {cost.token}, the allowed tokens were not recorded."
        return
    yield (
        f"At token {cost.token} the constraint allowed {_count(before.allowed)} before and "
        f"{_count(after.allowed)} after, with {_share(before.feasible)} and "
        f"{_share(after.feasible)} of the raw probability."
    )


def _tokens_words(run: RelaxingSpent, branch: RelaxingSpent) -> str:
    return (
        f"The branch decoded {pluralize(branch.decoded, 'token')} ({branch.forced} forced) "
        f"after {branch.written} kept tokens; the run decoded {run.decoded} ({run.forced} forced)."
    )


def _arguments_words(cost: RelaxationCost) -> Iterator[str]:
    before, after = cost.tools
    if cost.changes is None:
        yield "The values cannot be compared: one of the two texts is incomplete."
        return
    if before != after:
        yield f"The call is one of {after} instead of {before}."
    yield from (_change_words(change) for change in cost.changes[:_SHOWN_CHANGES])
    if len(cost.changes) > _SHOWN_CHANGES:
        yield f"And {len(cost.changes) - _SHOWN_CHANGES} more values differ."
    if not cost.changes and before == after:
        yield "The values are the same."


def _change_words(change: ArgumentChange) -> str:
    name = readable(change.pointer) or "the value"
    if not change.has:
        return f"{name} was removed; it was {json_excerpt(change.before, _MAX_LENGTH)}."
    if not change.was:
        return f"{name} was added: {json_excerpt(change.after, _MAX_LENGTH)}."
    return (
        f"{name} changed from {json_excerpt(change.before, _MAX_LENGTH)} to "
        f"{json_excerpt(change.after, _MAX_LENGTH)}."
    )


def _count(allowed: int | None) -> str:
    return "an unknown number of tokens" if allowed is None else pluralize(allowed, "token")


def _share(feasible: float | None) -> str:
    return "an unknown share" if feasible is None else percent(feasible)
