"""A run in figures, and the state of the model, for the status line."""

from __future__ import annotations

from glyphscope.runs import RunState
from glyphscope.text.figures import duration, duration_ms, percent, rate
from glyphscope_gui.runs.worker.jobs import ModelStatus
from glyphscope_gui.shared.language import tr


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
