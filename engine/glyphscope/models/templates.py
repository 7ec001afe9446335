"""Chat templates as they are read from a file, and work with them in a process with limits, as they are programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.base.shorten import listed, shorten
from glyphscope.events import AUTO, DEFAULT_CHAT, ChatOptions, Message, TemplateForm, Thinking
from glyphscope.models.chat import HINT, ChatTemplate, render_chat
from glyphscope.processes.limited import ProcessLimitReached, limited

T = TypeVar("T")

_FOR_TOOLS = "tool_use"
"""The name of the template that a model uses for prompts with tools, if it has one of that name."""
_MAX_LISTED, _MAX_NAME = 12, 60


class TemplateSource(msgspec.Struct, frozen=True):
    """A chat template that is not compiled yet: `bos` and `eos` are the texts of its special tokens.

    `ends` are the texts that end a generation in the template's vocabulary, if known; `where` is its place in
    errors. `names` are those of all templates in the model's file, `name` is its own, if it was chosen by that.
    `given` is a JSON object with the variables that a user sets, `effort` the reasoning effort.
    """

    source: str
    bos: str = ""
    eos: str = ""
    ends: tuple[str, ...] = ()
    where: str = ""
    name: str = ""
    names: tuple[str, ...] = ()
    given: str = "{}"
    effort: str = AUTO

    def under(self, chat: ChatOptions) -> TemplateSource:
        """The template with the variables and the effort of these options."""
        given = json.dumps(chat.template_vars, ensure_ascii=False)
        return msgspec.structs.replace(self, given=given, effort=chat.reasoning_effort)


class ModelTemplates(msgspec.Struct, frozen=True):
    """The chat templates of a model by name, under "" the one without a name, with the texts of its special tokens as
    in `TemplateSource`.
    """

    sources: dict[str, str] = {}
    bos: str = ""
    eos: str = ""
    ends: tuple[str, ...] = ()
    where: str = ""

    def chosen(self, chat: ChatOptions = DEFAULT_CHAT, *, tools: bool) -> TemplateSource | None:
        """The template of a request, for prompts with tools or without; None if there is none.

        Raises PromptError for the name of a template that the model does not have.
        """
        name = chat.chat_template
        if "{" in name:
            source = name
        elif not name:
            source = (self.sources.get(_FOR_TOOLS) if tools else "") or self.sources.get("", "")
        elif name in self.sources:
            source = self.sources[name]
        else:
            known = listed([each for each in self.sources if each], _MAX_LISTED) or "none with a name"
            raise PromptError(
                f"The model has no chat template of the name {shorten(name, _MAX_NAME)!r}.",
                where="Chat template",
                hint=f"It has {known}; or give a template as a file.",
            )
        if not source:
            return None
        names = tuple(each for each in self.sources if each)
        own = name if name in self.sources else ""
        return TemplateSource(source, self.bos, self.eos, self.ends, self.where, own, names).under(chat)


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
            where=template.where or "Chat template",
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


def reads_switches(template: TemplateSource) -> tuple[bool, bool]:
    """Whether the template has a switch for thinking, and a variable for the reasoning effort.

    Raises PromptError and Stopped.
    """
    return limited_work(_reads_switches, template)


def template_notes(template: TemplateSource) -> str:
    """Notes on its given variables that it makes nothing of. Raises PromptError and Stopped."""
    return limited_work(_notes, template)


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Put the file before the place of an error in its template."""
    try:
        yield
    except PromptError as error:
        place = ", ".join(filter(None, (where, error.where)))
        raise PromptError(error.message, where=place) from None


def checked_template(source: str, where: str = "") -> str:
    """The source. Raises PromptError for one that is not Jinja, or that does not read the messages."""
    with placed(where):
        reads = limited_work(_reads, TemplateSource(source, where=where))
    if "messages" not in reads:
        raise PromptError(
            "This is not a chat template: it does not read the messages.",
            where=where,
            hint="Choose a .jinja file.",
        )
    return source


def _rendered(
    template: TemplateSource, messages: list[Message], tools: list[dict[str, Any]], thinking: Thinking
) -> tuple[str, str, str]:
    return render_chat(_compiled(template), messages, tools, thinking)


def _reads_switches(template: TemplateSource) -> tuple[bool, bool]:
    chat = _compiled(template)
    return chat.reads_thinking, chat.reads_effort


def _notes(template: TemplateSource) -> str:
    return _compiled(template).notes


def _reads(template: TemplateSource) -> list[str]:
    return sorted(_compiled(template).reads)


@lru_cache(maxsize=8)
def _compiled(template: TemplateSource) -> ChatTemplate:
    return compiled_chat(template)


def compiled_chat(template: TemplateSource) -> ChatTemplate:
    """The compiled template, in a process with limits. Raises PromptError for a template that is not Jinja."""
    return ChatTemplate(
        template.source,
        bos=template.bos,
        eos=template.eos,
        given=json.loads(template.given),
        effort=template.effort,
    )


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
