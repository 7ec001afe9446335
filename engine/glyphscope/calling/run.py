"""A run from its first event to its last: the frame around whichever strategy the request names."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from glyphscope.calling.branch import check_written
from glyphscope.calling.context import Context, Ending, Strategy
from glyphscope.calling.direct import direct
from glyphscope.calling.dispatch.carry import carry_out
from glyphscope.calling.emitter import Emitter
from glyphscope.calling.failures import failed
from glyphscope.calling.host import Host, SilentHost
from glyphscope.calling.loop.conversing import loop
from glyphscope.calling.native import check_native, settled
from glyphscope.calling.relaxing import check_relaxed
from glyphscope.calling.routing.route import route_execute
from glyphscope.calling.two_stage import two_stage
from glyphscope.errors import GlyphscopeError
from glyphscope.events import AnyEvent, CallReady, RunFinished, RunRequest
from glyphscope.models import Model
from glyphscope.registry import parse_document

_STRATEGIES: dict[str, Strategy] = {
    "direct": direct,
    "two-stage": two_stage,
    "route-execute": route_execute,
    "loop": loop,
}


def run(request: RunRequest, model: Model, host: Host | None = None) -> Generator[AnyEvent, None, None]:
    """Runs the request: every event from `RunStarted` to `RunFinished` or `RunFailed`.

    Never raises a GlyphscopeError: it is the last event. Closing the iterator stops the model at once, and no token
    is decoded that was not asked for; `model.cancel()`, from any thread, ends the run with the reason `cancelled`,
    and so does `host.cancelled` while a tool or a person is waited for. Without a host nobody answers or approves.
    """
    request = settled(request, model)
    emitter = Emitter()
    yield emitter.started(request, model.info)
    try:
        check_native(request, model)
        check_written(request)
        check_relaxed(request)
        registry = parse_document(request.registry)
        context = Context(request, registry, model, emitter, host or SilentHost())
        ending = yield from _carried_through(context, _STRATEGIES[request.strategy])
        yield finished(context, ending)
    except GlyphscopeError as error:
        yield emitter.stamp(failed(error))


def _carried_through(context: Context, strategy: Strategy) -> Generator[AnyEvent, None, Ending]:
    """The strategy, and its call carried out where the request asks for that: then the run is as good as the result.

    The loop carries its calls out itself.
    """
    calls: list[CallReady] = []
    ending = yield from _noting(strategy(context), calls)
    if not context.request.dispatch or context.request.strategy == "loop" or not (ending.valid and calls):
        return ending
    result = yield from carry_out(context, calls[-1])
    return Ending("cancelled", False) if result.fault == "cancelled" else Ending(ending.reason, result.ok)


def _noting(
    events: Generator[AnyEvent, None, Ending], calls: list[CallReady]
) -> Generator[AnyEvent, None, Ending]:
    with closing(events):
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                ending: Ending = end.value
                return ending
            if isinstance(event, CallReady):
                calls.append(event)
            yield event


def finished(context: Context, ending: Ending) -> RunFinished:
    """The run's last event, with what all of its stages cost."""
    spent = context.spent
    return context.emitter.stamp(
        RunFinished(
            reason=ending.reason,
            valid=ending.valid,
            tokens=spent.tokens,
            forced=spent.forced,
            prompt_ms=spent.prompt_ms or 0.0,
            first_token_ms=spent.first_token_ms or 0.0,
            total_ms=context.emitter.now * 1000,
        )
    )
