"""Conversations that a template renders so that its form can be derived from the differences.

Their names, keys and values are words that no template writes itself. The form of messages that a template accepts
(arguments as object or string, an absent text as "" or null, the key of reasoning) is determined by rendering.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from glyphscope.base.errors import PromptError
from glyphscope.turns.markup import common_suffix, first_tag

USER, TEXT, REASON, RESULT = "zquser", "zqtext", "zqreason", "zqresult"
FILLER = "zqfiller"
"""The content of a message without text, for templates that reject an empty one; it is removed from renderings."""
NEXT = {"role": "user", "content": "zqnext"}
"""The user's next message."""
NAMES = ("zq_tool_a", "zq_tool_b")
KEYS = ("zq_key_a", "zq_key_b")
VALUES = ("zq_val_a", "zq_val_b")
IDS = ("zqcalla01", "zqcallb02")
SAMPLES: dict[str, Any] = {
    "string": VALUES[0],
    "integer": 907163,
    "number": 48.125,
    "boolean": True,
    "null": None,
    "array": [70531, 80642],
    "object": {"zq_in_a": 51937},
}
"""A value of each JSON type; no two can be confused in a rendering."""


class Renders(Protocol):
    """A chat template, from messages in OpenAI's form to text. Raises PromptError if the template raises an error."""

    def render(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]],
        *,
        thinking: bool | None,
        add_generation_prompt: bool,
    ) -> str: ...


class SampleCall(NamedTuple):
    """A call for a template to write."""

    name: str
    arguments: dict[str, Any]
    id: str = IDS[0]


CallIds: TypeAlias = Literal["given", "functions"]
"""The ids of calls: any, or with the tool's name in them (`function_id`)."""


class TemplateDialect(NamedTuple):
    """The form in which a template accepts an assistant's message."""

    as_string: bool = False
    empty: str | None = ""
    reasoning: str = "reasoning_content"
    ids: CallIds = "given"


_NO_MARKER = 100
"""The maximum length of a common end of two turns that can be markers, in characters."""


@dataclass
class Probe:
    """Renders turns of the assistant after a user's message, in the dialect that the template accepts."""

    renderer: Renders
    dialect: TemplateDialect = field(default_factory=TemplateDialect)
    tools: list[dict[str, Any]] = field(default_factory=list)
    _raised: dict[tuple[TemplateDialect, str], None] = field(default_factory=dict)
    _users: dict[bool | None, tuple[str, str | None]] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors that the template raised in its dialect; those in other dialects only ruled these out."""
        return tuple(message for dialect, message in self._raised if dialect == self.dialect)

    def prompt(self, thinking: bool | None = None) -> str | None:
        """The text between the user's message and a generated turn; None if the template raises an error."""
        return self._after([], thinking=thinking, generate=True)

    def turn(
        self,
        text: str = "",
        calls: tuple[SampleCall, ...] = (),
        reasoning: str = "",
        *,
        thinking: bool | None = None,
        after: tuple[dict[str, Any], ...] = (),
    ) -> str | None:
        """The text after the user's message, including this turn; None if the template raises an error."""
        message = assistant(text, calls, reasoning, self.dialect)
        written = self._after([message, *after], thinking=thinking, generate=False)
        return written.replace(FILLER, "") if written and self.dialect.empty == FILLER else written

    def _after(self, more: list[dict[str, Any]], *, thinking: bool | None, generate: bool) -> str | None:
        written = self._rest(more, thinking, generate)
        if written is None:
            return None
        if thinking not in self._users:
            self._users[thinking] = (self._rest([], thinking, False) or "", self._rest([], thinking, True))
        end, prompt = self._users[thinking]
        if end == prompt:  # the template always ends in a prompt, even after turns
            if more:
                shared = common_suffix(written, end)
                written = written[: len(written) - len(shared) + len(first_tag(shared))]
            return written
        if written.startswith(end) and written != end:
            return written[len(end) :]
        shared = common_suffix(written, end) if more else ""
        if len(shared) > _NO_MARKER:  # a message that the template always writes last
            tag = first_tag(shared) if first_tag(shared) == first_tag(end) else ""
            written = written[: len(written) - len(shared) + len(tag)]
        return written

    def _rest(self, more: list[dict[str, Any]], thinking: bool | None, generate: bool) -> str | None:
        messages = [{"role": "user", "content": USER}, *more]
        if self.dialect.ids == "functions":
            messages = with_function_ids(messages)
        try:
            text = self.renderer.render(
                messages, self.tools, thinking=thinking, add_generation_prompt=generate
            )
        except PromptError as error:
            self._raised[self.dialect, error.message] = None
            return None
        _, found, rest = text.rpartition(USER)
        return rest if found else None


def assistant(
    text: str, calls: tuple[SampleCall, ...], reasoning: str, dialect: TemplateDialect
) -> dict[str, Any]:
    """An assistant's message in OpenAI's form, in the dialect."""
    message: dict[str, Any] = {"role": "assistant", "content": text or (dialect.empty if calls else "")}
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False)
                    if dialect.as_string
                    else call.arguments,
                },
            }
            for call in calls
        ]
    if reasoning and dialect.reasoning == "chunks":
        chunks = [{"type": "thinking", "thinking": reasoning}]
        message["content"] = [*chunks, {"type": "text", "text": text}] if text else chunks
    elif reasoning:
        message[dialect.reasoning] = reasoning
    return message


def result(call: SampleCall, content: str = RESULT) -> dict[str, Any]:
    """The tool's message that answers a call."""
    return {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": content}


def function_id(name: str, place: int) -> str:
    """The id of a call for templates that write its id alone, so that the tool's name has to be in it."""
    return f"functions.{name}:{place}"


def with_function_ids(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with ids of calls in which the tool's name is, also in the results."""
    ids: dict[str, str] = {}
    out = []
    for message in messages:
        calls = []
        for call in message.get("tool_calls", ()):
            ids[call["id"]] = function_id(call["function"]["name"], len(ids))
            calls.append({**call, "id": ids[call["id"]]})
        if calls:
            message = {**message, "tool_calls": calls}
        elif "tool_call_id" in message:
            message = {**message, "tool_call_id": ids.get(message["tool_call_id"], message["tool_call_id"])}
        out.append(message)
    return out


@lru_cache(maxsize=4)
def _spoilt(key: str, flag: str) -> re.Pattern[str]:
    return re.compile(
        rf"""\\"{key}|\{{\s*'{key}|\{{\{{\s*"{key}|["']{flag}["']\s*:\s*True|&(?:#3[49]|quot|apos);"""
    )


def spoils(text: str, key: str, flag: str) -> bool:
    """Whether a template writes JSON of a call wrongly: as JSON in a JSON string, as a Python dictionary or with
    Python's literals, in extra braces, or with HTML escapes. `key` is the call's first key, that of `flag` is true.
    """
    return _spoilt(key, flag).search(text) is not None


def sample_tools() -> list[dict[str, Any]]:
    """Two tools in OpenAI's form, with the samples as arguments."""
    properties = {
        KEYS[0]: {"type": "string", "description": "one"},
        KEYS[1]: {"type": "string", "description": "two"},
    }
    schema = {"type": "object", "properties": properties, "required": []}
    return [
        {"type": "function", "function": {"name": name, "description": "does it", "parameters": schema}}
        for name in NAMES
    ]


def dialects() -> Iterator[list[TemplateDialect]]:
    """Every way of writing a message with calls, in groups: a later group is for templates that take none before."""
    yield [TemplateDialect(as_string, empty) for empty in ("", None) for as_string in (False, True)]
    yield [TemplateDialect(as_string, FILLER) for as_string in (False, True)]
    yield [TemplateDialect(as_string, "", ids="functions") for as_string in (False, True)]


REASONING_KEYS = ("reasoning_content", "thinking", "reasoning", "thought", "chunks")
