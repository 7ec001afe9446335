"""From a valid call to its result: guardrails, approval, execution in a separate thread, and the message to the model.

Every call ends in a `ToolResult`, even one that never ran: a denial, a guardrail or a tool's error goes to the model.
Only a bug in Glyphscope ends the run.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope import events
from glyphscope.base.errors import ServerError, ToolError
from glyphscope.base.figures import duration
from glyphscope.base.json_values import read_json
from glyphscope.runs.context import Context
from glyphscope.runs.envelope import compact, envelope, escaped, json_bytes, size
from glyphscope.runs.interaction import Decision
from glyphscope.runs.tool_access import why_unavailable
from glyphscope.tools import Outcome, ToolSource
from glyphscope.tools.approval import decide
from glyphscope.tools.mcp.content import OutputSchema
from glyphscope.tools.source import TRACEPARENT, is_asking
from glyphscope.validation.reasons import LocatedReason, Reason, in_words
from glyphscope.validation.tools import tools_of

POLL_SECONDS = 0.05
"""Seconds between two checks for an outcome, a stop or the time limit."""
GRACE_SECONDS = 2.0
"""Seconds that a source has to return after a request to stop, or after its time limit."""
PROGRESS_SECONDS = 0.1
"""Seconds between two reports of progress: a tool may report a million steps."""


class RunningCall:
    """One running call; `events` waits for it."""

    def __init__(self, source: ToolSource, started: events.ToolStarted, seconds: float, trace: str) -> None:
        self._trace = trace
        self._source, self._started, self._seconds = source, started, seconds
        self.waited = 0.0
        """Seconds in which the source waited for a person; no limit counts them."""
        self._cancel = threading.Event()
        self._progress: deque[events.ToolProgressed] = deque(
            maxlen=1
        )  # the newest is reported when it is due
        self._outcome: Future[Outcome] = Future()

    def events(
        self, cancelled: threading.Event, stamp: Callable[[events.ToolProgressed], events.ToolProgressed]
    ) -> Generator[events.ToolProgressed, None, Outcome]:
        """Yield timestamped progress, then the outcome. `cancelled` ends the call.

        A source that does not return is abandoned, and the outcome says so. Raises exceptions of the source other than
        ToolError and ServerError, which are bugs. Closing the iterator also ends the call.
        """
        threading.Thread(target=self._work, name=f"tool {self._started.tool}", daemon=True).start()
        deadline = time.monotonic() + self._seconds + GRACE_SECONDS
        reported, now = -math.inf, time.monotonic()
        try:
            while not self._ends_within(POLL_SECONDS):
                before, now = now, time.monotonic()
                if is_asking(self._source):
                    deadline += now - before
                    self.waited += now - before
                if cancelled.is_set():
                    return self._stopped("cancelled", "The call was stopped.")
                if now >= deadline:
                    words = f"The tool did not answer within {duration(self._seconds)}."
                    return self._stopped("timeout", words)
                if now - reported >= PROGRESS_SECONDS and self._progress:
                    reported = now
                    yield stamp(self._progress.pop())
            if self._progress:
                yield stamp(self._progress.pop())
            return self._outcome.result()
        finally:
            self._cancel.set()

    def _ends_within(self, seconds: float) -> bool:
        wait((self._outcome,), seconds)
        return self._outcome.done()

    def _stopped(self, fault: Literal["cancelled", "timeout"], message: str) -> Outcome:
        """Ask the source to stop. Its own outcome is preferred if it still returns one."""
        self._cancel.set()
        if not self._ends_within(GRACE_SECONDS):
            return Outcome(
                fault=fault, message=f"{message} It did not stop when asked to, and was abandoned."
            )
        outcome = self._outcome.result()
        if fault == "timeout" and outcome.fault == "cancelled":
            return Outcome(fault=fault, message=message)
        return outcome

    def _report(self, done: float, total: float | None, message: str) -> None:
        if math.isfinite(done):
            total = total if total is not None and math.isfinite(total) else None
            self._progress.append(
                events.ToolProgressed(call=self._started.call, done=done, total=total, message=message)
            )

    def _work(self) -> None:
        started = self._started
        TRACEPARENT.set(self._trace)  # of this thread
        try:
            outcome = self._source.call(
                started.tool,
                started.arguments,
                seconds=self._seconds,
                cancel=self._cancel,
                progress=self._report,
            )
        except ToolError as failure:
            outcome = Outcome(fault="tool", message=str(failure))
        except ServerError as failure:
            outcome = Outcome(fault="protocol", message=str(failure))
        except BaseException as failure:  # raised in the run's thread
            self._outcome.set_exception(failure)
            return
        self._outcome.set_result(outcome)


DEFAULT_SOURCE = "demo"
"""The source of a tool for which the request names none."""
STAGE = "tool"
"""The name of a call's stage."""

Fault: TypeAlias = Literal["", "tool", "protocol", "timeout", "cancelled", "denied", "guard", "unknown"]
"""The faults of a source (`tools.source.Fault`), and those of calls that were not executed: denied, guard, unknown."""
Edited: TypeAlias = dict[str, Any] | None
"""The executed arguments if a person changed them; otherwise None."""
Rewrite: TypeAlias = Callable[[str], tuple[str, Sequence[events.TransformActed]]]
"""Returns the changed message to the model about a result, and an event for each transform that changed it."""

_CODES: dict[str, events.Code] = {
    "tool": "TOOL_ERROR", "protocol": "TOOL_ERROR", "timeout": "TOOL_ERROR", "unknown": "UNKNOWN_TOOL"
}  # fmt: skip
"""The code of a result, by the fault of its source."""


def execute(
    context: Context, call: events.CallReady, *, turn: int = 0, rewrite: Rewrite | None = None
) -> Generator[events.AnyEvent, None, events.ToolResult]:
    """Execute a valid call of the registry in a separate stage. Returns its result.

    The guardrails of `request.loop` apply under every strategy. After a result with the fault `cancelled`, the
    strategy must return `Ending("cancelled", False)`. Raises unexpected exceptions of a source.
    """
    emitter, spent = context.emitter, context.spent
    yield emitter.enter(STAGE, call.tool, "tool", turn)
    began, waited = emitter.now, spent.waited
    result, edited = yield from _run_call(context, call)
    ms = (emitter.now - began - (spent.waited - waited)) * 1000  # without the time of the approval
    sent = envelope(result, edited)
    if rewrite is not None:
        sent, acted = rewrite(sent)
        for event in acted:
            yield emitter.stamp(event)
    result = emitter.stamp(msgspec.structs.replace(result, sent=escaped(sent), ms=ms))
    yield result
    yield emitter.stamp(events.StageFinished(reason=result.fault or "done", valid=result.ok, ms=ms))
    return result


def source_name(context: Context, tool: str) -> str:
    """The name of the source that executes the tool's calls, from the request."""
    return context.request.sources.get(tool, DEFAULT_SOURCE)


def _run_call(
    context: Context, call: events.CallReady
) -> Generator[events.AnyEvent, None, tuple[events.ToolResult, Edited]]:
    """The result, without timestamp and message to the model, and the edited arguments. The order of the checks:
    availability, size of the arguments, source, approval, the edited arguments.
    """
    if why := why_unavailable(context.request.loop, context.registry, call.tool):
        message = f"This tool may not be called: {why}."
        return _result(context, call, "guard", code="UNKNOWN_TOOL", message=message), None
    if too_large := _arguments_guard(context, call.arguments):
        yield too_large
        return _result(context, call, "guard", code="ARGUMENTS_TOO_LARGE", message=too_large.message), None
    name = source_name(context, call.tool)
    source = context.interaction.source(name)
    offered = () if source is None or call.tool in context.request.sources else source.tools()
    if source is None or (offered and all(tool.name != call.tool for tool in offered)):
        # before the approval: no one shall be asked to allow a call that nothing executes
        message = f"No executor for '{call.tool[:60]}': '{name}' is not connected, or has no such tool."
        return _result(context, call, "unknown", code="UNKNOWN_TOOL", message=message), None
    given = yield from _approval(context, call, source)
    if context.interaction.cancelled.is_set():
        message = "The run was stopped before the call began."
        return _result(context, call, "cancelled", message=message), None
    if given.action == "deny":
        why = f": {given.reason}" if given.reason else ""
        return _result(context, call, "denied", message=f"The call was not allowed{why}."), None
    edited = given.arguments if given.edited else None
    if edited is not None:
        if (problem := _edit_problem(context, call.tool, edited)) is not None:
            reason, message = problem
            return _result(context, call, "denied", code=reason.code, message=message), None
        if too_large := _arguments_guard(context, edited):
            yield too_large
            message = too_large.message
            return _result(context, call, "guard", code="ARGUMENTS_TOO_LARGE", message=message), None
    started = events.ToolStarted(call=call.call, tool=call.tool, source=name, arguments=given.arguments)
    yield (started := context.emitter.stamp(started))
    work = RunningCall(
        source, started, context.request.loop.max_tool_seconds, context.emitter.traceparent(call.call)
    )
    outcome = yield from work.events(context.interaction.cancelled, context.emitter.stamp)
    outcome = _checked(context, call.tool, outcome)
    context.spent.waited += work.waited
    result = _result(context, call, **_bounded(context, outcome), waited_ms=work.waited * 1000)
    if result.code == "TOOL_OUTPUT_TOO_LARGE":
        yield _limit(context, "max_tool_output_bytes", result.bytes, result.message)
    return result, edited


def _result(context: Context, call: events.CallReady, fault: Fault = "", **fields: Any) -> events.ToolResult:
    source = source_name(context, call.tool)
    return events.ToolResult(
        call=call.call, tool=call.tool, source=source, ok=not fault, fault=fault, **fields
    )


def _approval(
    context: Context, call: events.CallReady, source: ToolSource
) -> Generator[events.AnyEvent, None, events.ApprovalGiven]:
    """The approval or denial: by a rule of the request, an earlier decision that still applies, or the user."""
    request, identity = context.request, source.identity
    name = source_name(context, call.tool)
    action = decide(request.approvals, call.tool, name, identity)
    if action != "ask":
        reason = "a rule of this run denies it" if action == "deny" else ""
        given = events.ApprovalGiven(
            call=call.call, action=action, arguments=call.arguments, by="rule", reason=reason
        )
    elif (permission := context.permissions.find(call.tool, name, identity)) is not None:
        given = _given(call, permission)
    else:
        needed = events.ApprovalNeeded(
            call=call.call,
            tool=call.tool,
            arguments=call.arguments,
            source=name,
            identity=identity,
            claims=_claims(context, call.tool, source),
        )
        yield (needed := context.emitter.stamp(needed))
        decision = context.interaction.decide(needed)
        context.spent.waited += context.emitter.now - needed.t
        context.permissions.keep(decision, call.tool, name, identity)
        given = _given(call, decision)
    yield (given := context.emitter.stamp(given))
    return given


def _claims(context: Context, tool: str, source: ToolSource) -> dict[str, Any]:
    """The annotations that the source declares, or else those of the registry's file; both are claims."""
    known = context.registry.get(tool)
    return source.claims(tool) or ({} if known is None else dict(known.annotations))


def _checked(context: Context, tool: str, outcome: Outcome) -> Outcome:
    """The outcome, checked against the registry's schema of results unless its source has checked it by one.

    A result that is only text is checked as the JSON in it.
    """
    known = context.registry.get(tool)
    if known is None or known.output_schema is None or outcome.fault or outcome.schema_problems:
        return outcome
    try:
        schema = OutputSchema(known.output_schema)
    except (ValueError, RecursionError) as error:
        return replace(outcome, schema_problems=(f"The tool's output schema cannot be used: {error}",))
    value = outcome.structured
    if value is None:
        found = read_json(_text_of(outcome.content).strip())
        if found is None:
            words = "The tool has an output schema, and its answer no structured content."
            return replace(outcome, schema_problems=(words,))
        value = found[0]
    return replace(outcome, schema_problems=schema.problems(value))


def _given(call: events.CallReady, decision: Decision) -> events.ApprovalGiven:
    changed = decision.arguments
    edited = decision.action == "allow" and changed is not None and not _same(changed, call.arguments)
    return events.ApprovalGiven(
        call=call.call,
        action=decision.action,
        arguments=changed if edited and changed is not None else call.arguments,
        edited=edited,
        scope=decision.scope,
        by=decision.by,
        reason=decision.reason,
    )


def _same(edited: dict[str, Any], written: dict[str, Any]) -> bool:
    """Whether arguments are the same JSON: to Python, true, 1 and 1.0 are equal."""
    try:
        texts = [json.dumps(value, sort_keys=True) for value in (edited, written)]
    except (ValueError, TypeError, RecursionError):  # it is not JSON, as its check will say
        return False
    return texts[0] == texts[1]


def _arguments_guard(context: Context, arguments: dict[str, Any]) -> events.LimitReached | None:
    allowed = context.request.loop.max_tool_args_bytes
    used = json_bytes(arguments)
    if used <= allowed:
        return None
    message = f"The arguments have {used} bytes, and at most {allowed} are taken. Write less."
    return _limit(context, "max_tool_args_bytes", used, message)


def _limit(context: Context, name: str, used: float, message: str) -> events.LimitReached:
    allowed = float(getattr(context.request.loop, name))
    return context.emitter.stamp(events.LimitReached(limit=name, allowed=allowed, used=used, message=message))


def _edit_problem(context: Context, tool: str, edited: dict[str, Any]) -> tuple[Reason, str] | None:
    """The violation in edited arguments, validated like the model's, and the message about it; None if valid."""
    found = tools_of(context.registry).allowed[tool]
    try:
        compact(edited)  # raises ValueError if they are not JSON
        violation = found.fault(edited) or found.final_verdict(edited)
    except RecursionError:
        violation = LocatedReason(Reason("LIMIT_EXCEEDED", "they are nested too deeply to be checked"), "")
    except ValueError as error:
        violation = LocatedReason(Reason("SYNTAX", f"they are not JSON ({error})"), "")
    if violation is None:
        return None
    words = in_words(*violation, "they")
    return violation[0], f"The call was allowed with edited arguments, which are not valid: {words}."


def _bounded(context: Context, outcome: Outcome) -> dict[str, Any]:
    """The outcome as fields of the `ToolResult`; one that is too large or not JSON becomes a fault."""
    allowed = context.request.loop.max_tool_output_bytes
    try:
        message = outcome.message or (_text_of(outcome.content) if outcome.fault else "")
        used = max(size(outcome), len(message.encode("utf-8", "surrogatepass")))
    except ValueError as error:
        message = f"The tool's result is not JSON: {error}."
        return {
            "fault": "protocol", "code": "TOOL_ERROR", "message": message, "bytes": len(message.encode())
        }  # fmt: skip
    if used > allowed:
        message = f"The tool's answer has {used} bytes, and at most {allowed} are taken. Ask for less."
        return {"fault": "guard", "code": "TOOL_OUTPUT_TOO_LARGE", "message": message, "bytes": used}
    return {
        "fault": outcome.fault,
        "code": _CODES.get(outcome.fault),
        "message": message,
        "content": outcome.content,
        "structured": outcome.structured,
        "schema_problems": outcome.schema_problems,
        "bytes": used,
    }


def _text_of(content: tuple[events.ToolContent, ...]) -> str:
    return "\n".join(piece.text for piece in content if piece.kind == "text")
