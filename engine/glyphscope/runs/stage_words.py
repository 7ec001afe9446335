"""A stage of a run in the few words of a row."""

from __future__ import annotations

from glyphscope.base.figures import duration_ms
from glyphscope.base.shorten import excerpt
from glyphscope.base.translate import Translate, english
from glyphscope.events import Narrowed, StageKind
from glyphscope.runs.event_rows import fault_words
from glyphscope.runs.state import StageState


def stage_title(stage: StageState, tr: Translate = english) -> str:
    """`Router`, `Turn 2`; or the strategy's own title if it has one."""
    titles: dict[StageKind, str] = {
        "call": tr("Call"),
        "name": tr("Name"),
        "arguments": tr("Arguments"),
        "router": tr("Router"),
        "executor": tr("Executor"),
        "turn": tr("Turn"),
        "final": tr("Final answer"),
        "repair": tr("Repair"),
        "tool": tr("Tool"),
        "continuation": tr("Continuation"),
        "judge": tr("Judge"),
    }
    return excerpt(stage.title or titles.get(stage.kind, stage.kind))


def stage_words(stage: StageState, over: bool, tr: Translate = english) -> str:
    """The result of the stage, or its state."""
    extracted = stage.finished is not None and not stage.finished.valid
    if stage.call is not None and extracted:
        words = tr("a call of {tool}, extracted from the text", tool=stage.call.tool)
    elif stage.aborted is not None:
        words = tr("stopped at character {char}: {code}", char=stage.aborted.char, code=stage.aborted.code)
    elif len(stage.calls) > 1 and stage.segments:
        words = tr("%n valid call(s)", "", len(stage.calls))
    elif stage.call is not None:
        words = tr("a valid call of {tool}", tool=stage.call.tool)
    elif stage.violations:
        words = ", ".join(dict.fromkeys(violation.code for violation in stage.violations))
    elif stage.kind == "tool":
        words = _tool_words(stage, tr)
    elif stage.finished is not None:
        words = excerpt(stage.text) or _reason_words(stage.finished.reason, tr)
    elif stage.tokens:
        words = excerpt(stage.text) if over else tr("generating")
    elif over:
        words = tr("not started")
    else:
        words = tr("reading the prompt") if stage.prompt is not None else ""
    return words


def _reason_words(reason: str, tr: Translate) -> str:
    """How a text without anything else to say ended."""
    reasons = {
        "complete": tr("complete"),
        "length": tr("cut off at the token limit"),
        "end-of-text": tr("ended by the model"),
        "stop-string": tr("ended at a stop string"),
        "cancelled": tr("stopped by the user"),
        "answered": tr("answered"),
        "limit": tr("ended by a limit"),
    }
    return reasons.get(reason, reason)


def _tool_words(stage: StageState, tr: Translate) -> str:
    if stage.finished is None:
        return ""
    if stage.finished.valid:
        return tr("executed")
    reasons = {
        "denied": tr("not allowed"),
        "guard": tr("blocked by a limit"),
        "unknown": tr("no executor"),
        "cancelled": tr("stopped"),
    }
    reason = stage.finished.reason
    return reasons.get(reason) or tr("failed: {reason}", reason=fault_words(reason, tr))


def count_words(stage: StageState, forced: int, tr: Translate = english) -> str:
    """The cost of the prompt and the mask, if known: `184 prompt tokens, 170 from the cache`."""
    parts = []
    total, cached = prompt_tokens(stage)
    if total and cached:
        parts.append(tr("{total:,} prompt tokens, {cached:,} from the cache", total=total, cached=cached))
    elif total:
        parts.append(tr("%n prompt token(s)", "", total))
    mask = mask_words(stage, tr)
    if mask:
        parts.append(mask)
    if forced:
        parts.append(tr("%n token(s) forced", "", forced))
    return " · ".join(parts)


def prompt_tokens(stage: StageState) -> tuple[int, int]:
    """The number of the prompt's tokens, and how many are from the cache; zeros while unknown."""
    done, prompt = stage.finished, stage.prompt
    if done is not None and done.prompt_tokens:
        return done.prompt_tokens, done.cached
    return (prompt.tokens, prompt.cached) if prompt is not None else (0, 0)


def mask_words(stage: StageState, tr: Translate = english) -> str:
    """The source of the stage's mask."""
    ready = stage.constraint
    if ready is None:
        return ""
    return (
        tr("mask from the cache")
        if ready.hit
        else tr("mask built in {time}", time=duration_ms(ready.build_ms + ready.compile_ms))
    )


def narrowed_words(stage: StageState, tr: Translate = english) -> list[str]:
    """The tokens from which on a budget narrowed the mask, a sentence for each budget."""
    first: dict[Narrowed, int] = {}
    for token in stage.tokens:
        first.setdefault(token.step.narrowed, token.step.index)
    words = []
    if "reasoning" in first:
        words.append(
            tr(
                "From token {token} on, the mask ends the reasoning: its budget is used up.",
                token=first["reasoning"],
            )
        )
    if "tokens" in first:
        words.append(
            tr(
                "From token {token} on, the mask makes sure that the answer fits in the remaining tokens.",
                token=first["tokens"],
            )
        )
    return words
