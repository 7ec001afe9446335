"""A chat template that is given tools: what it makes of them, and the ones that have no place for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glyphscope.errors import PromptError
from glyphscope.events import Message
from glyphscope.models.chat import ChatTemplate

NO_PLACE = "This model's template has no place for tools, so it has no notation of its own for calls."
NO_PLACE_HINT = (
    "Use the notation glyph or json, or a model that was made for tools (Qwen, Llama 3, Mistral, Hermes)."
)


def render_with_tools(
    template: ChatTemplate | None, messages: Sequence[Message], tools: Sequence[dict[str, Any]]
) -> tuple[str, str, str]:
    """The prompt, a note, and what the template wrote for the tools: the one piece in which it differs without them.

    Raises PromptError where it writes the same without them, or cannot take them.
    """
    if template is None:
        raise PromptError(NO_PLACE, where="chat template", hint=NO_PLACE_HINT)
    text, note = template.render(messages, tools)
    without, _ = template.render(messages)
    if text == without:
        raise PromptError(NO_PLACE, where="chat template", hint=NO_PLACE_HINT)
    start = _same(text, without)
    rest, other = text[start:], without[start:]
    return text, note, rest[: len(rest) - _same(rest[::-1], other[::-1])]


def _same(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
