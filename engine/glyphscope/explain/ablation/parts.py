"""The parts of a request that can be left out, and its messages without each of them.

Tools and descriptions are left out of the registry, messages out of the conversation, and examples and sentences out of
the text of a message. The templates are rendered after that, so each prompt is one that a run could have had.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import msgspec

from glyphscope.base.pointer import to_pointer
from glyphscope.events import Message, PromptPart, PromptRendered
from glyphscope.explain.ablation.types import Omission
from glyphscope.prompting.history import HISTORY, MESSAGE
from glyphscope.prompting.messages import SYSTEM_PROMPT, RenderedMessages, render_messages
from glyphscope.prompting.template import MessagePart
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.runs.prepared import PreparedRequest

_Range: TypeAlias = tuple[int, int]
_DIVIDED = ("system", HISTORY, "user")
"""The names of parts that are divided into sentences."""
_BORDER = re.compile(r"(?<=[^\s\d][.!?])(?<!\be\.g\.)(?<!\bi\.e\.)[ \t]+(?=[^\sa-z])|\n+")
"""Between two sentences: white space after a full stop that no number has, or the end of a line."""


class Variant(NamedTuple):
    """`render` makes the messages without the part. Raises PromptError if the preset's template needs it."""

    omission: Omission
    render: Callable[[], RenderedMessages]


class _Piece(NamedTuple):
    """A piece of a message's text: the message's index, and its first character there."""

    message: int
    start: int
    part: MessagePart


def variants(
    prepared: PreparedRequest, messages: RenderedMessages, prompt: PromptRendered
) -> Iterator[Variant]:
    """Each part that the prompt shows, in the order of their kinds. `messages` are those of `prompt`."""
    yield from _tools(prepared, messages, prompt)
    pieces = _pieces(messages)
    for tool in prepared.offered.allowed:
        own = to_pointer((tool.name,))
        found = [piece for piece in pieces if piece.part.name == "examples" and _root(piece.part.of) == own]
        if found:
            text = "".join(piece.part.text for piece in found).strip()
            spans = _spans(part for part in prompt.parts if part.name == "examples" and _root(part.of) == own)
            cuts = [(piece.message, (piece.start, piece.start + len(piece.part.text))) for piece in found]
            yield Variant(Omission("example", own, text, spans), _without_text(messages, cuts))
    yield from _messages(prepared, prompt)
    yield from _sentences(messages, prompt, pieces)


def _tools(
    prepared: PreparedRequest, messages: RenderedMessages, prompt: PromptRendered
) -> Iterator[Variant]:
    registry, native = prepared.offered, bool(messages.tools)
    for tool in registry.allowed:
        own = to_pointer((tool.name,))
        shown = [part for part in prompt.parts if _root(part.of) == own]
        if not native and not any(part.name == "tools" for part in shown):
            continue
        spans = _spans(shown)
        yield Variant(
            Omission("tool", own, tool.name, spans), _with_tools(prepared, registry.without_tool(tool.name))
        )
        for of, text, without in _descriptions(tool):
            spans = _spans(part for part in shown if part.name == "tools" and part.of == of)
            if spans or (native and text in prompt.text):
                yield Variant(
                    Omission("description", of, text, spans),
                    _with_tools(prepared, registry.with_tool(without)),
                )


def _descriptions(tool: Tool) -> Iterator[tuple[str, str, Tool]]:
    """The pointer and the text of each description of a tool and its arguments, and the tool without it."""
    if tool.description:
        yield to_pointer((tool.name, "description")), tool.description, replace(tool, description="")
    properties = tool.parameters.get("properties", {})
    for name, schema in properties.items():
        if isinstance(schema, dict) and isinstance(text := schema.get("description"), str) and text:
            bare = {key: value for key, value in schema.items() if key != "description"}
            parameters: dict[str, Any] = {**tool.parameters, "properties": {**properties, name: bare}}
            of = to_pointer((tool.name, "parameters", "properties", name, "description"))
            yield of, text, replace(tool, parameters=parameters)


def _messages(prepared: PreparedRequest, prompt: PromptRendered) -> Iterator[Variant]:
    """The plain system prompt, each earlier message, and the user's. The results of calls belong to the calls."""
    request = prepared.request
    if plain := request.system_prompt.strip():
        spans = _spans(part for part in prompt.parts if part.of == SYSTEM_PROMPT)
        yield Variant(Omission("message", SYSTEM_PROMPT, plain, spans), _with(prepared, system_prompt=""))
    history = request.history
    at = 0
    while at < len(history):
        end = at + 1
        while end < len(history) and history[end].role == "tool":
            end += 1
        numbers = {f"{MESSAGE}{number}" for number in range(at + 1, end + 1)}
        of = f"{MESSAGE}{at + 1}" + (f"–{end}" if end > at + 1 else "")
        spans = _spans(part for part in prompt.parts if part.of.split(",")[0] in numbers)
        kept = (*history[:at], *history[end:])
        yield Variant(Omission("message", of, _words(history[at:end]), spans), _with(prepared, history=kept))
        at = end
    if request.prompt:
        spans = _spans(part for part in prompt.parts if part.name == "user")
        yield Variant(Omission("message", "", request.prompt, spans), _with(prepared, prompt=""))


def _sentences(
    messages: RenderedMessages, prompt: PromptRendered, pieces: Sequence[_Piece]
) -> Iterator[Variant]:
    """The sentences of the template's own words and of messages with more than one."""
    for index, start, part in pieces:
        if part.name not in _DIVIDED:
            continue
        content = messages.messages[index].content
        for begin, end in sentences(content, start, start + len(part.text)):
            text = content[begin:end]
            if text == content.strip():
                continue
            same = (each for each in prompt.parts if (each.name, each.of) == (part.name, part.of))
            places = (prompt.text.find(text, each.start, each.end) for each in same)
            spans = tuple((place, place + len(text)) for place in places if place >= 0)[:1]
            cut = [(index, whole_cut(content, begin, end))]
            yield Variant(Omission("sentence", part.of, text, spans), _without_text(messages, cut))


def sentences(text: str, start: int, end: int) -> Iterator[_Range]:
    """The sentences between these characters, without the white space around them; a line ends a sentence."""
    at = start
    for border in [*_BORDER.finditer(text, start, end), None]:
        stop = end if border is None else border.start()
        inside = text[at:stop]
        if any(map(str.isalnum, inside)):
            begin = at + len(inside) - len(inside.lstrip())
            yield begin, begin + len(inside.strip())
        at = end if border is None else border.end()


def whole_cut(text: str, start: int, end: int) -> _Range:
    """A sentence with the white space that would be left over: its line's end, or the blanks beside it."""
    before, after = text[:start], text[end:]
    begins, ends = not before or before.endswith("\n"), not after.strip(" \t") or after[:1] == "\n"
    if begins and ends:
        newlines = len(after) - len(after.lstrip("\n"))
        alone = not before or before.endswith("\n\n")
        return start, end + (newlines if alone else min(newlines, 1))
    if begins:
        return start, end + len(after) - len(after.lstrip(" \t"))
    return len(before.rstrip(" \t")), end


def _pieces(messages: RenderedMessages) -> list[_Piece]:
    """The pieces of the messages' texts; empty if they are not those texts."""
    found: list[_Piece] = []
    index, start = 0, 0
    contents = [message.content for message in messages.messages]
    for part in messages.parts:
        while part.text and index < len(contents) and start == len(contents[index]):
            index, start = index + 1, 0
        if index == len(contents) or not contents[index].startswith(part.text, start):
            return []
        if part.text:
            found.append(_Piece(index, start, part))
            start += len(part.text)
    return found


def _spans(parts: Iterable[PromptPart]) -> tuple[_Range, ...]:
    """The characters of the parts; neighbours are joined."""
    found: list[_Range] = []
    for part in parts:
        if found and found[-1][1] == part.start:
            found[-1] = found[-1][0], part.end
        else:
            found.append((part.start, part.end))
    return tuple(found)


def _root(of: str) -> str:
    """The pointer of the tool that a part belongs to; empty for another part."""
    return "/".join(of.split("/", 2)[:2]) if of.startswith("/") else ""


def _words(messages: Sequence[Message]) -> str:
    return "\n".join(
        message.content or ", ".join(call.name for call in message.tool_calls) for message in messages
    )


def _with_tools(prepared: PreparedRequest, registry: ToolRegistry) -> Callable[[], RenderedMessages]:
    return lambda: render_messages(prepared.request, registry)


def _with(prepared: PreparedRequest, **fields: Any) -> Callable[[], RenderedMessages]:
    request = msgspec.structs.replace(prepared.request, **fields)
    return lambda: render_messages(request, prepared.offered)


def _without_text(
    messages: RenderedMessages, cuts: Sequence[tuple[int, _Range]]
) -> Callable[[], RenderedMessages]:
    """The messages without the characters of these ranges, each in the message of that index."""

    def render() -> RenderedMessages:
        contents = [message.content for message in messages.messages]
        for index, (start, end) in reversed(cuts):
            contents[index] = contents[index][:start] + contents[index][end:]
        kept = (
            message
            if content == message.content
            else msgspec.structs.replace(message, content=content.strip())
            for message, content in zip(messages.messages, contents)
        )
        # an empty message is left out, as in `compose`
        whole = (message for message in kept if message.content or message.tool_calls or message.reasoning)
        return replace(messages, messages=tuple(whole))

    return render
