"""A captured body as the request of a run. Never fails: what a run has no place for becomes a note.

The tools judge the answer to this very request, so one that cannot be read accepts any arguments, and the note says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from glyphscope.base.errors import RegistryError
from glyphscope.base.figures import pluralize
from glyphscope.base.json_values import as_object, json_object
from glyphscope.base.shorten import listed, shorten
from glyphscope.events import Message, RepairSettings, RunRequest, Sampling, ToolCall
from glyphscope.models.remote.api_answers import ChatApi
from glyphscope.registry import Tool, ToolRegistry, parse_document
from glyphscope.registry.tool import CUSTOM_INPUT
from glyphscope.registry.tool_forms import Item, hosted_name, items

_PATHS: dict[str, ChatApi] = {
    "/chat/completions": "chat", "/responses": "responses", "/messages": "messages", "/api/chat": "ollama"
}  # fmt: skip
TITLES: dict[ChatApi, str] = {
    "chat": "Chat Completions", "responses": "Responses", "messages": "Messages", "ollama": "Ollama's chat"
}  # fmt: skip
MAX_TOKENS = 1_000_000
_SHOWN = 8
_LONGEST = 60
_ANYTHING: dict[str, Any] = {"type": "object", "additionalProperties": True}


def api_of(path: str) -> ChatApi | None:
    """The interface of a path that is captured, wherever a server has it; None for any other path."""
    return next((api for end, api in _PATHS.items() if path.endswith(end)), None)


@dataclass(frozen=True)
class CapturedRequest:
    """`note` says what the request has beside that; `model` is the name that it asks for."""

    request: RunRequest
    model: str
    note: str


def captured_request(api: ChatApi, body: bytes) -> CapturedRequest:
    """The request of a body; one without messages if that is not a JSON object."""
    document = json_object(body)
    notes = [] if document else ["The request is not a JSON object."]
    tools, tools_note = _tools(json.dumps(document.get("tools") or [], ensure_ascii=False))
    said = _Conversation()
    said.read(api, document)
    notes += filter(None, (tools_note, *said.notes()))
    system, history = said.parted()
    last = history.pop() if history and history[-1].role == "user" else None
    request = RunRequest(
        prompt=last.content if last else "",
        registry=tools,
        history=tuple(history),
        model="",
        system_prompt=system,
        native="auto",
        notation="json",
        constraint="off",
        stop_on="never",
        examples=False,
        repair=RepairSettings(extract=False),
        tool_choice=_choice(document) if tools["tools"] else "none",
        most_calls=1 if document.get("parallel_tool_calls") is False else None,
        sampling=_sampling(document),
        max_tokens=_most(document),
    )
    model = document.get("model")
    return CapturedRequest(request, model if isinstance(model, str) else "", " ".join(notes))


@lru_cache(maxsize=8)
def _tools(written: str) -> tuple[dict[str, Any], str]:
    """The registry's document of a list of tools, the same object for the same list, and a note on its tools."""
    given = json.loads(written)
    tools: dict[str, Tool] = {}
    hosted, unread, twice = [], [], []
    for each in items(given if isinstance(given, list) else [], ()):
        name = _name(each)
        known = _readable(each.item) if each.shape is not None else None
        tool = known or _readable({"name": name, "parameters": _ANYTHING})
        if tool is None:
            hosted.append(
                shorten(name or hosted_name(as_object(each.item)) or "a tool without a name", _LONGEST)
            )
        elif name in tools:
            twice.append(name)
        else:
            tools[name] = with_fields(tool, name=name, kept={})
            unread += [] if known else [name]
    notes = [
        f"Not judged, as the provider runs them: {listed(hosted, _SHOWN)}." if hosted else "",
        f"Any arguments of {listed(unread, _SHOWN)} count as valid: no schema can be read." if unread else "",
        f"The request has several tools named {listed(twice, _SHOWN)}: the first one judges."
        if twice
        else "",
    ]
    return ToolRegistry(tuple(tools.values())).to_document(), " ".join(filter(None, notes))


def _name(each: Item) -> str:
    """The name by which an answer calls the tool; empty for one that has none."""
    item = as_object(each.item)
    name = item.get("name") if each.shape is None else each.shape.members["name"].get(item, None)
    return f"{each.prefix}{name}" if isinstance(name, str) and name else ""


def _readable(tool: Any) -> Tool | None:
    try:
        (read,) = parse_document([tool])
    except (RegistryError, ValueError):
        return None
    return read


def _choice(document: dict[str, Any]) -> str:
    """The request's `tool_choice`, in any interface's form."""
    choice = document.get("tool_choice")
    if isinstance(choice, str):
        return {"any": "required"}.get(choice, choice) if choice in ("required", "none", "any") else "auto"
    given = as_object(choice)
    name = given.get("name") or as_object(given.get("function")).get("name")
    if isinstance(name, str) and name:
        return name
    return {"any": "required", "none": "none"}.get(str(given.get("type")), "auto")


def _sampling(document: dict[str, Any]) -> Sampling:
    options = document | as_object(document.get("options"))
    given: dict[str, Any] = {}
    for name, least, most in (("temperature", 0.0, 2.0), ("top_p", 0.0, 1.0)):
        value = options.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most:
            given[name] = float(value)
    return replace(Sampling(), **given)


def _most(document: dict[str, Any]) -> int:
    names = ("max_completion_tokens", "max_output_tokens", "max_tokens")
    values = [document.get(name) for name in names] + [as_object(document.get("options")).get("num_predict")]
    return next((value for value in values if type(value) is int and 0 < value <= MAX_TOKENS), MAX_TOKENS)


@dataclass
class _Conversation:
    """The messages of a body in any of the four forms."""

    messages: list[Message] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    """The parts that are placeholders, by kind."""
    broken: int = 0

    def notes(self) -> Iterator[str]:
        if self.left:
            kinds = [pluralize(count, kind) for kind, count in self.left.items()]
            yield f"Placeholders are shown for {listed(kinds, _SHOWN)}."
        if self.broken:
            yield f"The arguments of {pluralize(self.broken, 'earlier call')} are not a JSON object."

    def parted(self) -> tuple[str, list[Message]]:
        """The leading system messages as one text, and the others."""
        begins = next(
            (n for n, each in enumerate(self.messages) if each.role != "system"), len(self.messages)
        )
        system = "\n\n".join(each.content for each in self.messages[:begins] if each.content)
        return system, self.messages[begins:]

    def read(self, api: ChatApi, document: dict[str, Any]) -> None:
        for key in ("instructions", "system"):
            if text := self._words(document.get(key)):
                self.messages.append(Message("system", text))
        listed_ = document.get("input" if api == "responses" else "messages")
        if isinstance(listed_, str):
            self.messages.append(Message("user", listed_))
        for item in listed_ if isinstance(listed_, list) else []:
            if isinstance(item, dict):
                (self._item if api == "responses" else self._message)(item)

    def _message(self, item: dict[str, Any]) -> None:
        """A message of Chat Completions, Messages or Ollama."""
        role = str(item.get("role"))
        role = (
            role
            if role in ("user", "assistant", "tool")
            else "system"
            if role in ("system", "developer")
            else "user"
        )
        content = item.get("content")
        calls = [self._call(each) for each in _objects(item.get("tool_calls"))]
        rest = []
        for part in content if isinstance(content, list) else [content]:
            given = as_object(part)
            kind = given.get("type")
            if kind == "tool_use":
                calls.append(self._made(given.get("name"), given.get("input"), given.get("id")))
            elif kind == "tool_result":
                text, id = self._words(given.get("content")), str(given.get("tool_use_id") or "")
                self.messages.append(Message("tool", text, tool_call_id=id))
            elif kind in ("thinking", "redacted_thinking"):
                item = {**item, "reasoning": given.get("thinking")}
            else:
                rest.append(part)
        images = item.get("images")
        rest += [{"type": "image"}] * (len(images) if isinstance(images, list) else 0)
        text = self._words(rest)
        if (
            not text
            and not calls
            and isinstance(content, list)
            and len(rest) < len(content)
            and role == "user"
        ):
            return  # only results
        reasoning = next(
            (item[key] for key in ("reasoning_content", "reasoning", "thinking") if item.get(key)), ""
        )
        self.messages.append(
            Message(
                role, text, tuple(calls) if role == "assistant" else (),
                reasoning if isinstance(reasoning, str) else "",
                str(item.get("tool_call_id") or "") if role == "tool" else "",
            )
        )  # fmt: skip

    def _item(self, item: dict[str, Any]) -> None:
        """An item of Responses."""
        kind = item.get("type", "message")
        if kind in ("function_call", "custom_tool_call"):
            given = item.get("arguments") if kind == "function_call" else {CUSTOM_INPUT: item.get("input")}
            self._add(calls=(self._made(item.get("name"), given, item.get("call_id")),))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            id = str(item.get("call_id") or "")
            self.messages.append(Message("tool", self._words(item.get("output")), tool_call_id=id))
        elif kind == "reasoning":
            text = self._words(_objects(item.get("content")) or _objects(item.get("summary")))
            if text:
                self._add(reasoning=text)
        elif kind == "message" and item.get("role") == "assistant":
            self._add(text=self._words(item.get("content")))
        elif kind == "message":
            self._message({"role": item.get("role"), "content": item.get("content")})
        else:
            self.left[str(kind)] += 1
            self._add(text=f"[{kind}]")

    def _add(self, *, text: str = "", calls: tuple[ToolCall, ...] = (), reasoning: str = "") -> None:
        """Items of the assistant that follow each other are one message, as templates have it."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.role != "assistant" or (last.tool_calls and (text or reasoning)):
            self.messages.append(Message("assistant", ""))
            last = self.messages[-1]
        self.messages[-1] = replace(
            last, content=last.content + text, tool_calls=(*last.tool_calls, *calls),
            reasoning=last.reasoning + reasoning,
        )  # fmt: skip

    def _call(self, item: dict[str, Any]) -> ToolCall:
        custom = as_object(item.get("custom"))
        function = as_object(item.get("function"))
        given = {CUSTOM_INPUT: custom.get("input")} if custom else function.get("arguments")
        return self._made(custom.get("name") or function.get("name"), given, item.get("id"))

    def _made(self, name: Any, given: Any, id: Any) -> ToolCall:
        arguments = json_object(given) if isinstance(given, str) else as_object(given)
        if given and not arguments and given not in ("{}", {}):
            self.broken += 1
            arguments = {"": given if isinstance(given, str) else json.dumps(given)}
        return ToolCall(str(name or ""), arguments, str(id or ""))

    def _words(self, content: Any) -> str:
        """The text of a content; other parts become placeholders."""
        if isinstance(content, str):
            return content
        words = []
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, str):
                words.append(part)
            elif isinstance(part, dict):
                text = part.get("text")
                if not isinstance(text, str):
                    kind = str(part.get("type", "part")).removeprefix("input_").removesuffix("_url")
                    self.left[kind] += 1
                    text = f"[{kind}]"
                words.append(text)
        return "".join(words)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
