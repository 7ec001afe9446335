"""Messages and tools in the form that templates accept: with ids, defaults, and calls as each template expects them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from glyphscope.events import Message, ToolCall
from glyphscope.turns.probe import CallIds, function_id

SPLIT_CALLS = "The model's chat template takes one call a message: several were given one after the other."
CALLS_AS_TEXT = "The model's chat template leaves calls out: they were given as JSON in the message's text."
TEXT_APART = (
    "The model's chat template leaves out text next to a call: it was given as a message before the call."
)
TEXT_LEFT_OUT = "The model's chat template leaves out text next to a call."
TEXT_AS_REASONING = (
    "The model's chat template takes no text next to reasoning and a call: it was added to the reasoning."
)

REASONING_KEYS = ("reasoning_content", "reasoning", "thinking", "thought", "tool_plan")
"""The keys under which templates look for an assistant's reasoning."""

_replace = msgspec.structs.replace


class CallStyle(NamedTuple):
    """The form in which a template accepts an assistant's calls; found by rendering (`chat_probe.py`).

    `empty` is the content of a message without text. With `single`, a message has at most one call. `text` next to
    calls stays there, goes into a message before them, or is left out; with `joined`, it goes into the reasoning if
    there is any. With `as_text`, calls go into the text. `ids` "functions": the template writes a call's id alone, so
    that the tool's name has to be in it.
    """

    arguments: Literal["object", "string"] = "object"
    empty: str | None = ""
    single: bool = False
    text: Literal["beside", "apart", "left out"] = "beside"
    joined: bool = False
    as_text: bool = False
    ids: CallIds = "given"


def template_message(message: Message, style: CallStyle, reasoning_keys: Sequence[str]) -> dict[str, Any]:
    """The message with the keys of OpenAI's API, in containers that a template may change."""
    given: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        given["content"] = message.content or style.empty
        given["tool_calls"] = [_template_call(call, style) for call in message.tool_calls]
    if message.reasoning:
        given |= dict.fromkeys(reasoning_keys, message.reasoning)
    if message.tool_call_id:
        given["tool_call_id"] = message.tool_call_id
    if message.name:
        given["name"] = message.name
    return given


def _template_call(call: ToolCall, style: CallStyle) -> dict[str, Any]:
    text = json.dumps(call.arguments, ensure_ascii=False)
    arguments = text if style.arguments == "string" else json.loads(text)
    return {"type": "function", "id": call.id, "function": {"name": call.name, "arguments": arguments}}


def link_results(
    messages: Sequence[Message], *, rename: bool = False, ids: CallIds = "given"
) -> list[Message]:
    """Give each call an id, and each result the id and name of its call.

    With `rename`, all ids have the form that the strictest templates require: nine letters and digits. With `ids`
    "functions", the tool's name and the call's place in the conversation are in each.
    """
    made: list[Message] = []
    waiting: list[tuple[str, ToolCall]] = []  # calls without a result, each with its original id
    count = 0
    for message in messages:
        if message.tool_calls:
            waiting = []
            for call in message.tool_calls:
                named = function_id(call.name, count)
                count += 1
                made_id = named if ids == "functions" else f"call{count:05}"
                keeps = call.id and not rename and ids == "given"
                waiting.append((call.id, call if keeps else _replace(call, id=made_id)))
            message = _replace(message, tool_calls=tuple(call for _, call in waiting))
        elif message.role == "tool" and waiting:
            known = [id for id, _ in waiting]
            _, call = waiting.pop(known.index(message.tool_call_id) if message.tool_call_id in known else 0)
            message = _replace(message, tool_call_id=call.id, name=message.name or call.name)
        made.append(message)
    return made


def fit_calls(messages: Sequence[Message], style: CallStyle) -> tuple[list[Message], str]:
    """The linked messages as a template of that style accepts them, and a note on each change."""
    steps = (
        (style.joined, _join_text, TEXT_AS_REASONING),
        (style.as_text, _calls_as_text, CALLS_AS_TEXT),
        (style.text == "apart", _text_apart, TEXT_APART),
        (style.text == "left out", _no_text, TEXT_LEFT_OUT),
        (style.single, one_call_each, SPLIT_CALLS),
    )
    given, notes = list(messages), []
    for needed, change, note in steps:
        changed = list(change(given)) if needed else given
        if changed != given:
            given = changed
            notes.append(note)
    return given, " ".join(notes)


def one_call_each(messages: Sequence[Message]) -> Iterator[Message]:
    """The linked messages with at most one call in each, followed by its result."""
    rest = list(messages)
    while rest:
        message = rest.pop(0)
        if len(message.tool_calls) < 2:
            yield message
            continue
        results = []
        while rest and rest[0].role == "tool":
            results.append(rest.pop(0))
        for call in message.tool_calls:
            yield _replace(message, tool_calls=(call,))
            yield from (result for result in results if result.tool_call_id == call.id)
            message = Message(message.role, "")
        ids = {call.id for each in messages for call in each.tool_calls}
        yield from (result for result in results if result.tool_call_id not in ids)


def _calls_as_text(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        text = with_calls_as_text(message)
        yield _replace(message, content=text, tool_calls=()) if message.tool_calls else message


def with_calls_as_text(message: Message) -> str:
    """The message's text, then each of its calls as a line of JSON."""
    calls = [
        json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
        for call in message.tool_calls
    ]
    return "\n".join(filter(None, (message.content, *calls)))


def _text_apart(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        if message.content and message.tool_calls:
            yield _replace(message, tool_calls=(), reasoning="")
            message = _replace(message, content="")
        yield message


def _no_text(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        yield _replace(message, content="") if message.tool_calls else message


def _join_text(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        if message.content and message.tool_calls and message.reasoning:
            message = _replace(message, reasoning=f"{message.reasoning}\n\n{message.content}", content="")
        yield message


def with_defaults(tool: Mapping[str, Any]) -> dict[str, Any]:
    """The tool, in OpenAI's form, with defaults for keys that some templates read without a check."""
    function = {"description": "", **tool.get("function", {})}
    function["parameters"] = _schema_with_defaults(function.get("parameters", {}))
    return {**tool, "function": function}


def _schema_with_defaults(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    given = {"description": "", **schema}
    if schema.get("type") == "object":
        given = {"required": [], "properties": {}, "additionalProperties": {}, **given}
    properties = given.get("properties")
    if isinstance(properties, dict):
        given["properties"] = {name: _schema_with_defaults(value) for name, value in properties.items()}
    for key in ("items", "additionalProperties"):
        if key in given:
            given[key] = _schema_with_defaults(given[key])
    return given
