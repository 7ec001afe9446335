"""A body of OpenAI's Responses, made from that of a chat completion.

It is sent to an endpoint with `?api=responses`. Only `text.format` can constrain an answer, unless the server takes
further fields; the server stores nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glyphscope.models.remote.apis import API_NAMES, response_items
from glyphscope.models.remote.dialect import FORMAT_OF_RESPONSES, RESPONSE_FORMAT, Dialect

_SAME = ("model", "stream", "temperature", "top_p", "parallel_tool_calls", "top_logprobs")
_OWN = ("stop", "chat_template_kwargs")
_LIMITS = ("max_tokens", API_NAMES["chat"].most_tokens)


def over_responses(dialect: Dialect) -> Dialect:
    """The dialect with only the fields that Responses has, and the server's own if it takes them."""
    if dialect.own_in_responses:
        return dialect._replace(api="responses", prefill="", counting={}, renders="")
    return dialect._replace(
        api="responses", grammar="", answers={}, schema="json_schema", schema_field=FORMAT_OF_RESPONSES, prefill="",
        sampling={"top_p": "top_p"}, sampling_on={}, counting={}, template_fields=False, effort="field",
        names_tool=True, most_stops=0, keeping_stop={}, renders="",
    )  # fmt: skip


def responses_body(body: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """The body with the fields of Responses; others are left out, unless they are the server's own."""
    items = [item for each in response_items(body["messages"]) for item in each if item.get("content") != ""]
    made: dict[str, Any] = {"input": items, "store": False}
    own = {
        *dialect.sampling.values(),
        *dialect.sampling_on.values(),
        *dialect.answers.values(),
        *_OWN,
        dialect.grammar,
    }
    for name, value in body.items():
        if name in _SAME or (dialect.own_in_responses and name in own):
            made[name] = value
        elif name in _LIMITS:
            made[API_NAMES["responses"].most_tokens] = value
        elif name == "tools":
            made[name] = [_tool(tool) for tool in value]
        elif name == "tool_choice":
            made[name] = _flat(value) if isinstance(value, dict) else value
        elif name == RESPONSE_FORMAT:
            made["text"] = {"format": {"type": "json_schema", **value["json_schema"]}}
        elif name == "reasoning_effort":
            made["reasoning"] = {"effort": value}
        elif name == "logprobs":
            made["include"] = ["message.output_text.logprobs"]
    return made


def _flat(value: dict[str, Any]) -> dict[str, Any]:
    """A tool or a choice of one, whose members chat completions have in an object within."""
    kind = value["type"]
    return {"type": kind, **value[kind]}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    """The tool; a function is strict by default, so that it says if it is not."""
    made = _flat(tool)
    if made["type"] == "function":
        return {"strict": False, **made}
    form = made.get("format", {})
    inner = form.get(form.get("type"))
    return made | ({"format": {"type": form["type"], **inner}} if isinstance(inner, dict) else {})
