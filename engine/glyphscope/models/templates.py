"""Chat templates as they are read from a file, and work with them in a process with limits, as they are programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.events import Message, TemplateForm, Thinking
from glyphscope.models.chat import HINT, ChatTemplate, render_chat
from glyphscope.processes.limited import ProcessLimitReached, limited

T = TypeVar("T")


class TemplateSource(msgspec.Struct, frozen=True):
    """A chat template that is not compiled yet: `bos` and `eos` are the texts of its special tokens.

    `ends` are the texts that end a generation in the template's vocabulary, if known; `where` is its place in errors.
    """

    source: str
    bos: str = ""
    eos: str = ""
    ends: tuple[str, ...] = ()
    where: str = ""


def limited_work(
    work: Callable[..., T], template: TemplateSource, *more: object, seconds: float | None = None
) -> T:
    """The result of `work`, a function of a module, with the template in a process with limits.

    Raises PromptError, also for a template that needs too much time or memory, and Stopped.
    """
    try:
        return limited(seconds, work, template, *more)
    except ProcessLimitReached as error:
        raise PromptError(
            f"The model's chat template was stopped: {error.message}.",
            where=template.where or "chat template",
            hint=HINT,
        ) from None


def render_template(
    template: TemplateSource | None,
    messages: Sequence[Message],
    tools: Sequence[dict[str, Any]] = (),
    thinking: Thinking = "auto",
    *,
    no_template: str = "",
) -> tuple[str, str, str]:
    """As `render_chat`, with the template in a process with limits. Raises PromptError and Stopped."""
    if template is None:
        return render_chat(None, messages, tools, thinking, no_template=no_template)
    return limited_work(_rendered, template, list(messages), list(tools), thinking)


def reads_thinking(template: TemplateSource) -> bool:
    """Whether the template has a switch for thinking. Raises PromptError and Stopped."""
    return limited_work(_reads_thinking, template)


def _rendered(
    template: TemplateSource, messages: list[Message], tools: list[dict[str, Any]], thinking: Thinking
) -> tuple[str, str, str]:
    return render_chat(_compiled(template), messages, tools, thinking)


def _reads_thinking(template: TemplateSource) -> bool:
    return _compiled(template).reads_thinking


@lru_cache(maxsize=8)
def _compiled(template: TemplateSource) -> ChatTemplate:
    return ChatTemplate(template.source, bos=template.bos, eos=template.eos)


_TOOLS = re.compile(r"\btools\b")
_HERMES = re.compile(r"""<tool_call>(?:\s|\\n)*\{+\s*\\?["'](?:name|arguments)""")
"""Includes the marker's content: other templates write XML in it (Qwen3-Coder, GLM) or only mention it (Apriel)."""
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s?\[(?!ARGS\])")
_LLAMA = re.compile(r"""["']name\\?["']\s*:.{0,200}?["']parameters\\?["']\s*:""", re.DOTALL)


def template_form(template: str) -> TemplateForm:
    """The form in which a chat template writes calls, by its text: one of those known by name (`turns/own.py`), "other"
    for an unknown form, "" if it does not support tools.
    """
    if not _TOOLS.search(template):
        return ""
    if "<tool_call>" in template:
        return "hermes" if _HERMES.search(template) else "other"
    if "[TOOL_CALLS]" in template:
        return "mistral" if _MISTRAL.search(template) else "other"
    if "<|start_header_id|>" in template and _LLAMA.search(template):
        return "llama"
    return "other"
