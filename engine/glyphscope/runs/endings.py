"""How a run ended, its status and what can be done, in the same words for window, terminal, pages and lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from glyphscope.base.errors import (
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
from glyphscope.base.translate import Translate, english
from glyphscope.events import LimitReached, RunFailed, RunRequest, Status, ToolResult
from glyphscope.events.stream import FailureCode
from glyphscope.runs.state import RunState

if TYPE_CHECKING:
    from glyphscope.validation.matching import ArgumentDifference


EndStatus: TypeAlias = Status | Literal["differs"]


@dataclass(frozen=True)
class RunEnd:
    """`outcome` is that of `outcome_of`; `words` have no full stop. `hint` has sentences, or is empty if there is
    nothing to do. `status` is `holds` for a good end, `open` for one that may be unexpected, `differs` for a good one
    with another answer than the expected one, `impossible` for a bad one.
    """

    outcome: str
    words: str
    hint: str
    status: EndStatus


_HOLDS = frozenset({"valid", "valid answer", "judged", "answered", "no-tool", "multi-intent"})
_COMPARED = (_HOLDS | {"valid relaxed", "cut-off"}) - {"judged"}
"""Outcomes of runs that are compared with the expected answer."""
_UNEXPECTED = "unexpected"
_NO_CALL = frozenset({"invalid", "length", "end-of-text", "stop-string"})
_IMPOSSIBLE = _NO_CALL | {"aborted", "failed", "call-failed", "limit", "refused", "unanswered"}


def outcome_of(state: RunState) -> str:
    """How the run ended, in a word that lists and files have: `valid`, `valid relaxed` (with relaxed constraints),
    `valid answer` and `invalid answer` (another one than a call),
    `judged`, `answered`, `no-call` (answered although it could have called a tool), `no-tool`, `multi-intent`,
    `cut-off` (an answer), `call-failed` (a valid call whose execution failed, or was denied), `aborted CODE`,
    `failed CODE`, `unfinished`, `invalid`, or the reason of its end. After a good end ` unexpected` follows if the
    request expects another answer.
    """
    outcome = _outcome_of(state)
    return outcome if _difference(outcome, state) is None else f"{outcome} {_UNEXPECTED}"


def _difference(outcome: str, state: RunState) -> ArgumentDifference | None:
    """The difference from the expected answer of a run with a good end."""
    expected = state.started is not None and state.started.request.expected is not None
    if not expected or outcome not in _COMPARED:
        return None
    from glyphscope.runs.expected import difference_of  # which most runs have no need of

    return difference_of(state)


def _outcome_of(state: RunState) -> str:
    finished = state.finished
    if state.failed is not None:
        return f"failed {state.failed.code}"
    if state.aborted is not None and (finished is None or finished.reason == "aborted"):
        return f"aborted {state.aborted.code}"
    if finished is None:
        return "unfinished"
    if answered_without_call(state):
        return "no-call"
    if _cut_by(state) is not None:
        return "cut-off"
    if finished.reason in (
        "answered",
        "no-tool",
        "multi-intent",
        "unanswered",
        "limit",
        "cancelled",
        "refused",
    ):
        return finished.reason
    answers = not state.asks_for_call
    if not finished.valid and failed_execution(state) is not None:
        return "call-failed"
    if not finished.valid:
        return (
            finished.reason if finished.reason != "complete" else "invalid answer" if answers else "invalid"
        )
    if answers:
        return "cut-off" if finished.reason == "length" else "valid answer"
    if state.stages[-1].kind == "judge":
        return "judged"
    if state.call is None and finished.reason != "complete":
        return "cut-off"
    return "valid relaxed" if state.started is not None and state.started.request.relaxed else "valid"


def is_unexpected(outcome: str) -> bool:
    """Whether an `outcome_of` is that of a good end with another answer than the expected one."""
    return outcome.endswith(f" {_UNEXPECTED}")


def outcome_words(outcome: str, tr: Translate = english) -> str:
    """An `outcome_of` in the few words of a list; an unknown one as it is."""
    if is_unexpected(outcome):
        plain = outcome_words(outcome.rpartition(" ")[0], tr)
        return tr("{outcome}, not the expected one", outcome=plain)
    if outcome == "valid relaxed":
        return tr("valid call, relaxed")
    if outcome in ("valid answer", "invalid answer"):
        return tr("valid answer") if outcome == "valid answer" else tr("no valid answer")
    kind, _, code = outcome.partition(" ")
    words = {
        "valid": tr("valid call"),
        "invalid": tr("no valid call"),
        "aborted": tr("stopped early"),
        "failed": tr("failed"),
        "cancelled": tr("stopped by the user"),
        "length": tr("cut off at the token limit"),
        "end-of-text": tr("ended by the model"),
        "stop-string": tr("ended at a stop string"),
        "unfinished": tr("not finished"),
        "answered": tr("answered"),
        "judged": tr("the judge gave its verdict"),
        "cut-off": tr("the answer was cut off"),
        "call-failed": tr("the call failed"),
        "no-call": tr("answered without a call"),
        "no-tool": tr("no tool was chosen"),
        "multi-intent": tr("several requests in one prompt"),
        "unanswered": tr("the model's question was not answered"),
        "limit": tr("ended by a limit"),
        "refused": tr("constraint not met"),
    }
    return f"{words.get(kind, kind)}: {code}" if code else words.get(kind, kind)


def status_of(outcome: str) -> EndStatus:
    """The status of an `outcome_of`, as `RunEnd` has it; `open` for an unknown one."""
    if outcome in _HOLDS:
        return "holds"
    if is_unexpected(outcome):
        return "differs"
    return "impossible" if outcome.partition(" ")[0] in _IMPOSSIBLE else "open"


def end_of(state: RunState, tr: Translate = english) -> RunEnd:
    """The end of the run, in the language of `tr`."""
    plain, outcome = _outcome_of(state), outcome_of(state)
    kind = outcome.partition(" ")[0]
    words, status = _words(kind, outcome_words(plain, tr), state, tr), status_of(outcome)
    if state.started is not None and state.outcome in ("valid", "invalid"):
        request = state.started.request
        if request.relaxed and (kind == "valid" or status_of(plain) == "holds"):
            schema = request.answer.has_schema
            words = (
                tr("{outcome}, with the schema relaxed", outcome=words)
                if schema
                else tr("{outcome}, with the grammar relaxed", outcome=words)
            )
        if request.grammar is not None and request.constraint != "off":
            words = tr("{outcome}, under a custom grammar", outcome=words)
    hint = _hint(kind, state, tr)
    if (found := _difference(plain, state)) is not None:
        words = tr("{outcome}, not the expected one: {difference}", outcome=words, difference=found.words)
        hint = hint or tr("Change the prompt or the tools, or what is expected.")
    elif plain in _COMPARED and state.started is not None and state.started.request.expected is not None:
        words = tr("{outcome}, as expected", outcome=words)
    return RunEnd(outcome, words, hint, status)


def _words(kind: str, words: str, state: RunState, tr: Translate) -> str:
    """The end of that kind, with what is known beside the `words` of a list."""
    limit, cut = last_limit(state), _cut_words(state, tr)
    if state.failed is not None:
        return tr("the run failed: {message}", message=state.failed.message)
    if kind == "unfinished":
        return tr("not finished: the record ends before the run")
    if kind == "valid":
        calls = len(state.present.calls)
        if calls > 1:
            return tr("%n valid call(s)", "", calls)
        return tr("a valid call of {tool}", tool=state.call.tool) if state.call else tr("a valid answer")
    if kind == "call-failed" and (result := failed_execution(state)) is not None:
        if result.fault == "denied":
            return tr("a valid call of {tool}, which was denied", tool=result.tool)
        why = result.message.rstrip(".") or words
        return tr("a valid call of {tool}, which failed: {why}", tool=result.tool, why=why)
    if kind == "cut-off":
        valued = state.started is not None and not state.started.request.answer.is_call
        cut = cut or tr("cut off at the token limit")
        return tr("a valid answer, {cut}", cut=cut) if valued else tr("the answer was {cut}", cut=cut)
    if kind == "no-call" and cut:
        return f"{words}, {cut}"
    if kind in ("limit", "refused") and limit is not None:
        return f"{words}: {limit.message.rstrip('.') or limit.limit}"
    if kind in _NO_CALL:
        codes = ", ".join(dict.fromkeys(violation.code for violation in state.violations))
        said = words
        if kind != "invalid":
            said = tr("no valid call: {ended}", ended=words)
            if not state.asks_for_call:
                said = tr("no valid answer: {ended}", ended=words)
        return f"{said} ({codes})" if codes else said
    return words


def _hint(kind: str, state: RunState, tr: Translate) -> str:
    """The fix for an end of that kind."""
    request = state.started.request if state.started is not None else None
    limit = last_limit(state)
    match kind:
        case "failed" if state.failed is not None:
            return state.failed.hint
        case "no-tool":
            return tr("If one fits, describe it better, or add a rule or a synonym to the router's settings.")
        case "multi-intent":
            return tr("Run it again with one request at a time, or use the tool loop.")
        case "unanswered":
            return tr("Run it again and answer, or put the answer into the prompt.")
        case "cancelled":
            if state.tokens and request is not None and request.strategy == "direct":
                return tr("Run it again, or continue from any of its tokens.")
            return tr("Run it again.")
        case "limit":
            return _limit_hint(limit, tr) or tr("Raise the limit in the strategy's settings.")
        case "refused":
            return _limit_hint(limit, tr) or tr(
                "Prompt for something that a tool does, or use the constraint mask."
            )
        case "no-call":
            call = tr(
                "Tools were available. Require a call in the settings, or prompt for something that a tool does."
            )
            return f"{_cut_hint(state, tr)} {call}" if _cut_words(state, tr) else call
        case "call-failed":
            return tr("Look at its result or approval: the call itself is valid.")
        case "cut-off" | "length":
            return _cut_hint(state, tr)
        case "stop-string":
            return tr("Remove or change the stop string in the sampling settings (--stop).")
        case "invalid" | "end-of-text":
            if request is not None and request.constraint == "off":
                return tr("Use the constraint mask, with which every answer is valid, or allow repairs.")
            if not state.asks_for_call:
                return tr("Look at the first error in the text, and change the prompt or the answer's form.")
            if request is not None and request.grammar is not None:
                return tr(
                    "The custom grammar allows this, and the tool's schema does not: change one of them."
                )
            return tr("Look at the first error in the text, and change the prompt or the tool's schema.")
    return ""


def _limit_hint(limit: LimitReached | None, tr: Translate) -> str:
    hints = {
        "max_turns": tr("Allow more turns in the strategy's settings, or ask for less at once."),
        "max_total_tokens": tr("Allow more tokens in the strategy's settings, or ask for less at once."),
        "max_seconds": tr("Allow more time in the strategy's settings; waiting for you is not counted."),
        "max_identical_calls": tr(
            "Check whether the result contains what the model needs, or allow more identical calls."
        ),
        "max_invalid_turns": tr(
            "Use the constraint mask, with which every call is valid, or allow more invalid turns."
        ),
    }
    return "" if limit is None else hints.get(limit.limit, "")


def answered_without_call(state: RunState) -> bool:
    """Whether the run answered in words alone, although it could have called a tool."""
    if state.answer is None or state.call is not None or state.started is None:
        return False
    return may_call(state.started.request)


def failed_execution(state: RunState) -> ToolResult | None:
    """The first execution that failed of a run that ends with its calls; None for a loop, which continues."""
    request = state.started.request if state.started is not None else None
    if request is None or not request.dispatch or request.strategy == "loop" or state.call is None:
        return None
    results = (event for stage in state.stages for event in stage.outline if isinstance(event, ToolResult))
    return next((result for result in results if not result.ok), None)


def may_call(request: RunRequest) -> bool:
    """Whether the request allows or requires a call."""
    if not request.answer.is_call:
        return False
    return (
        request.loop.tool_use != "disabled" if request.strategy == "loop" else request.tool_choice != "none"
    )


def _cut_by(state: RunState) -> LimitReached | None:
    """The limit that cut off the answer of a loop."""
    limit = last_limit(state)
    known = state.answer is not None and limit is not None and limit.limit in ("max_tokens", "context")
    return limit if known else None


def _cut_words(state: RunState, tr: Translate) -> str:
    """How the answer was cut off; empty if it was not."""
    cut = _cut_by(state)
    if cut is None and (state.finished is None or state.finished.reason != "length"):
        return ""
    full = cut is not None and cut.limit == "context"
    return tr("cut off where the context is full") if full else tr("cut off at the token limit")


def _cut_hint(state: RunState, tr: Translate) -> str:
    cut = _cut_by(state)
    if cut is not None and cut.limit == "context":
        return tr("Load the model with a larger context, or ask for less.")
    if state.started is None:
        return tr("Raise the token limit, or ask for less.")
    return tr("Raise the token limit (now {most:,}), or ask for less.", most=state.started.request.max_tokens)


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
