"""A generation as the body of a chat completion, and as a readable text of the sent messages.

Only this module chooses the field for a run's constraint, and reports it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from glyphscope import events
from glyphscope.base.errors import GrammarError, PromptError
from glyphscope.base.shorten import listed
from glyphscope.models.chat import RESULTS_AS_USER, results_as_user
from glyphscope.models.chat_messages import link_results, with_calls_as_text
from glyphscope.models.interface import GenerateRequest
from glyphscope.models.remote.apis import openai_message
from glyphscope.models.remote.dialect import RESPONSE_FORMAT, TEMPLATE_FIELD, Dialect
from glyphscope.models.remote.responses import responses_body
from glyphscope.registry.forms import with_custom
from glyphscope.registry.tool import CUSTOM_INPUT

MAX_ALTERNATIVES = 20
"""Alternatives that OpenAI and vLLM report for one token."""

_EFFORT = "reasoning_effort"
_SWITCH = "enable_thinking"
"""The variable that most templates read; an endpoint passes it to its template, whether or not that reads it."""
_SHOWN = 8
"""Tools that a note names."""


EnforcedKind: TypeAlias = Literal["", "grammar", "schema", "tools"]


class EndpointConstraint(NamedTuple):
    """`enforced` is the part of the run's constraint that the endpoint enforces, `field` the field it is sent in."""

    enforced: EnforcedKind = ""
    field: str = ""
    fields: Mapping[str, Any] = {}
    note: str = ""


FORBIDDEN_CALLS = EndpointConstraint("tools", "tool_choice")
"""Without a constraint, too, a request may forbid calls, or a second one."""


def constraint_of(request: GenerateRequest, dialect: Dialect) -> EndpointConstraint:
    """Raises GrammarError if this endpoint has no field for calls: no run continues without their constraint.

    An answer that is not a call is sent as it is where the endpoint has a field for its kind, otherwise as a grammar or
    a schema; if it has neither, nothing enforces the answer, which the note says.
    """
    choice = request.tool_choice
    if request.constraint == "off":
        return FORBIDDEN_CALLS if request.tools and choice in ("auto", "none") else EndpointConstraint()
    if request.tools:
        strict = sum(tool.get("function", {}).get("strict") is True for tool in request.tools)
        note = f"Constraint: the endpoint's own, as tool_choice {choice}; what it enforces of the schemas is up to it."
        note += f" strict is sent for {strict} of {len(request.tools)} tools." if strict else ""
        return EndpointConstraint("tools", "tool_choice", note=note)
    kind = request.answer.kind
    if (field := dialect.answers.get(kind, "")) and (kind != "schema" or request.schema is not None):
        return _constraint(request, dialect, "schema" if kind == "schema" else "grammar", field, kind)
    if dialect.grammar and request.grammar is not None:
        return _constraint(request, dialect, "grammar", dialect.grammar, "gbnf")
    if request.schema is not None:
        return _constraint(request, dialect, "schema", RESPONSE_FORMAT, "schema")
    if not request.answer.is_call:
        words = f"{dialect.title} has no field for this answer ({request.answer})"
        return EndpointConstraint(
            note=f"Constraint: none. {words}: nothing enforces it, and it is judged here."
        )
    raise GrammarError(
        f"This endpoint ({dialect.title}) takes no grammar, and this constraint is not a JSON Schema.",
        hint="Use --notation json (strategy direct) or native, name its dialect (?dialect=…), or --constraint off.",
    )


_SENT: dict[events.AnswerKind, str] = {
    "schema": "JSON Schema", "regex": "a regular expression", "choice": "a list", "gbnf": "GBNF"
}  # fmt: skip


def _constraint(
    request: GenerateRequest, dialect: Dialect, enforced: EnforcedKind, field: str, kind: events.AnswerKind
) -> EndpointConstraint:
    """A constraint of that kind in the field, with its note."""
    value: Any = {
        "schema": request.schema,
        "choice": list(request.answer.choices),
        "gbnf": request.grammar,
    }.get(kind, request.answer.text)
    if field == RESPONSE_FORMAT:
        fields = _schema(dialect, value, "call" if request.answer.is_call else "answer")
    else:
        for name in reversed(field.split(".")):
            value = {name: value}
        fields = value
    shown = dialect.schema_field if field == RESPONSE_FORMAT else field
    note = f"Constraint: the endpoint's own, as {_SENT[kind]} in {shown} ({dialect.title})."
    return EndpointConstraint(enforced, shown, fields, note)


def _schema(dialect: Dialect, schema: dict[str, Any], name: str) -> dict[str, Any]:
    if dialect.schema == "json_object":
        return {RESPONSE_FORMAT: {"type": "json_object", "schema": schema}}
    named = {"name": name, "strict": True, "schema": schema}
    return {RESPONSE_FORMAT: {"type": "json_schema", "json_schema": named}}


def outgoing(messages: Sequence[events.Message]) -> tuple[list[events.Message], str]:
    """The messages to send, and a note. A tool's result needs the id of an earlier call; if calls are text of the
    assistant, their results are sent as user messages.
    """
    linked = link_results(messages)
    if any(message.role == "tool" and not message.tool_call_id for message in linked):
        return results_as_user(messages), RESULTS_AS_USER.replace(
            "model's chat template takes", "endpoint gets"
        )
    return linked, ""


def readable(messages: Sequence[events.Message], tools: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """The sent messages as readable text, each under its role, ending before the answer; and the part of the tools."""
    added = f"[tools]\n{json.dumps(list(tools), ensure_ascii=False, indent=1)}\n\n" if tools else ""
    turns = [f"[{message.role}]\n{with_calls_as_text(message)}\n\n" for message in messages]
    return f"{added}{''.join(turns)}[assistant]\n", added


def sent_tools(tools: Sequence[dict[str, Any]], dialect: Dialect) -> list[dict[str, Any]]:
    """The functions, as custom tools where they are such and the server has them."""
    return with_custom(tools) if dialect.custom_tools else list(tools)


def tools_note(tools: Sequence[dict[str, Any]], dialect: Dialect) -> str:
    """A note on custom tools that the server knows only as functions; empty without them."""
    names = [] if dialect.custom_tools else [*_custom_names(with_custom(tools))]
    if not names:
        return ""
    what = (
        f"The custom tool {names[0]} was"
        if len(names) == 1
        else f"The custom tools {listed(names, _SHOWN)} were"
    )
    return (
        f"{what} sent as {'a function' if len(names) == 1 else 'functions'} with the argument {CUSTOM_INPUT}, as "
        f"{dialect.title} has no custom tools: the grammar of the text may be ignored there, and is judged here."
    )


def _custom_names(tools: Sequence[dict[str, Any]]) -> Iterator[str]:
    return (tool["custom"]["name"] for tool in tools if tool["type"] == "custom")


def body_of(
    request: GenerateRequest, constraint: EndpointConstraint, dialect: Dialect, model: str, *, logprobs: bool
) -> dict[str, Any]:
    """The request's body. Raises PromptError if the endpoint cannot continue an existing answer."""
    custom = frozenset(_custom_names(sent_tools(request.tools, dialect)))
    keys = ["reasoning_content"] if dialect.template_fields else []  # only templates may read it
    messages = [openai_message(message, keys, custom) for message in outgoing(request.messages)[0]]
    if not messages:
        messages = [{"role": "user", "content": request.prompt}]
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True, **dialect.counting}
    if request.begun:
        body |= _begun(request.begun, messages, dialect)
    body |= _sampling(request, dialect)
    if request.tools:
        body |= asked_tools(request, dialect)
    elif logprobs and request.evidence != "none":
        body["logprobs"] = True
        if request.alternatives:
            body["top_logprobs"] = min(request.alternatives, MAX_ALTERNATIVES)
    body |= {**_template_fields(request.chat, dialect), **constraint.fields}
    return _merged(responses_body(body, dialect) if dialect.api == "responses" else body, request, constraint)


def _merged(body: dict[str, Any], request: GenerateRequest, constraint: EndpointConstraint) -> dict[str, Any]:
    """The body with the extra fields. Raises PromptError for the field of the run's constraint."""
    root, *inner = constraint.field.split(".")
    for name, value in request.extra_body.items():
        if name == root and not (inner and isinstance(value, dict) and inner[0] not in value):
            raise PromptError(
                f"Extra fields cannot set {name}: it is the run's constraint.",
                where="extra_body",
                hint="Leave it out, or use --constraint off.",
            )
        before = body.get(name)
        body[name] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
    return body


def extra_note(request: GenerateRequest) -> str:
    """A note on the extra fields, of which an endpoint does not say whether it used them."""
    names = listed(list(request.extra_body), _SHOWN)
    return f"Extra fields: {names}. Servers may ignore fields that they do not know." if names else ""


def extra_hint(request: GenerateRequest, said: str) -> str:
    """The hint for a rejection whose words name an extra field; empty for any other."""
    named = [name for name in request.extra_body if name.lower() in said.lower()]
    return f"Leave the extra field {named[0]} out, or give it another value." if named else ""


def _template_fields(chat: events.ChatOptions, dialect: Dialect) -> dict[str, Any]:
    """The fields for the options of the chat template, where the endpoint has any."""
    fields: dict[str, Any] = {}
    variables: dict[str, Any] = {} if chat.thinking == "auto" else {_SWITCH: chat.thinking == "on"}
    if chat.reasoning_effort != events.AUTO and dialect.effort:
        (variables if dialect.effort == "template" else fields)[_EFFORT] = chat.reasoning_effort
    variables |= chat.template_vars
    return fields | ({TEMPLATE_FIELD: variables} if variables and dialect.template_fields else {})


def asked_tools(request: GenerateRequest, dialect: Dialect) -> dict[str, Any]:
    """The fields for the tools, the tool choice, and whether several calls are allowed.

    Without a constraint, no call is required, so that the model's own behaviour is seen.
    """
    tools, choice = sent_tools(request.tools, dialect), request.tool_choice
    fields: dict[str, Any] = {"tools": tools, "parallel_tool_calls": request.most_calls != 1}
    if choice in ("auto", "none"):
        return fields | {"tool_choice": choice}
    if request.constraint == "off":
        return fields | {"tool_choice": "auto"}
    if choice == "required":
        return fields | {"tool_choice": "required"}
    if dialect.names_tool:
        kind = "custom" if choice in _custom_names(tools) else "function"
        return fields | {"tool_choice": {"type": kind, kind: {"name": choice}}}
    named = [tool for tool in tools if tool["function"]["name"] == choice]
    return fields | {"tools": named, "tool_choice": "required"}


def chat_note(chat: events.ChatOptions, dialect: Dialect, *, rendered: bool = False) -> str:
    """A note on the options of the chat template. Unless the prompt is `rendered` by the server, it is the same with
    all of them.
    """
    unseen = "." if rendered else ", which does not report its effect."
    options = []
    if chat.thinking != "auto":
        options.append((f"Thinking {chat.thinking}", TEMPLATE_FIELD if dialect.template_fields else ""))
    if chat.reasoning_effort != events.AUTO:
        place = {"": "", "field": _EFFORT, "template": TEMPLATE_FIELD}[dialect.effort]
        options.append((f"Reasoning effort {chat.reasoning_effort}", place))
    place = TEMPLATE_FIELD if dialect.template_fields else ""
    options += [(f"The variable {name}", place) for name in chat.template_vars]
    return " ".join(
        f"{what} was sent in {place} ({dialect.title}){unseen}"
        if place
        else f"{dialect.title} has no field for {what[0].lower()}{what[1:]}; the endpoint's default applies."
        for what, place in options
    )


def unsaid(request: GenerateRequest, dialect: Dialect) -> str:
    """A note on the sampling for which this endpoint has no fields; empty if it has fields for all of it."""
    fields = {**dialect.sampling, **dialect.sampling_on}
    left = [name for name in request.sampling.in_effect if name not in fields]
    if len(_biases(request, dialect)) < len(request.sampling.logit_bias):
        left.append("logit_bias of texts")
    notes = [f"{dialect.title} has no field for {', '.join(left)}; sampling did not use it."] if left else []
    if len(request.stop) > len(_stops(request, dialect)):
        left_out = "left out" if request.tools else "looked for here, as its text comes"
        those = (
            f"{dialect.most_stops} stop strings: the others"
            if dialect.most_stops
            else "no stop strings: they"
        )
        notes.append(f"{dialect.title} takes {those} are {left_out}.")
    return " ".join(notes)


def _stops(request: GenerateRequest, dialect: Dialect) -> tuple[str, ...]:
    return request.stop[: dialect.most_stops]


def with_written(request: GenerateRequest, dialect: Dialect) -> GenerateRequest:
    """The request for an answer with a prefix. Raises GrammarError under a constraint, which an endpoint applies only
    after the prefix; PromptError for a call in the endpoint's own form, or if the endpoint supports no prefix.
    """
    if not request.written:
        return request
    if request.tools:
        raise PromptError(
            "An endpoint cannot continue a call in its own format.",
            hint="Use JSON or GLYPH.",
        )
    if request.constraint != "off":
        raise GrammarError(
            "An endpoint applies its constraint from the first token that it writes, so it cannot continue existing "
            "text under a constraint.",
            hint="Turn the constraint off for this run, or branch with a model here.",
        )
    if not dialect.prefill:
        raise PromptError(
            f"This endpoint ({dialect.title}) cannot continue an existing answer.",
            hint="Branch with a model here, or an endpoint of llama-server, vLLM or SGLang.",
        )
    text = b"".join(one.data for one in request.written).decode("utf-8", errors="replace")
    return msgspec.structs.replace(request, begun=request.begun + text)


def _begun(begun: str, messages: list[dict[str, Any]], dialect: Dialect) -> dict[str, Any]:
    if not dialect.prefill:
        raise PromptError(
            f"This endpoint ({dialect.title}) cannot continue an existing answer.",
            hint="Use the strategy direct, or an endpoint of llama-server, vLLM or SGLang.",
        )
    messages.append({"role": "assistant", "content": begun})
    if dialect.prefill == "continue":
        return {"add_generation_prompt": False, "continue_final_message": True}
    return {}


def _biases(request: GenerateRequest, dialect: Dialect) -> list[tuple[int | str, float]] | dict[str, float]:
    """The logit biases that the server has a form for: not those of texts, where it has only ids."""
    biases = list(map(events.read_bias, request.sampling.logit_bias))
    if dialect.biases == "pairs":
        return biases
    return {str(token): bias for token, bias in biases if isinstance(token, int)}


def _sampling(request: GenerateRequest, dialect: Dialect) -> dict[str, Any]:
    sampling = request.sampling
    fields: dict[str, Any] = {"temperature": sampling.temperature, dialect.most_tokens: request.max_tokens}
    settings = events.settings_of(events.Sampling)
    for ours, theirs in {**dialect.sampling, **dialect.sampling_on}.items():
        setting, value = settings[ours], getattr(sampling, ours)
        if sampling.temperature == 0 and ours in ("typical_p", "xtc_probability"):
            value = setting.off  # llama.cpp uses them at temperature 0 too
        if ours in dialect.sampling or (events.is_needed(sampling, setting) and value != setting.off):
            fields[theirs] = value
    if biases := _biases(request, dialect):
        fields["logit_bias"] = biases
    else:
        fields.pop("logit_bias", None)
    if stops := _stops(request, dialect):
        fields |= {"stop": list(stops)} | ({} if request.tools else dict(dialect.keeping_stop))
    if sampling.temperature == 0 and not dialect.grammar:
        fields.pop("top_p", None)  # OpenAI recommends only one of the two
    if sampling.top_k == 0 and "top_k" in dialect.sampling:
        fields[dialect.sampling["top_k"]] = dialect.off_top_k
    return fields
