"""The cost of a run, computed from its events: while it runs, and at its end."""

from __future__ import annotations

import msgspec

from glyphscope.runs import RunState
from glyphscope.runs.stage_words import prompt_tokens
from glyphscope.runs.state import StageState


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over all stages of a run. Values that are not known (yet) are None, never zero.

    `tokens` counts all written tokens, `forced` those without a choice. `characters` and `bytes` (of UTF-8) measure the
    written text. The model read `prompt_tokens`, `cached` of them without another evaluation. `first_token_ms` and
    `total_ms` count from the run's start, `total_ms` without the wait for a person; `tokens_per_second` is that of the
    `decoded` tokens.
    """

    tokens: int
    forced: int
    characters: int
    bytes: int
    prompt_tokens: int | None = None
    cached: int | None = None
    first_token_ms: float | None = None
    total_ms: float | None = None
    tokens_per_second: float | None = None


def run_figures(state: RunState) -> RunFigures:
    """The figures of the run so far. Takes time proportional to its length: call it a few times per second at most."""
    texts = [stage.text for stage in state.stages]
    written = [stage for stage in state.stages if stage.tokens]
    prompts = [prompt_tokens(stage) for stage in state.stages]
    known = all(tokens for stage, (tokens, _) in zip(state.stages, prompts) if stage.tokens)
    read = sum(tokens for tokens, _ in prompts) if known else 0
    of_model = [decoded(stage) for stage in written]
    timed, seconds = sum(tokens for tokens, _ in of_model), sum(taken for _, taken in of_model)
    several = sum(len(stage.tokens) for stage in written) > 1
    return RunFigures(
        tokens=sum(stage.token_count for stage in written),
        forced=sum(stage.forced for stage in written),
        characters=sum(map(len, texts)),
        bytes=sum(len(text.encode("utf-8", "replace")) for text in texts),
        prompt_tokens=read or None,
        cached=sum(cached for _, cached in prompts) if read else None,
        first_token_ms=written[0].tokens[0].t * 1000 if written else None,
        total_ms=state.worked_ms,
        tokens_per_second=timed / seconds if several and timed and seconds > 0 else None,
    )


def decoded(stage: StageState) -> tuple[int, float]:
    """The tokens that the model wrote in this run, forced ones included, and the seconds for them: those since the end
    of the prompt's evaluation, or since the last token that a branch keeps or the user wrote. None and 0 if all came at
    once, as in an answer that is not streamed: its time is also that of its prompt; and while tokens are not counted.
    """
    if stage.counted_tokens is None:
        return 0, 0.0
    inserted = next(
        (n for n, token in enumerate(stage.tokens) if token.step.origin == "model"), len(stage.tokens)
    )
    if inserted:
        begin = stage.tokens[inserted - 1].t
    elif stage.evaluated is not None:
        begin = stage.evaluated.t
    else:
        begin = stage.prompt.t if stage.prompt is not None else stage.began
    last, count = stage.tokens[-1].t, stage.token_count - inserted
    if count > 1 and inserted < len(stage.tokens) and stage.tokens[inserted].t == last:
        return 0, 0.0
    return count, max(last - begin, 0.0)
