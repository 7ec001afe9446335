"""Scores of what was written, with the whole prompt and without each of its parts, by teacher forcing.

The tokens of the answer are given to the model as they were written, so one evaluation has the figures of all of them.
The whole prompt stays in the model's memory, and another one costs only its tokens behind the part that is left out.
Parts with much text behind them are estimated before: of the whole prompt, the last message and the answer are
evaluated again without seeing the part. The text between has read it: an estimate has only the direct effect of a part.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import msgspec

from glyphscope import events
from glyphscope.base.errors import ModelDied, ModelError, PromptError
from glyphscope.base.lines import common_length
from glyphscope.explain.ablation.parts import Variant, variants
from glyphscope.explain.ablation.types import (
    NOTHING,
    OMISSION_KINDS,
    ChoiceScore,
    Omission,
    OmissionEffect,
    OmissionKind,
    OtherToken,
    PromptAblation,
    TokenScore,
    WrittenChoice,
)
from glyphscope.models.interface import (
    Cancelled,
    GenerateRequest,
    Model,
    PromptProgress,
    PromptReady,
    same_model,
)
from glyphscope.prompting.history import HISTORY
from glyphscope.prompting.messages import RenderedMessages, render_messages
from glyphscope.prompting.rendered import encode
from glyphscope.runs.prepared import PreparedRequest, prepare
from glyphscope.runs.settling import settle
from glyphscope.runs.state import RunState, StageState
from glyphscope.runs.strategies.loop.tool_loop import first_turn
from glyphscope.runs.strategies.request import TEMPLATE, generate_request, priced_prompt, special_tokens
from glyphscope.turns import Expected

_ALTERNATIVES = 40
"""The most probable tokens among which the best other one is searched for."""
_WORTH = 2
"""A part is estimated first if leaving it out costs this many times as much."""
_DIFFERS = (
    "The prompt is not that of the record: this version or the model's template renders it differently."
)


@dataclass(frozen=True)
class AblationProgress:
    """So many of the `total` tokens are evaluated; `effect` is the one that was computed last."""

    done: int
    total: int
    effect: OmissionEffect | None = None


Report = Callable[[AblationProgress], object]


def ablate_prompt(
    state: RunState,
    model: Model,
    choice: WrittenChoice,
    *,
    kinds: Collection[OmissionKind] = OMISSION_KINDS,
    tools: Collection[str] | None = None,
    budget: float | None = None,
    report: Report = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> PromptAblation:
    """The effect of each part of the run's prompt on the choice. With `tools`, only these are offered, under a mask.

    Ends after `budget` times the prompt's tokens were evaluated, and when `stopped` returns True, with the effects so
    far. Raises ModelError for a model that cannot score or is not the run's, PromptError, and ContextOverflow if the
    prompt does not fit.
    """
    prepared, expected = _scorable(state, model, tools)
    request, stage = prepared.request, state.stages[0]
    messages = render_messages(request, prepared.offered)
    whole = priced_prompt(messages, model, request)
    recorded = stage.prompt.text if stage.prompt is not None and tools is None else whole.text
    if expected is not None and recorded != whole.text:
        raise PromptError(
            "The first prompt of this loop cannot be rendered again: a transform changed its messages.",
            where=f"run {state.begun.run}",
            hint="Run it again without transforms.",
        )
    limit = None if budget is None else int(budget * whole.tokens)
    scorer = _Scorer(prepared, expected, stage, model, choice, report, stopped, limit=limit)
    base = scorer.whole_score(whole)
    parts = [one for one in variants(prepared, messages, whole) if one.omission.kind in kinds]
    parts.sort(key=lambda one: _place(one.omission))
    effects = scorer.effects_of(parts, messages)
    return PromptAblation(
        run=state.begun.run,
        model=model.info,
        constraint=request.constraint,
        choice=choice,
        prompt=whole.text,
        tokens=whole.tokens,
        base=base,
        effects=tuple(effects),
        evaluated=scorer.evaluated,
        ms=scorer.ms,
        note=whole.note if recorded == whole.text else f"{whole.note} {_DIFFERS}".strip(),
    )


def _scorable(
    state: RunState, model: Model, tools: Collection[str] | None
) -> tuple[PreparedRequest, Expected | None]:
    """The run's request, settled for the model; of a loop that of its first turn, with the expected answer. Raises
    PromptError and ModelError.
    """
    started = state.begun
    if model.info.kind != "llama.cpp":
        raise ModelError(
            "This model cannot score a given text: only a model in a file returns the probabilities of all tokens.",
            where=model.info.name,
            hint="Run the prompt with a model in a GGUF file.",
        )
    if not same_model(model.info, started.model):
        raise ModelError(
            f"The run was written by {started.model.name}, and {model.info.name} is another model.",
            where=model.info.path,
            hint="Open the model of the run, or run the prompt with this one.",
        )
    request = started.request
    if tools is not None:
        whole = prepare(request).registry
        offered = replace(whole, tools=tuple(tool for tool in whole if tool.name in tools))
        request = msgspec.structs.replace(
            events.under_constraint(request, "mask"), registry=offered.to_document(), grammar=None, relaxed=()
        )
    prepared = settle(request, model).accepted
    if request.strategy != "loop":
        return prepared, None
    return first_turn(prepared, None if tools is not None else state.stages[0].place.deferred)


def _place(omission: Omission) -> tuple[float, int]:
    """The order of the prompt: by the first character, and a part before those inside it."""
    if not omission.spans:
        return math.inf, 0
    return omission.spans[0][0], -omission.spans[-1][1]


class _Scorer:
    """Scores prompts with one answer, and counts the evaluated tokens."""

    def __init__(
        self,
        prepared: PreparedRequest,
        expected: Expected | None,
        stage: StageState,
        model: Model,
        choice: WrittenChoice,
        report: Report,
        stopped: Callable[[], bool],
        *,
        limit: int | None,
    ) -> None:
        self._model, self._choice, self._limit = model, choice, limit
        self._report, self._stopped = report, stopped
        self._asked = prepared.request
        self._tokens = stage.tokens[: choice.last]
        self._masked = prepared.request.constraint != "off"
        self._names = [tool.name for tool in prepared.enforced.allowed]
        self._before = _text_before(stage, choice)
        names = special_tokens(prepared.request, model)
        self._request = msgspec.structs.replace(
            generate_request(prepared.request, prepared.enforced, "", expected, names=names),
            written=tuple(events.PrefixPart(one.step.data, one.step.id, kept=True) for one in self._tokens),
            max_tokens=0,
            alternatives=_ALTERNATIVES,
            evidence="all",
            scored_from=choice.first,
            rules=b"",
            near=None,
        )
        self._whole = events.PromptRendered(text="", tokens=0, cached=0)
        self._ids: list[int] = []
        self._ends: list[int] = []  # the characters that the first tokens of the whole prompt complete
        self._seen_from = 0
        self._base: ChoiceScore | None = None
        self._total = 0
        self.evaluated = 0
        self.ms = 0.0

    def whole_score(self, prompt: events.PromptRendered) -> ChoiceScore:
        """The score with the whole prompt, which is read from the disk or stored there as a run's is."""
        self._whole, self._ids = prompt, encode(prompt.text, self._model, prompt.plain)
        self._ends = list(accumulate(prompt.lengths))
        self._seen_from = _last_message(prompt)
        self._total = prompt.tokens + len(self._tokens)
        self._base = self._scored(
            msgspec.structs.replace(self._request, prompt=prompt.text, plain=prompt.plain)
        )
        if self._base is None:
            raise ModelError("Scoring the prompt was stopped.", hint="Start it again.")
        return self._base

    def effects_of(self, parts: Sequence[Variant], messages: RenderedMessages) -> list[OmissionEffect]:
        """The effects of the parts, as far as the budget reaches: first estimates of those with much text behind them,
        then the scores, those of the largest estimates first. Prompts are scored beside the whole one, which stays in
        the model's memory. Each is rendered only then: of hundreds of tools, that takes as long as their evaluation.
        """
        effects = [OmissionEffect(one.omission) for one in parts]
        costs = [self._cost(one.omission) for one in parts]
        self._total += sum(costs)
        self._estimate(costs, effects)
        scores: dict[str, ChoiceScore] = {}  # of parts without which the prompt is the same
        for index in sorted(range(len(parts)), key=lambda at: self._priority(effects[at], costs[at])):
            if self._stopped():
                break
            if not self._affords(costs[index]):
                continue
            try:
                text, plain = self._text_of(parts[index].render())
                ids = encode(text, self._model, plain)
                cost = len(ids) - common_length(ids[:-1], self._ids) + len(self._tokens)
                found = replace(effects[index], tokens=len(ids))
                if ids == self._ids:
                    found = replace(found, problem="the prompt is the same without it", estimate=None)
                elif text in scores or self._affords(cost):
                    self._total += cost - costs[index] if text not in scores else -costs[index]
                    request = msgspec.structs.replace(self._request, prompt=text, plain=plain, beside=True)
                    score = scores[text] if text in scores else self._scored(request)
                    if score is None:
                        break
                    scores[text] = score
                    found = replace(found, score=score)
            except PromptError as error:  # also too long: a template may replace a message by another text
                found = replace(effects[index], problem=error.message, estimate=None)
            effects[index] = found
            self._report(AblationProgress(self.evaluated, self._total, found))
        return effects

    def _cost(self, omission: Omission) -> int:
        """The tokens to evaluate without a part: those behind it, or all if its place is not known."""
        hidden = _hidden(omission, self._ends)
        behind = (
            self._whole.tokens - hidden[0][0] - sum(last - first for first, last in hidden) if hidden else 0
        )
        return (behind if hidden else self._whole.tokens) + len(self._tokens)

    def _text_of(self, messages: RenderedMessages) -> tuple[str, events.Spans]:
        """The prompt of other messages, and its characters without control tokens."""
        if self._whole.plain:
            made = priced_prompt(messages, self._model, self._asked)
            return made.text, made.plain
        chat = self._asked.chat
        given = (messages.messages, messages.tools) if messages.tools else (messages.messages,)
        switched: dict[str, Any] = {} if chat == events.DEFAULT_CHAT else {"chat": chat}
        return self._model.render_chat(*given, **switched).text + messages.begun, ()

    def _estimate(self, costs: Sequence[int], effects: list[OmissionEffect]) -> None:
        """Estimate the effects of parts that cost several times as much to leave out."""
        cost = self._whole.tokens - self._seen_from + len(self._tokens)
        for index, effect in enumerate(effects):
            hidden = _hidden(effect.omission, self._ends)
            if not hidden or hidden[-1][1] >= self._seen_from or costs[index] < _WORTH * cost:
                continue
            if not self._affords(cost):
                return
            self._total += cost
            request = msgspec.structs.replace(
                self._request,
                prompt=self._whole.text,
                plain=self._whole.plain,
                beside=True,
                hidden=hidden,
                seen_from=self._seen_from,
            )
            try:
                estimate = self._scored(request)
            except ModelDied:
                raise
            except ModelError:  # a recurrent model, or no room in its context
                self._total -= cost
                return
            if estimate is None:
                return
            effects[index] = replace(effect, estimate=estimate)
            self._report(AblationProgress(self.evaluated, self._total, effects[index]))

    def _priority(self, effect: OmissionEffect, cost: int) -> tuple[float, int]:
        """The cheap ones without an estimate first, then the largest estimates; of those that are nothing, which have
        no order, again the cheap ones first, so that the budget reaches as many as possible.
        """
        if effect.estimate is None or self._base is None:
            return -math.inf, cost
        change = abs(effect.estimate.logprob - self._base.logprob)
        return -change if change >= NOTHING else 0.0, cost

    def _affords(self, cost: int) -> bool:
        return self._limit is None or self.evaluated + cost <= self._limit

    def _scored(self, request: GenerateRequest) -> ChoiceScore | None:
        """The score with the request's prompt; None if it was stopped."""
        start, before = time.perf_counter(), self.evaluated
        steps: tuple[events.TokenStep, ...] = ()
        with closing(self._model.generate(request)) as outputs:
            for output in outputs:
                if isinstance(output, Cancelled) or self._stopped():
                    return None
                if isinstance(output, PromptProgress):
                    self._report(AblationProgress(self.evaluated, self._total))
                elif isinstance(output, PromptReady):
                    self.evaluated = before + output.tokens - output.cached
                elif isinstance(output, tuple):
                    steps = output
                    break
        self.evaluated += len(steps[self._choice.first :])
        self.ms += (time.perf_counter() - start) * 1000
        return ChoiceScore(tuple(map(self._token_score, steps[self._choice.first :])))

    def _token_score(self, step: events.TokenStep) -> TokenScore:
        raw = step.logprob if step.logprob is not None else -math.inf
        masked = share = None
        if self._masked:
            share = 1.0 if step.feasible is None else max(step.feasible, 1e-300)
            masked = 0.0 if step.forced else min(raw - math.log(share), 0.0)
        others = [one for one in step.alternatives if one.id != step.id and one.allowed is not False]
        best = max(others, key=lambda one: one.raw, default=None)
        if best is None or step.forced:
            return TokenScore(step.index, raw, masked, None)
        under = None if share is None else min(best.raw / share, 1.0)
        return TokenScore(
            step.index, raw, masked, OtherToken(best.text, best.raw, under, self._tools(step, best.text))
        )

    def _tools(self, step: events.TokenStep, text: str) -> tuple[str, ...]:
        """The tools whose names can begin with what is written before that token, and with the text."""
        if self._choice.kind != "tool":
            return ()
        begun = f"{self._before[step.index - self._choice.first]}{text}".lstrip("\"' =:({")
        return tuple(
            name for name in self._names if begun.strip() and name.startswith(begun.rstrip("\"' ({,:"))
        )


def _last_message(prompt: events.PromptRendered) -> int:
    """The token in the header of the last message from which on it is evaluated again for an estimate; 0 if the place
    of tokens is not known.
    """
    last = next(
        (n for n in reversed(range(len(prompt.parts))) if prompt.parts[n].name in ("user", HISTORY)), 0
    )
    if not last or not prompt.lengths:
        return 0
    ends = list(accumulate(prompt.lengths))
    header = prompt.parts[last - 1]
    # one token of the header stays, as the memory of a sequence has no gap before the tokens that are evaluated
    first = bisect_right(ends, header.start) + 1 if header.name == TEMPLATE else len(ends)
    return min(first, bisect_right(ends, prompt.parts[last].start))


def _hidden(omission: Omission, ends: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The ranges of the tokens with these ends that complete characters of a part; empty if they are not known."""
    if not ends:
        return ()
    ranges = ((bisect_right(ends, start), bisect_right(ends, end)) for start, end in sorted(omission.spans))
    return tuple((first, last) for first, last in ranges if last > first)


def _text_before(stage: StageState, choice: WrittenChoice) -> list[str]:
    """For each token of a choice of a tool, the beginning of the name that is written before it."""
    if choice.kind != "tool":
        return []
    tokens: list[events.Token] = stage.tokens[choice.first : choice.last]
    name = stage.text.find(choice.name, max(0, tokens[0].start))
    return [stage.text[name : token.start] if token.start > name >= 0 else "" for token in tokens]
