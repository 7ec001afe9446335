"""Repair of an invalid text: the result is extracted from it, or requested again.

Each attempt sees the original prompt, the last failed text and the reason, but no earlier attempts; no later stage sees
any of it. A valid text needs no report.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from glyphscope.events import AnyEvent, Extracted, LimitReached, RepairTried, Violation, violations_of
from glyphscope.prompting.messages import RenderedMessages
from glyphscope.prompting.strategies import render_repair
from glyphscope.runs.context import Context
from glyphscope.runs.strategies.decode import Generated, calls_of
from glyphscope.runs.strategies.extraction import extract
from glyphscope.runs.strategies.generate import GenerationTask, generate

STAGE = "repair"


def generate_repaired(context: Context, task: GenerationTask) -> Generator[AnyEvent, None, Generated]:
    """A generation in the present stage, with the request's prefix; repaired if it is not valid."""
    generated = yield from generate(context, task, context.request.written)
    return (yield from repaired(context, task, generated))


def repaired(
    context: Context, task: GenerationTask, generated: Generated, *, extracting: bool = True
) -> Generator[AnyEvent, None, Generated]:
    """The final result: `generated` itself, an extraction from it, or a later attempt.

    Call it right after the generation, in its stage. Every attempt is a separate stage. Without `extracting`, nothing
    is extracted from the text, which is then only the beginning of the result.
    """
    settings = context.request.repair
    current = (yield from _extracted(context, task, generated)) if extracting else generated
    said: RenderedMessages | None = None
    for attempt in range(1, settings.attempts + 1):
        if current.valid or current.ended or not current.violations:
            break
        fault = current.violations[0]
        error = _in_words(fault)
        messages = render_repair(context.request, task.messages, task.notation, current.text, error)
        if messages == said and task.deterministic:
            yield _in_vain(context, attempt - 1)
            break
        said = messages
        yield context.emitter.enter(STAGE, f"Repair {attempt} of {settings.attempts}", "repair")
        tried = yield from generate(context, replace(task, messages=messages))
        made = yield from _extracted(context, task, tried)
        if not made.ended:
            now = None if made.valid else next(iter(made.violations), None)
            yield context.emitter.stamp(
                RepairTried(
                    attempt=attempt,
                    attempts=settings.attempts,
                    code=fault.code,
                    message=error,
                    before=current.text,
                    after=made.text,
                    char=fault.char,
                    now=None if now is None else now.char,
                    now_code=None if now is None else now.code,
                    tokens=tried.tokens,
                )
            )
        current = made
    return current


def _extracted(
    context: Context, task: GenerationTask, generated: Generated
) -> Generator[AnyEvent, None, Generated]:
    """The same result with the extraction in place of its text, if something could be extracted."""
    extracts = context.request.repair.extract and context.request.answer.kind in ("call", "schema")
    if generated.valid or generated.ended or not extracts:
        return generated
    found = extract(generated.text, task.notation, task.key, ended=generated.reason == "end-of-text")
    if not found.changes:
        return generated
    validator = task.bare_validator()
    events = [*validator.feed(found.after), *validator.finish()]
    yield context.emitter.stamp(
        Extracted(before=generated.text, after=found.after, changes=found.changes, valid=validator.valid)
    )
    return replace(
        generated,
        text=found.after,
        reason="complete" if validator.valid else generated.reason,
        valid=validator.valid,
        tool=validator.tool,
        arguments=validator.arguments,
        violations=tuple(violations_of(events)),
        calls=calls_of(validator, found.after) if validator.valid else (),
    )


def _in_words(fault: Violation) -> str:
    """The message to the model: the code, the sentence, the place, and the possible values."""
    place = f" at {fault.path}" if fault.path else ""
    viable = f" (what fits here: {fault.viable})" if fault.viable else ""
    return f"{fault.code}{place}, character {fault.char}: {fault.message}{viable}"


def _in_vain(context: Context, attempts: int) -> LimitReached:
    return context.emitter.stamp(
        LimitReached(
            limit="attempts",
            allowed=context.request.repair.attempts,
            used=attempts,
            message="the prompt would be the same, and at temperature 0 the output too",
        )
    )
