"""The model's own chat template, rendered as llama.cpp and transformers do; and the plain form for want of one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from jinja2 import TemplateError
from jinja2.exceptions import TemplateSyntaxError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from glyphscope.errors import PromptError
from glyphscope.events import Message

NO_TEMPLATE = (
    "The model has no chat template: messages are written as 'System:', 'User:' and 'Assistant:' paragraphs."
)
MERGED_SYSTEM = "The model's chat template takes no system message: it was put before the user's first one."
RESULTS_AS_USER = "The model's chat template takes no messages of tools: they were given as the user's."
RESULT_WORDS = "Result of the tool call:"

_HINT = "Use another model, or a prompt with a user's message only."


def render_plain(messages: Sequence[Message]) -> str:
    """A paragraph a message with its role as a word, then `Assistant:`, where the answer is to go on."""
    turns = [f"{message.role.capitalize()}: {message.content}\n\n" for message in messages]
    return "".join(turns) + "Assistant:"


class ChatTemplate:
    """A GGUF's `tokenizer.chat_template`. It came with a download: it runs in Jinja's sandbox, and changes nothing."""

    def __init__(self, source: str, *, bos: str = "", eos: str = "") -> None:
        """Raises PromptError for a template that is not Jinja."""
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
        )
        environment.filters["tojson"] = _tojson
        environment.globals.update(raise_exception=_refuse, strftime_now=_strftime_now)
        self._given = {"bos_token": bos, "eos_token": eos}
        try:
            self._template = environment.from_string(source)
        except TemplateSyntaxError as error:
            raise PromptError(
                f"The model's chat template is damaged: {error.message}",
                where=f"line {error.lineno}",
                hint=_HINT,
            ) from error

    def render(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = ()) -> tuple[str, str]:
        """The prompt, open for the assistant's answer, and a note. Raises PromptError.

        `tools`, in OpenAI's form, are the template's to write.
        A template that refuses a system message, or leaves it out without a word, gets it in the user's first one;
        one that does so with a tool's message gets that as the user's.
        """
        refusal: PromptError | None = None
        for given, note in _forms(messages):
            try:
                text = self._render(given, tools)
            except PromptError as error:
                refusal = refusal or error
                continue
            if all(_written(m.content.strip(), text) for m in messages if m.role in _OFTEN_LEFT_OUT):
                return text, note
        roles = " and ".join(role for role in _OFTEN_LEFT_OUT if any(m.role == role for m in messages))
        raise refusal or PromptError(f"The model's chat template leaves the {roles} message out.", hint=_HINT)

    def _render(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        given = [{"role": message.role, "content": message.content} for message in messages]
        more: dict[str, Any] = {**self._given, "tools": list(tools)} if tools else dict(self._given)
        try:
            return self._template.render(messages=given, add_generation_prompt=True, **more)
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise PromptError(
                f"The model's chat template cannot take these messages: {error}",
                where="chat template",
                hint=_HINT,
            ) from error


_OFTEN_LEFT_OUT = ("system", "tool")


def _written(content: str, text: str) -> bool:
    """Whether the content is in the text, as it is or as JSON, in which Llama's template writes a tool's."""
    return content in text or _tojson(content)[1:-1] in text


def _forms(messages: Sequence[Message]) -> Iterator[tuple[Sequence[Message], str]]:
    """The messages as given, then in the forms that templates take which know fewer roles, each with its note."""
    yield messages, ""
    merged = merge_system(messages)
    if merged is not None:
        yield merged, MERGED_SYSTEM
    if any(message.role == "tool" for message in messages):
        plain = results_as_user(messages)
        yield plain, RESULTS_AS_USER
        merged = merge_system(plain)
        if merged is not None:
            yield merged, f"{MERGED_SYSTEM} {RESULTS_AS_USER}"


def results_as_user(messages: Sequence[Message]) -> list[Message]:
    """The messages with each tool's as the user's; the user's that then follow each other are one."""
    changed: list[Message] = []
    for message in messages:
        if message.role == "tool":
            message = Message("user", f"{RESULT_WORDS}\n{message.content}")
        if changed and changed[-1].role == message.role == "user":
            message = Message("user", f"{changed.pop().content}\n\n{message.content}")
        changed.append(message)
    return changed


def merge_system(messages: Sequence[Message]) -> list[Message] | None:
    """The messages with the system's content before the user's first; None where one of the two is missing."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    place = next((i for i, message in enumerate(rest) if message.role == "user"), None)
    if not system or place is None:
        return None
    rest[place] = Message("user", f"{system}\n\n{rest[place].content}")
    return rest


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)


def _tojson(value: Any, indent: int | None = None, **_: Any) -> str:
    """JSON without HTML's escapes, as templates expect it of transformers."""
    return json.dumps(value, ensure_ascii=False, indent=indent)
