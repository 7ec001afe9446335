"""A model that replays a record: it yields the tokens of a recorded run again."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

from msgspec import ValidationError, convert
from msgspec.structs import replace

from glyphscope import events
from glyphscope.base.errors import ModelError, RecordedFailure
from glyphscope.base.structs import ready
from glyphscope.models.chat import render_plain
from glyphscope.models.interface import (
    Cancelled,
    ConstraintMade,
    GenerateRequest,
    Output,
    PromptProgress,
    PromptReady,
    RenderedPrompt,
    Usage,
)
from glyphscope.models.scripted import TextModel
from glyphscope.turns import TurnForm


class RecordedModel(TextModel):
    """The prompts and the steps of `stream`, stage by stage: the n-th generation yields the n-th stage's tokens.

    If the recorded model failed, this one fails in the same place with a RecordedFailure. After the last stage it
    starts again with the first, so that a record can be run any number of times.
    """

    def __init__(self, stream: Iterable[events.AnyEvent]) -> None:
        super().__init__()
        started: events.RunStarted | None = None
        self._stages: list[list[events.AnyEvent]] = []
        for event in stream:
            if isinstance(event, events.RunStarted):
                started = event
            elif isinstance(event, events.PromptRendered):
                self._stages.append([event])
            elif self._stages and _is_generations(event, self._stages[-1][0]):
                self._stages[-1].append(event)
        recorded = started.model if started else events.ModelInfo(name="recorded")
        self.info = replace(recorded, kind="recorded", load=None)
        self._form = _form_of(started)
        self._counted = recorded.kind == "remote"
        self._rendered = self._generated = 0

    def count_tokens(self, text: str) -> int:
        """The recorded count of a prompt; for any other text, the number of token-sized pieces."""
        for stage in self._stages:
            prompt = stage[0]
            if isinstance(prompt, events.PromptRendered) and text in (
                prompt.text,
                _before_begun(prompt).text,
            ):
                return prompt.tokens if text == prompt.text else _before_begun(prompt).tokens
        return super().count_tokens(text)

    def render_chat(
        self,
        messages: Sequence[events.Message],
        tools: Sequence[dict[str, Any]] = (),
        chat: events.ChatOptions = events.DEFAULT_CHAT,
    ) -> RenderedPrompt:
        """The recorded prompt of the next stage, which may differ from a rendering of `messages` today.

        Without the beginning of the answer, which the caller adds.
        """
        if not self._stages:
            text = render_plain(messages)
            return RenderedPrompt(text, self.count_tokens(text))
        prompt = self._stages[self._rendered % len(self._stages)][0]
        self._rendered += 1
        assert isinstance(prompt, events.PromptRendered), "a stage begins with its prompt"
        rendered = _before_begun(prompt)
        if self._counted and prompt.lengths:
            rendered = replace(rendered, pieces=tuple(_pieces(prompt)))
        added = [part for part in prompt.parts if part.name == "tools"] if tools else []
        if not added:
            return rendered
        return replace(rendered, added=prompt.text[added[0].start : added[-1].end])

    def turn_form(self, chat: events.ChatOptions = events.DEFAULT_CHAT) -> TurnForm | None:
        """The form in the recorded request; None if it has none."""
        return self._form

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        """The recorded steps of the next stage, at most `max_tokens`. Forced tokens are in one batch, as recorded.

        Raises ModelError if the requested prefix differs from the recorded one, and RecordedFailure.
        """
        self._cancelled.clear()
        stage = self._stages[self._generated % len(self._stages)] if self._stages else []
        self._generated += 1
        yield from self._prompt(stage)
        steps = [event.step for event in stage if isinstance(event, events.Token)]
        written = sum(step.origin != "model" for step in steps)
        _check_written(request, steps[:written], torn=written == len(steps))
        steps = steps[: written + request.max_tokens]
        yield from self._usage(stage, written)
        for batch in _batches(steps):
            if self._cancelled.is_set():
                yield Cancelled()
                return
            yield batch
        if any(isinstance(event, events.StageFinished) and event.reason == "cancelled" for event in stage):
            yield Cancelled()
        _fail_as(stage)

    def _usage(self, stage: list[events.AnyEvent], written: int) -> Iterator[Usage]:
        """The endpoint's counts for a recorded remote model, without the prefix."""
        for event in stage:
            if self._counted and isinstance(event, events.StageFinished):
                yield Usage(event.prompt_tokens, event.cached, event.tokens - written)

    def _prompt(self, stage: list[events.AnyEvent]) -> Generator[Output, None, None]:
        progress = [event for event in stage if isinstance(event, events.PromptEvaluated)]
        rendered = stage[0] if stage else None
        tokens, cached, restored = (
            (rendered.tokens, rendered.cached, rendered.restored)
            if isinstance(rendered, events.PromptRendered)
            else (0, 0, 0)
        )
        for place, event in enumerate(progress, 1):
            if event.done < event.total or place < len(progress):
                yield PromptProgress(event.done, event.total, event.ms, restored=restored)
        if not progress or progress[-1].done < progress[-1].total:
            _fail_as(stage)
        made = next((event for event in stage if isinstance(event, events.ConstraintReady)), None)
        constraint = None if made is None else ConstraintMade(made.key, made.hit, made.compile_ms)
        yield PromptReady(tokens, cached, progress[-1].ms if progress else 0.0, constraint)


def _form_of(started: events.RunStarted | None) -> TurnForm | None:
    """The form of a record; None if it is invalid, as in an edited record: the run rejects it."""
    if started is None or not started.request.form:
        return None
    try:
        return convert(started.request.form, ready(TurnForm))
    except ValidationError:
        return None


def _fail_as(stage: Sequence[events.AnyEvent]) -> None:
    """Raises RecordedFailure if the generation ended with an error that only the model could raise."""
    last = stage[-1] if stage else None
    match last:
        case events.RunFailed(code="MODEL_FAILED" | "CONTEXT_OVERFLOW" | "CONSTRAINT_FAILED" as code):
            raise RecordedFailure(last.message, code=code, hint=last.hint, detail=last.detail)


def _check_written(request: GenerateRequest, recorded: Sequence[events.TokenStep], *, torn: bool) -> None:
    """Raises ModelError for a prefix that the record does not have. A `torn` record ends within its prefix, and may
    lack the rest of it; the text of an end token is in no step.
    """
    requested = b"".join(one.data for one in request.written)
    known = b"".join(step.data for step in recorded)
    if requested != known and not (torn and requested.startswith(known)):
        raise ModelError(
            "A record cannot continue from tokens that it does not have.",
            hint="Open the model of that run, and branch with it.",
        )


def _pieces(prompt: events.PromptRendered) -> Iterator[bytes]:
    """The text in the pieces of its tokens; an incomplete character is in the token that completes it."""
    at = 0
    for length in prompt.lengths:
        yield prompt.text[at : at + length].encode("utf-8", "replace")
        at += length


def _before_begun(prompt: events.PromptRendered) -> RenderedPrompt:
    """The prompt as the chat template rendered it, without the beginning of the answer."""
    text, tokens = prompt.text, prompt.tokens
    if prompt.parts and (last := prompt.parts[-1]).name == events.BEGUN:
        text, tokens = text[: last.start], tokens - last.tokens
    return RenderedPrompt(text, tokens, prompt.note)


def _batches(steps: Sequence[events.TokenStep]) -> list[tuple[events.TokenStep, ...]]:
    """The steps as recorded: the prefix at once, and forced tokens together with the sampled one after them."""
    batches: list[tuple[events.TokenStep, ...]] = []
    batch: list[events.TokenStep] = []
    for place, step in enumerate(steps, 1):
        batch.append(step)
        last = place == len(steps)
        written = step.origin != "model"
        if last or (steps[place].origin == "model" if written else not step.forced):
            batches.append(tuple(batch))
            batch = []
    return batches


def _is_generations(event: events.AnyEvent, prompt: events.AnyEvent) -> bool:
    """Whether the event belongs to the generation that began with `prompt`; the end of a tool's stage does not."""
    if isinstance(event, (events.StageFinished, events.RunFailed)):
        return event.stage == prompt.stage
    return isinstance(event, (events.Token, events.PromptEvaluated, events.ConstraintReady))
