"""A run's request as the body that Chat Completions, Responses or Messages would take: the inverse of `read_body`.

The API gets the tools in its own form, so the prompt has no instructions for calls. Reasoning of earlier answers is
left out where only the provider's own, signed or stored, would be accepted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from glyphscope.base.json_values import as_object
from glyphscope.events import AUTO, Message, RunRequest, ToolCall
from glyphscope.models.chat_messages import link_results
from glyphscope.prompting.message_list import written_messages
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.registry.saving import to_form
from glyphscope.registry.tool import CUSTOM_INPUT


class WrittenApi(NamedTuple):
    """The form of its tools, how it writes messages, a choice of one tool and a schema, and its names of settings."""

    form: str
    messages: Callable[[Sequence[Message], ToolRegistry], dict[str, Any]]
    named: Callable[[str, str], dict[str, Any]]
    schema: Callable[[dict[str, Any]], dict[str, Any]]
    effort: Callable[[str], dict[str, Any]]
    most_tokens: str
    stop: str
    sampling: tuple[str, ...]
    choices: Mapping[str, Any]
    """`tool_choice` for the values of a request's."""


def write_body(
    api: str, request: RunRequest, messages: Sequence[Message], registry: ToolRegistry, model: str
) -> dict[str, Any]:
    """The body of a request with those messages; `api` is a name in `WRITTEN`.

    The members of an opened body of that API that are not used here are written as they were.
    """
    form, kept = WRITTEN[api], as_object(registry.kept.get("request"))
    body = dict(as_object(kept.get("members"))) if kept.get("api") == api else {}
    body |= {"model": model, **form.messages(link_results(messages), registry)}
    if request.answer.is_call and len(registry.allowed):
        body["tools"] = to_form(registry, form.form)
        body["tool_choice"] = _choice(form, request.tool_choice, registry)
        body = _with_parallel(api, body, request.most_calls)
    elif request.answer.kind == "schema":
        _merge(body, form.schema(json.loads(request.answer.text)))
    if request.reasoning_effort != AUTO:
        _merge(body, form.effort(request.reasoning_effort))
    sampling = request.sampling
    body |= {form.most_tokens: request.max_tokens, "temperature": sampling.temperature}
    body |= {name: value for name, value in sampling.in_effect.items() if name in form.sampling}
    if "seed" in form.sampling:
        body["seed"] = sampling.seed
    if request.stop and form.stop:
        body[form.stop] = list(request.stop)
    if api == "messages" and request.thinking != AUTO:
        body["thinking"] = {"type": "enabled" if request.thinking == "on" else "disabled"}
        if request.thinking == "on":  # its tokens count, and only the default sampling is accepted
            body["thinking"]["budget_tokens"] = budget = max(
                request.reasoning_budget or request.max_tokens, 1_024
            )
            if budget >= request.max_tokens:
                body[form.most_tokens] += budget
            body = {
                name: value for name, value in body.items() if name not in ("temperature", "top_k", "top_p")
            }
    _merge(body, request.extra_body)
    return body


def _merge(body: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        body[key] = {**body.get(key, {}), **value} if isinstance(value, dict) else value


def _choice(form: WrittenApi, choice: str, registry: ToolRegistry) -> Any:
    if choice in form.choices:
        return form.choices[choice]
    tool = registry.get(choice)
    return form.named(choice, "custom" if tool is not None and tool.format is not None else "function")


def _with_parallel(api: str, body: dict[str, Any], most: int | None) -> dict[str, Any]:
    if api != "messages":
        return {**body, "parallel_tool_calls": most != 1}
    if most == 1 and body["tool_choice"]["type"] != "none":
        body["tool_choice"] = {**body["tool_choice"], "disable_parallel_tool_use": True}
    return body


def _is_custom(registry: ToolRegistry, call: ToolCall) -> bool:
    tool = registry.get(call.name)
    return tool is not None and tool.format is not None and isinstance(call.arguments.get(CUSTOM_INPUT), str)


def _chat(messages: Sequence[Message], registry: ToolRegistry) -> dict[str, Any]:
    written = written_messages(messages)
    for message, made in zip(messages, written, strict=True):
        for call, given in zip(message.tool_calls, made.get("tool_calls", ()), strict=True):
            if _is_custom(registry, call):
                del given["function"]
                given |= {
                    "type": "custom",
                    "custom": {"name": call.name, "input": call.arguments[CUSTOM_INPUT]},
                }
    return {"messages": written}


def _responses(messages: Sequence[Message], registry: ToolRegistry) -> dict[str, Any]:
    return {"input": list(_items(messages, registry))}


def _items(messages: Sequence[Message], registry: ToolRegistry) -> Iterator[dict[str, Any]]:
    custom = set()
    for message in messages:
        if message.role == "tool":
            kind = "custom_tool_call_output" if message.tool_call_id in custom else "function_call_output"
            yield {"type": kind, "call_id": message.tool_call_id, "output": message.content}
            continue
        if message.content or not message.tool_calls:
            yield {"role": message.role, "content": message.content}
        for call in message.tool_calls:
            tool = registry.get(call.name) or Tool(call.name)
            space = str(tool.kept.get("prefix", ""))
            named = {"name": call.name.removeprefix(space)} | ({"namespace": space[:-1]} if space else {})
            if _is_custom(registry, call):
                custom.add(call.id)
                text = call.arguments[CUSTOM_INPUT]
                yield {"type": "custom_tool_call", "call_id": call.id, **named, "input": text}
            else:
                arguments = json.dumps(call.arguments, ensure_ascii=False)
                yield {"type": "function_call", "call_id": call.id, **named, "arguments": arguments}


def _messages(messages: Sequence[Message], _registry: ToolRegistry) -> dict[str, Any]:
    """A result is a block of a user message, with the results and the text beside it."""
    made: list[dict[str, Any]] = []
    system = []
    for message in messages:
        if message.role == "system":
            system.append(message.content)
            continue
        role = "assistant" if message.role == "assistant" else "user"
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
        if made and made[-1]["role"] == role:
            made[-1]["content"] += blocks
        else:
            made.append({"role": role, "content": blocks})
    return ({"system": "\n\n".join(system)} if system else {}) | {"messages": made}


_OPENAI = {"auto": "auto", "none": "none", "required": "required"}
WRITTEN: dict[str, WrittenApi] = {
    "chat": WrittenApi(
        "openai-chat", _chat, lambda name, kind: {"type": kind, kind: {"name": name}},
        lambda schema: {
            "response_format": {
                "type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}
            }
        },
        lambda effort: {"reasoning_effort": effort},
        "max_completion_tokens", "stop",
        ("top_p", "presence_penalty", "frequency_penalty", "seed"), _OPENAI,
    ),
    "responses": WrittenApi(
        "openai-responses", _responses, lambda name, kind: {"type": kind, "name": name},
        lambda schema: {
            "text": {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": schema}}
        },
        lambda effort: {"reasoning": {"effort": effort}},
        "max_output_tokens", "", ("top_p",), _OPENAI,
    ),
    "messages": WrittenApi(
        "anthropic", _messages, lambda name, _kind: {"type": "tool", "name": name},
        lambda schema: {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        lambda effort: {"output_config": {"effort": effort}},
        "max_tokens", "stop_sequences", ("top_p", "top_k"),
        {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}},
    ),
}  # fmt: skip
"""By the names of `APIS`."""
