"""A branch: the continuation of a run after a change at one token.

It is a separate run, defined by its request alone: the tokens that it keeps from the other run, the text that replaces
the next one, and the model. So it is recorded, replayed and branched like any run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from glyphscope import events
from glyphscope.base.errors import PromptError
from glyphscope.base.figures import pluralize
from glyphscope.registry import parse_document
from glyphscope.runs.problems import MAX_ID, relaxation_problems
from glyphscope.runs.relaxation import by_name, enforced_registry
from glyphscope.runs.state import CONTINUATION, RunState, run_state

_SHOWN = 12
"""Alternatives that an error lists."""


def branch_request(
    run: RunState | Iterable[events.AnyEvent],
    token: int,
    *,
    take: int | None = None,
    text: str = "",
    constraint: events.ConstraintKind | None = None,
    relax: tuple[str, str] | None = None,
) -> events.RunRequest:
    """The request for a branch of a run, given as its state or its events, that keeps the tokens before `token`.

    `take` is the id of an alternative recorded at that token; `text` is added after the prefix and `take`. With
    neither, the model continues after the prefix. A `token` after the last one keeps the whole answer. Everything else
    is as in the run, except that a branch executes no calls. A `constraint` replaces the run's. `relax`, a tool and the
    JSON Pointer of a constraint in its `parameters`, is no longer enforced; the prompt is unchanged and still states
    that constraint. Raises PromptError if there is no such branch, RegistryError if there is nothing to relax.
    """
    state = run if isinstance(run, RunState) else run_state(run)
    started, tokens = _branchable(state)
    ended = bool(tokens) and tokens[-1].step.end
    last = len(tokens) - ended
    if not 0 <= token <= last:
        raise PromptError(
            f"There is no token {token} to branch at: the answer has {pluralize(last, 'token')}.",
            where=f"run {started.run}",
            hint=f"Give a number from 0 to {last}; {last} keeps all of it.",
        )
    if not (tokens or text):
        raise PromptError(
            "The run has no tokens to continue from.", where=f"run {started.run}", hint="Run it again."
        )
    constraint = constraint or started.request.constraint
    written = [*_marker(state, constraint), *(_prefix_part(each.step) for each in tokens[:token])]
    if take is not None:
        taken = _alternative(_step_at(tokens, token), take)
        written.append(events.PrefixPart(taken.data, taken.id))
    if text:
        written.append(events.PrefixPart(text.encode("utf-8", "replace")))
    request = msgspec.structs.replace(
        started.request,
        constraint=constraint,
        dispatch=False,
        written=tuple(written),
        branch_of=events.BranchPoint(started.run, token),
    )
    if relax is not None:
        tool, pointer = relax
        registry = state.whole_registry or parse_document(request.registry)
        one = events.Relaxed(tool, by_name(enforced_registry(request, registry), tool, pointer))
        request = msgspec.structs.replace(request, relaxed=(*request.relaxed, one))
        for problem in relaxation_problems(request):
            raise problem.error
        enforced_registry(request, registry)
    return request


def named_alternative(stream: Iterable[events.AnyEvent], token: int, name: str) -> events.Alternative:
    """The alternative at that token by its text or its id: `10` is a text if an alternative has it, `#10` is an id.

    White space around a text may be omitted if no other alternative has the text without it. Raises PromptError
    if there is no such alternative, or if there are several.
    """
    state = run_state(stream)
    step = _step_at(_branchable(state)[1], token)
    number = name.removeprefix("#")
    found: Sequence[events.Alternative] = ()
    if not name.startswith("#") or len(name) == 1:
        found = [each for each in step.alternatives if each.text == name]
        found = found or [each for each in step.alternatives if each.text.strip() == name.strip()]
    if not found and number.isascii() and number.isdigit():
        found = [_alternative(step, int(number))] if len(number) <= len(str(MAX_ID)) else ()
    if not found:
        raise _no_alternative(step, repr(name))
    if len(found) > 1:
        ids = ", ".join(f"#{each.id} {each.text!r}" for each in found)
        raise PromptError(
            f"Several alternatives of token {step.index} match {name!r}: {ids}.",
            hint="Name one by its id.",
        )
    return found[0]


@dataclass(slots=True)
class Branch:
    """A run in the tree. It branches from `parent` at `token`, whether or not that run is known; "" and 0 for none."""

    run: str
    started: events.RunStarted
    parent: str = ""
    token: int = 0
    children: list[Branch] = field(default_factory=list)


def branch_tree(runs: Iterable[Iterable[events.AnyEvent]]) -> list[Branch]:
    """The runs that are not branches of the others, each with its branches, in the order they were made.

    Only the beginning of each run is read. Runs that name each other as parents, which Glyphscope never writes, are all
    roots. A duplicate run counts once.
    """
    found: dict[str, Branch] = {}
    for stream in runs:
        started = next((event for event in stream if isinstance(event, events.RunStarted)), None)
        if started is not None:
            point = started.request.branch_of
            parent, token = (point.run, point.token) if point is not None else ("", 0)
            found[started.run] = Branch(started.run, started, parent, token)
    has_root = _has_root(found)
    roots: list[Branch] = []
    for branch in sorted(found.values(), key=lambda branch: (branch.started.time, branch.token)):
        known = branch.parent in found and has_root[branch.run]
        (found[branch.parent].children if known else roots).append(branch)
    return roots


def _has_root(found: dict[str, Branch]) -> dict[str, bool]:
    """For each run, whether its ancestors lead to a root and not into a cycle."""
    ending: dict[str, bool] = {}
    for run in found:
        way: dict[str, None] = {}
        while run in found and run not in ending and run not in way:
            way[run] = None
            run = found[run].parent
        ending |= dict.fromkeys(way, run not in way and ending.get(run, True))
    return ending


def _branchable(state: RunState) -> tuple[events.RunStarted, list[events.Token]]:
    """The run's beginning and the tokens of its answer, which is the first stage: any further stage repairs it."""
    started, stage = state.begun, state.stages[0]
    if started.request.strategy != "direct":
        raise PromptError(
            f"Only runs of the strategy direct can be branched, not {started.request.strategy}.",
            where=f"run {started.run}",
            hint="Run it again with the strategy direct.",
        )
    if stage.name == CONTINUATION and (not stage.tokens or stage.tokens[0].step.index):
        raise PromptError(
            "This continuation does not contain the tokens of the run it continues.",
            where=f"run {started.run}",
            hint="Branch the original run.",
        )
    return started, stage.tokens


def _marker(state: RunState, constraint: events.ConstraintKind) -> list[events.PrefixPart]:
    """The native marker with which an answer begins under a constraint; without one, the model writes it."""
    assert state.started is not None, "it is branchable"
    request, prompt = state.started.request, state.stages[0].prompt
    if not request.native or (request.constraint == "off") == (constraint == "off"):
        return []
    if constraint != "off":
        raise PromptError(
            (
                "With a constraint, Glyphscope writes the beginning of the native notation; in this "
                "run the model wrote all of it."
            ),
            where=f"run {state.started.run}",
            hint="Branch without a constraint, or run it again with one.",
        )
    if prompt is None or not prompt.parts or prompt.parts[-1].name != events.BEGUN:
        return []
    return [events.PrefixPart(prompt.text[prompt.parts[-1].start :].encode("utf-8", "replace"), kept=True)]


def _step_at(tokens: list[events.Token], token: int) -> events.TokenStep:
    if not 0 <= token < len(tokens):
        raise PromptError(
            f"There is no token {token} to replace: there are {pluralize(len(tokens), 'token')}.",
            hint="Type a text, or branch at one of the tokens.",
        )
    return tokens[token].step


def _prefix_part(step: events.TokenStep) -> events.PrefixPart:
    """A typed piece stays typed text; a piece of an endpoint becomes text."""
    return events.PrefixPart(step.data, step.id, kept=step.origin != "written")


def _alternative(step: events.TokenStep, id: int) -> events.Alternative:
    for each in step.alternatives:
        if each.id == id >= 0:
            return each
    if step.id == id and id >= 0 and not step.end:
        return events.Alternative(step.id, step.data, step.text, 0.0, None, None)
    raise _no_alternative(step, str(id))


def _no_alternative(step: events.TokenStep, name: str) -> PromptError:
    if not step.alternatives:
        return PromptError(
            f"The run has no recorded alternatives of token {step.index}.",
            hint="Type the replacement, or run it again with evidence of all tokens.",
        )
    listed = ", ".join(f"#{each.id} {each.text!r}" for each in step.alternatives[:_SHOWN])
    return PromptError(
        f"{name} is not among the recorded alternatives of token {step.index}: {listed}.",
        hint="Take one of these, or type a text.",
    )
