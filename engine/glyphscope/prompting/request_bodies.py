"""The body of a request to Chat Completions, Responses or Messages as a request of a run.

`APIS` is the table: each API has the reader of its messages, which makes those of Chat Completions of them, and its
members with what they set. All others are listed as not used, and kept for the inverse, `written_bodies.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.base.json_values import as_object
from glyphscope.base.pointer import Path, to_pointer
from glyphscope.base.shorten import shorten
from glyphscope.events import Answer, Message, RunRequest, Sampling
from glyphscope.events.setting import settings_of, wrong_value
from glyphscope.models.remote.apis import API_NAMES, RESPONSE_CALLS, RESPONSE_RESULTS, full_name
from glyphscope.prompting.message_list import (
    Conversation,
    note_joined,
    part_text,
    read_messages,
    results_at_calls,
    text_of,
)
from glyphscope.prompting.written_bodies import (
    Written,
    allowed_tools,
    given_messages,
    is_continued,
    named_tool,
)
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.registry.saving import CREDENTIALS, Notes, Unused, unused, why_unused
from glyphscope.registry.tool import CUSTOM_INPUT

_HINT = "Give the JSON body of a request to Chat Completions, Responses or Messages."
_SHOWN = 60
_MOST_LEVELS = 200
"""Of JSON within JSON: the parts that are kept are read and written by recursion."""


class OpenedBody(NamedTuple):
    """A request of a run, without a model, and its registry; `model` is the one that the body names, `api` its form in
    `APIS`, and `unused` what the run does not use.
    """

    api: str
    request: RunRequest
    registry: ToolRegistry
    model: str
    unused: tuple[Unused, ...]


@dataclass
class _Reading:
    """The parts of a body: members of the request and its sampling, the messages with their places, and notes."""

    members: dict[str, Any] = field(default_factory=dict)
    sampling: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
    """The items of the body for each message."""
    ahead: list[dict[str, Any]] = field(default_factory=list)
    """Items without a message, which belong to the next one."""
    has_tools: bool = False
    notes: Notes = field(default_factory=Notes)
    members_left: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The rest of members that are used: of the `format` of an answer, `more`, and the `choice` of allowed tools."""

    def add(self, place: str, message: dict[str, Any], *items: Any, joins: bool = False) -> None:
        self.messages.append(message)
        self.places.append(place)
        self.written.append(Written([*self.ahead, *items], joins and not self.ahead, len(self.written)))
        self.ahead = []

    def leave(self, key: str, value: dict[str, Any], *used: str) -> None:
        """Note and keep the members of a member that are not used."""
        self.notes.leave(value, used, f"/{key}", key)
        if rest := {name: inner for name, inner in value.items() if name not in used}:
            self.rest.setdefault("more", {})[key] = rest


Setter = Callable[[_Reading, Any], str]
"""Sets what a member's value means. Returns why it is not used; empty if it is."""


def _setting(name: str, *, sampling: bool = False) -> Setter:
    """A setting of that name, within its bounds."""
    struct = Sampling if sampling else RunRequest

    def put(reading: _Reading, value: Any) -> str:
        known = settings_of(struct)[name]
        if isinstance(value, bool) or not isinstance(value, known.kind if known.kind is int else int | float):
            return "not a number of that kind."
        if problem := wrong_value(known, value):
            return f"it must be {problem}."
        (reading.sampling if sampling else reading.members)[name] = known.read(value)
        return ""

    return put


def _stop(reading: _Reading, value: Any) -> str:
    stops = tuple([value] if isinstance(value, str) else value)
    if not all(isinstance(each, str) for each in stops):
        return "not a list of texts."
    if problem := wrong_value(settings_of(RunRequest)["stop"], stops):
        return f"{problem}."
    reading.members["stop"] = stops
    return ""


def _effort(reading: _Reading, value: Any) -> str:
    if not isinstance(value, str):
        return "its value is unknown."
    reading.members["reasoning_effort"] = value
    return ""


def _reasoning(reading: _Reading, value: Any) -> str:
    """An object with `effort`."""
    reading.leave("reasoning", value, "effort")
    return _effort(reading, value["effort"]) if value.get("effort") is not None else ""


def _thinking(reading: _Reading, value: Any) -> str:
    kind = as_object(value).get("type")
    if kind not in ("enabled", "disabled", "adaptive"):
        return "its type is unknown."
    reading.members["thinking"] = {"enabled": "on", "disabled": "off", "adaptive": "auto"}[kind]
    reading.leave("thinking", value, "type", "budget_tokens")
    if kind == "adaptive":
        reading.rest.setdefault("more", {}).setdefault("thinking", {})["type"] = kind
    if (budget := value.get("budget_tokens")) is None:
        return ""
    if why := _setting("reasoning_budget")(reading, budget):
        reading.notes.add("budget_tokens of thinking", why, "/thinking/budget_tokens")
    return ""


def _switch(reading: _Reading, value: Any) -> str:
    """`thinking` of Chat Completions, which some servers have; written as it is there."""
    why = _thinking(reading, value)
    if not why:
        reading.rest.setdefault("more", {}).setdefault("thinking", {})["type"] = value["type"]
    return why


def _parallel(reading: _Reading, value: Any) -> str:
    reading.members["most_calls"] = 1 if value is False else None
    return ""


def _choice(reading: _Reading, value: Any) -> str:
    """`tool_choice` of any of the APIs."""
    kind = value.get("type") if isinstance(value, dict) else value
    if kind in ("auto", "none", "required", "any"):
        reading.members["tool_choice"] = "required" if kind == "any" else kind
        if isinstance(value, dict) and value.get("disable_parallel_tool_use") is True:
            reading.members["most_calls"] = 1
        return ""
    if not isinstance(value, dict):
        return "its value is unknown."
    if kind == "allowed_tools":
        inner = as_object(value.get("allowed_tools", value))
        reading.members["tool_choice"] = "required" if inner.get("mode") == "required" else "auto"
        reading.rest["choice"] = value
        return ""
    if kind in ("function", "custom", "tool") and (named := named_tool(value)):
        reading.members["tool_choice"] = named
        if value.get("disable_parallel_tool_use") is True:
            reading.members["most_calls"] = 1
        return ""
    return f"{kind} runs at the provider."


def _format(reading: _Reading, value: Any) -> str:
    """A schema for the answer, as `response_format`, or within it."""
    form = as_object(value)
    kind = form.get("type")
    if kind == "text" or not form:
        return ""
    named = as_object(form.get("json_schema", form))
    schema = named.get("schema")
    if kind != "json_schema" or not isinstance(schema, dict):
        return f"the answer is not constrained to {shorten(str(kind), _SHOWN)}."
    if reading.has_tools:
        return "the tools are called; their calls have no other schema."
    reading.members["answer"] = Answer("schema", json.dumps(schema))
    about = {key: inner for key, inner in named.items() if key not in ("type", "schema")}
    reading.rest["format"] = {"response_format": {"json_schema": about}} if "json_schema" in form else about
    return ""


def _text(member: str) -> Setter:
    """`format` and `effort` within that member."""

    def put(reading: _Reading, value: Any) -> str:
        reading.leave(member, value, "format", "effort")
        if why := _format(reading, value.get("format")):
            reading.notes.add(f"format of {member}", why, f"/{member}/format")
            reading.members_left[member] = {"format": value["format"]}
        elif about := reading.rest.get("format"):
            reading.rest["format"] = {member: {"format": about}}
        return _effort(reading, value["effort"]) if value.get("effort") is not None else ""

    return put


def _template(reading: _Reading, value: Any) -> str:
    if not isinstance(value, dict):
        return "not an object."
    reading.members["template_vars"] = value
    return ""


_SAMPLED = {
    name: _setting(name, sampling=True)
    for name in (
        "temperature", "top_p", "top_k", "min_p", "typical_p", "presence_penalty", "frequency_penalty",
        "repeat_penalty", "seed",
    )
}  # fmt: skip


class Api(NamedTuple):
    """An API. `messages` reads those of a body; `members` set what they mean."""

    sign: Callable[[dict[str, Any]], bool]
    messages: Callable[[dict[str, Any], _Reading], None]
    members: Mapping[str, Setter]
    used: tuple[str, ...]
    """The members with messages and tools."""


_MESSAGE = (
    "role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "reasoning", "function_call"
)  # fmt: skip


def _chat_messages(body: dict[str, Any], reading: _Reading) -> None:
    called = ""
    for number, item in enumerate(body["messages"]):
        place = f"/messages/{number}"
        if not isinstance(item, dict):
            reading.add(place, item)
            continue
        reading.notes.leave(item, _MESSAGE, place, "a message")
        calls = item.get("tool_calls")
        for index, each in enumerate(calls if isinstance(calls, list) else ()):
            known = ("id", "type", "index", "function", "custom")
            reading.notes.leave(as_object(each), known, f"{place}/tool_calls/{index}", "a call")
        made = {key: value for key, value in item.items() if key in _MESSAGE and key != "function_call"}
        if isinstance(call := item.get("function_call"), dict):  # before tools
            called = f"{place}/function_call"
            made["tool_calls"] = [{"id": called, "function": call}]
        if item.get("role") == "function":
            made = {"role": "tool", "content": item.get("content"), "tool_call_id": called}
        before_tools = "function_call" in item or item.get("role") == "function"
        reading.add(place, made, *(() if before_tools else (item,)))


_CALL = ("type", "id", "call_id", "name", "namespace", "status")


def _responses_messages(body: dict[str, Any], reading: _Reading) -> None:
    if text := body.get("instructions"):
        reading.add("/instructions", {"role": "system", "content": text}, {"instructions": text})
    given = body.get("input")
    given = [{"role": "user", "content": given}] if isinstance(given, str) else given or ()
    turn: dict[str, Any] | None = None
    callers: dict[str, str] = {}
    """The kind of the item with the call, by its id."""

    def assistant(place: str, item: dict[str, Any]) -> dict[str, Any]:
        nonlocal turn
        if turn is None:
            turn = {"role": "assistant", "content": "", "tool_calls": []}
            reading.add(place, turn)
        reading.written[-1].items.extend((*reading.ahead, item))
        reading.ahead = []
        return turn

    for number, item in enumerate(given):
        place = f"/input/{number}"
        kind = as_object(item).get("type", "message")
        if kind == "message" and as_object(item).get("role") == "assistant":
            reading.notes.leave(item, ("type", "role", "content", "id", "status"), place, "a message")
            made = assistant(place, item)
            made["content"] += text_of(item.get("content"), f"{place}/content", reading.notes)
        elif kind in RESPONSE_CALLS:
            reading.notes.leave(item, (*_CALL, *RESPONSE_CALLS.values()), place, "a call")
            text = item.get(RESPONSE_CALLS[kind])
            arguments = {CUSTOM_INPUT: text} if kind == "custom_tool_call" else text
            call = {"name": full_name(item), "arguments": arguments}
            callers[str(item.get("call_id"))] = kind
            assistant(place, item)["tool_calls"].append({"id": item.get("call_id"), "function": call})
        elif kind == "reasoning":
            reading.notes.leave(item, ("type", "id", "summary", "content", "status"), place, "reasoning")
            words = [
                text_of(item.get(key), f"{place}/{key}", reading.notes) for key in ("content", "summary")
            ]
            if all(words):
                reading.notes.add("summary of reasoning", "the whole reasoning is used.", f"{place}/summary")
            made = assistant(place, item)
            made["reasoning"] = made.get("reasoning", "") + (words[0] or words[1])
        elif kind in RESPONSE_RESULTS.values() and (why := _result_apart(item, callers, body)):
            reading.notes.add(kind, why, place)
            reading.ahead.append(item)
        elif kind in RESPONSE_RESULTS.values():
            reading.notes.leave(item, (*_CALL, "output"), place, "a result")
            turn = None
            result = text_of(item.get("output"), f"{place}/output", reading.notes)
            reading.add(place, {"role": "tool", "tool_call_id": item.get("call_id"), "content": result}, item)
        elif kind == "message":
            turn, message = None, item
            if isinstance(item, dict):
                reading.notes.leave(item, ("type", "role", "content", "id", "status"), place, "a message")
                message = {"role": item.get("role"), "content": item.get("content")}
            reading.add(place, message, item)
        else:
            why = "its tools are not offered to a model here." if kind in _LATER else _OF_PROVIDER
            reading.notes.add(str(kind), why, place)
            if kind in _LATER:
                item = {**item, "tools": _without_keys(item.get("tools"), f"{place}/tools", reading)}
            callers[str(as_object(item).get("call_id"))] = str(kind)
            reading.ahead.append(item)
    order, moved = results_at_calls(reading.messages)
    for number in moved:
        why = "it comes later than its call; here it follows the message with the call."
        reading.notes.add("a result", why, reading.places[number])
    lists: tuple[list[Any], ...] = (reading.messages, reading.places, reading.written)
    for listed in lists:
        listed[:] = [listed[at] for at in order]


def _result_apart(item: dict[str, Any], callers: Mapping[str, str], body: dict[str, Any]) -> str:
    """Why a result is left out of a run's messages, as its call is; empty if the call is a message of the body."""
    caller = callers.get(str(item.get("call_id")), "" if is_continued(body) else "function_call")
    if caller in RESPONSE_CALLS:
        return ""
    return f"its call is a {caller}, which is left out." if caller else "its call is at the provider."


_LATER = ("additional_tools", "tool_search_output")
"""The items of Responses with tools that can be called from then on."""
_OF_PROVIDER = "an item of the provider, left out of a run's messages."


def later_tools(body: dict[str, Any]) -> list[Any]:
    """The tools that items of a body give beside its list of tools."""
    found = map(as_object, given if isinstance(given := body.get("input"), list) else ())
    listed = [item.get("tools") for item in found if item.get("type") in _LATER]
    return [tool for tools in listed if isinstance(tools, list) for tool in tools]


def _claude_messages(body: dict[str, Any], reading: _Reading) -> None:
    if system := body.get("system"):
        text = text_of(system, "/system", reading.notes)
        reading.add("/system", {"role": "system", "content": text}, {"system": system})
    called: set[str] = set()
    for number, item in enumerate(body["messages"]):
        place = f"/messages/{number}"
        content = as_object(item).get("content")
        if not isinstance(content, list):
            reading.add(place, item, item)
            continue
        reading.notes.leave(item, ("role", "content"), place, "a message")
        note_joined(content, f"{place}/content", reading.notes)
        made: dict[str, Any] = {"role": item.get("role"), "content": "", "tool_calls": [], "reasoning": ""}
        blocks: list[Any] = []
        found = joins = False
        for index, block in enumerate(content):
            at = f"{place}/content/{index}"
            kind = as_object(block).get("type")
            if kind == "tool_use":
                reading.notes.leave(block, ("type", "id", "name", "input"), at, "a call")
                call = {"name": block.get("name"), "arguments": block.get("input", {})}
                called.add(str(block.get("id")))
                made["tool_calls"].append({"id": block.get("id"), "function": call})
            elif kind == "tool_result" and str(block.get("tool_use_id")) not in called and is_continued(body):
                reading.notes.add(kind, "its call is at the provider.", at)
                blocks.append(block)
                continue
            elif kind == "tool_result":
                reading.notes.leave(block, ("type", "tool_use_id", "content"), at, "a result")
                result = text_of(block.get("content"), f"{at}/content", reading.notes)
                message = {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": result}
                reading.add(at, message, {**item, "content": [block]}, joins=joins)
                joins = True
                continue
            elif kind == "thinking":
                reading.notes.leave(block, ("type", "thinking"), at, "thinking")
                made["reasoning"] += str(block.get("thinking", ""))
            elif isinstance(block, dict) and kind not in _READ:
                reading.notes.add(str(kind), "a block of the provider, left out of a run's messages.", at)
                blocks.append(block)
                continue
            elif isinstance(block, dict):
                made["content"] += part_text(block, at, reading.notes)
            else:
                made["content"] += text_of([block], at, reading.notes)
            blocks.append(block)
            found = True
        rest = {**item, "content": blocks}
        if found or not content:
            message = {key: value for key, value in made.items() if value or key in ("role", "content")}
            reading.add(place, message, rest, joins=joins)
        elif blocks:
            reading.ahead.append(rest)


_READ = ("text", "image", "document", "search_result")
"""The blocks of Messages that are text, or replaced by one."""


_MESSAGES_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document")


def _is_claude(body: dict[str, Any]) -> bool:
    """Whether it has what only Messages has, or all that it requires and nothing of Chat Completions alone."""
    if not isinstance(body.get("messages"), list):
        return False
    tools = body.get("tools")
    if any("input_schema" in as_object(tool) for tool in (tools if isinstance(tools, list) else ())):
        return True
    own = {"system", "stop_sequences", "output_config", "output_format", "anthropic_version", "thread"}
    contents = (as_object(message).get("content") for message in body["messages"])
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    if any(as_object(block).get("type") in _MESSAGES_BLOCKS for block in blocks):
        return True
    return bool(own & body.keys()) and "stop" not in body


def _api(
    name: str,
    sign: Callable[[dict[str, Any]], bool],
    messages: Callable[[dict[str, Any], _Reading], None],
    used: tuple[str, ...] = (),
    **members: Setter,
) -> Api:
    """The API with the members that all have, under its names."""
    names = API_NAMES[name]
    every = _SAMPLED | {names.most_tokens: _setting("max_tokens"), "tool_choice": _choice}
    stop = {names.stop: _stop} if names.stop else {}
    return Api(sign, messages, every | stop | members, ("tools", names.messages, names.system, *used))


APIS: dict[str, Api] = {
    "responses": _api(
        "responses", lambda body: "input" in body or "instructions" in body, _responses_messages,
        reasoning=_reasoning, text=_text("text"), parallel_tool_calls=_parallel,
    ),
    "messages": _api(
        "messages", _is_claude, _claude_messages, thinking=_thinking, output_config=_text("output_config"),
    ),
    "chat": _api(
        "chat", lambda body: isinstance(body.get("messages"), list), _chat_messages, ("functions",),
        max_tokens=_setting("max_tokens"), reasoning_effort=_effort, reasoning=_reasoning, thinking=_switch,
        parallel_tool_calls=_parallel, function_call=_choice, response_format=_format,
        chat_template_kwargs=_template,
    ),
}  # fmt: skip
"""By name, in the order in which they are tried."""


def api_of(body: Any) -> str:
    """The API of a request with that body; empty for anything else."""
    return next((name for name, api in APIS.items() if isinstance(body, dict) and api.sign(body)), "")


def read_body(body: Any, where: str = "", api: str = "") -> OpenedBody:
    """The request in a body of that API, by default the one that it looks like.

    Raises PromptError and RegistryError, with the place in the body.
    """
    name = api or api_of(body)
    if not name or not isinstance(body, dict):
        raise PromptError("Not the body of a request with messages.", where=where, hint=_HINT)
    _check(body, where)
    found, reading = APIS[name], _Reading()
    listed = _without_keys(body.get("tools") or body.get("functions") or [], "/tools", reading)
    registry = parse_document(listed, f"{where}#/tools") if listed else ToolRegistry()
    reading.has_tools = bool(len(registry))
    if reading.has_tools:
        reading.members |= {"tool_choice": "auto", "most_calls": None}
    else:
        reading.members["tool_choice"] = "none"
    try:
        found.messages(body, reading)
    except (TypeError, AttributeError, KeyError) as error:
        raise PromptError(f"The messages cannot be read: {error}.", where=where, hint=_HINT) from None
    left = reading.members_left
    for key, value in body.items():
        if key in found.used or value is None:
            continue
        setter = found.members.get(key)
        try:
            why = why_unused(key) if setter is None else setter(reading, value)
        except (TypeError, ValueError, AttributeError):
            why = "its value is unknown."
        if why:
            reading.notes.add(key, why, f"/{key}")
            left[key] = _without_credentials(value, f"/{key}", reading)
    if choice := reading.rest.get("choice"):
        names = allowed_tools(choice, registry)
        tools = (replace(tool, enabled=tool.name in names) for tool in registry)
        registry = replace(registry, tools=tuple(tools))
    if reading.messages and as_object(reading.messages[-1]).get("role") == "assistant":
        why = "it begins the answer at the provider; here it is a message before the next one."
        reading.notes.add("the last message", why, reading.places[-1])
    conversation = read_messages(reading.messages, where, reading.places, reading.notes)
    kept = {"api": name, "given": list(body), **_unused_parts(name, reading, conversation, registry)}
    registry = replace(registry, kept={**registry.kept, "request": kept})
    request = RunRequest(
        prompt=conversation.prompt,
        history=conversation.history,
        system_prompt=conversation.system_prompt,
        registry=registry.to_document(),
        sampling=msgspec.structs.replace(Sampling(), **reading.sampling),
        **reading.members,
    )
    model = body.get("model")
    notes = (*reading.notes.found(), *unused(registry))
    return OpenedBody(name, request, registry, model if isinstance(model, str) else "", notes)


def _check(body: dict[str, Any], where: str) -> None:
    """Raise PromptError for a key that is given twice and for deep nesting; most tools are checked by the registry."""
    waiting: list[tuple[Any, Path]] = [(body, ())]
    while waiting:
        value, at = waiting.pop()
        if keys := getattr(value, "repeated", ()):
            place = f"{where}#{to_pointer((*at, keys[0]))}"
            raise PromptError("Duplicate key.", where=place, hint="Remove one of them.")
        if len(at) > _MOST_LEVELS:
            place = f"{where}#{to_pointer(at[:8])}"
            raise PromptError(f"It is nested more than {_MOST_LEVELS} levels deep.", where=place)
        if at[:1] in (("tools",), ("functions",)) and len(at) == 2 and as_object(value).get("type") != "mcp":
            continue
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        waiting += ((each, (*at, step)) for step, each in inner if isinstance(each, dict | list))


def _unused_parts(
    api: str, reading: _Reading, conversation: Conversation, registry: ToolRegistry
) -> dict[str, Any]:
    """The parts of a body that a run does not use: members, the rest of others, and messages with more than text."""
    system, history, prompt = conversation
    roles = (as_object(message).get("role") for message in reading.messages)
    leading = sum(1 for _ in takewhile(("system", "developer").__contains__, roles))
    items = [item for written in reading.written[:leading] for item in written.items]
    given = [*([Written(items)] if leading else ()), *reading.written[leading:]]
    first = (Message("system", system.strip()),) if leading else ()
    last = (Message("user", prompt),) if len(given) > len(first) + len(history) else ()
    messages = given_messages(api, given, (*first, *history, *last), registry)
    if reading.ahead:
        messages.append({"of": "", "items": reading.ahead})
    found = {"members": reading.members_left, "rest": reading.rest, "messages": messages}
    return {name: each for name, each in found.items() if each}


def _without_credentials(value: Any, place: str, reading: _Reading) -> Any:
    """A part of a body that is kept, without the members that may be credentials."""
    if isinstance(value, list):
        return [_without_credentials(each, f"{place}/{at}", reading) for at, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    for name in sorted(CREDENTIALS & value.keys()):
        reading.notes.add(name, "it may be a credential, so it is not kept.", f"{place}/{name}")
    return {
        name: _without_credentials(each, f"{place}/{name}", reading)
        for name, each in value.items()
        if name not in CREDENTIALS
    }


def _without_keys(listed: Any, place: str, reading: _Reading) -> Any:
    """A list of tools without the credentials of servers that the provider calls; schemas of others have any names."""
    if not isinstance(listed, list):
        return listed
    return [
        _without_credentials(each, f"{place}/{at}", reading) if as_object(each).get("type") == "mcp" else each
        for at, each in enumerate(listed)
    ]
