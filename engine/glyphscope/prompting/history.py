"""Messages of earlier turns as parts of a prompt: their text, and where a template writes their reasoning and calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from glyphscope.base.structs import ready
from glyphscope.events import Message, RunRequest, ToolCall
from glyphscope.prompting.template import MessagePart, WrittenSpan
from glyphscope.registry import ToolRegistry
from glyphscope.turns import TurnForm, TurnTools, read_turn

HISTORY = "history"
"""The name of the parts in messages before the prompt."""
MESSAGE = "message "
"""The prefix of a piece's name, followed by the message's number, from 1, and `, reasoning` or `, call 1`."""
_NEAR = 200
"""The maximum number of characters between two values of a call."""


@dataclass(frozen=True)
class WrittenReasoning:
    """Implements `Locate` for reasoning, which many templates leave out of earlier turns."""

    reasoning: str
    of: str

    def __call__(self, text: str, start: int, end: int) -> list[WrittenSpan]:
        words = self.reasoning.strip()
        at = text.find(words, start, end) if words else -1
        return [WrittenSpan(at, at + len(words), self.of)] if at >= 0 else []


@dataclass(frozen=True)
class WrittenCalls:
    """Implements `Locate` for a message's calls: including markers if the form of turns is known, otherwise from the
    name to the last value.
    """

    calls: tuple[ToolCall, ...]
    of: str
    form: TurnForm | None = None
    registry: ToolRegistry | None = None

    def __call__(self, text: str, start: int, end: int) -> list[WrittenSpan]:
        spans = self._read(text, start, end) or self._found(text, start, end)
        return [WrittenSpan(*span, f"{self.of}, call {number}") for number, span in enumerate(spans, 1)]

    def _read(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """The calls' characters; empty if the text is parsed into calls other than the message's."""
        if self.form is None or not self.form.calls:
            return []
        header = text.find(self.form.header, start, end)
        at = start if header < 0 else header + len(self.form.header)
        form = msgspec.structs.replace(self.form, begun={})
        # to the end, as the text of a later part may also be in the call: a result that repeats an argument
        read = read_turn(text[at:], form, TurnTools(self.registry or ToolRegistry())).calls[: len(self.calls)]
        if [call.name for call in read] != [call.name for call in self.calls]:
            return []
        return [(at + call.start, at + call.end) for call in read]

    def _found(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        spans = []
        for call in self.calls:
            at = text.find(call.name, start, max(start, end))
            if at < 0:
                break
            start = at + len(call.name)
            for words in _values(call.arguments):
                place = text.find(words, start, start + len(words) + _NEAR)
                start = place + len(words) if place >= 0 else start
            spans.append((at, start))
            end = max(end, start + _NEAR)
        return spans


def history_turns(
    request: RunRequest, registry: ToolRegistry | None = None
) -> Iterator[tuple[Message, list[MessagePart]]]:
    """The messages of earlier turns with their parts, in the order of the text."""
    form = _form(request)
    for number, message in enumerate(request.history, 1):
        of = f"{MESSAGE}{number}"
        parts = []
        if message.reasoning:
            parts.append(
                MessagePart(HISTORY, "", of, WrittenReasoning(message.reasoning, f"{of}, reasoning"))
            )
        if message.content:
            parts.append(MessagePart(HISTORY, message.content, of))
        if message.tool_calls:
            calls = MessagePart(HISTORY, "", of, WrittenCalls(message.tool_calls, of, form, registry))
            parts.insert(len(parts) - bool(message.content and form and form.text_after), calls)
        yield message, parts


def _form(request: RunRequest) -> TurnForm | None:
    """The request's form of turns; None also for an invalid one, which the run rejects."""
    try:
        return msgspec.convert(request.form, ready(TurnForm)) if request.form else None
    except msgspec.ValidationError:
        return None


def _values(value: Any) -> Iterator[str]:
    """The scalars in a value in order, as most templates write them."""
    if isinstance(value, dict):
        value = [part for pair in value.items() for part in pair]
    if isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _values(item)
    else:
        yield value if isinstance(value, str) else json.dumps(value)
