"""The events of a strategy, in the few words of a timeline's row."""

from __future__ import annotations

from glyphscope.events import (
    ApprovalGiven,
    CandidatesFound,
    Extracted,
    FinalAnswer,
    LimitReached,
    RepairTried,
    Routed,
    StageKind,
    ToolProgressed,
    ToolResult,
    ToolStarted,
)
from glyphscope.runs.run_state import Segment, StageState
from glyphscope.text.figures import duration_ms, plain_number
from glyphscope.text.shorten import excerpt
from glyphscope_gui.shared.language import tr

_TITLES: dict[StageKind, str] = {
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
_REASONS = {
    "complete": tr("complete"),
    "length": tr("cut off at the token limit"),
    "end-of-text": tr("ended by the model"),
    "stop-string": tr("ended at a stop string"),
    "cancelled": tr("stopped by you"),
    "answered": tr("answered"),
    "limit": tr("ended by a limit"),
}
_SCOPES = {
    "once": "",
    "run": tr(" for this run"),
    "tool": tr(" for this tool"),
    "source": tr(" for this source"),
}
_APPROVED = {
    "person": (tr("allowed by you"), tr("denied by you")),
    "rule": (tr("allowed by a rule"), tr("denied by a rule")),
    "nobody": (tr("allowed: no answer"), tr("denied: no answer")),
}
_FAULTS = {
    "tool": tr("tool"),
    "protocol": tr("protocol"),
    "timeout": tr("timeout"),
    "cancelled": tr("cancelled"),
    "denied": tr("denied"),
    "guard": tr("guard"),
    "unknown": tr("unknown"),
}
CONTENT_WORDS = {
    "text": tr("text"),
    "image": tr("image"),
    "audio": tr("audio"),
    "resource": tr("resource"),
    "link": tr("link"),
}
"""The kinds of a tool's results."""


def stage_title(stage: StageState) -> str:
    """`Router`, `Turn 2`; or the strategy's own title if it has one."""
    return excerpt(stage.title or _TITLES.get(stage.kind, stage.kind))


def stage_words(stage: StageState, over: bool) -> str:
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
        words = _tool_words(stage)
    elif stage.finished is not None:
        words = excerpt(stage.text) or _REASONS.get(stage.finished.reason, stage.finished.reason)
    elif stage.tokens:
        words = excerpt(stage.text) if over else tr("generating")
    elif over:
        words = tr("not started")
    else:
        words = tr("reading the prompt") if stage.prompt is not None else ""
    return words


def part_title(part: Segment) -> str:
    """`Reasoning`, `Call 2`."""
    if part.kind == "call":
        return tr("Call {number}", number=part.call_index + 1)
    return tr("Reasoning") if part.kind == "reasoning" else tr("Text")


def part_words(stage: StageState, part: Segment) -> str:
    """The beginning of a text; for a call, its tool and its error."""
    if part.kind != "call":
        end = len(stage.text) if part.end is None else part.end
        return excerpt(stage.text[part.start : end])
    call = stage.call_at(part.call_index)
    tool = excerpt(call.tool.name) if call.tool is not None else ""
    fault = excerpt(call.violations[0].message) if call.violations else ""
    return ": ".join(words for words in (tool, fault) if words)


def _tool_words(stage: StageState) -> str:
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
    return reasons.get(reason) or tr("failed: {reason}", reason=_FAULTS.get(reason, reason))


def count_words(stage: StageState, forced: int) -> str:
    """The cost of the prompt and the mask, if known: `184 prompt tokens, 170 from the cache`."""
    parts = []
    total, cached = prompt_tokens(stage)
    if total and cached:
        parts.append(tr("{total:,} prompt tokens, {cached:,} from the cache", total=total, cached=cached))
    elif total:
        parts.append(tr("%n prompt token(s)", "", total))
    mask = mask_words(stage)
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


def mask_words(stage: StageState) -> str:
    """The source of the stage's mask."""
    ready = stage.constraint
    if ready is None:
        return ""
    return (
        tr("mask from the cache")
        if ready.hit
        else tr("mask built in {time}", time=duration_ms(ready.build_ms + ready.compile_ms))
    )


def approval_words(event: ApprovalGiven) -> str:
    """`allowed by you for this run, with edited arguments`."""
    allowed, denied = _APPROVED[event.by]
    done = allowed if event.action == "allow" else denied
    edited = tr(", with edited arguments") if event.edited else ""
    reason = f": {excerpt(event.reason)}" if event.reason and event.by != "nobody" else ""
    return f"{done}{_SCOPES[event.scope]}{edited}{reason}"


def allowed_words(event: ToolStarted) -> str:
    return tr("{tool}, executed by {source}", tool=event.tool, source=event.source)


def progress_words(event: ToolProgressed) -> str:
    done = f"{event.done:g}"
    if event.total is not None:
        done = tr("{done:g} of {total:g}", done=event.done, total=event.total)
    return done + (f", {excerpt(event.message)}" if event.message else "")


def result_words(event: ToolResult) -> str:
    """The beginning of the result, or the error."""
    if not event.ok:
        code = f"{event.code}: " if event.code else ""
        return f"{code}{excerpt(event.message) or _FAULTS.get(event.fault, event.fault)}"
    text = " ".join(
        excerpt(piece.text) or f"({CONTENT_WORDS.get(piece.kind, piece.kind)})" for piece in event.content[:4]
    )
    problems = tr(" · output schema violated") if event.schema_problems else ""
    return (text or tr("empty result")) + problems


def limit_words(event: LimitReached) -> str:
    return tr(
        "{limit}: {used} of {allowed}",
        limit=event.limit,
        used=plain_number(event.used),
        allowed=plain_number(event.allowed),
    )


def repair_words(event: RepairTried) -> str:
    """`CONSTRAINT_MAX at character 46: now it is right`, or the error's new place."""
    was = tr("{code} at character {char}", code=event.code, char=event.char)
    if event.now_code is None:
        return tr("{was}: now valid", was=was)
    if event.now is None or (event.now == event.char and event.now_code == event.code):
        return tr("{was}: not fixed", was=was)
    if event.now > event.char:
        return tr("{was}: now {code}, later at {char}", was=was, code=event.now_code, char=event.now)
    if event.now < event.char:
        return tr("{was}: now {code}, earlier at {char}", was=was, code=event.now_code, char=event.now)
    return tr("{was}: now {code}, also at {char}", was=was, code=event.now_code, char=event.now)


def extracted_words(event: Extracted) -> str:
    return "; ".join(excerpt(change.what) for change in event.changes[:6]) or tr("no changes needed")


def candidate_words(event: CandidatesFound) -> str:
    if not event.candidates:
        return tr("no known names in the prompt")
    return ", ".join(f"{excerpt(c.name)} ({c.kind}, {c.score:.0f})" for c in event.candidates[:6])


def routed_words(event: Routed) -> str:
    match event.choice:
        case "call_tool":
            return tr("call {tool}", tool=event.tool)
        case "clarify":
            return tr("ask: “{question}”", question=excerpt(event.question))
        case _:
            return tr("no tool")


def answer_words(event: FinalAnswer) -> str:
    answer = excerpt(event.text) or tr("empty")
    return tr("{answer} (prompted once more)", answer=answer) if event.recovered else answer
