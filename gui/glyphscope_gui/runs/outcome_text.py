"""A run in a few words and figures, for the status line."""

from __future__ import annotations

from glyphscope.runs import RunState
from glyphscope.runs.endings import last_limit, outcome_of
from glyphscope.text.figures import duration, duration_ms, percent, rate
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.language import tr

_ENDS = {
    "answered": tr("Answered"),
    "no-call": tr("Answered without a call"),
    "cut-off": tr("The answer was cut off"),
    "judged": tr("A verdict"),
    "no-tool": tr("No tool was called: the router chose none"),
    "unanswered": tr("Ended with an unanswered question"),
    "unfinished": tr("Not finished"),
    "limit": tr("Ended by a limit"),
    "refused": tr("Ended: constraint not met"),
}


def figures(state: RunState) -> list[str]:
    """Speed, first token, mask and forced tokens of the running stage, and the tokens of all stages; each only if it is
    known.
    """
    tokens = state.tokens
    if not tokens:
        return []
    words = []
    begin = state.prompt.t if state.prompt else 0.0
    if state.evaluated is not None:
        begin = state.evaluated.t
    seconds = tokens[-1].t - begin
    if len(tokens) > 1 and seconds > 0:
        words.append(rate(len(tokens) / seconds))
    first = next(stage.tokens[0].t for stage in state.stages if stage.tokens)
    words.append(tr("first token {time}", time=duration(first)))
    sampled = len(tokens) - state.forced
    if sampled and state.started is not None and state.started.request.constraint != "off":
        words.append(tr("mask {time}", time=duration_ms(state.present.mask_ms / sampled)))
    if state.forced:
        words.append(tr("{forced:,} of {tokens:,} tokens forced", forced=state.forced, tokens=len(tokens)))
    texts = [stage for stage in state.stages if stage.tokens]
    if len(texts) > 1:
        total = sum(len(stage.tokens) for stage in texts)
        words.append(tr("{tokens:,} tokens in {stages} stages", tokens=total, stages=len(texts)))
    return words


def outcome_words(state: RunState) -> str:
    """The end of the run, in a few words for the status line."""
    words, request = _outcome(state), state.started.request if state.started is not None else None
    custom = request is not None and request.grammar is not None and request.constraint != "off"
    if not custom or state.outcome not in ("valid", "invalid"):
        return words
    return tr("{outcome}, under a custom grammar", outcome=words)


def _outcome(state: RunState) -> str:
    outcome = outcome_of(state)
    if (ended := _ENDS.get(outcome)) is not None:
        limit = last_limit(state) if outcome == "limit" else None
        return f"{ended}: {limit.limit}" if limit is not None else ended
    match state.outcome:
        case "valid":
            relaxed = state.started is not None and bool(state.started.request.relaxed)
            calls = len(state.present.calls)
            if calls > 1 and state.segments:
                words = tr("%n valid call(s)", "", calls)
            else:
                words = (
                    tr("A valid call of {tool}", tool=state.call.tool) if state.call else tr("A valid call")
                )
            return tr("{outcome}, with the schema relaxed", outcome=words) if relaxed else words
        case "invalid":
            reason = state.finished.reason if state.finished else ""
            codes = ", ".join(dict.fromkeys(v.code for v in state.violations))
            ended = {
                "length": tr("Ended at the token limit"),
                "end-of-text": tr("Ended by the model"),
                "stop-string": tr("Ended at a stop string"),
            }.get(reason, tr("Ended"))
            return tr("{ended}: no valid call", ended=ended) + (f" ({codes})" if codes else "")
        case "aborted":
            return (
                tr("Stopped early: {code}", code=state.aborted.code) if state.aborted else tr("Stopped early")
            )
        case "failed":
            return tr("The run failed")
        case _:
            return tr("Stopped")


def model_words(status: ModelStatus) -> str:
    """The state of the model's process, in a few words for the status line."""
    match status.phase:
        case "opening" if status.is_endpoint:
            return tr("Connecting to the endpoint…")
        case "opening":
            if status.progress is None:
                return tr("Loading the model…")
            return tr("Loading the model: {progress}", progress=percent(status.progress, 0))
        case "unloading":
            return tr("Unloading the model…")
        case "ready":
            return tr("Model process ready")
        case "failed":
            return tr("No model")
        case _:
            return tr("No model is loaded")
