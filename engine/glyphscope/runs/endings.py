"""The end of a run without a valid call, and the fix, in the same words for window and terminal."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from glyphscope.errors import (
    ConstraintIgnored,
    ContextOverflow,
    GlyphscopeError,
    GrammarError,
    ModelDied,
    ModelError,
    PromptError,
    RecordedFailure,
    RegistryError,
    RequestError,
)
from glyphscope.events import EndReason, LimitReached, RunFailed, RunFinished, RunRequest, Status
from glyphscope.events.stream import FailureCode
from glyphscope.runs.run_state import RunState


@dataclass(frozen=True)
class RunEnd:
    """`words` has no full stop. `hint` has sentences, or is empty if there is nothing to do. `status` is `holds` for a
    good end, `open` for one that may be unexpected, `impossible` for a bad one.
    """

    words: str
    hint: str = ""
    status: Status = "impossible"


_ENDS: dict[EndReason, RunEnd] = {
    "answered": RunEnd("answered", status="holds"),
    "no-tool": RunEnd(
        "no tool was chosen",
        "If one fits, describe it better, or add a rule or a synonym to the router's settings.",
        "holds",
    ),
    "unanswered": RunEnd(
        "the model's question was not answered",
        "Run it again and answer, or put the answer into the prompt.",
    ),
    "limit": RunEnd("a limit ended the run", "Raise the limit in the strategy's settings."),
    "cancelled": RunEnd("stopped", "Run it again, or continue from any of its tokens.", "open"),
    "refused": RunEnd(
        "constraint not met", "Prompt for something that a tool does, or use the constraint mask."
    ),
}
_ENDED_BY: dict[EndReason, str] = {
    "length": "the text ended at the token limit",
    "end-of-text": "the model ended the text",
    "stop-string": "the text ended at a stop string",
}
_CUT = "cut off at the token limit"
_HOLDS = frozenset({"valid", "judged", "answered", "no-tool"})
_IMPOSSIBLE = frozenset(
    {"invalid", "aborted", "failed", "limit", "refused", "unanswered", "length", "end-of-text", "stop-string"}
)
_LIMITS = {
    "max_turns": "Allow more turns in the strategy's settings, or ask for less at once.",
    "max_total_tokens": "Allow more tokens in the strategy's settings, or ask for less at once.",
    "max_seconds": "Allow more time in the strategy's settings; waiting for you is not counted.",
    "max_identical_calls": "Check whether the result contains what the model needs, or allow more identical calls.",
    "max_invalid_turns": "Use the constraint mask, with which every call is valid, or allow more invalid turns.",
}


def end_of(state: RunState) -> RunEnd | None:
    """None while the run continues, or if it ended with a valid call, an abort or a failure, shown elsewhere."""
    finished = state.finished
    if finished is None or state.failed is not None or state.aborted is not None:
        return None
    cut = _cut_off(state)
    if answered_without_call(state):
        words, length = ("", "") if cut is None else (f", {cut.words}", f"{cut.hint} ")
        return RunEnd(
            f"answered without a call{words}",
            f"{length}Tools were available. Require a call in the settings, or prompt for something that a tool does.",
            "open",
        )
    if cut is not None:
        return replace(cut, words=f"the answer was {cut.words}")
    if finished.reason in _ENDS:
        return _by_reason(finished.reason, state)
    if finished.valid and state.stages and state.stages[-1].kind == "judge":
        return RunEnd("the judge gave its verdict", status="holds")
    if finished.valid and (state.call is not None or finished.reason == "complete"):
        return None
    if finished.valid:
        return RunEnd(f"the answer was {_CUT}", _length_hint(state), "open")
    return _no_call(finished, state)


def outcome_of(state: RunState) -> str:
    """How the run ended, in a word that lists and files have: `valid`, `valid relaxed` (with relaxed constraints),
    `judged`, `answered`, `no-call` (answered although it could have called a tool), `no-tool`, `cut-off` (an answer),
    `aborted CODE`, `failed CODE`, `unfinished`, `invalid`, or the reason of its end.
    """
    finished = state.finished
    if state.failed is not None:
        return f"failed {state.failed.code}"
    if state.aborted is not None and (finished is None or finished.reason == "aborted"):
        return f"aborted {state.aborted.code}"
    if finished is None:
        return "unfinished"
    if answered_without_call(state):
        return "no-call"
    if _cut_off(state) is not None:
        return "cut-off"
    if finished.reason in _ENDS:
        return finished.reason
    if not finished.valid:
        return "invalid" if finished.reason == "complete" else finished.reason
    if state.stages[-1].kind == "judge":
        return "judged"
    if state.call is None and finished.reason != "complete":
        return "cut-off"
    return "valid relaxed" if state.started is not None and state.started.request.relaxed else "valid"


def status_of(outcome: str) -> Status:
    """The status of an `outcome_of`, as `RunEnd` has it; `open` for an unknown one."""
    if outcome in _HOLDS:
        return "holds"
    return "impossible" if outcome.partition(" ")[0] in _IMPOSSIBLE else "open"


def answered_without_call(state: RunState) -> bool:
    """Whether the run answered in words alone, although it could have called a tool."""
    if state.answer is None or state.call is not None or state.started is None:
        return False
    return may_call(state.started.request)


def may_call(request: RunRequest) -> bool:
    """Whether the request allows or requires a call."""
    return (
        request.loop.tool_use != "disabled" if request.strategy == "loop" else request.tool_choice != "none"
    )


def _cut_off(state: RunState) -> RunEnd | None:
    """For an answer of a loop that was cut off; `words` follow "the answer was"."""
    limit = last_limit(state)
    if state.answer is None or limit is None or limit.limit not in ("max_tokens", "context"):
        return None
    if limit.limit == "max_tokens":
        return RunEnd(_CUT, _length_hint(state), "open")
    return RunEnd(
        "cut off where the context is full", "Load the model with a larger context, or ask for less.", "open"
    )


def _by_reason(reason: EndReason, state: RunState) -> RunEnd:
    end, limit = _ENDS[reason], last_limit(state)
    started = state.started
    can_branch = bool(state.tokens) and started is not None and started.request.strategy == "direct"
    if reason == "cancelled" and not can_branch:
        return replace(end, hint="Run it again.")
    if limit is None or reason not in ("limit", "refused"):
        return end
    hint = _LIMITS.get(limit.limit, end.hint)
    return RunEnd(f"{end.words}: {limit.message.rstrip('.')}", hint, end.status)


def _no_call(finished: RunFinished, state: RunState) -> RunEnd:
    request = state.started.request if state.started is not None else None
    words = (
        f"no valid call: {_ENDED_BY[finished.reason]}" if finished.reason in _ENDED_BY else "no valid call"
    )
    if finished.reason == "length":
        return RunEnd(words, _length_hint(state))
    if finished.reason == "stop-string":
        return RunEnd(words, "Remove or change the stop string in the sampling settings (--stop).")
    if request is not None and request.constraint == "off":
        return RunEnd(words, "Use the constraint mask, with which every call is valid, or allow repairs.")
    return RunEnd(words, "Look at the first error in the text, and change the prompt or the tool's schema.")


def _length_hint(state: RunState) -> str:
    most = f" (now {state.started.request.max_tokens:,})" if state.started is not None else ""
    return f"Raise the token limit{most}, or ask for less."


def last_limit(state: RunState) -> LimitReached | None:
    """The limit that was reached last."""
    fired = (
        event
        for stage in reversed(state.stages)
        for event in reversed(stage.outline)
        if isinstance(event, LimitReached)
    )
    return next(fired, None)


_FAILURES: dict[type[GlyphscopeError], FailureCode] = {
    ContextOverflow: "CONTEXT_OVERFLOW",
    PromptError: "PROMPT_FAILED",
    ConstraintIgnored: "CONSTRAINT_IGNORED",
    GrammarError: "CONSTRAINT_FAILED",
    ModelError: "MODEL_FAILED",
    GlyphscopeError: "BAD_REQUEST",
}
"""The first type that matches the error applies."""


def failed(error: GlyphscopeError) -> RunFailed:
    """The event for that error; one without a more specific type is an error of the request. Its `detail` has the other
    problems of a request.
    """
    if isinstance(error, RequestError):
        first = failed(error.problems[0].error)
        detail = "\n".join(filter(None, (first.detail, error.others)))
        return msgspec.structs.replace(first, detail=detail)
    message = f"{error.where}: {error.message}" if error.where else error.message
    if isinstance(error, RecordedFailure):
        return RunFailed(code=error.code, message=message, hint=error.hint, detail=error.detail)
    code = next(code for kind, code in _FAILURES.items() if isinstance(error, kind))
    return RunFailed(code=code, message=message, hint=error.hint, detail=_detail(error))


def _detail(error: GlyphscopeError) -> str:
    """The evidence: the signal and last lines of a dead process, or every error of a registry."""
    if isinstance(error, ModelDied):
        return "\n".join(part for part in (error.signal, error.stderr) if part)
    if isinstance(error, RegistryError):
        return "\n".join(f"{problem.pointer}: {problem.message}" for problem in error.problems)
    return ""
