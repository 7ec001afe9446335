"""A run from its first event to its last, around the strategy that the request names."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable

import msgspec

from glyphscope.base.errors import GlyphscopeError, PromptError, Stopped
from glyphscope.events import AnyEvent, Notation, PromptRendered, RunFinished, RunRequest
from glyphscope.models.interface import Model
from glyphscope.processes.stopping import stopped_by
from glyphscope.prompting.messages import render_messages
from glyphscope.prompting.strategies import render_executor
from glyphscope.runs.context import Context, Ending, Spent, Strategy
from glyphscope.runs.deferral import deferral, tools_note
from glyphscope.runs.emitter import Clock, Emitter
from glyphscope.runs.endings import failed
from glyphscope.runs.interaction import Interaction, NonInteractive
from glyphscope.runs.prepared import PreparedRequest, request_of
from glyphscope.runs.settling import settle
from glyphscope.runs.strategies.decode import ending_of
from glyphscope.runs.strategies.generate import call_task
from glyphscope.runs.strategies.loop.history_policy import with_system
from glyphscope.runs.strategies.loop.tool_loop import first_turn, loop
from glyphscope.runs.strategies.repair import generate_repaired
from glyphscope.runs.strategies.request import render_prompt, special_tokens
from glyphscope.runs.strategies.routing.route import only, route_execute
from glyphscope.runs.strategies.two_stage import two_stage
from glyphscope.runs.tool_execution import execute


def direct(context: Context) -> Generator[AnyEvent, None, Ending]:
    """One prompt, one generation under the grammar of the enforced registry, one call; or another answer."""
    request = context.request
    yield context.emitter.enter("call", "Call" if request.answer.is_call else "Answer")
    messages = render_messages(request, context.registry)
    names = special_tokens(request, context.model)
    task = call_task(request, context.prepared.enforced, messages, names=names)
    generated = yield from generate_repaired(context, task)
    return (yield from ending_of(generated, context.emitter, request.answer))


_STRATEGIES: dict[str, Strategy] = {
    "direct": direct,
    "two-stage": two_stage,
    "route-execute": route_execute,
    "loop": loop,
}


def run(
    request: RunRequest | PreparedRequest,
    model: Model,
    interaction: Interaction | None = None,
    *,
    clock: Clock = time.perf_counter,
) -> Generator[AnyEvent, None, None]:
    """Run the request: yields every event from `RunStarted` to `RunFinished` or `RunFailed`.

    Never raises a GlyphscopeError: it becomes `RunFailed`. Closing the iterator stops the model at once; each token is
    decoded only when it is requested. `model.cancel()`, from any thread, ends the run with the reason `cancelled`, and
    so does `interaction.cancelled` while the run waits for a tool or a person. Without an `interaction`, questions stay
    unanswered and calls unapproved. `clock` returns the seconds for all events and limits.
    """
    settled = settle(request, model)
    asked, emitter = settled.request, Emitter(clock)
    yield emitter.started(asked, model.info)
    context: Context | None = None
    try:
        context = Context(settled.accepted, model, emitter, interaction or NonInteractive())
        ending = yield from _STRATEGIES[asked.strategy](context)
        if asked.dispatch and ending.calls:
            ending = yield from _executed(context, ending)
        yield finished(context, ending)
    except Stopped:
        spent = Spent() if context is None else context.spent
        yield _finished(emitter, spent, Ending("cancelled", False))
    except GlyphscopeError as error:
        yield emitter.stamp(failed(error))


def cancellable(
    events: Iterable[AnyEvent], model: Model, interaction: Interaction
) -> Generator[AnyEvent, None, None]:
    """The events of a run, which ends as `cancelled` once `interaction.cancelled` is set, even before it generates."""
    with stopped_by(interaction.cancelled.is_set):
        for event in events:
            yield event
            if interaction.cancelled.is_set():
                model.cancel()


def first_prompt(request: RunRequest | PreparedRequest, model: Model) -> PromptRendered:
    """The first prompt of a run of the request, with its costs, without running it. `cached` is not known yet, and 0.

    That of a tool loop has no transformed messages; its note has the tokens of its tools with and without a search for
    them. Raises PromptError for the strategy route-execute, whose prompts depend on the model's answers, RegistryError
    and ModelError.
    """
    asked = request_of(request)
    if asked.strategy == "route-execute":
        raise PromptError(
            f"The prompts of the strategy {asked.strategy} are made in a run.",
            hint="Run it: each stage reports its prompt.",
        )
    prepared = settle(request, model).accepted
    if asked.strategy != "loop":
        return render_prompt(prepared.request, prepared.offered, model)
    of_loop, tools = with_system(prepared.request), prepared.described
    deferred = deferral(of_loop, tools, model)
    turn, _ = first_turn(prepared, deferred)
    prompt = render_prompt(turn.request, turn.offered, model)
    note = tools_note(of_loop, tools, model, deferred)
    return msgspec.structs.replace(prompt, note=" ".join(filter(None, (prompt.note, note))))


def _executed(context: Context, ending: Ending) -> Generator[AnyEvent, None, Ending]:
    """Execute the strategy's calls in order: the run is valid if all results are."""
    valid = True
    for call in ending.calls:
        result = yield from execute(context, call)
        if result.fault == "cancelled":
            return Ending("cancelled", False)
        valid = valid and result.ok
    return Ending(ending.reason, valid)


def finished(context: Context, ending: Ending) -> RunFinished:
    """The run's last event, with the costs of all its stages."""
    return _finished(context.emitter, context.spent, ending)


def _finished(emitter: Emitter, spent: Spent, ending: Ending) -> RunFinished:
    return emitter.stamp(
        RunFinished(
            reason=ending.reason,
            valid=ending.valid,
            tokens=spent.tokens,
            forced=spent.forced,
            prompt_ms=spent.prompt_ms or 0.0,
            first_token_ms=spent.first_token_ms or 0.0,
            total_ms=emitter.now * 1000,
        )
    )


def instructions(prepared: PreparedRequest, notation: Notation, tool: str) -> str | None:
    """The system message that requests the run's calls in that notation; `tool` is the called one.

    None if the model's own template writes it. Raises PromptError and RegistryError.
    """
    if prepared.request.native:
        return None
    request = msgspec.structs.replace(prepared.request, notation=notation)
    match request.strategy:
        case "loop":
            rendered = render_messages(with_system(request), prepared.described)
        case "route-execute":
            rendered = render_executor(request, only(prepared.offered, tool))
        case _:
            rendered = render_messages(request, prepared.offered)
    return "\n".join(message.content for message in rendered.messages if message.role == "system")
