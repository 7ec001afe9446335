"""A captured body as the request of a run. Never fails: what a run has no place for becomes a note.

The tools judge the answer to this very request, so one that cannot be read accepts any arguments, and the note says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as with_fields
from functools import lru_cache
from typing import Any, get_args

from msgspec.structs import replace

from glyphscope.base.errors import GlyphscopeError, RegistryError
from glyphscope.base.json_values import as_object
from glyphscope.base.shorten import listed, shorten
from glyphscope.events import Message, RepairSettings, RunRequest
from glyphscope.models.remote.apis import API_NAMES, ChatApi
from glyphscope.prompting.request_bodies import later_tools, read_body
from glyphscope.registry import Tool, ToolRegistry, parse_document
from glyphscope.registry.tool_forms import Item, hosted_name, items
from glyphscope.runs.again import NO_LIMIT

_SHOWN = 8
_LONGEST = 60
_ANYTHING: dict[str, Any] = {"type": "object", "additionalProperties": True}
_EXPECTED = ("model", "stream", "stream_options", "store", "options")
"""Members that a run does not use, and of which no note is of interest."""


def api_of(path: str) -> ChatApi | None:
    """The interface of a path that is captured, wherever a server has it; None for any other path."""
    return next((api for api in get_args(ChatApi) if path.endswith(API_NAMES[api].path)), None)


@dataclass(frozen=True)
class CapturedRequest:
    """`note` says what the request has beside that; `model` is the name that it asks for."""

    request: RunRequest
    model: str
    note: str


def captured_request(api: ChatApi, document: dict[str, Any], note: str = "") -> CapturedRequest:
    """The request of a body, with the `note`; one without messages if the object is empty."""
    if api == "ollama":
        options = as_object(document.get("options"))
        document = {**document, **options, "max_tokens": options.get(API_NAMES[api].most_tokens)}
    listed_tools = document.get("tools") or document.get("functions") or []
    tools, tools_note = _tools(json.dumps(listed_tools), json.dumps(later_tools(document)))
    names = [tool["name"] for tool in tools["tools"]]
    given = {**document, "tools": [{"name": name, "parameters": {}} for name in names], "functions": None}
    notes = [note, tools_note]
    try:
        opened = read_body(given, api="chat" if api == "ollama" else api)
    except (GlyphscopeError, KeyError) as error:
        request = RunRequest(
            prompt="", registry={}, history=tuple(_raw(document)), most_calls=None, tool_choice="auto"
        )
        why = error.message if isinstance(error, GlyphscopeError) else "there are none."
        notes.append(f"The messages are shown as JSON: {shorten(why, 200)}")
    else:
        request = opened.request
        left = [each.what for each in opened.unused if each.what not in _EXPECTED]
        notes.append(f"In the request and not in this run: {listed(left, _SHOWN)}." if left else "")
        allowed = {tool.name for tool in opened.registry.allowed}
        if len(allowed) < len(names):
            tools = {
                **tools,
                "tools": [{**tool, "enabled": tool["name"] in allowed} for tool in tools["tools"]],
            }
    usual, limits = "auto" if names else "none", ("max_tokens", API_NAMES[api].most_tokens)
    request = replace(
        request,
        registry=tools,
        native="auto",
        notation="json",
        constraint="off",
        stop_on="never",
        examples=False,
        reasoning_budget=None,
        repair=RepairSettings(extract=False),
        tool_choice=request.tool_choice if request.tool_choice in ("required", "none", *names) else usual,
        max_tokens=request.max_tokens if any(map(document.get, limits)) else NO_LIMIT,
    )
    model = document.get("model")
    return CapturedRequest(request, model if isinstance(model, str) else "", " ".join(filter(None, notes)))


def _raw(document: dict[str, Any]) -> Iterator[Message]:
    """The messages of a body that cannot be read, each as JSON."""
    for key in ("system", "instructions", "messages", "input"):
        given = document.get(key)
        for item in given if isinstance(given, list) else [given] if given else []:
            role = as_object(item).get("role")
            role = role if role in ("user", "assistant", "system") else "user"
            yield Message(role, item if isinstance(item, str) else json.dumps(item, ensure_ascii=False))


@lru_cache(maxsize=8)
def _tools(written: str, later: str) -> tuple[dict[str, Any], str]:
    """The registry's document of a list of tools with those that came later, the same object for the same lists, and a
    note on its tools.
    """
    given = json.loads(written)
    tools: dict[str, Tool] = {}
    hosted, unread, twice = [], [], []
    found = [*items(given if isinstance(given, list) else [], ())]
    names = {_name(each) for each in found}
    found += {_name(each): each for each in items(json.loads(later), ()) if _name(each) not in names}.values()
    for each in found:
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
