"""Two prompts on the same seeds: what each came to, where they part first, and whether that is more than chance.

A case is a seed: both variants draw with it, so the pairs share their luck as far as prompts can. The seeds are
independent draws of one question to one model, and that is all a figure here speaks of: over other questions
`glyphscope eval` compares. At temperature 0 every seed draws the same, so there is one case however many are named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from glyphscope.errors import GlyphscopeError
from glyphscope.evals.align import align, as_text
from glyphscope.evals.align_words import difference_words
from glyphscope.evals.pairs import Table, mcnemar, newcombe
from glyphscope.evals.results.words import mcnemar_words, points, share_words
from glyphscope.evals.scoring.matching import Matcher
from glyphscope.evals.statistics import Share, share
from glyphscope.evals.suites.suite import ExpectedCall
from glyphscope.events import RunRequest
from glyphscope.runs import RunState

MOST_SEEDS = 1000
ENOUGH = 6
"""Seeds below which the exact test can tell nothing: were all on one side, p would be 2 / 2^n, 0.06 for five."""
_SEEDS = re.compile(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*")
_PLAIN = ("prompt", "system", "preset", "registry", "history")
"""What of a request the prompt is made from."""

Judge = Callable[[RunState], str]
"""Why a run is not what it was to be; empty where it is."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `ok` is None where the run says nothing: it failed, or was stopped. `why` is what is wrong with it."""

    ok: bool | None
    call: str = ""
    why: str = ""
    tokens: int = 0


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Both runs of a seed. `difference` is where their calls part first, in words; empty where they are the same."""

    seed: int
    first: Trial
    second: Trial
    difference: str = ""


class AbReport(msgspec.Struct, frozen=True, kw_only=True):
    """`n` pairs in which both runs say something; `shares` and all that compares the two are over those alone.

    `difference` is second less first, `low` to `high` its 95 % interval (Newcombe), `p` McNemar's, `exact` or by the
    normal approximation; None without pairs. `prompt_tokens` are those of each prompt, None where nobody counts.
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


def seeds_of(text: str) -> tuple[int, ...]:
    """The seeds of `1-10` or `1,3,7-9`, each once, in that order. Raises GlyphscopeError."""
    seeds: dict[int, None] = {}
    for piece in text.split(","):
        match = _SEEDS.fullmatch(piece)
        if match is None:
            raise GlyphscopeError(
                f"“{piece.strip()}” is not a seed.", where="seeds", hint="Write 1-10, or 1,3,7-9."
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first >= MOST_SEEDS or len(seeds) + last - first >= MOST_SEEDS:
            raise GlyphscopeError(f"At most {MOST_SEEDS:,} seeds can be compared.", where="seeds")
        if last < first:
            raise GlyphscopeError(
                f"{first}-{last} runs backwards.", where="seeds", hint=f"Write {last}-{first}."
            )
        seeds.update(dict.fromkeys(range(first, last + 1)))
    return tuple(seeds)


def worth(seeds: Sequence[int], *requests: RunRequest) -> tuple[int, ...]:
    """The seeds that are worth running: the first alone where none of the requests draws by chance."""
    return tuple(seeds) if any(request.sampling.temperature > 0 for request in requests) else tuple(seeds[:1])


def seeded(request: RunRequest, seed: int) -> RunRequest:
    """The run of a variant with that seed. It carries nothing out, and no cache changes what it comes to."""
    sampling = msgspec.structs.replace(request.sampling, seed=seed)
    return msgspec.structs.replace(request, sampling=sampling, repeatable=True, dispatch=False)


def what_differs(first: RunRequest, second: RunRequest) -> tuple[str, ...]:
    """The fields of the requests that differ, those that make the prompt first."""
    names = (*_PLAIN, *(name for name in RunRequest.__struct_fields__ if name not in _PLAIN))
    return tuple(name for name in names if getattr(first, name) != getattr(second, name))


def is_valid(state: RunState) -> str:
    """The judge where no call is expected: a valid call is one."""
    if state.outcome == "valid":
        return ""
    fault = state.aborted or (state.violations[0] if state.violations else None)
    return (
        f"{fault.code} at character {fault.char}" if fault is not None else f"no valid call ({state.outcome})"
    )


def expecting(tool: str, arguments: dict[str, Any]) -> Judge:
    """The judge of a call that is expected: that tool with exactly those arguments."""
    expected, matcher = ExpectedCall(tools=(tool,), arguments=arguments), Matcher()

    def judge(state: RunState) -> str:
        if state.call is None:
            return is_valid(state) or "no call"
        found = matcher.difference(expected, state.call.tool, state.call.arguments)
        return "" if found is None else found.words

    return judge


def trial_of(state: RunState, judge: Judge) -> Trial:
    """A run that came to its end, judged; `ok` None for any other."""
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
    """The figures of those pairs, and what they come to in sentences. `measure` is the word for a run that is ok."""
    told = [pair for pair in pairs if pair.first.ok is not None and pair.second.ok is not None]
    table = Table(
        sum(bool(pair.first.ok and pair.second.ok) for pair in told),
        sum(bool(pair.first.ok and not pair.second.ok) for pair in told),
        sum(bool(not pair.first.ok and pair.second.ok) for pair in told),
        sum(bool(not pair.first.ok and not pair.second.ok) for pair in told),
    )
    n = len(told)
    verdict = mcnemar(table.only_first, table.only_second)
    low, high = newcombe(table.both, table.only_first, table.only_second, table.neither)
    report = AbReport(
        names=names,
        measure=measure,
        n=n,
        seeds=tuple(pair.seed for pair in told),
        shares=(share(table.both + table.only_first, n), share(table.both + table.only_second, n)),
        table=table,
        same=sum(bool(pair.first.call) and not pair.difference for pair in told),
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


# -- inside ----------------------------------------------------------------------------------------------------


def _words(report: AbReport) -> tuple[str, ...]:
    first, second = report.names
    n = report.n
    if not n:
        return ("No seed for which both runs finished: nothing to compare.",)
    words = [
        f"{name}: {share_words(figure)} {report.measure}."
        for name, figure in zip(report.names, report.shares)
    ]
    if n == 1:
        words.append("One pair: a difference cannot be significant.")
    else:
        assert report.difference is not None and report.p is not None
        assert report.low is not None and report.high is not None
        apart = report.table.only_first + report.table.only_second
        words.append(
            f"{second} minus {first}: {points(report.difference, n)} points "
            f"[{points(report.low, n)}, {points(report.high, n)}], {mcnemar_words(report.p, exact=report.exact)}, "
            f"{n} seeds, {apart} of which differ."
        )
        words.append(_conclusion(report))
    same = f"Both wrote the same call with {report.same} of {n} seed{'s' if n > 1 else ''}."
    words.append(f"{same} In brackets: 95% intervals.")
    return tuple(words)


def _conclusion(report: AbReport) -> str:
    first, second = report.names
    assert report.p is not None and report.difference is not None
    if report.p < 0.05:
        better = second if report.difference > 0 else first
        return (
            f"{better} is {report.measure} significantly more often for this request; others were not tested."
        )
    few = f" A significant result needs at least {ENOUGH} seeds." if report.n < ENOUGH else ""
    return f"Not significant.{few}"
