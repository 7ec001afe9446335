"""Two prompts on the same seeds: their outcomes, their first difference, and its statistical significance.

A case is a seed, used by both variants, so that the pairs share their randomness as far as prompts can. The seeds are
independent samples of one prompt to one model, and the figures are about that prompt only; `glyphscope eval` compares
over several. At temperature 0 every seed gives the same tokens, so there is one case, however many are named.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from glyphscope.base.figures import pluralize
from glyphscope.evals.alignment import align, as_text, difference_words
from glyphscope.evals.matrix.plan import Planned
from glyphscope.evals.matrix.seeds import RequestPlan, RunKey, run_key
from glyphscope.evals.results.words import mcnemar_words, points, share_words
from glyphscope.evals.statistics import PairTable, Share, mcnemar, newcombe, share
from glyphscope.events import RunRequest
from glyphscope.runs import RunState
from glyphscope.runs.endings import failed_execution
from glyphscope.runs.expected import difference_of
from glyphscope.runs.prepared import request_of
from glyphscope.runs.stage_words import prompt_tokens

ENOUGH = 6
"""With fewer seeds the exact test cannot be significant: with all on one side, p is 2 / 2^n, which is 0.06 for five."""
_PLAIN = ("prompt", "system", "preset", "registry", "history")
"""The fields of a request from which the prompt is made."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `ok` is None if the run has no result: it failed, or was stopped. `why` is its error. `call` is its call
    in words, or an answer that is not a call.
    """

    ok: bool | None
    call: str = ""
    why: str = ""
    tokens: int = 0


class AbPair(msgspec.Struct, frozen=True, kw_only=True):
    """Both runs of a seed. `difference` is the first difference of their answers, in words; empty if there is none."""

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
    table: PairTable
    same: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    exact: bool = True
    prompt_tokens: tuple[int | None, int | None] = (None, None)
    differ: tuple[str, ...] = ()
    pairs: tuple[AbPair, ...] = ()
    words: tuple[str, ...] = ()


def what_differs(first: RunRequest, second: RunRequest) -> tuple[str, ...]:
    """The fields in which the requests differ, fields of the prompt first."""
    names = (*_PLAIN, *(name for name in RunRequest.__struct_fields__ if name not in _PLAIN))
    return tuple(name for name in names if getattr(first, name) != getattr(second, name))


def fault_of(state: RunState) -> str:
    """Why a run is not as expected; empty if it is. Without an expected answer, any valid one is right."""
    if state.outcome == "valid":
        found = difference_of(state)
        return "" if found is None else found.words
    if (result := failed_execution(state)) is not None:
        return f"the call of {result.tool} failed: {result.message}"
    fault = state.aborted or (state.violations[0] if state.violations else None)
    expected = "call" if state.asks_for_call else "answer"
    return (
        f"{fault.code} at character {fault.char}"
        if fault is not None
        else f"no valid {expected} ({state.outcome})"
    )


def trial_of(state: RunState) -> Trial:
    """The verdict on a finished run; `ok` None for any other."""
    tokens = state.token_count
    if state.failed is not None or state.finished is None or state.outcome == "cancelled":
        why = state.failed.message if state.failed is not None else "stopped"
        return Trial(ok=None, why=why, tokens=tokens)
    why = fault_of(state)
    call = f"{state.call.tool} {as_text(state.call.arguments)}" if state.call is not None else ""
    return Trial(ok=not why, call=call or (_answer(state) or ""), why=why, tokens=tokens)


def _answer(state: RunState) -> str | None:
    """The run's answer that is not a call; None for any other run."""
    return None if state.asks_for_call or state.answer is None else state.answer.text


def pair_of(seed: int, states: tuple[RunState, RunState], names: tuple[str, str]) -> AbPair:
    """Both runs of a seed, judged and aligned."""
    first, second = map(trial_of, states)
    alignment = align(list(states))
    words = difference_words(alignment, names) if alignment.first is not None else ""
    return AbPair(seed=seed, first=first, second=second, difference=words)


class AbResults:
    """The runs of a plan of two requests as they end, and a pair for each seed that has both runs.

    A run is ok if it is valid, and as expected if the requests say so; `names` are those of the two.
    """

    def __init__(self, plan: RequestPlan, names: tuple[str, str] = ("A", "B")) -> None:
        self.plan, self.names = plan, names
        self.states: dict[RunKey, RunState] = {}
        self.trials: dict[RunKey, Trial] = {}
        self.pairs: dict[int, AbPair] = {}
        """By seed."""
        expects = any(request_of(request).expected for request in plan.arms.values())
        self._measure = "as expected" if expects else "valid"

    def add(self, planned: Planned, state: RunState) -> None:
        key, seed = run_key(planned), planned.seed
        self.states[key], self.trials[key] = state, trial_of(state)
        first, second = (self.states.get((arm, seed)) for arm in self.plan.arms)
        if first is not None and second is not None:
            self.pairs[seed] = pair_of(seed, (first, second), self.names)

    @property
    def differ(self) -> tuple[str, ...]:
        """The fields in which the requests differ."""
        return what_differs(*map(request_of, self.plan.arms.values()))

    def report(self) -> AbReport:
        """The figures of the pairs so far."""
        pairs = [self.pairs[seed] for seed in self.plan.seeds if seed in self.pairs]
        first, second = map(self._prompt_tokens, self.plan.arms)
        return ab_report(
            pairs, self.names, measure=self._measure, prompt_tokens=(first, second), differ=self.differ
        )

    def _prompt_tokens(self, arm: str) -> int | None:
        prompts = (prompt_tokens(state.present)[0] for (of, _), state in self.states.items() if of == arm)
        return next(filter(None, prompts), None)


def ab_report(
    pairs: Sequence[AbPair],
    names: tuple[str, str],
    *,
    measure: str = "valid",
    prompt_tokens: tuple[int | None, int | None] = (None, None),
    differ: Sequence[str] = (),
) -> AbReport:
    """The figures of those pairs, and the conclusions in sentences. `measure` is the word for a run that is ok."""
    decided = [pair for pair in pairs if pair.first.ok is not None and pair.second.ok is not None]
    table = PairTable.of((bool(pair.first.ok), bool(pair.second.ok)) for pair in decided)
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
            f"{pluralize(n, 'seed')}, {apart:,} with only one answer {report.measure}."
        )
        few = f" A significant result needs at least {ENOUGH} seeds." if n < ENOUGH else ""
        better = second if difference > 0 else first
        words.append(
            f"{better} is {report.measure} significantly more often for this request; others were not tested."
            if p < 0.05
            else f"Not significant.{few}"
        )
    same = f"Both wrote the same answer with {report.same:,} of {pluralize(n, 'seed')}."
    words.append(f"{same} In brackets: 95% intervals.")
    return tuple(words)
