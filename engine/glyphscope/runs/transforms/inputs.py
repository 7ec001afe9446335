"""Transforms of the model's input: messages, tools and results."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from glyphscope.events import Message
from glyphscope.models.chat import results_as_user
from glyphscope.registry import ToolRegistry
from glyphscope.runs.transforms.base import Changed, Form, Messages, transform
from glyphscope.text.json_values import json_object

_SENTENCE = re.compile(r"(.+?[.!?])(\s|\Z)", re.DOTALL)
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")


@transform("message", "Tool messages become user messages.")
def tool_results_as_user(messages: Messages, form: Form) -> Changed:
    """A tool message becomes a user message, for templates without its role."""
    if not any(message.role == "tool" for message in messages):
        return messages, ""
    return tuple(results_as_user(messages)), "gave the tools' messages as the user's"


@transform("message", "Messages of one role in a row become one.")
def alternate_roles(messages: Messages, form: Form) -> Changed:
    """Consecutive messages of one role become one, for templates in which user and assistant must alternate."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            message = Message(message.role, f"{joined.pop().content}\n\n{message.content}")
        joined.append(message)
    if len(joined) == len(messages):
        return messages, ""
    return tuple(joined), f"joined {len(messages) - len(joined)} messages with the one before"


@transform("message", "The assistant's calls are in <tool_call> tags.")
def calls_in_tags(messages: Messages, form: Form) -> Changed:
    """The assistant's calls are in `<tool_call>` tags, for models that were trained with them."""
    changed = tuple(
        Message(message.role, f"<tool_call>\n{message.content}\n</tool_call>")
        if message.role == "assistant" and message.content.startswith("{")
        else message
        for message in messages
    )
    return (messages, "") if changed == messages else (changed, "put the assistant's calls into tags")


@transform("tool", "Tools are called by names in snake_case.")
def snake_case_names(registry: ToolRegistry, form: Form) -> Changed:
    """Tools are called by names in snake_case: models of several makers have difficulties with dots and capitals."""
    taken = {tool.name for tool in registry}
    tools, renamed = [], []
    for tool in registry:
        name = _WORD.sub("_", tool.name).strip("_").lower()
        if name and name != tool.name and name not in taken:
            taken.add(name)
            renamed.append(f"{tool.name} is {name}")
            tool = replace(tool, name=name)
        tools.append(tool)
    if not renamed:
        return registry, ""
    return replace(registry, tools=tuple(tools)), ", ".join(renamed)


@transform("tool", "Descriptions are cut to their first sentence.")
def short_descriptions(registry: ToolRegistry, form: Form) -> Changed:
    """A tool's description is cut to its first sentence, for small contexts."""
    tools = tuple(replace(tool, description=_first_sentence(tool.description)) for tool in registry)
    cut = sum(before.description != after.description for before, after in zip(registry, tools, strict=True))
    if not cut:
        return registry, ""
    return replace(registry, tools=tools), f"shortened {cut} descriptions"


def _first_sentence(text: str) -> str:
    found = _SENTENCE.match(text.strip())
    return found[1] if found else text


@transform("result", "Results are sent without their envelope.")
def plain_results(text: str, form: Form) -> Changed:
    """The result without its envelope: the text itself, or `Error CODE: …`."""
    envelope = json_object(text)
    if envelope.get("ok"):
        result = envelope.get("result")
        text = result if isinstance(result, str) else _compact(result)
    elif isinstance(error := envelope.get("error"), dict):
        text = f"Error {error.get('code')}: {error.get('message')}"
    else:
        return text, ""
    if "edited" in envelope:
        text += f"\nThe arguments were changed to {_compact(envelope['edited'])}."
    return text, "took the result out of its envelope"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
