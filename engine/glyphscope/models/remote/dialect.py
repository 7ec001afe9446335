"""The fields of servers beyond OpenAI's protocol, and how each server is recognised.

The facts are from the servers' documentation: llama.cpp's `tools/server/README.md`, the pydantic models of
llama-cpp-python, vLLM and SGLang, and OpenAI's reference. Ollama, LM Studio and others count as `compatible`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from glyphscope.base.errors import ModelError, find_named
from glyphscope.events import AnswerKind

SchemaField: TypeAlias = Literal["json_schema", "json_object"]
Prefill: TypeAlias = Literal["", "message", "continue"]

TEMPLATE_FIELD = "chat_template_kwargs"
"""The field for the variables of an endpoint's template; vLLM, SGLang and llama-server have it."""


RESPONSE_FORMAT = "response_format"
"""OpenAI's field for a JSON Schema."""
FORMAT_OF_RESPONSES = "text.format"
"""That of Responses."""


class Dialect(NamedTuple):
    """A server's fields. `sampling` maps Glyphscope's names to the server's, and `sampling_on` those that are sent only
    if they have an effect; it supports no others. `biases` is the form of its `logit_bias`: pairs of an id or a text
    and the bias, or an object of biases by id.

    `grammar` is the field for GBNF, empty if there is none; `answers` has the fields for answers that are not
    calls, by their kinds. A field within another is written with a dot. `schema` is the form of `response_format`.
    `prefill` is the form of an answer with a prefix: a last message, possibly with fields that request its
    continuation. `counting` are fields that make every chunk report the counts so far. `tokenize` is the path of
    its tokenizer. `figures`: it can return log-probabilities and still write the whole text. `template_fields`: it
    may accept `chat_template_kwargs`; otherwise it is known to reject or ignore them. `effort` is the place of the
    reasoning effort: OpenAI's field, or among the variables of the template. `names_tool`: a `tool_choice` may name
    the tool; otherwise only that tool is sent, and a call is required. `most_stops`: it accepts only so many stop
    strings. `custom_tools`: tools may be custom ones, with a grammar; otherwise they are functions. `keeping_stop` are
    fields that make it send the stop string that it found, so that the end is known. `api` is the interface, in which
    `schema_field` is the name of `response_format`. `own_in_responses`: Responses takes these fields too, and only
    they constrain an answer there. `renders`: it reports the prompt that it makes of messages, as a
    text (`/apply-template`) or as tokens (`/tokenize`).
    """

    name: str
    title: str
    grammar: str = ""
    answers: Mapping[AnswerKind, str] = {}
    schema: SchemaField = "json_schema"
    prefill: Prefill = ""
    sampling: Mapping[str, str] = {}
    sampling_on: Mapping[str, str] = {}
    biases: Literal["ids", "pairs"] = "ids"
    most_tokens: str = "max_tokens"
    counting: Mapping[str, Any] = {"stream_options": {"include_usage": True}}
    tokenize: str = ""
    off_top_k: int = 0
    figures: bool = True
    template_fields: bool = True
    effort: Literal["", "field", "template"] = "field"
    names_tool: bool = True
    most_stops: int | None = None
    custom_tools: bool = False
    keeping_stop: Mapping[str, Any] = {}
    api: Literal["chat", "responses"] = "chat"
    schema_field: str = RESPONSE_FORMAT
    own_in_responses: bool = False
    renders: Literal["", "template", "tokens"] = ""


def _same(*names: str) -> dict[str, str]:
    return dict(zip(names, names))


_OPENAI_ON = _same("presence_penalty", "frequency_penalty", "logit_bias")
_LLAMA = _same("top_k", "top_p", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty", "seed")
_VLLM = _LLAMA | {"repeat_penalty": "repetition_penalty"}
_EVERY_CHUNK = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}

LLAMA_SERVER = Dialect(
    "llama-server", "llama-server", "grammar", {"schema": "json_schema"}, prefill="message", tokenize="/tokenize",
    sampling=_LLAMA | _same("repeat_last_n", "typical_p", "top_n_sigma", "xtc_probability", "dry_multiplier"),
    sampling_on=_same(
        "xtc_threshold", "dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers", "logit_bias",
    ),
    biases="pairs",
    counting={"stream_options": {"include_usage": True}, "timings_per_token": True},
    renders="template", effort="template",
    own_in_responses=True,  # it ignores `text.format` (build 11549)
    names_tool=False,  # it silently treats the object as "auto": ggml-org/llama.cpp issue 26535
)  # fmt: skip
LLAMA_CPP_PYTHON = Dialect(
    "llama-cpp-python", "llama_cpp.server", "grammar", schema="json_object", sampling=_LLAMA,
    sampling_on=_same("logit_bias"),
    counting={}, tokenize="/extras/tokenize/count",
    figures=False,  # with them it omits every token that is part of a character (0.3.36: `Llama._create_completion`)
    template_fields=False, effort="",
)  # fmt: skip
VLLM = Dialect(
    "vllm", "vLLM", "structured_outputs.grammar",
    {
        "schema": "structured_outputs.json", "regex": "structured_outputs.regex",
        "choice": "structured_outputs.choice",
    },
    prefill="continue", sampling=_VLLM, sampling_on=_same("logit_bias"), counting=_EVERY_CHUNK,
    tokenize="/tokenize", renders="tokens", off_top_k=-1, keeping_stop={"include_stop_str_in_output": True},
)  # fmt: skip
VLLM_GUIDED = VLLM._replace(
    name="vllm-guided", grammar="guided_grammar",
    answers={"schema": "guided_json", "regex": "guided_regex", "choice": "guided_choice"},
)  # fmt: skip
SGLANG = Dialect(
    "sglang", "SGLang", "ebnf", {"schema": RESPONSE_FORMAT, "regex": "regex"}, prefill="continue", sampling=_VLLM,
    sampling_on=_same("logit_bias"),
    counting=_EVERY_CHUNK, off_top_k=-1, keeping_stop={"no_stop_trim": True},
)  # fmt: skip
OPENAI = Dialect(
    "openai", "OpenAI", sampling=_same("top_p", "seed"), sampling_on=_OPENAI_ON, most_tokens="max_completion_tokens",
    template_fields=False, most_stops=4, custom_tools=True,
)  # fmt: skip
COMPATIBLE = Dialect(
    "compatible", "OpenAI-compatible", sampling=_same("top_p", "seed"), sampling_on=_OPENAI_ON
)

DIALECTS = {
    each.name: each
    for each in (LLAMA_SERVER, LLAMA_CPP_PYTHON, VLLM, VLLM_GUIDED, SGLANG, OPENAI, COMPATIBLE)
}

_OWNERS = {"llamacpp": LLAMA_SERVER, "me": LLAMA_CPP_PYTHON, "vllm": VLLM, "sglang": SGLANG}
"""Servers by the model's `owned_by` in the list of models."""
_STRUCTURED_OUTPUTS = (0, 11)
"""The first version of vLLM with `structured_outputs`; earlier ones have `guided_grammar` and `guided_json`."""


def dialect_named(name: str, where: str) -> Dialect:
    """The dialect of that name. Raises ModelError for an unknown one."""
    return find_named(DIALECTS, name, f"dialect {name!r}", error=ModelError, where=where)


def dialect_of(host: str, owner: str, headers: Mapping[str, str]) -> Dialect | None:
    """The dialect that the list of models and its headers show; None if they do not."""
    if host == "api.openai.com":
        return OPENAI
    if "llama.cpp" in headers.get("server", "").lower():
        return LLAMA_SERVER
    return _OWNERS.get(owner.lower())


def vllm_of(version: str) -> Dialect:
    """vLLM's dialect by its version; the current one if the version is unknown."""
    match = re.match(r"v?(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) >= _STRUCTURED_OUTPUTS:
        return VLLM
    return VLLM_GUIDED
