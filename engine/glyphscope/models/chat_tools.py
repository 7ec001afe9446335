"""What a run asks of a chat template: tools and thinking, and the templates that have no place for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glyphscope.errors import PromptError
from glyphscope.events import Message, Thinking
from glyphscope.models.chat import ChatTemplate, render_plain
from glyphscope.text.lines import common_length

NO_PLACE = "This model's template has no place for tools, so it has no native notation for calls."
NO_PLACE_HINT = (
    "Use the notation glyph or json, or a model that was made for tools (Qwen, Llama 3, Mistral, Hermes)."
)


THINKING: dict[Thinking, bool | None] = {"auto": None, "on": True, "off": False}
"""What each state is to a template; None leaves it undefined."""


def render_chat(
    template: ChatTemplate | None,
    messages: Sequence[Message],
    tools: Sequence[dict[str, Any]] = (),
    thinking: Thinking = "auto",
    *,
    no_template: str = "",
) -> tuple[str, str, str]:
    """The prompt, a note, and what the template wrote for the tools. Raises PromptError.

    Without a template it is the plain form, and `no_template` the note; tools are then an error.
    """
    added = ""
    if tools:
        text, note, added = render_with_tools(template, messages, tools, THINKING[thinking])
    elif template is None:
        text, note = render_plain(messages), no_template
    else:
        text, note = template.render(messages, thinking=THINKING[thinking])
    return text, f"{note} {_no_switch(template, thinking)}".strip(), added


def _no_switch(template: ChatTemplate | None, thinking: Thinking) -> str:
    """The note on a state of thinking that was asked for and changed nothing."""
    if thinking == "auto" or (template is not None and template.reads_thinking):
        return ""
    why = "it has no chat template" if template is None else "its chat template has no switch for that"
    return f"Thinking was set to {thinking}, which this model does not support: {why}."


def render_with_tools(
    template: ChatTemplate | None,
    messages: Sequence[Message],
    tools: Sequence[dict[str, Any]],
    thinking: bool | None = None,
) -> tuple[str, str, str]:
    """The prompt, a note, and what the template wrote for the tools: the one piece in which it differs without them.

    Raises PromptError where it writes the same without them, or cannot take them.
    """
    if template is None:
        raise PromptError(NO_PLACE, where="chat template", hint=NO_PLACE_HINT)
    text, note = template.render(messages, tools, thinking=thinking)
    without, _ = template.render(messages, thinking=thinking)
    if text == without:
        raise PromptError(NO_PLACE, where="chat template", hint=NO_PLACE_HINT)
    start = common_length(text, without)
    rest, other = text[start:], without[start:]
    return text, note, rest[: len(rest) - common_length(rest[::-1], other[::-1])]
