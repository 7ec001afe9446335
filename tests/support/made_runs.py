"""Runs of several stages made by hand, from the events themselves, which the window must be able to show."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from glyphscope.events import (
    Aborted,
    Alternative,
    AnyEvent,
    ApprovalGiven,
    ApprovalNeeded,
    CallReady,
    Change,
    ConstraintReady,
    Extracted,
    FinalAnswer,
    LimitReached,
    LoopSettings,
    PromptEvaluated,
    PromptRendered,
    QuestionAnswered,
    RepairSettings,
    RepairTried,
    RunFinished,
    RunRequest,
    RunStarted,
    SegmentClosed,
    SegmentOpened,
    StageFinished,
    StageStarted,
    Token,
    TokenStep,
    ToolContent,
    ToolProgressed,
    ToolResult,
    ToolStarted,
    TransformActed,
)
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import Ending
from glyphscope.runs.strategies import run
from png import PNG

GOOD = '{action="search" query="AI news" max_results=10}'
BAD = '{action="search" query="AI news" max_results=500}'


def finished(reason: str = "complete", *, valid: bool = True, **changes: Any) -> RunFinished:
    """The end of a run of one token that took no time."""
    times = {"prompt_ms": 0, "first_token_ms": 0, "total_ms": 0}
    return RunFinished(**{"reason": reason, "valid": valid, "tokens": 1, "forced": 0, **times, **changes})


def loop_request(**changes: Any) -> RunRequest:
    fields = {
        "prompt": "Search for AI news, 10 results, and tell me what is new",
        "registry": default_registry().to_document(),
        "model": "s",
        "strategy": "loop",
        "loop": LoopSettings(max_turns=3, max_total_tokens=200, max_seconds=20),
        "repair": RepairSettings(attempts=2),
    }
    return RunRequest(**{**fields, **changes})


class Maker:
    """Writes events with a stage and a time, a tenth of a second apart."""

    def __init__(self, request: RunRequest) -> None:
        self._t = 0.0
        self._stage = ""
        direct = msgspec.structs.replace(request, strategy="direct", form={})
        (started,) = (e for e in run(direct, ScriptedModel("")) if isinstance(e, RunStarted))
        self.events: list[AnyEvent] = []
        self.add(msgspec.structs.replace(started, request=request))

    def add(self, *events: AnyEvent) -> Maker:
        for event in events:
            self._t += 0.1
            self.events.append(msgspec.structs.replace(event, run="r", stage=self._stage, t=self._t))
        return self

    def enter(self, name: str, title: str, kind: Any, turn: int = 0) -> Maker:
        self._stage = name
        return self.add(StageStarted(title=title, kind=kind, turn=turn))

    def text(self, script: str, *, stop: str = "error") -> Maker:
        """Return a text as the real direct strategy streams it, judged by the real validator, without its frame."""
        request = RunRequest(
            prompt="x", registry=default_registry().to_document(), constraint="off", stop_on=stop
        )
        request = msgspec.structs.replace(request, repair=RepairSettings(extract=False))
        self.add(PromptRendered(text="…", tokens=184, cached=170))
        self.add(ConstraintReady(key="k", hit=True, build_ms=0.0, compile_ms=0.2))
        saved = [e for e in run(request, ScriptedModel(script)) if not _is_frame(e)]
        return self.add(*saved)

    def done(self, *, valid: bool = True, reason: str = "complete") -> Maker:
        return self.add(StageFinished(reason=reason, valid=valid, ms=480, prompt_tokens=184, cached=170))

    def end(self, reason: Any, *, valid: bool) -> tuple[AnyEvent, ...]:
        tokens = sum(isinstance(event, Token) for event in self.events)
        self._stage = ""
        self.add(
            RunFinished(
                reason=reason,
                valid=valid,
                tokens=tokens,
                forced=0,
                prompt_ms=20,
                first_token_ms=30,
                total_ms=self._t * 1000,
            )
        )
        return tuple(self.events)


def _is_frame(event: AnyEvent) -> bool:
    kinds = (RunStarted, StageStarted, StageFinished, PromptRendered, ConstraintReady, RunFinished)
    return isinstance(event, kinds)


NEEDED = ApprovalNeeded(
    call="call-1",
    tool="search",
    arguments={"query": "AI news", "max_results": 10},
    source="demo",
    identity="demo",
    claims={"readOnlyHint": True, "openWorldHint": False},
)


def loop_run() -> tuple[AnyEvent, ...]:
    """Two turns, a repair, an approval with edited arguments, a result, an answer, and a limit that fires."""
    made = Maker(loop_request())
    made.enter("turn", "Turn 1", "turn", 1).text(BAD).done(valid=False, reason="aborted")
    made.enter("repair", "Repair", "repair", 1).text(GOOD)
    made.add(
        RepairTried(
            attempt=1,
            attempts=2,
            code="CONSTRAINT_MAX",
            message="max_results is at most 100. Write the call again.",
            before=BAD,
            after=GOOD,
            char=47,
            now=None,
            now_code=None,
            tokens=12,
        )
    ).done()
    made.enter("tool", "search", "tool", 1)
    edited = {"query": "AI news", "max_results": 5}
    made.add(
        NEEDED,
        ApprovalGiven(call="call-1", action="allow", arguments=edited, edited=True, scope="tool"),
        ToolStarted(call="call-1", tool="search", source="demo", arguments=edited),
        ToolProgressed(call="call-1", done=1, total=2, message="half"),
        ToolResult(
            call="call-1",
            tool="search",
            source="demo",
            ok=True,
            content=(
                ToolContent(text="1. A model that fits on a phone\n2. A grammar that cannot leak"),
                ToolContent(kind="image", data=PNG, mime="image/png", size=len(PNG), name="dot.png"),
            ),
            structured={"results": 2},
            sent="1. A model that fits on a phone\n2. A grammar that cannot leak",
            bytes=60,
            ms=14,
        ),
    ).done(reason="done")
    made.enter("turn-2", "Turn 2", "turn", 2)
    made.add(TransformActed(name="content-tags", surface="response", what="a call was taken out of its tag"))
    made.text('Two things are new.\n```json\n{"action": 1}', stop="never").done(
        valid=False, reason="end-of-text"
    )
    made.add(
        Extracted(
            before='```json\n{"action": 1}\n```',
            after='{"action": 1}',
            changes=(Change("the fence around it was taken away", 0),),
            valid=False,
        )
    )
    made.add(
        LimitReached(
            limit="max_turns", allowed=3, used=3, message="No turn is left: the answer is asked for."
        )
    )
    made.enter("final", "Final answer", "final", 3)
    made.add(FinalAnswer(text="A model that fits on a phone, and a grammar that cannot leak.")).done()
    return made.end("limit", valid=False)


THOUGHT = (
    "The user wants news about AI and about chips. I can search twice, with ten results each. "
    "The tool is called search and takes a query and max_results."
)
MARKER = "<tool_call>"


def parts_run(
    thought: str = THOUGHT,
    words: str = "I will look both up.",
    calls: tuple[str, ...] = (GOOD, BAD),
    *,
    early: float | None = 0.124,
) -> tuple[AnyEvent, ...]:
    """Return a run with reasoning, text and calls between markers, with each part's validator events.

    `early` is the raw probability that the marker of a call had at the fourth token; None leaves it unknown.
    """
    form = {"calls": [], "reasoning": {"open": "<think>", "close": "</think>"}}
    request = loop_request(strategy="direct", form=form, most_calls=None, reasoning_budget=256)
    made = Maker(request)
    made.enter("call", "", "call")
    made.add(PromptRendered(text="…", tokens=184, cached=170), PromptEvaluated(done=184, total=184, ms=20))
    writer = _Writer(made, early)
    for kind, text in (("reasoning", thought), ("text", words)):
        if text:
            writer.part(kind, text)
            writer.marker("\n</think>\n\n" if kind == "reasoning" else "\n")
    ready = []
    for index, script in enumerate(calls):
        writer.marker(f"{MARKER}\n")
        ready += writer.call(index, script)
        writer.marker("\n</tool_call>\n")
    valid = len(ready) == len(calls)
    made.done(valid=valid)
    if valid:
        made.add(*ready)
    return made.end("complete" if calls else "answered", valid=valid)


class _Writer:
    def __init__(self, made: Maker, early: float | None) -> None:
        self._made = made
        self._early = early
        self._at = self._index = 0

    def part(self, kind: Any, text: str, call_index: int = 0) -> int:
        start = self._at
        for place, piece in enumerate(re.findall(r" ?\w+|\s+|.", text)):
            self._token(piece)
            if not place:
                self._made.add(SegmentOpened(kind=kind, start=start, call_index=call_index))
        self._made.add(SegmentClosed(kind=kind, start=start, end=self._at, call_index=call_index))
        return start

    def marker(self, text: str) -> None:
        for piece in re.findall(r"<[^>]*>|\s+", text):
            self._token(piece, forced=piece.isspace())

    def call(self, index: int, script: str) -> list[CallReady]:
        start, first = self._at, self._index
        request = RunRequest(
            prompt="x", registry=default_registry().to_document(), constraint="off", stop_on="never"
        )
        request = msgspec.structs.replace(request, repair=RepairSettings(extract=False))
        reported = [e for e in run(request, ScriptedModel(script)) if not _is_frame(e)]
        self._made.add(SegmentOpened(kind="call", start=start, call_index=index))
        for event in reported:
            if isinstance(event, Token):
                self._token(event.step.text)
            elif hasattr(event, "call_index") and not isinstance(event, CallReady):
                moved = {
                    name: getattr(event, name) + start
                    for name in ("start", "end", "char")
                    if hasattr(event, name)
                }
                if hasattr(event, "token"):
                    moved["token"] = event.token + first
                self._made.add(msgspec.structs.replace(event, call_index=index, **moved))
        self._made.add(SegmentClosed(kind="call", start=start, end=self._at, call_index=index))
        return [
            msgspec.structs.replace(event, call_index=index)
            for event in reported
            if isinstance(event, CallReady)
        ]

    def _token(self, text: str, *, forced: bool = False) -> None:
        number = sum(map(ord, text))
        others = [Alternative(number, text.encode(), text, 0.7, 0.7, True)]
        if self._early is not None and self._index < 8:
            share = self._early / (1 + abs(self._index - 4))
            others.append(Alternative(sum(map(ord, MARKER)), MARKER.encode(), MARKER, share, share, True))
        step = TokenStep(
            index=self._index,
            id=number,
            data=text.encode(),
            text=text,
            logprob=-0.36,
            rank=0,
            allowed=49_152,
            feasible=1.0,
            forced=forced,
            alternatives=() if forced else tuple(others),
        )
        self._made.add(Token(step=step, start=self._at, end=self._at + len(text)))
        self._at += len(text)
        self._index += 1


def aborted(events: tuple[AnyEvent, ...]) -> list[Aborted]:
    return [event for event in events if isinstance(event, Aborted)]


def asking(context: Any) -> Any:
    """A strategy that asks about a call, then a question, and ends."""
    emitter, interaction = context.emitter, context.interaction
    yield emitter.enter("tool", "search", "tool")
    yield emitter.stamp(NEEDED)
    decision = interaction.decide(NEEDED)
    arguments = decision.arguments or NEEDED.arguments
    yield emitter.stamp(
        ApprovalGiven(
            call=NEEDED.call,
            action=decision.action,
            arguments=arguments,
            by=decision.by,
            reason=decision.reason,
        )
    )
    yield emitter.stamp(QuestionAnswered(answer=interaction.answer("Which one?")))
    return Ending("answered", True)
