"""A run in a few words and figures, for the status line."""

from __future__ import annotations

from glyphscope.calling import RunState
from glyphscope.events import LimitReached
from glyphscope_gui.models.token_words import milliseconds
from glyphscope_gui.workers.jobs import ModelStatus

_ENDS = {
    "answered": "Answered",
    "no-tool": "No tool was called: the router chose none",
    "unanswered": "Ended with a question that nobody answered",
    "limit": "Ended by a limit",
    "refused": "Ended without what it was held to",
}


def figures(state: RunState) -> list[str]:
    """Speed, first token, mask and forced tokens of the stage that goes on, and the tokens of all stages; each only
    where it is known.
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
        words.append(f"{len(tokens) / seconds:.0f} tokens/s")
    first = next(stage.tokens[0].t for stage in state.stages if stage.tokens)
    words.append(f"first token {first * 1000:.0f} ms" if first < 1 else f"first token {first:.1f} s")
    masked = [token.step.mask_ms for token in tokens if not token.step.forced]
    if masked and state.started is not None and state.started.request.constraint != "off":
        words.append(f"mask {milliseconds(sum(masked) / len(masked))} ms")
    if state.forced:
        words.append(f"{state.forced} of {len(tokens)} tokens forced")
    texts = [stage for stage in state.stages if stage.tokens]
    if len(texts) > 1:
        total = sum(len(stage.tokens) for stage in texts)
        words.append(f"{total:,} tokens in {len(texts)} stages")
    return words


def outcome_words(state: RunState) -> str:
    """How the run ended, in the words of the status line."""
    ended = _ENDS.get(state.finished.reason) if state.finished is not None else None
    if ended is not None and state.failed is None:
        limit = _limit(state)
        return f"{ended}: {limit}" if limit and state.finished and state.finished.reason == "limit" else ended
    match state.outcome:
        case "valid":
            relaxed = state.started is not None and bool(state.started.request.relaxed)
            words = f"A valid call of {state.call.tool}" if state.call else "A valid call"
            return f"{words}, with the schema relaxed" if relaxed else words
        case "invalid":
            reason = state.finished.reason if state.finished else ""
            codes = ", ".join(dict.fromkeys(v.code for v in state.violations))
            ended = {"length": "Ended at the token limit", "end-of-text": "The model ended"}.get(
                reason, "Ended"
            )
            return f"{ended}: no valid call" + (f" ({codes})" if codes else "")
        case "aborted":
            return f"Stopped early: {state.aborted.code}" if state.aborted else "Stopped early"
        case "failed":
            return "The run failed"
        case _:
            return "Stopped"


def _limit(state: RunState) -> str:
    """The limit that fired last."""
    fired = (
        e for stage in reversed(state.stages) for e in reversed(stage.outline) if isinstance(e, LimitReached)
    )
    last = next(fired, None)
    return last.limit if last is not None else ""


def model_words(status: ModelStatus) -> str:
    """The model's process, in the words of the status line."""
    match status.phase:
        case "opening":
            return "Opening the model" + (f": {status.progress:.0%}" if status.progress is not None else "…")
        case "ready":
            return "Model process ready"
        case "failed":
            return "No model"
        case _:
            return "No model is open"
