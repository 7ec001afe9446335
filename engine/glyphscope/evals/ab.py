"""Two prompts on the same seeds: their outcomes, their first difference, and its statistical significance.

A case is a seed, used by both variants, so that the pairs share their randomness as far as prompts can. The seeds are
independent samples of one prompt to one model, and the figures are about that prompt only; `glyphscope eval` compares
over several. At temperature 0 every seed gives the same tokens, so there is one case, however many are named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from glyphscope.evals.align import align, as_text, difference_words
from glyphscope.evals.matrix.plan import Planned
from glyphscope.evals.matrix.seeds import seed_samples
from glyphscope.evals.pairs import Table, mcnemar, newcombe
from glyphscope.evals.results.words import mcnemar_words, points, share_words
from glyphscope.evals.scoring.matching import Matcher
from glyphscope.evals.statistics import Share, share
from glyphscope.evals.suites.suite import ExpectedCall
from glyphscope.events import RunRequest
from glyphscope.runs import RunState
from glyphscope.text.figures import pluralize

ENOUGH = 6
"""With fewer seeds the exact test cannot be significant: with all on one side, p is 2 / 2^n, which is 0.06 for five."""
_PLAIN = ("prompt", "system", "preset", "registry", "history")
"""The fields of a request from which the prompt is made."""

Judge = Callable[[RunState], str]
"""Returns the reason why a run is not as expected; empty if it is."""
Place = tuple[int, int]
"""The prompt, 0 or 1, and the index of the seed."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `ok` is None if the run has no result: it failed, or was stopped. `why` is its error."""

    ok: bool | None
    call: str = ""
    why: str = ""
    tokens: int = 0


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Both runs of a seed. `difference` is the first difference of their calls, in words; empty if there is none."""

    seed: int
    first: Trial
    second: Trial
    difference: str = ""


class AbReport(msgspec.Struct, frozen=True, kw_only=True):
    """`n` pairs in which both runs have a result; `shares` and all comparisons are over these alone.

    `difference` is second minus first, `low` to `high` its 95 % interval (Newcombe), `p` McNemar's, `exact` or by the
    normal approximation; None without pairs. `prompt_tokens` is each prompt's number of tokens, None if not counted.
    """

    names: tuple[str, str]
    measure: str
    n: int
    seeds: tuple[int, ...]
    shares: tuple[Share, Share]
    table: Table
    same: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    exact: bool = True
    prompt_tokens: tuple[int | None, int | None] = (None, None)
    differ: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class AbPlan:
    """Two prompts on the same seeds, as samples of an evaluation: all of the first prompt, then all of the second.

    `measure` is the word for a run that is ok by the `judge`.
    """

    requests: tuple[RunRequest, RunRequest]
    seeds: tuple[int, ...]
    judge: Judge
    measure: str = "valid"
    names: tuple[str, str] = ("A", "B")

    @cached_property
    def samples(self) -> tuple[Planned, ...]:
        """The samples, whose scenarios are `a` and `b`. Raises RegistryError."""
        return seed_samples(dict(zip("ab", self.requests)), self.seeds)

    @cached_property
    def differ(self) -> tuple[str, ...]:
        return what_differs(*self.requests)


def place_of(planned: Planned) -> Place:
    """The place of a plan's sample."""
    return "ab".index(planned.scenario.id), planned.trial - 1


class AbResults:
    """The runs of a plan's samples as they end, and a pair for each seed that has both runs."""

    def __init__(self, plan: AbPlan) -> None:
        self.plan = plan
        self.states: dict[Place, RunState] = {}
        self.pairs: dict[int, Pair] = {}

    def add(self, place: Place, state: RunState) -> None:
        """Add a finished run."""
        self.states[place] = state
        plan, number = self.plan, place[1]
        both = self.states.get((0, number)), self.states.get((1, number))
        if both[0] is not None and both[1] is not None:
            self.pairs[number] = pair_of(plan.seeds[number], (both[0], both[1]), plan.names, plan.judge)

    def trial(self, place: Place) -> Trial | None:
        """The verdict on a run; None if it has not ended."""
        state = self.states.get(place)
        return None if state is None else trial_of(state, self.plan.judge)

    def report(self) -> AbReport:
        """The figures of the pairs so far."""
        pairs = [self.pairs[number] for number in sorted(self.pairs)]
        plan, tokens = self.plan, (self._prompt_tokens(0), self._prompt_tokens(1))
        return ab_report(pairs, plan.names, measure=plan.measure, prompt_tokens=tokens, differ=plan.differ)

    def _prompt_tokens(self, which: int) -> int | None:
        prompts = (state.prompt for (of, _), state in self.states.items() if of == which)
        return next((prompt.tokens for prompt in prompts if prompt is not None and prompt.tokens), None)


def what_differs(first: RunRequest, second: RunRequest) -> tuple[str, ...]:
    """The fields in which the requests differ, fields of the prompt first."""
    names = (*_PLAIN, *(name for name in RunRequest.__struct_fields__ if name not in _PLAIN))
    return tuple(name for name in names if getattr(first, name) != getattr(second, name))


def is_valid(state: RunState) -> str:
    """The judge without an expected call: any valid call is right."""
    if state.outcome == "valid":
        return ""
    fault = state.aborted or (state.violations[0] if state.violations else None)
    return (
        f"{fault.code} at character {fault.char}" if fault is not None else f"no valid call ({state.outcome})"
    )


def expecting(tool: str, arguments: dict[str, Any]) -> Judge:
    """The judge for an expected call: that tool with exactly those arguments."""
    expected, matcher = ExpectedCall(tools=(tool,), arguments=arguments), Matcher()

    def judge(state: RunState) -> str:
        if state.call is None:
            return is_valid(state) or "no call"
        found = matcher.difference(expected, state.call.tool, state.call.arguments)
        return "" if found is None else found.words

    return judge


def trial_of(state: RunState, judge: Judge) -> Trial:
    """The verdict on a finished run; `ok` None for any other."""
    tokens = sum(len(stage.tokens) for stage in state.stages)
    if state.failed is not None or state.finished is None or state.outcome == "cancelled":
        why = state.failed.message if state.failed is not None else "stopped"
        return Trial(ok=None, why=why, tokens=tokens)
    why = judge(state)
    call = f"{state.call.tool} {as_text(state.call.arguments)}" if state.call is not None else ""
    return Trial(ok=not why, call=call, why=why, tokens=tokens)


def pair_of(
    seed: int, states: tuple[RunState, RunState], names: tuple[str, str], judge: Judge = is_valid
) -> Pair:
    """Both runs of a seed, judged and aligned."""
    first, second = (trial_of(state, judge) for state in states)
    alignment = align(list(states))
    words = difference_words(alignment, names) if alignment.first is not None else ""
    return Pair(seed=seed, first=first, second=second, difference=words)


def ab_report(
    pairs: Sequence[Pair],
    names: tuple[str, str],
    *,
    measure: str = "valid",
    prompt_tokens: tuple[int | None, int | None] = (None, None),
    differ: Sequence[str] = (),
) -> AbReport:
    """The figures of those pairs, and the conclusions in sentences. `measure` is the word for a run that is ok."""
    decided = [pair for pair in pairs if pair.first.ok is not None and pair.second.ok is not None]
    table = Table.of((bool(pair.first.ok), bool(pair.second.ok)) for pair in decided)
    n = len(decided)
    verdict = mcnemar(table.only_first, table.only_second)
    low, high = newcombe(table.both, table.only_first, table.only_second, table.neither)
    report = AbReport(
        names=names,
        measure=measure,
        n=n,
        seeds=tuple(pair.seed for pair in decided),
        shares=(share(table.both + table.only_first, n), share(table.both + table.only_second, n)),
        table=table,
        same=sum(bool(pair.first.call) and not pair.difference for pair in decided),
        difference=table.difference / n if n else None,
        low=low if n else None,
        high=high if n else None,
        p=verdict.p if n else None,
        exact=verdict.exact,
        prompt_tokens=prompt_tokens,
        differ=tuple(differ),
        pairs=tuple(pairs),
    )
    return msgspec.structs.replace(report, words=_words(report))


def _words(report: AbReport) -> tuple[str, ...]:
    n, difference, p = report.n, report.difference, report.p
    if difference is None or p is None or report.low is None or report.high is None:
        return ("No seed for which both runs finished: nothing to compare.",)
    words = [
        f"{name}: {share_words(figure)} {report.measure}."
        for name, figure in zip(report.names, report.shares)
    ]
    if n == 1:
        words.append("One pair: a difference cannot be significant.")
    else:
        first, second = report.names
        apart = report.table.only_first + report.table.only_second
        words.append(
            f"{second} minus {first}: {points(difference, n)} points "
            f"[{points(report.low, n)}, {points(report.high, n)}], {mcnemar_words(p, exact=report.exact)}, "
            f"{pluralize(n, 'seed')}, {apart:,} of which differ."
        )
        few = f" A significant result needs at least {ENOUGH} seeds." if n < ENOUGH else ""
        better = second if difference > 0 else first
        words.append(
            f"{better} is {report.measure} significantly more often for this request; others were not tested."
            if p < 0.05
            else f"Not significant.{few}"
        )
    same = f"Both wrote the same call with {report.same:,} of {pluralize(n, 'seed')}."
    words.append(f"{same} In brackets: 95% intervals.")
    return tuple(words)
