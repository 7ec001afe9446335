"""The chat APIs as readers and writers of their bodies both need them: names of members, and the items of Responses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from glyphscope.base.json_values import as_object
from glyphscope.events import Message
from glyphscope.models.chat_messages import CallStyle, template_message
from glyphscope.registry.tool import CUSTOM_INPUT
from glyphscope.registry.tool_forms import FORMS

ChatApi: TypeAlias = Literal["chat", "responses", "messages", "ollama"]
"""OpenAI's Chat Completions and Responses, Anthropic's Messages, and Ollama's chat."""


class ApiNames(NamedTuple):
    """`path` is the end of the path of its requests, `form` that of its tools in `FORMS`. The others are members of a
    request: with the messages, with the system prompt (empty if that is a message), the limit of tokens, stop texts.
    """

    path: str
    messages: str
    system: str
    most_tokens: str
    stop: str
    form: str = ""

    @property
    def title(self) -> str:
        return FORMS[self.form].title if self.form else "Ollama's chat"


API_NAMES: dict[str, ApiNames] = {
    "chat": ApiNames("/chat/completions", "messages", "", "max_completion_tokens", "stop", "openai-chat"),
    "responses": ApiNames("/responses", "input", "instructions", "max_output_tokens", "", "openai-responses"),
    "messages": ApiNames("/messages", "messages", "system", "max_tokens", "stop_sequences", "anthropic"),
    "ollama": ApiNames("/api/chat", "messages", "", "num_predict", "stop"),
}
"""By the names of `ChatApi`."""

_OPENAI = CallStyle("string", None)
RESPONSE_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The items of Responses that are calls, each with the member that has its text."""
RESPONSE_RESULTS = {kind: f"{kind}_output" for kind in RESPONSE_CALLS}
"""The items with the results of those calls."""


def openai_message(
    message: Message, reasoning_keys: Sequence[str], custom: Collection[str] = ()
) -> dict[str, Any]:
    """The message as OpenAI's API has it: arguments are text, and an empty text beside calls is null. Calls of the
    tools named in `custom` are those of custom tools.
    """
    made = template_message(message, _OPENAI, reasoning_keys)
    for call, given in zip(message.tool_calls, made.get("tool_calls", ())):
        text = call.arguments.get(CUSTOM_INPUT)
        if call.name in custom and isinstance(text, str):
            del given["function"]
            given |= {"type": "custom", "custom": {"name": call.name, "input": text}}
    return made


def full_name(item: Mapping[str, Any]) -> str:
    """The name in a call of Responses, after its namespace if it has one; empty for none."""
    parts = (item.get("namespace"), item.get("name"))
    return ".".join(part for part in parts if isinstance(part, str) and part)


def response_in(document: dict[str, Any]) -> dict[str, Any]:
    """The response that a document of Responses is, or that an event of its stream has; empty without one."""
    return document if document.get("object") == "response" else as_object(document.get("response"))


def response_items(
    messages: Iterable[dict[str, Any]], spaces: Mapping[str, str] | None = None
) -> Iterator[list[dict[str, Any]]]:
    """The items of Responses for each message of a chat completion; `spaces` has the beginnings of the names of tools
    that are in a namespace.
    """
    kinds: dict[str, str] = {}
    for message in messages:
        if message["role"] == "tool":
            id = message["tool_call_id"]
            kind = RESPONSE_RESULTS[kinds.get(id, "function_call")]
            yield [{"type": kind, "call_id": id, "output": message["content"]}]
            continue
        text, calls = message.get("content") or "", message.get("tool_calls", ())
        items = [{"role": message["role"], "content": text}] if text or not calls else []
        for call in calls:
            kinds[call["id"]] = kind = "custom_tool_call" if call["type"] == "custom" else "function_call"
            called, member = call[call["type"]], RESPONSE_CALLS[kind]
            space = (spaces or {}).get(called["name"], "")
            named = {"name": called["name"].removeprefix(space)} | (
                {"namespace": space[:-1]} if space else {}
            )
            items.append({"type": kind, "call_id": call["id"], **named, member: called[member]})
        yield items
