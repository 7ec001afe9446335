"""The history policy: the parts of earlier turns that later turns see.

A turn is kept up to its last executed call, with the results. A turn without a valid call is not kept: the next one
gets an explanation of the error instead, which is removed after a valid turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from glyphscope.events import CallReady, Message, RunRequest, ToolCall, TransformActed, Violation
from glyphscope.prompting.messages import RenderedMessages, render_messages
from glyphscope.prompting.strategies import strategy_preset
from glyphscope.prompting.template import MessagePart
from glyphscope.registry import ToolRegistry
from glyphscope.runs.envelope import escaped
from glyphscope.runs.transforming import Chain

SAID, RESULT, NOTE = "said", "result", "note"
"""The parts of a prompt: the assistant's earlier text, the tools' results, and the note for the next turn."""

EMPTY_NOTE = "Your last message was empty. Answer the user now, in plain words."


class LoopHistory:
    """The messages of one run, beginning with the user's prompt."""

    def __init__(self, request: RunRequest, chain: Chain) -> None:
        """Raises PromptError for an unknown preset."""
        self._request = with_system(request)
        self._chain = chain
        self._turns: list[tuple[Message, str]] = []
        self._note = ""

    def messages(self, registry: ToolRegistry) -> tuple[RenderedMessages, tuple[TransformActed, ...]]:
        """The next turn's messages, with the tools of `registry`; and the transforms that acted. Raises PromptError."""
        opening = render_messages(self._request, registry)
        turns = list(self._turns)
        if self._note:
            turns.append((Message("user", self._note), NOTE))
        messages = (*opening.messages, *(message for message, _ in turns))
        changed, acted = self._chain.messages(messages)
        parts = (*opening.parts, *(MessagePart(name, message.content) for message, name in turns))
        return replace(opening, messages=changed, parts=parts), acted

    def said(self, text: str) -> None:
        """Add a turn: its text up to the last executed call."""
        self._turns.append((Message("assistant", text.strip()), SAID))
        self._note = ""

    def called(self, content: str, reasoning: str, calls: Sequence[CallReady]) -> None:
        """Add a turn in the model's own form, which its template writes: text, reasoning and the calls to execute."""
        made = tuple(ToolCall(call.tool, call.arguments, call.call) for call in calls)
        self._turns.append((Message("assistant", content, tool_calls=made, reasoning=reasoning), SAID))
        self._note = ""

    def answered(self, result: str, call: CallReady | None = None) -> None:
        """Add the message about a tool's result, with its `call` if the template writes that."""
        message = Message("tool", result)
        if call is not None:
            message = Message("tool", result, tool_call_id=call.call, name=call.tool)
        self._turns.append((message, RESULT))

    def note(self, text: str) -> None:
        """Set the note for the next turn only, in place of any earlier note."""
        self._note = escaped(text)


def with_system(request: RunRequest) -> RunRequest:
    """The request with the template of the loop's preset, unless it has its own or the model's own form needs none.

    Raises PromptError for an unknown preset.
    """
    template = request.system
    if template is None and request.native != "template":
        template = strategy_preset(request.loop.prompt)
    return msgspec.structs.replace(request, system=template)


def fault_note(violation: Violation, *, may_answer: bool) -> str:
    """The message to the next turn about a turn without a valid call. It repeats nothing of that turn's text."""
    viable = f" Possible was: {violation.viable}." if violation.viable else ""
    instruction = "Write one call in the format above" + (
        ", or answer in plain words." if may_answer else "."
    )
    return f"Your last message was not a valid call: {violation.message}.{viable} {instruction}"
