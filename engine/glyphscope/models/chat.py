"""A model's chat template, rendered as llama.cpp and transformers do; and a plain form for models without one.

Runs call `render_chat`. Tools and thinking need a template that supports them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any

from jinja2 import TemplateError
from jinja2.exceptions import TemplateSyntaxError, UndefinedError

from glyphscope.base.errors import PromptError
from glyphscope.base.lines import common_length
from glyphscope.base.shorten import shorten
from glyphscope.events import AUTO, Message, Thinking
from glyphscope.models.chat_messages import (
    REASONING_KEYS,
    CallStyle,
    fit_calls,
    link_results,
    template_message,
    with_defaults,
)
from glyphscope.models.chat_probe import PROBE_TOOLS, find_style
from glyphscope.models.template_environment import TemplateEnvironment, copied
from glyphscope.models.template_uses import EFFORTS, Uses, uses_of
from glyphscope.processes.limited import ProcessLimitReached

NO_TEMPLATE = (
    "The model has no chat template: messages are written as 'System:', 'User:' and 'Assistant:' paragraphs."
)
MERGED_SYSTEM = "The model's chat template takes no system message: it was put before the user's first one."
RESULTS_AS_USER = "The model's chat template takes no messages of tools: they were given as the user's."
RESULT_WORDS = "Result of the tool call:"

NO_PLACE = "This model's template has no place for tools, so it has no native notation for calls."
NO_PLACE_HINT = "Use GLYPH or JSON, or a model that was made for tools (Qwen, Llama 3, Mistral, Hermes)."


THINKING: dict[Thinking, bool | None] = {"auto": None, "on": True, "off": False}
"""The value of each state in a template; None leaves it undefined."""
_SWITCHES = {
    "enable_thinking": (False, True),
    "thinking": (False, True),
    "thinking_mode": ("disabled", "enabled"),
}
"""The variables by which templates switch reasoning, with their values for off and on."""
_DATES = {"date_string": "%d %b %Y", "datetime": "%b %d %Y"}
_OFTEN_LEFT_OUT = ("system", "tool")
"""Roles whose messages some templates leave out without an error."""

_MAX_VALUE = 60
"""Characters of a variable's value in a note."""
HINT = "Use another model, or a prompt with a user's message only."


def render_plain(messages: Sequence[Message]) -> str:
    """One paragraph per message, beginning with its role; then `Assistant:`, where the answer begins."""
    turns = [f"{message.role.capitalize()}: {message.content}\n\n" for message in messages]
    return "".join(turns) + "Assistant:"


class ChatTemplate:
    """A GGUF's `tokenizer.chat_template`. It is downloaded code, so it runs in a sandbox and within limits.

    `reads` are the names that it uses; no others are passed to it. `given` are the values of variables that its user
    sets, and `effort` that of the variable for the reasoning effort; they override those that it would get.
    """

    def __init__(
        self,
        source: str,
        *,
        bos: str = "",
        eos: str = "",
        given: Mapping[str, Any] = MappingProxyType({}),
        effort: str = AUTO,
    ) -> None:
        """Raises PromptError for a template that is not Jinja."""
        environment = TemplateEnvironment()
        self._source, self._given, self._effort = source, given, effort
        self.noted = environment.noted
        self._tokens = {"bos_token": bos, "eos_token": eos}
        self._reasoning_keys = [key for key in REASONING_KEYS if re.search(rf"\b{key}\b", source)]
        try:
            self._template, self.reads = environment.read(source)
        except TemplateSyntaxError as error:
            raise _unusable(f"is damaged: {error.message}", f"line {error.lineno}") from error
        except Exception as error:  # the exception for deep nesting depends on the Python version
            raise _unusable(f"cannot be compiled: {_reason(error)}") from error

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        *,
        thinking: bool | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> tuple[str, str]:
        """The prompt, which ends where the assistant's answer begins, and a note. Raises PromptError.

        The template writes `tools`, given in OpenAI's form. If `thinking` is None, the template decides.
        If the template rejects or silently omits system messages, their content goes into the first user message; tool
        messages are then passed as user messages. Calls have the form that the template accepts.
        """
        given_variables = self.variables(tools, thinking=thinking, variables=variables)
        refusal: PromptError | None = None
        for given, note, style in self._attempts(messages):
            try:
                text = self._render(given, style, given_variables)
            except PromptError as error:
                if isinstance(error.__cause__, ProcessLimitReached):
                    raise
                refusal = refusal or error
                continue
            if all(_written(m.content.strip(), text) for m in messages if m.role in _OFTEN_LEFT_OUT):
                return text, note
        roles = " and ".join(role for role in _OFTEN_LEFT_OUT if any(m.role == role for m in messages))
        raise refusal or _unusable(f"leaves the {roles} message out.", "")

    def write(self, variables: Mapping[str, Any]) -> str:
        """The text rendered with exactly these variables. May raise any exception."""
        return self._template(variables)

    def variables(
        self,
        tools: Sequence[dict[str, Any]] = (),
        *,
        thinking: bool | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The variables other than the messages: the available ones that the template uses."""
        offered: dict[str, Any] = {**self._tokens, "add_generation_prompt": True}
        offered |= {name: f"{datetime.now():{form}}" for name, form in _DATES.items() if name in self.reads}
        if "functions" in self.reads:
            offered["functions"] = json.dumps(tools, ensure_ascii=False, indent=4) if tools else ""
        if tools:
            described = "xml_tools" if "xml_tools" in self.reads else "python_tools"
            offered |= {"tools": list(tools), described: list(tools)}
        if thinking is not None:
            offered |= {name: values[thinking] for name, values in _SWITCHES.items()}
        if self._effort != AUTO:
            offered |= dict.fromkeys(EFFORTS, self._effort)
        offered |= {**self._given, **(variables or {})}
        return {name: value for name, value in offered.items() if name in self.reads}

    @property
    def reads_thinking(self) -> bool:
        """Whether the template has a switch for thinking; without one, all three states render the same text."""
        return not self.reads.isdisjoint(_SWITCHES)

    @property
    def reads_effort(self) -> bool:
        """Whether the template has a variable for the reasoning effort."""
        return not self.reads.isdisjoint(EFFORTS)

    @cached_property
    def uses(self) -> dict[str, Uses]:
        """How it uses the variables that a user may set, in the order of their first use."""
        environment = TemplateEnvironment()
        uses = uses_of(environment.parse(self._source), environment.globals)
        return {name: each for name, each in uses.items() if name in self.reads}

    @cached_property
    def notes(self) -> str:
        """Notes on values that were given and that the template makes nothing of."""
        words = []
        if self._effort != AUTO and not self.reads_effort:
            words.append(
                f"The reasoning effort was set to {self._effort}, and the chat template has no variable for it."
            )
        effort = {} if self._effort == AUTO else dict.fromkeys(EFFORTS, self._effort)
        for name, value in {
            **{name: effort[name] for name in self.uses if name in effort},
            **self._given,
        }.items():
            if name not in self.uses:
                known = ", ".join(self.uses) or "none"
                words.append(f"The chat template does not read the variable {name}; it reads: {known}.")
            elif wrong := self.uses[name].wrong(name, value):
                words.append(f"The chat template's variable {name} is {_shown(value)}, but it is {wrong}.")
        return " ".join(words)

    @cached_property
    def call_style(self) -> CallStyle:
        """The form in which the template accepts calls. Raises PromptError for a template that exceeds its limits."""
        variables = self.variables(PROBE_TOOLS)
        return find_style(lambda messages, style: self._render(messages, style, variables))

    def _attempts(self, messages: Sequence[Message]) -> Iterator[tuple[Sequence[Message], str, CallStyle]]:
        """The messages in the forms to try, each with its note."""
        if not any(message.tool_calls for message in messages):
            for given, note in _forms(messages):
                yield given, note, CallStyle()
            return
        style = self.call_style
        for rename in (False, True):
            fitted, changes = fit_calls(link_results(messages, rename=rename, ids=style.ids), style)
            for given, note in _forms(fitted):
                yield given, f"{changes} {note}".strip(), style

    def _render(self, messages: Sequence[Message], style: CallStyle, variables: Mapping[str, Any]) -> str:
        try:
            try:
                return self._same_twice(messages, style, variables)
            except UndefinedError:
                if "tools" not in variables:
                    raise
                return self._same_twice(messages, style, _with_defaults(variables))
        except ProcessLimitReached as error:
            raise _unusable(f"was stopped: {error.message}.") from error
        except Exception as error:  # any: RecursionError, MemoryError, an error in a filter
            given = ", ".join(f"{name} = {_shown(value)}" for name, value in self._given.items())
            given = f" with {given}" if given else ""
            hint = "Give the variables other values, or none." if given else HINT
            raise _unusable(f"cannot take these messages{given}: {_reason(error)}", hint=hint) from error

    def _same_twice(self, messages: Sequence[Message], style: CallStyle, variables: Mapping[str, Any]) -> str:
        """The text, once two renderings in a row are equal; a clock may advance by a second between two of them."""
        texts: list[str] = []
        given = []  # kept alive, or the next copies could reuse their addresses
        while len(texts) < 2 or texts[-1] != texts[-2]:
            if len(texts) == 3:
                raise TemplateError("it renders differently each time")
            own = [template_message(message, style, self._reasoning_keys) for message in messages]
            given.append(own)
            texts.append(self._template({**copied(dict(variables)), "messages": own}))
        return texts[-1]


def _with_defaults(variables: Mapping[str, Any]) -> dict[str, Any]:
    tools = [with_defaults(tool) for tool in variables["tools"]]
    return {name: tools if name.endswith("tools") else value for name, value in variables.items()}


def _unusable(why: str, where: str = "Chat template", hint: str = HINT) -> PromptError:
    return PromptError(f"The model's chat template {why}", where=where, hint=hint)


def _shown(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), _MAX_VALUE)


def _reason(error: Exception) -> str:
    """The exception's text, or its type if it has none."""
    return str(error) or type(error).__name__


def _written(content: str, text: str) -> bool:
    """Whether the text contains the content, verbatim or as JSON, as Llama's template writes a tool's."""
    return content in text or json.dumps(content, ensure_ascii=False)[1:-1] in text


def _forms(messages: Sequence[Message]) -> Iterator[tuple[Sequence[Message], str]]:
    """The messages as given, then in forms for templates that support fewer roles, each with its note."""
    forms: list[tuple[Sequence[Message], str]] = [(messages, "")]
    if any(message.role == "tool" for message in messages):
        forms.append((results_as_user(messages), RESULTS_AS_USER))
    for given, note in forms:
        yield given, note
        if (merged := merge_system(given)) is not None:
            yield merged, f"{MERGED_SYSTEM} {note}".strip()


def results_as_user(messages: Sequence[Message]) -> list[Message]:
    """The messages with tool messages changed to user messages; consecutive user messages are merged."""
    changed: list[Message] = []
    for message in messages:
        if message.role == "tool":
            message = Message("user", f"{RESULT_WORDS}\n{message.content}")
        if changed and changed[-1].role == message.role == "user":
            message = Message("user", f"{changed.pop().content}\n\n{message.content}")
        changed.append(message)
    return changed


def merge_system(messages: Sequence[Message]) -> list[Message] | None:
    """The messages with the system content before the first user message's; None if either is missing."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    place = next((i for i, message in enumerate(rest) if message.role == "user"), None)
    if not system or place is None:
        return None
    rest[place] = Message("user", f"{system}\n\n{rest[place].content}")
    return rest


def render_chat(
    template: ChatTemplate | None,
    messages: Sequence[Message],
    tools: Sequence[dict[str, Any]] = (),
    thinking: Thinking = "auto",
    *,
    no_template: str = "",
) -> tuple[str, str, str]:
    """The prompt, a note, and the template's text for the tools: the one piece of the prompt that is due to them.

    Without a template, the prompt has the plain form and `no_template` is the note. Raises PromptError, also for tools
    without a template, or with one that ignores them.
    """
    switch, added = THINKING[thinking], ""
    if template is None:
        text, note = render_plain(messages), no_template
    else:
        text, note = template.render(messages, tools, thinking=switch)
    if tools:
        without = text if template is None else template.render(messages, thinking=switch)[0]
        if text == without:
            raise PromptError(NO_PLACE, where="Chat template", hint=NO_PLACE_HINT)
        start = common_length(text, without)
        rest, other = text[start:], without[start:]
        added = rest[: len(rest) - common_length(rest[::-1], other[::-1])]
    notes = (note, "" if template is None else template.notes, _no_switch(template, thinking))
    return text, " ".join(filter(None, notes)), added


def _no_switch(template: ChatTemplate | None, thinking: Thinking) -> str:
    """The note on a requested state of thinking that has no effect."""
    if thinking == "auto" or (template is not None and template.reads_thinking):
        return ""
    why = "it has no chat template" if template is None else "its chat template has no switch for that"
    return f"Thinking was set to {thinking}, which this model does not support: {why}."
