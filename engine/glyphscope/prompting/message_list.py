"""OpenAI's list of messages: read into a conversation, written from one, and checked for results without a call."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.base.figures import byte_size
from glyphscope.base.json_values import as_object, json_file
from glyphscope.base.shorten import shorten
from glyphscope.events import Message, ToolCall
from glyphscope.models.chat_messages import REASONING_KEYS, link_results
from glyphscope.models.remote.apis import openai_message
from glyphscope.registry.saving import Notes
from glyphscope.registry.tool import CUSTOM_INPUT

ROLES = ("system", "user", "assistant", "tool")
_SYSTEM = ("system", "developer")
_EXPECTED = 'Expected a JSON array such as [{"role": "user", "content": "Hello"}].'
_MAX_SHOWN = 60
_MOST_WITHIN = 5
"""Levels of parts within parts of which the text is read."""


class Conversation(NamedTuple):
    """A list of messages as in a request: the leading system messages, the turns, and the last user message's text."""

    system_prompt: str
    history: tuple[Message, ...]
    prompt: str


def read_messages(
    value: Any, where: str = "", places: Sequence[str] = (), notes: Notes | None = None
) -> Conversation:
    """The conversation in an array of messages, or in an object with one under `messages`.

    `where` names the document; errors add the message's place as a JSON Pointer, one of the `places` of messages that
    were read from another form. Images and other parts are replaced by a text that says so, which `notes` lists.
    Raises PromptError for anything but a list of messages, and for a tool result without a call.
    """
    listed = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise PromptError("Not a list of messages.", where=where, hint=_EXPECTED)
    read: list[Message] = []
    notes = Notes() if notes is None else notes
    for number, item in enumerate(listed):
        place = f"{where}#{places[number] if number < len(places) else f'/{number}'}"
        read.append(_message(item, place, notes))
        if problem := result_problem(read, number):
            raise PromptError(problem, where=place)
    begins = next((n for n, message in enumerate(read) if message.role != "system"), len(read))
    system = "\n\n".join(message.content for message in read[:begins] if message.content)
    turns = tuple(read[begins:])
    if turns and turns[-1].role == "user":
        return Conversation(system, turns[:-1], turns[-1].content)
    return Conversation(system, turns, "")


def written_messages(messages: Sequence[Message], custom: Collection[str] = ()) -> list[dict[str, Any]]:
    """The messages in OpenAI's form, with calls of the tools named in `custom` as those of custom tools. Calls without
    an ID get one; reasoning is `reasoning_content`.
    """
    return [openai_message(message, REASONING_KEYS[:1], custom) for message in link_results(messages)]


def to_json(messages: Sequence[Message]) -> str:
    """The messages in OpenAI's form as indented JSON."""
    return json_file(written_messages(messages))


def result_problem(messages: Sequence[Message], place: int) -> str:
    """The reason why the message at `place` cannot be a tool result there; empty if it can, or is another message."""
    result = messages[place]
    if result.role != "tool":
        return ""
    start = next((n for n in range(place - 1, -1, -1) if messages[n].role != "tool"), -1)
    before = messages[start] if start >= 0 else None
    if before is None or before.role != "assistant":
        return "A tool result without a call: it must follow the assistant message that calls the tool."
    calls, position = before.tool_calls, place - start
    if result.tool_call_id and result.tool_call_id not in [call.id for call in calls if call.id]:
        named = shorten(result.tool_call_id, _MAX_SHOWN)
        return f'A tool result without a call: the assistant message before it has no call "{named}".'
    if calls and position > len(calls):
        return f"A tool result without a call: the assistant message has only {len(calls)}."
    return ""


def results_at_calls(messages: Sequence[Any]) -> tuple[list[int], list[int]]:
    """The order in which the results follow the message with their call, and the places of those that did not.

    `messages` are objects in OpenAI's form, of which the last one that has a call of that ID counts.
    """
    caller: dict[str, int] = {}
    order: dict[int, list[int]] = {}
    moved: list[int] = []
    group = -1
    for number, message in enumerate(map(as_object, messages)):
        for call in message.get("tool_calls") or ():
            if isinstance(called := as_object(call).get("id"), str):
                caller[called] = number
        if message.get("role") != "tool" or group < 0:
            group = number
            order[group] = [number]
            continue
        linked = message.get("tool_call_id")
        at = caller.get(linked, group) if isinstance(linked, str) else group
        order[at].append(number)
        if at != group:
            moved.append(number)
    return [number for numbers in order.values() for number in numbers], moved


def read_calls(text: str) -> tuple[ToolCall, ...]:
    """The calls of an assistant message as a JSON array, in OpenAI's form or as name and arguments.

    Empty text has no calls. Raises PromptError.
    """
    if not text.strip():
        return ()
    return _calls(_decoded(text), "")


def written_calls(calls: Sequence[ToolCall]) -> str:
    """The calls as `read_calls` reads them: name, arguments, and the ID if there is one."""
    listed = (
        {"name": call.name, "arguments": call.arguments, **({"id": call.id} if call.id else {})}
        for call in calls
    )
    lines = ",\n ".join(json.dumps(call, ensure_ascii=False) for call in listed)
    return f"[{lines}]" if lines else ""


def parse_messages(text: str, where: str = "") -> Conversation:
    """Like `read_messages`, from JSON text. Raises PromptError."""
    return read_messages(_decoded(text, where), where)


def _decoded(text: str, where: str = "") -> Any:
    """The JSON value; lone surrogates, which UTF-8 cannot encode, are rejected."""
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise PromptError(f"Not JSON: {error}.", where=where) from None


def _message(item: Any, where: str, notes: Notes) -> Message:
    if not isinstance(item, dict):
        raise PromptError(
            f"Not a message: {shorten(json.dumps(item), _MAX_SHOWN)}.", where=where, hint=_EXPECTED
        )
    role = item.get("role")
    role = "system" if role in _SYSTEM else role
    if role not in ROLES:
        given = (
            "has no role" if role is None else f"has the unknown role {shorten(json.dumps(role), _MAX_SHOWN)}"
        )
        raise PromptError(f"The message {given}.", where=where, hint=f"Use one of {', '.join(ROLES)}.")
    calls = item.get("tool_calls")
    if calls and role != "assistant":
        raise PromptError("Only an assistant message has tool calls.", where=f"{where}/tool_calls")
    return Message(
        role=role,
        content=text_of(item.get("content"), f"{where}/content", notes),
        tool_calls=_calls(calls, f"{where}/tool_calls") if calls is not None else (),
        reasoning=next((_text(item, key, where) for key in REASONING_KEYS if item.get(key)), ""),
        tool_call_id=_text(item, "tool_call_id", where),
        name=_text(item, "name", where),
    )


def text_of(value: Any, where: str, notes: Notes) -> str:
    """Text, null for none, or a list of parts: those without text are replaced, and noted. Raises PromptError.

    Nothing is between parts, as in templates that take parts. For templates that take texts alone, llama-server and
    vLLM put a line break between two texts; which of them renders the message is unknown here.
    """
    if value is None or isinstance(value, str):
        return value or ""
    if not isinstance(value, list) or not all(isinstance(part, dict | str) for part in value):
        raise PromptError("The content of a message must be text.", where=where)
    note_joined(value, where, notes)
    return "".join(part_text(part, f"{where}/{number}", notes) for number, part in enumerate(value))


def note_joined(parts: Iterable[Any], where: str, notes: Notes) -> None:
    """Note that the texts among the parts of a message are one text of a run."""
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    if sum(isinstance(text, str) and bool(text) for text in texts) > 1:
        notes.add(
            "division of a message into texts",
            "they are joined with nothing in between; some servers put a line break there.",
            where.partition("#")[2] or where,
        )


def part_text(part: dict[str, Any] | str, where: str, notes: Notes) -> str:
    """The text of a part of a message, or in its place."""
    if isinstance(part, str):
        return part
    place = where.partition("#")[2] or where
    for key in ("text", "refusal"):
        if isinstance(part.get(key), str):
            notes.leave(part, ("type", key), place, "a text")
            return str(part[key])
    source = as_object(part.get("source"))
    inner = part.get(
        "content", source.get("content", source.get("data") if source.get("type") == "text" else None)
    )
    if inner is not None and where.count("/content/") < _MOST_WITHIN:  # a document or a found text
        notes.leave(part, ("type", "content", "source"), place, "a document")
        return text_of(inner, f"{where}/content", notes)
    kind = str(part.get("type", "part")).removeprefix("input_").removesuffix("_url")
    notes.add(
        f"{kind} in a message",
        "only text is read; a text in its place says so.",
        where.partition("#")[2] or where,
    )
    return f"[{kind}{_about(part)}: left out, as only text is read]"


def images_in(value: Any) -> Iterator[tuple[str, str]]:
    """The text in place of each image in parts of any API, and its address, which may be a `data:` URL."""
    if isinstance(value, list):
        for inner in value:
            yield from images_in(inner)
    elif isinstance(value, dict):
        match value:
            case {"type": "image_url", "image_url": {"url": str(url)}} | {
                "type": "input_image",
                "image_url": str(url),
            }:
                yield part_text(value, "", Notes()), url
            case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
                yield part_text(value, "", Notes()), f"data:{kind};base64,{data}"
            case {"type": "image", "source": {"type": "url", "url": str(url)}}:
                yield part_text(value, "", Notes()), url
            case _:
                yield from images_in([*value.values()])


def _about(part: dict[str, Any]) -> str:
    """The kind and size of the data, or the address, in a part that is not text."""
    for value in _texts(part):
        if value.startswith("data:"):
            kind, _, data = value.removeprefix("data:").partition(";base64,")
            return f", {shorten(kind, _MAX_SHOWN)}, {byte_size(len(data) * 3 // 4)}"
        if "://" in value[:12]:
            return f" {shorten(value, _MAX_SHOWN)}"
    source = part.get("source")
    if isinstance(source, dict) and isinstance(inner := source.get("data"), str):
        return f", {shorten(str(source.get('media_type', '')), _MAX_SHOWN)}, {byte_size(len(inner) * 3 // 4)}"
    return ""


def _texts(part: dict[str, Any]) -> Iterator[str]:
    """The texts in a part, and in the objects directly inside it."""
    for value in part.values():
        if isinstance(value, dict):
            yield from (inner for inner in value.values() if isinstance(inner, str))
        elif isinstance(value, str):
            yield value


def _calls(value: Any, where: str) -> tuple[ToolCall, ...]:
    if not isinstance(value, list):
        raise PromptError("Tool calls must be a JSON array.", where=where)
    return tuple(_call(item, f"{where}/{number}") for number, item in enumerate(value))


def _call(item: Any, where: str) -> ToolCall:
    function = item.get("function", item.get("custom", item)) if isinstance(item, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(function, dict) or not isinstance(name, str) or not name:
        raise PromptError("A tool call needs the name of a tool.", where=where)
    custom = {CUSTOM_INPUT: function.get("input", "")} if isinstance(item.get("custom"), dict) else {}
    arguments = function.get("arguments", custom)
    if isinstance(arguments, str):
        arguments = _decoded(arguments or "{}", where)
    if not isinstance(arguments, dict):
        raise PromptError(f"The arguments of {shorten(name, _MAX_SHOWN)} must be a JSON object.", where=where)
    return ToolCall(name, arguments, _text(item, "id", where))


def _text(item: dict[str, Any], key: str, where: str) -> str:
    value = item.get(key)
    if value is not None and not isinstance(value, str):
        raise PromptError(f"{key} must be text.", where=f"{where}/{key}")
    return value or ""
