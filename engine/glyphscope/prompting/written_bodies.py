"""A run's request as the body that Chat Completions, Responses or Messages would take: the inverse of `read_body`.

The API gets the tools in its own form, so the prompt has no instructions for calls. Reasoning of earlier answers is
left out where only the provider's own, signed or stored, would be accepted. Messages that are unchanged since their
body was opened are written as they were there, with images, signatures and all else that a run does not use.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.figures import pluralize
from glyphscope.base.json_values import as_object
from glyphscope.events import AUTO, Message, RunRequest, Sampling
from glyphscope.events.setting import settings_of
from glyphscope.models.chat_messages import link_results
from glyphscope.models.remote.apis import API_NAMES, full_name, response_items
from glyphscope.prompting.message_list import images_in, written_messages
from glyphscope.registry import ToolRegistry
from glyphscope.registry.saving import to_form

_TEXTS = frozenset({"text", "content", "output", "thinking"})
_TEXT = "$text"
"""In a kept item, the place of a text that its message has, as the member of the message, first and last character."""
_LEAST = 80
"""Characters of a text that is kept as its place."""


class Written(NamedTuple):
    """The items of a body for one message. `joins`: the first continues an item of the same role before it. `number`
    orders those of a body as they were there; `late` other messages are between this one and the one before it.
    """

    items: list[dict[str, Any]]
    joins: bool = False
    number: int = 0
    late: int = 0


class WrittenApi(NamedTuple):
    """How it writes each message, a choice of one tool, a schema and an effort, and its names of sampling, beside those
    of `API_NAMES`. Members of `older` are written only if the opened body had them.
    """

    items: Callable[[Sequence[Message], ToolRegistry], Iterator[list[dict[str, Any]]]]
    named: Callable[[str, str], dict[str, Any]]
    schema: Callable[[dict[str, Any]], dict[str, Any]]
    effort: Callable[[str], dict[str, Any]]
    sampling: tuple[str, ...]
    choices: Mapping[str, Any]
    """`tool_choice` for the values of a request's."""
    older: frozenset[str] = frozenset()


def is_continued(body: dict[str, Any]) -> bool:
    """Whether the provider keeps the earlier messages of the conversation: Responses, and threads of Messages."""
    thread = as_object(body.get("thread"))
    return bool(
        body.get("previous_response_id") or body.get("conversation") or thread.get("type") == "continue"
    )


def named_tool(value: Any) -> str:
    """The tool that a `tool_choice` names, with its namespace; empty if it names none."""
    given = as_object(value)
    return full_name(as_object(given.get(str(given.get("type")), given)))


def allowed_tools(choice: dict[str, Any], registry: ToolRegistry) -> set[str]:
    """The names of the tools that an `allowed_tools` names."""
    listed = as_object(choice.get("allowed_tools", choice)).get("tools")
    names = {named_tool(each) for each in (listed if isinstance(listed, list) else ())}
    return {tool.name for tool in registry if {tool.name, tool.name.rpartition(".")[2]} & names}


def given_messages(
    api: str, given: Sequence[Written], messages: Sequence[Message], registry: ToolRegistry
) -> list[dict[str, Any]]:
    """Those of the given items that would not be written again, each with the digest of its message."""
    form, before, kept = WRITTEN[api], None, []
    linked = link_results(messages)
    late = _lateness([each.number for each in given])
    for message, (items, joins, *_), after, made in zip(
        linked, given, late, form.items(linked, registry), strict=True
    ):
        role = items[0].get("role") if items else None
        merged = api == "messages" and role == before and not joins
        if items and (items != made or merged or after):
            kept.append({"of": _digest(message), "items": _with_places(items, message)})
            kept[-1] |= ({"joins": True} if joins else {}) | ({"late": after} if after else {})
        before = role
    return kept


def _lateness(numbers: Sequence[int]) -> Iterator[int]:
    """For each, how many others come between it and those that are ready when its turn is, in the order of numbers."""
    places = {number: place for place, number in enumerate(sorted(numbers))}
    ready: set[int] = set()
    written = 0
    for number in numbers:
        yield places[number] - written
        ready.add(places[number])
        while written in ready:
            written += 1


def _in_order(written: Iterator[Written]) -> Iterator[Written]:
    """The inverse of `_lateness`: each after as many others as it is late, or at the end."""
    waiting: list[tuple[int, int, Written]] = []
    done = 0
    for number, each in enumerate(written):
        heappush(waiting, (done + each.late, number, each))
        while waiting and waiting[0][0] <= done:
            yield heappop(waiting)[2]
            done += 1
    while waiting:
        yield heappop(waiting)[2]


def _digest(message: Message) -> str:
    fields = json.dumps(msgspec.structs.astuple(message), default=msgspec.structs.astuple, sort_keys=True)
    return hashlib.sha256(fields.encode()).hexdigest()[:16]


def _with_places(value: Any, message: Message) -> Any:
    """The items with the places of the message's texts in place of long ones."""
    begin = {"content": 0, "reasoning": 0}

    def placed(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: placed(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [placed(inner) for inner in value]
        if isinstance(value, str) and key in _TEXTS and len(value) >= _LEAST:
            for member, start in begin.items():
                if (at := getattr(message, member).find(value, start)) >= 0:
                    begin[member] = at + len(value)
                    return {_TEXT: [member, at, at + len(value)]}
        return value

    return placed(value)


def _with_texts(value: Any, message: Message) -> Any:
    """The inverse of `_with_places`."""
    if isinstance(value, list):
        return [_with_texts(inner, message) for inner in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$text": ["content" | "reasoning" as member, int(start), int(end)]}:
            return getattr(message, member)[start:end]
    return {name: _with_texts(inner, message) for name, inner in value.items()}


def _as_they_were(
    api: str, request: dict[str, Any], messages: Sequence[Message], made: Iterator[list[dict[str, Any]]]
) -> Iterator[Written]:
    """The items of each message: those of the opened request to this API if the message is unchanged, otherwise those
    that are made, with the images of a request to another API.
    """
    kept, own = request.get("messages"), request.get("api") == api
    waiting: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
    for each in map(as_object, kept if isinstance(kept, list) else ()):
        waiting[str(each.get("of"))].append(each)
    for message, items in zip(messages, made, strict=True):
        found = waiting.get(_digest(message)) if waiting else None
        if not found:
            yield Written(items, joins=True)
            continue
        given = _given_items(found.popleft(), message)
        if own and given is not None:
            yield given
        else:
            images = deque(images_in(given.items) if given is not None else ())
            yield Written(_with_images(api, items, images), joins=True)
    if own:
        yield from filter(None, (_given_items(each, Message("", "")) for each in waiting.get("", ())))


def _with_images(
    api: str, items: list[dict[str, Any]], images: deque[tuple[str, str]]
) -> list[dict[str, Any]]:
    """The items with images in the places of their texts. Results of Chat Completions have texts alone."""

    def parts(text: str) -> Iterator[dict[str, Any]]:
        while images and images[0][0] in text:
            place, url = images.popleft()
            before, _, text = text.partition(place)
            yield from (_TEXT_PARTS[api](before),) if before else ()
            yield _IMAGE_PARTS[api](url)
        yield from (_TEXT_PARTS[api](text),) if text else ()

    def placed(value: Any) -> Any:
        if isinstance(value, str):
            return list(parts(value)) if images and images[0][0] in value else value
        made: list[Any] = []
        for block in value if isinstance(value, list) else ():
            if block.get("type") == "text":
                made += parts(block["text"])
            else:
                made.append({**block, "content": placed(block["content"])} if "content" in block else block)
        return made

    keys = [
        "output" if "output" in item else "" if api == "chat" and item.get("role") == "tool" else "content"
        for item in items
    ]
    return [
        {**item, key: placed(item[key])} if key in item else item
        for key, item in zip(keys, items, strict=True)
    ]


def _source(url: str) -> dict[str, Any]:
    kind, found, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "base64", "media_type": kind, "data": data} if found else {"type": "url", "url": url}


_TEXT_PARTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "chat": lambda text: {"type": "text", "text": text},
    "responses": lambda text: {"type": "input_text", "text": text},
    "messages": lambda text: {"type": "text", "text": text},
}
_IMAGE_PARTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "chat": lambda url: {"type": "image_url", "image_url": {"url": url}},
    "responses": lambda url: {"type": "input_image", "image_url": url, "detail": "auto"},
    "messages": lambda url: {"type": "image", "source": _source(url)},
}


def _given_items(kept: dict[str, Any], message: Message) -> Written | None:
    """The items of a message; None for those of a damaged file."""
    items = _with_texts(kept.get("items"), message)
    usable = isinstance(items, list) and items and all(isinstance(item, dict) for item in items)
    late = kept.get("late")
    late = late if isinstance(late, int) else 0
    return Written(items, kept.get("joins") is True, late=late) if usable else None


def _assembled(api: str, written: Iterator[Written]) -> dict[str, Any]:
    """The members of a body with its messages; for Messages, parts that join are in one message."""
    names, body = API_NAMES[api], dict[str, Any]()
    listed: list[dict[str, Any]] = []
    for items, joins, *_ in written:
        for number, item in enumerate(items):
            joined = joins and not number and api == "messages" and listed
            if names.system in item:
                earlier, system = body.get(names.system), item[names.system]
                body[names.system] = system if earlier is None else _joined(earlier, system)
            elif joined and listed[-1].get("role") == item.get("role"):
                content = _blocks(listed[-1].get("content")) + _blocks(item.get("content"))
                listed[-1] = {**listed[-1], "content": content}
            else:
                listed.append(item)
    return {**body, names.messages: listed}


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def _joined(first: Any, second: Any) -> Any:
    """Two system prompts as one."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return _blocks(first) + _blocks(second)


def write_body(
    api: str, request: RunRequest, messages: Sequence[Message], registry: ToolRegistry, model: str
) -> dict[str, Any]:
    """The body of a request with those messages; `api` is a name in `WRITTEN`.

    The members of an opened body of that API that are not used here are written as they were.
    """
    form, names = WRITTEN[api], API_NAMES[api]
    opened = as_object(registry.kept.get("request"))
    kept = opened if opened.get("api") == api else {}
    rest, linked = as_object(kept.get("rest")), link_results(messages)
    given = [name for name in kept.get("given") or () if isinstance(name, str)]
    body = dict(as_object(kept.get("members")))
    written = _in_order(_as_they_were(api, opened, linked, form.items(linked, registry)))
    body |= {"model": model, **_assembled(api, written)}
    if request.answer.is_call and len(registry.allowed):
        body["tools"] = to_form(registry, names.form)
        if request.tool_choice != "auto" or "tool_choice" not in body:  # one of a tool at the provider
            body["tool_choice"] = _choice(form, request.tool_choice, registry)
        choice = as_object(rest.get("choice"))
        if choice and allowed_tools(choice, registry) == {tool.name for tool in registry.allowed}:
            every = replace(registry, tools=tuple(replace(tool, enabled=True) for tool in registry))
            body |= {"tools": to_form(every, names.form), "tool_choice": choice}
        body = _with_parallel(api, body, request.most_calls)
    elif request.answer.kind == "schema":
        _merge(body, form.schema(json.loads(request.answer.text)))
        _merge_all(body, as_object(rest.get("format")))
    if (effort := _effort(api, request)) != AUTO:
        _merge(body, form.effort(effort))
    sampling = request.sampling
    values = {"temperature": sampling.temperature, "seed": sampling.seed, **sampling.in_effect}
    stated = {*form.sampling, *form.older.intersection(given)}
    body |= {names.most_tokens: request.max_tokens}
    body |= {name: value for name, value in values.items() if name in stated}
    if request.stop and names.stop:
        body[names.stop] = list(request.stop)
    _merge_all(body, as_object(rest.get("more")))
    _think(api, body, request)
    _merge(body, request.extra_body)
    return _without_defaults(body, given, api) if kept else body


def unwritten(api: str, request: RunRequest, body: Mapping[str, Any]) -> list[str]:
    """The settings of a run, in words, that are not the defaults and for which that body of the API has no member."""
    usual, sampling, known = Sampling(), request.sampling, settings_of(Sampling)
    values = {"temperature": sampling.temperature, "seed": sampling.seed, **sampling.in_effect}
    found = [
        known[name].words(value).format(value=value)
        for name, value in values.items()
        if name not in body and value != getattr(usual, name)
    ]
    if request.stop and API_NAMES[api].stop not in body:
        found.append(pluralize(len(request.stop), "stop text"))
    if request.reasoning_budget is not None and api != "messages":
        found.append("the reasoning budget")
    if request.answer.kind in _CONSTRAINTS and not request.extra_body:
        found.append(_CONSTRAINTS[request.answer.kind])
    if request.grammar is not None:
        found.append("the grammar of the calls")
    return found


_CONSTRAINTS = {
    "regex": "the pattern of the answer",
    "choice": "the texts to choose from",
    "grammar": "the grammar of the answer",
}


def _without_defaults(body: dict[str, Any], given: list[Any], api: str) -> dict[str, Any]:
    """The body without the defaults of settings that the opened one did not have, and with its name of the limit."""
    limit = API_NAMES[api].most_tokens
    if limit not in given and "max_tokens" in given:
        body["max_tokens"] = body.pop(limit)
    usual = {
        limit: RunRequest(prompt="", registry={}).max_tokens, "tool_choice": WRITTEN[api].choices["auto"],
        "parallel_tool_calls": True, **msgspec.structs.asdict(Sampling()),
    }  # fmt: skip
    return {
        name: value
        for name, value in body.items()
        if name in given or name not in usual or value != usual[name]
    }


def _effort(api: str, request: RunRequest) -> str:
    """The reasoning effort; Responses has no other switch of thinking."""
    off = api == "responses" and request.thinking == "off" and request.reasoning_effort == AUTO
    return "none" if off else request.reasoning_effort


def _think(api: str, body: dict[str, Any], request: RunRequest) -> None:
    """Add the switch of thinking: for Chat Completions a variable of the template, if the body had no `thinking`."""
    kind = {"on": "enabled", "off": "disabled"}.get(request.thinking)
    if api == "chat":
        switch = kind is not None and "thinking" not in body
        variables = {"enable_thinking": kind == "enabled"} if switch else {}
        if variables := variables | request.template_vars:
            body["chat_template_kwargs"] = variables
    if kind is not None and (api == "messages" or "thinking" in body):
        body["thinking"] = (
            {**as_object(body.get("thinking")), "type": kind} if kind == "enabled" else {"type": kind}
        )
    if api != "messages" or as_object(body.get("thinking")).get("type") not in ("enabled", "adaptive"):
        return
    if kind == "enabled":  # its tokens count
        body["thinking"]["budget_tokens"] = budget = max(
            request.reasoning_budget or request.max_tokens, 1_024
        )
        if budget >= request.max_tokens:
            body["max_tokens"] += budget
    for name in WRITTEN[api].older:  # only the default sampling is accepted
        body.pop(name, None)


def _merge(body: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        body[key] = {**as_object(body.get(key)), **value} if isinstance(value, dict) else value


def _merge_all(body: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Merge, also the objects within."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(inner := body.get(key), dict):
            body[key] = dict(inner)
            _merge_all(body[key], value)
        else:
            body[key] = value


def _choice(form: WrittenApi, choice: str, registry: ToolRegistry) -> Any:
    if choice in form.choices:
        return form.choices[choice]
    return form.named(choice, "custom" if choice in _custom(registry) else "function")


def _with_parallel(api: str, body: dict[str, Any], most: int | None) -> dict[str, Any]:
    if api != "messages":
        return {**body, "parallel_tool_calls": most != 1}
    if most == 1 and body["tool_choice"]["type"] != "none":
        body["tool_choice"] = {**body["tool_choice"], "disable_parallel_tool_use": True}
    return body


def _custom(registry: ToolRegistry) -> set[str]:
    return {tool.name for tool in registry if tool.format is not None}


def _chat(messages: Sequence[Message], registry: ToolRegistry) -> Iterator[list[dict[str, Any]]]:
    return ([made] for made in written_messages(messages, _custom(registry)))


def _responses(messages: Sequence[Message], registry: ToolRegistry) -> Iterator[list[dict[str, Any]]]:
    spaces = {tool.name: str(tool.kept.get("prefix", "")) for tool in registry}
    made = response_items(written_messages(messages, _custom(registry)), spaces)
    for number, (message, items) in enumerate(zip(messages, made, strict=True)):
        first = message.role == "system" and not number
        yield [{"instructions": message.content}] if first else items


def _messages(messages: Sequence[Message], _registry: ToolRegistry) -> Iterator[list[dict[str, Any]]]:
    """A result is a block of a user message, with the results and the text beside it."""
    for message in messages:
        if message.role == "system":
            yield [{"system": message.content}]
            continue
        blocks: list[dict[str, Any]] = []
        if message.role == "tool":
            result = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}
            blocks.append(result)
        elif message.content:
            blocks.append({"type": "text", "text": message.content})
        blocks += (
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
            for call in message.tool_calls
        )
        yield [{"role": "assistant" if message.role == "assistant" else "user", "content": blocks}]


_OPENAI = {"auto": "auto", "none": "none", "required": "required"}
WRITTEN: dict[str, WrittenApi] = {
    "chat": WrittenApi(
        _chat, lambda name, kind: {"type": kind, kind: {"name": name}},
        lambda schema: {
            "response_format": {
                "type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}
            }
        },
        lambda effort: {"reasoning_effort": effort},
        ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed"), _OPENAI,
    ),
    "responses": WrittenApi(
        _responses, lambda name, kind: {"type": kind, "name": name},
        lambda schema: {
            "text": {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": schema}}
        },
        lambda effort: {"reasoning": {"effort": effort}},
        ("temperature", "top_p"), _OPENAI,
    ),
    "messages": WrittenApi(
        _messages, lambda name, _kind: {"type": "tool", "name": name},
        lambda schema: {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        lambda effort: {"output_config": {"effort": effort}},
        (),
        {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}},
        frozenset(("temperature", "top_p", "top_k")),  # rejected since version 2026-10-21 of the API
    ),
}  # fmt: skip
"""By the names of `API_NAMES`."""
