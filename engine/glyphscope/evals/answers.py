"""One request with several seeds: its answers, their counts, and the tokens at which they diverge.

Runs of one request read the same prompt, so with the same tokens so far, they sampled from the same probabilities. At
the places where they diverge, the counts of the tokens are a sample of these probabilities. The seeds are independent
samples for one request and one model: the figures say nothing about other requests. `rename` keeps the members of the
JSON output, which are older than the attributes' names.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from glyphscope.base.figures import percent, pluralize
from glyphscope.base.shorten import listed, shorten
from glyphscope.base.visible import visible
from glyphscope.evals.alignment import as_text
from glyphscope.evals.matrix.plan import Planned
from glyphscope.evals.results.words import share_words
from glyphscope.evals.statistics import Share, share
from glyphscope.events import Token
from glyphscope.runs import RunState
from glyphscope.runs.expected import difference_of

BEFORE = 32
"""Characters of the text before a divergence that are kept."""
_MAX_LENGTH = 60
"""Characters of an answer in a sentence."""

Step: TypeAlias = tuple[object, Token | None]
"""The value by which texts are compared, which begins with the number of the stage, and the token.

The token is None for a character of an endpoint's stream; both are None for the end.
"""
_END: Step = (None, None)


class TokenOption(msgspec.Struct, frozen=True, kw_only=True, rename={"sampled": "drawn"}):
    """A token sampled where runs diverge, and its count. `groups` are the indices of the groups to which it leads.

    `raw` is the model's own probability, `final` the one after mask and sampler; None if unknown. `end` means that the
    text ended here.
    """

    text: str
    data: bytes = b""
    end: bool = False
    sampled: int = 0
    groups: tuple[int, ...] = ()
    raw: float | None = None
    final: float | None = None


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The place where answers diverge: `runs` of them are equal up to `char` (from 0) of this stage's text, at `token`.

    `stage_index` is the stage's place in the run. `before` is the end of that text; `token` is None for an endpoint's
    stream. The options are in the order of their counts.
    """

    stage: str
    stage_index: int
    char: int
    token: int | None
    before: str
    runs: int
    options: tuple[TokenOption, ...]


class AnswerGroup(msgspec.Struct, frozen=True, kw_only=True, rename={"divergence": "parting"}):
    """The runs with the same answer: the same calls, or the same reason why there is none.

    Calls are the same if their tools are and their arguments are equal as JSON values. `divergence` is the index of the
    divergence from the largest group, None for that group itself. `difference` is that from the expected answer, in
    words; empty if there is none.
    """

    label: str
    ok: bool
    seeds: tuple[int, ...]
    share: Share
    divergence: int | None = None
    difference: str = ""


class Distribution(msgspec.Struct, frozen=True, kw_only=True, rename={"divergences": "partings"}):
    """`n` runs that ended, their groups (largest first), and the places where these diverge, in the order of the text.

    `failed` are the seeds of the runs that failed or were stopped, which are not counted.
    """

    n: int
    groups: tuple[AnswerGroup, ...] = ()
    divergences: tuple[Divergence, ...] = ()
    failed: tuple[int, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class SeedRun:
    """A run of a seed: the `answer` by which it is grouped, None if it failed or was stopped."""

    seed: int
    answer: str | None
    label: str
    ok: bool
    steps: tuple[Step, ...]
    state: RunState


def seed_run(seed: int, state: RunState) -> SeedRun:
    """The data of a finished run. Takes time proportional to its tokens."""
    if state.failed is not None or state.finished is None or state.outcome == "cancelled":
        return SeedRun(seed, None, "", False, (), state)
    ok = state.outcome == "valid"
    calls = (state.present.calls or ([state.call] if state.call is not None else [])) if ok else []
    if calls:
        answer = json.dumps([[call.tool, _canonical(call.arguments)] for call in calls], sort_keys=True)
        label = "; ".join(f"{call.tool} {as_text(call.arguments)}" for call in calls)
    else:
        answer = label = _without_call(state)
    return SeedRun(seed, answer, label, ok, tuple(_steps(state)), state)


def distribution(runs: Sequence[SeedRun]) -> Distribution:
    """The groups of those runs and their divergences. Takes time proportional to the tokens of all runs."""
    counted_runs = [run for run in runs if run.answer is not None]
    order = [answer for answer, _ in Counter(run.answer for run in counted_runs).most_common()]
    place = {answer: at for at, answer in enumerate(order)}
    of_run = [place[run.answer] for run in counted_runs]
    found = sorted(_divergences(counted_runs, of_run), key=_place_in_text)
    groups = []
    for at, answer in enumerate(order):
        same = [run for run in counted_runs if run.answer == answer]
        shared = [n for n, each in enumerate(found) if {0, at} <= each.groups]
        groups.append(
            AnswerGroup(
                label=same[0].label,
                ok=same[0].ok,
                seeds=tuple(run.seed for run in same),
                share=share(len(same), len(counted_runs)),
                divergence=_last(found, shared) if at and shared else None,
                difference=_difference(same[0]),
            )
        )
    result = Distribution(
        n=len(counted_runs),
        groups=tuple(groups),
        divergences=tuple(each.divergence for each in found),
        failed=tuple(run.seed for run in runs if run.answer is None),
    )
    return msgspec.structs.replace(result, words=_words(result))


def _difference(run: SeedRun) -> str:
    found = difference_of(run.state) if run.ok else None
    return "" if found is None else found.words


class SeedResults:
    """The runs of one request as they end, and the distribution of their answers so far."""

    def __init__(self) -> None:
        self._runs: list[SeedRun] = []
        self._report: Distribution | None = None

    def add(self, planned: Planned, state: RunState) -> None:
        self._runs.append(seed_run(planned.seed, state))
        self._report = None

    def report(self) -> Distribution:
        """Takes time proportional to the tokens of all runs when one was added."""
        if self._report is None:
            self._report = distribution(self._runs)
        return self._report


def option_words(option: TokenOption) -> str:
    """The token in quotation marks, with all characters visible."""
    text = option.text or (f"⟨{option.data.hex(' ').upper()}⟩" if option.data else "")
    if option.end and not text:
        return "the end"
    return f"“{visible(text, spaces=True)}”"


def divergence_words(divergence: Divergence) -> str:
    """The place, such as `character 42, after “max_results=”`."""
    after = f", after “{visible(divergence.before, spaces=True)}”" if divergence.before else ""
    stage = f" of stage {divergence.stage}" if divergence.stage not in ("", "call") else ""
    return f"character {divergence.char:,}{stage}{after}"


@dataclass(frozen=True)
class _Found:
    """A divergence, and the groups whose runs pass it."""

    divergence: Divergence
    groups: frozenset[int]


def _place_in_text(found: _Found) -> tuple[int, int, int]:
    """A sort key: the place in the text; at the same place, the divergence that most runs pass is first."""
    return found.divergence.stage_index, found.divergence.char, -found.divergence.runs


def _last(found: Sequence[_Found], shared: Sequence[int]) -> int:
    """The last place in the text among the `shared` ones; of several there, as the same text can have other tokens
    before it, the one that most runs pass.
    """
    place = _place_in_text(found[shared[-1]])[:2]
    return next(each for each in shared if _place_in_text(found[each])[:2] == place)


def _canonical(value: Any) -> Any:
    """The value in a form that is the same for equal JSON values: 10 and 10.0 are equal, true and 1 are not."""
    if isinstance(value, dict):
        return {name: _canonical(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _without_call(state: RunState) -> str:
    if state.outcome == "valid":
        if state.answer is not None and not state.asks_for_call:
            return state.answer.text
        return "An answer without a call"
    fault = state.aborted or (state.violations[0] if state.violations else None)
    expected = "call" if state.asks_for_call else "answer"
    if fault is None:
        reason = state.finished.reason if state.finished is not None else state.outcome
        return f"No valid {expected} ({reason.replace('_', ' ')})"
    return f"No valid {expected}: {fault.code} {fault.path}".strip()


def _steps(state: RunState) -> Iterator[Step]:
    """The tokens of all stages. An endpoint's pieces may be cut anywhere, so its text is compared by characters."""
    for number, stage in enumerate(state.stages):
        if any(token.step.piece for token in stage.tokens):
            yield from (((number, character), None) for character in stage.text)
            continue
        for token in stage.tokens:
            # by its bytes: a scripted or recorded model's ids are not the same in every run
            yield (number, token.step.data or token.step.id), token


def _divergences(runs: Sequence[SeedRun], of_run: Sequence[int]) -> Iterator[_Found]:
    """Each place at which runs of several groups diverge, down the tree of their tokens."""
    waiting = [(list(range(len(runs))), 0)]
    while waiting:
        here, depth = waiting.pop()
        if len({of_run[run] for run in here}) < 2:
            continue
        ways: dict[object, list[int]] = {}
        while len(ways) < 2:
            ways = {}
            for run in here:
                steps = runs[run].steps
                key, _ = steps[depth] if depth < len(steps) else _END
                ways.setdefault(key, []).append(run)
            if list(ways) == [None]:  # the same text read as different answers: there is no divergence
                break
            depth += 1
        else:
            depth -= 1
            leads = [frozenset(of_run[run] for run in way) for way in ways.values()]
            if len(set(leads)) > 1:
                yield _found(runs, here, list(ways.values()), leads, depth)
            waiting += [(way, depth + 1) for key, way in ways.items() if key is not None]


def _found(
    runs: Sequence[SeedRun], here: list[int], ways: list[list[int]], leads: list[frozenset[int]], depth: int
) -> _Found:
    longer = next(runs[run] for run in here if depth < len(runs[run].steps))
    number = _stage_of(longer.steps[depth])
    token = longer.steps[depth][1]
    stage = longer.state.stages[number]
    index = sum(_stage_of(step) == number for step in longer.steps[:depth])
    char = token.start if token is not None else index
    options = [
        _option(runs[way[0]], depth, len(way), tuple(sorted(lead)))
        for way, lead in zip(ways, leads, strict=True)
    ]
    divergence = Divergence(
        stage=stage.name,
        stage_index=number,
        char=char,
        token=None if token is None else index,
        before=stage.text[max(0, char - BEFORE) : char],
        runs=len(here),
        options=tuple(sorted(options, key=lambda option: -option.sampled)),
    )
    return _Found(divergence, frozenset().union(*leads))


def _stage_of(step: Step) -> int:
    """The number of the stage that a step belongs to."""
    assert isinstance(step[0], tuple)
    return int(step[0][0])


def _option(run: SeedRun, depth: int, sampled: int, groups: tuple[int, ...]) -> TokenOption:
    if depth >= len(run.steps):
        return TokenOption(text="", end=True, sampled=sampled, groups=groups)
    key, token = run.steps[depth]
    if token is None:
        assert isinstance(key, tuple)
        return TokenOption(text=str(key[1]), sampled=sampled, groups=groups)
    step = token.step
    return TokenOption(
        text=step.text,
        data=step.data,
        end=step.end,
        sampled=sampled,
        groups=groups,
        raw=step.raw,
        final=step.probability,
    )


def _words(result: Distribution) -> tuple[str, ...]:
    failed = ""
    if result.failed:
        failed = f" {pluralize(len(result.failed), 'run')} failed or stopped: not counted."
    if not result.n:
        return (f"No run has finished yet.{failed}",)
    top = result.groups[0]
    runs, answers = pluralize(result.n, "run"), pluralize(len(result.groups), "distinct answer")
    label = shorten(top.label, _MAX_LENGTH)
    words = [
        f"{runs}, {answers}.{failed}" if result.n > 1 else f"One run.{failed}",
        f"Most frequent: {visible(label)}, {share_words(top.share)}.",
    ]
    if any(group.difference for group in result.groups):
        right = sum(len(group.seeds) for group in result.groups if group.ok and not group.difference)
        words.append(f"As expected: {share_words(share(right, result.n))}.")
    if result.divergences:
        first = result.divergences[0]
        words.append(f"The answers first differ at {divergence_words(first)}: {_sampled_words(first)}.")
    if result.n > 1:
        words.append("In brackets: 95% intervals (Wilson).")
    return tuple(words)


def _sampled_words(divergence: Divergence) -> str:
    options = [
        f"{option_words(option)} {option.sampled} of {divergence.runs}"
        + ("" if option.final is None else f" (final probability {percent(option.final)})")
        for option in divergence.options
    ]
    return listed(options, 3)
