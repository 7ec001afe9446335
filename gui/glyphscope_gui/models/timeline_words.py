"""What a strategy tells, in the few words of a timeline's row."""

from __future__ import annotations

from glyphscope.calling.fold import StageState
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
from glyphscope_gui.models.visible import visible

_TITLES: dict[StageKind, str] = {
    "call": "Call",
    "name": "Name",
    "arguments": "Arguments",
    "router": "Router",
    "executor": "Executor",
    "turn": "Turn",
    "final": "Final answer",
    "repair": "Repair",
    "tool": "Tool",
    "continuation": "Continuation",
}
_REASONS = {
    "complete": "complete",
    "length": "cut off at the token limit",
    "end-of-text": "the model ended",
    "cancelled": "stopped by you",
    "answered": "answered",
    "limit": "ended by a limit",
}
_SCOPES = {"once": "", "run": " for this run", "tool": " for this tool", "source": " for this source"}
LONGEST = 200
"""Characters of a model's or a tool's text in a row; all of it is in the notes."""


def stage_title(stage: StageState) -> str:
    """`Router`, `Turn 2`; the strategy's own words where it has some."""
    return one_line(stage.title or _TITLES.get(stage.kind, stage.kind))


def stage_words(stage: StageState, over: bool) -> str:
    """What the stage came to, or is at."""
    extracted = stage.finished is not None and not stage.finished.valid
    if stage.call is not None and extracted:
        words = f"a call of {stage.call.tool}, taken out of the text"
    elif stage.aborted is not None:
        words = f"stopped at character {stage.aborted.char}: {stage.aborted.code}"
    elif stage.call is not None:
        words = f"a valid call of {stage.call.tool}"
    elif stage.violations:
        words = ", ".join(dict.fromkeys(violation.code for violation in stage.violations))
    elif stage.kind == "tool":
        words = _tool_words(stage)
    elif stage.finished is not None:
        words = one_line(stage.text) or _REASONS.get(stage.finished.reason, stage.finished.reason)
    elif stage.tokens:
        words = one_line(stage.text) if over else "is being written"
    elif over:
        words = "not begun"
    else:
        words = "reads the prompt" if stage.prompt is not None else ""
    return words


def _tool_words(stage: StageState) -> str:
    if stage.finished is None:
        return ""
    if stage.finished.valid:
        return "carried out"
    reasons = {
        "denied": "not allowed",
        "guard": "kept back by a limit",
        "unknown": "nobody carries it out",
        "cancelled": "stopped",
    }
    return reasons.get(stage.finished.reason, f"failed: {stage.finished.reason}")


def count_words(stage: StageState, forced: int) -> str:
    """The prompt's and the mask's price, where they are known: `184 prompt tokens, 170 from the cache`."""
    parts = []
    total, cached = prompt_tokens(stage)
    if total:
        parts.append(f"{total:,} prompt tokens" + (f", {cached:,} from the cache" if cached else ""))
    mask = mask_words(stage)
    if mask:
        parts.append(mask)
    if forced:
        parts.append(f"{forced:,} tokens forced")
    return " · ".join(parts)


def prompt_tokens(stage: StageState) -> tuple[int, int]:
    """All tokens of the stage's prompt, and those of them that were not paid for; zeros while they are not known."""
    done, prompt = stage.finished, stage.prompt
    if done is not None and done.prompt_tokens:
        return done.prompt_tokens, done.cached
    return (prompt.tokens, prompt.cached) if prompt is not None else (0, 0)


def mask_words(stage: StageState) -> str:
    """Where the stage's mask came from."""
    ready = stage.constraint
    if ready is None:
        return ""
    return "mask from the cache" if ready.hit else f"mask built in {ready.build_ms + ready.compile_ms:.1f} ms"


def approval_words(event: ApprovalGiven) -> str:
    """`allowed by you for this run, with edited arguments`."""
    who = {"person": "by you", "rule": "by a rule", "nobody": "as nobody answered"}[event.by]
    done = "allowed" if event.action == "allow" else "denied"
    edited = ", with edited arguments" if event.edited else ""
    reason = f": {one_line(event.reason)}" if event.reason and event.by != "nobody" else ""
    return f"{done} {who}{_SCOPES[event.scope]}{edited}{reason}"


def allowed_words(event: ToolStarted) -> str:
    return f"{event.tool} is carried out by {event.source}"


def progress_words(event: ToolProgressed) -> str:
    of = f" of {event.total:g}" if event.total is not None else ""
    return f"{event.done:g}{of}" + (f", {one_line(event.message)}" if event.message else "")


def result_words(event: ToolResult) -> str:
    """The answer's beginning, or what was wrong."""
    if not event.ok:
        code = f"{event.code}: " if event.code else ""
        return f"{code}{one_line(event.message) or event.fault}"
    text = " ".join(one_line(piece.text) or f"({piece.kind})" for piece in event.content[:4])
    problems = " · breaks its own output schema" if event.schema_problems else ""
    return (text or "an empty answer") + problems


def limit_words(event: LimitReached) -> str:
    return f"{event.limit}: {event.used:,g} of {event.allowed:,g}"


def repair_words(event: RepairTried) -> str:
    """`CONSTRAINT_MAX at character 46: now it is right`, or where the error moved."""
    was = f"{event.code} at character {event.char}"
    if event.now_code is None:
        return f"{was}: now it is right"
    if event.now is None or (event.now == event.char and event.now_code == event.code):
        return f"{was}: not better"
    moved = "later" if event.now > event.char else "earlier" if event.now < event.char else "there"
    return f"{was}: now {event.now_code}, {moved} at {event.now}"


def extracted_words(event: Extracted) -> str:
    return "; ".join(one_line(change.what) for change in event.changes[:6]) or "nothing had to be changed"


def candidate_words(event: CandidatesFound) -> str:
    if not event.candidates:
        return "none of the known names is in the prompt"
    return ", ".join(f"{one_line(c.name)} ({c.kind}, {c.score:.0f})" for c in event.candidates[:6])


def routed_words(event: Routed) -> str:
    match event.choice:
        case "call_tool":
            return f"call {event.tool}"
        case "clarify":
            return f"ask: “{one_line(event.question)}”"
        case _:
            return "no tool"


def answer_words(event: FinalAnswer) -> str:
    asked = " (asked for once more)" if event.recovered else ""
    return (one_line(event.text) or "empty") + asked


def one_line(text: str, most: int = LONGEST) -> str:
    """Its beginning, white space as single blanks, and what is not seen as signs."""
    head = visible(" ".join(text[: most * 2].split()))
    return f"{head[:most]}…" if len(head) > most or len(text) > most * 2 else head
