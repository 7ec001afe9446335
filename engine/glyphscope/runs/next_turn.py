"""The messages of a finished run, from which the next turn of its conversation starts."""

from __future__ import annotations

from collections.abc import Iterator

from glyphscope.events import Message, QuestionAnswered, QuestionAsked, RunRequest, ToolCall, ToolResult
from glyphscope.runs.state import RunState, StageState
from glyphscope.turns.own import ENDPOINTS_OWN, named_call

_WRITES_CALLS = ("template", ENDPOINTS_OWN)
"""Native forms whose calls are members of a message; in all others, calls are part of its text."""


def history_after(state: RunState, request: RunRequest) -> tuple[Message, ...]:
    """The messages up to the end of this run, for the `history` of the next turn's request: the request's own, then
    the answer.
    """
    asked = (Message("user", request.prompt),) if request.prompt else ()
    return (*request.history, *asked, *answer_messages(state, request))


def answer_messages(state: RunState, request: RunRequest) -> tuple[Message, ...]:
    """The model's answer, and each tool result as the model received it; empty if nothing was written.

    The answer of a run without a valid call is the model's last text. Invalid turns of the tool loop are left out, as
    in the loop itself.
    """
    settled = request if state.started is None else state.started.request
    said = _conversation(state, settled) if settled.strategy == "loop" else _one_call(state, settled)
    return tuple(message for message in said if message.content or message.tool_calls)


def _conversation(state: RunState, request: RunRequest) -> Iterator[Message]:
    """The turns of a tool loop that are in its history."""
    for stage in state.stages:
        if stage.calls:
            yield (
                _called(stage)
                if request.native in _WRITES_CALLS
                else Message("assistant", _up_to_last_call(stage))
            )
        yield from _results(stage, request)
    if state.answer is not None:
        yield Message("assistant", state.answer.text)


def _up_to_last_call(stage: StageState) -> str:
    """The text as in the loop's history; only the calls if a transform changed it."""
    last = stage.calls[-1].text
    place = stage.text.rfind(last)
    if place < 0:
        return "\n".join(call.text for call in stage.calls)
    return stage.text[: place + len(last)].strip()


def _one_call(state: RunState, request: RunRequest) -> Iterator[Message]:
    """The answered questions, then the call (or the text in its place), then its result."""
    question = ""
    for stage in state.stages:
        for event in stage.outline:
            if isinstance(event, QuestionAsked):
                question = event.question
            elif isinstance(event, QuestionAnswered) and event.answer:
                yield Message("assistant", question)
                yield Message("user", event.answer)
                question = ""
    called = next((stage for stage in reversed(state.stages) if stage.calls), None)
    last = state.last_with_text
    if called is not None and request.native in _WRITES_CALLS and not question:
        yield _called(called)
    elif called is None and last is not None and _is_words(last) and not question:
        yield _called(last)
    else:
        whole = state.call is not None
        written = state.call.text if state.call is not None else last.text if last is not None else ""
        yield Message("assistant", (question or _as_native(written, request, whole=whole)).strip())
    for stage in state.stages:
        yield from _results(stage, request)


def _as_native(text: str, request: RunRequest, *, whole: bool) -> str:
    """The text in the native notation: with the prefix of the answer, and with the closing marker of a call."""
    named = named_call(request.native)
    if named is None or not (whole or request.constraint != "off"):
        return text
    if named.marker not in text:
        text = named.section_open + text
    if not whole or text.rstrip().endswith(named.section_close.strip()):
        return text
    return text + named.section_close


def _is_words(stage: StageState) -> bool:
    """Whether the text has no call, not even an invalid one, and its reasoning is separate from its answer."""
    return bool(stage.segments) and all(segment.kind in ("text", "reasoning") for segment in stage.segments)


def _called(stage: StageState) -> Message:
    """A turn in the model's native form, which its template writes."""
    parts: dict[str, list[str]] = {"text": [], "reasoning": []}
    for segment in stage.segments:
        if segment.kind in parts:
            parts[segment.kind].append(stage.text[segment.start : segment.end].strip())
    calls = tuple(ToolCall(call.tool, call.arguments, call.call) for call in stage.calls)
    return Message(
        "assistant", "\n".join(parts["text"]).strip(), calls, "\n".join(parts["reasoning"]).strip()
    )


def _results(stage: StageState, request: RunRequest) -> Iterator[Message]:
    results = [event for event in stage.outline if isinstance(event, ToolResult)]
    if request.native not in _WRITES_CALLS:
        return (Message("tool", event.sent) for event in results)
    return (Message("tool", event.sent, tool_call_id=event.call, name=event.tool) for event in results)
