"""The facts about an endpoint: its models, its server, and the facts that the server reports about the model."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from glyphscope.errors import ModelError
from glyphscope.events import ModelInfo
from glyphscope.models.remote.address import Address
from glyphscope.models.remote.chunks import whole_number
from glyphscope.models.remote.connection import Exchange, Reply
from glyphscope.models.remote.dialect import (
    COMPATIBLE,
    LLAMA_CPP_PYTHON,
    LLAMA_SERVER,
    SGLANG,
    VLLM,
    Dialect,
    dialect_named,
    dialect_of,
    vllm_of,
)
from glyphscope.models.remote.failures import not_understood, refusal
from glyphscope.models.remote.retry import RequestFailed, Retries
from glyphscope.text.json_values import as_object, json_object
from glyphscope.text.shorten import excerpt

_PROBES = (
    ("/props", "default_generation_settings", LLAMA_SERVER),
    ("/get_model_info", "model_path", SGLANG),
    ("/version", "version", VLLM),
)
"""Paths outside the API that only one kind of server has, each with a member of its answer."""
_MAX_SERVER = 80
"""Characters of a server's name with its version."""


class Found(NamedTuple):
    """`model` is the name sent in requests."""

    info: ModelInfo
    dialect: Dialect
    model: str
    logprobs: bool


def find(exchange: Exchange) -> Found:
    """The facts about the exchange's endpoint. Raises ModelError and RequestFailed."""
    address = exchange.connection.address
    named, figures = address.option("dialect"), address.option("logprobs")
    dialect = dialect_named(named, str(address)) if named else None
    reply = _models(exchange)
    entries = _entries(reply, address)
    entry = _entry(entries, address)
    model = address.model or str(entry["id"])
    host = address.origin.partition("://")[2].rpartition(":")[0]
    dialect = dialect or dialect_of(host, str(entry.get("owned_by") or ""), reply.headers)
    facts: dict[str, Any] = {}
    if dialect is None:
        dialect, facts = _probed(exchange)
    elif host != "api.openai.com":
        path = next((path for path, _, known in _PROBES if known.title == dialect.title), "")
        facts = _facts(exchange, address.root + path) if path else {}
    version = str(facts.get("version") or facts.get("build_info") or "")
    if dialect.name == VLLM.name and not named:
        dialect = vllm_of(version)
    logprobs = figures == "yes" or (dialect.figures and figures != "no")
    return Found(_info(address.named(model), model, entry, facts, dialect, version), dialect, model, logprobs)


def count_tokens(exchange: Exchange, dialect: Dialect, text: str) -> int:
    """The count by the server's tokenizer. Raises ModelError if it has none, or does not answer as documented."""
    if not dialect.tokenize:
        raise ModelError(
            f"This endpoint ({dialect.title}) does not count tokens before it answers.",
            where=str(exchange.connection.address),
        )
    count = _count(exchange, dialect, text)
    if dialect is LLAMA_CPP_PYTHON:  # it also counts the token that begins a sequence, if the model has one
        count -= _count(exchange, dialect, "")
    return count


def _count(exchange: Exchange, dialect: Dialect, text: str) -> int:
    address = exchange.connection.address
    field = {VLLM.title: "prompt", LLAMA_SERVER.title: "content"}.get(dialect.title, "input")
    asked: dict[str, Any] = {field: text, "add_special_tokens": False}
    if dialect is not LLAMA_SERVER:
        asked["model"] = address.model
    try:
        reply = exchange.get(address.root + dialect.tokenize, body=json.dumps(asked).encode())
    except RequestFailed as refused:
        raise refused.error from None
    found = json_object(reply.body) if reply.status == 200 else {}
    if (count := whole_number(found.get("count"))) is not None:
        return count
    if isinstance(tokens := found.get("tokens"), list):
        return len(tokens)
    raise ModelError(f"This endpoint ({dialect.title}) does not count tokens.", where=str(address))


def _models(exchange: Exchange) -> Reply:
    """The list of models. A status of 404 is also an answer, as not every endpoint has a list."""
    connection = exchange.connection
    address = connection.address
    retries = Retries(connection.patience)
    while True:
        try:
            reply = exchange.get(f"{address.base}/models", seconds=connection.patience.connect + 20)
            if reply.status == 200 or (reply.status in (404, 405) and address.model):
                return reply
            had_key = bool(connection.key)
            raise refusal(reply.status, reply.headers, reply.body, address, had_key=had_key)
        except RequestFailed as refused:
            exchange.wait(retries.pause(refused))


def _entries(reply: Reply, address: Address) -> list[dict[str, Any]]:
    if reply.status != 200:
        return []
    try:
        document = json.loads(reply.body)
    except (ValueError, RecursionError):
        page = reply.body.lstrip()[:1] == b"<"
        what = (
            "The endpoint sent a web page for its list of models."
            if page
            else "Its list of models is not JSON."
        )
        raise not_understood(what, address, reply.body) from None
    listed = document.get("data", document.get("models")) if isinstance(document, dict) else document
    if not isinstance(listed, list):
        raise not_understood("The endpoint sent no list of models.", address, reply.body)
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("id"), str)]


def _entry(entries: list[dict[str, Any]], address: Address) -> dict[str, Any]:
    """The entry of the requested model. Raises ModelError if there is none to choose."""
    if address.model:
        found = next((each for each in entries if each["id"] == address.model), None)
        # some servers accept any name, and some list fewer models than they have
        return found or (entries[0] | {"meta": None, "max_model_len": None} if entries else {})
    if not entries:
        raise ModelError(
            "The endpoint lists no models.",
            where=str(address),
            hint="Name one behind the address: …/v1#model-name.",
        )
    return entries[0]


def _probed(exchange: Exchange) -> tuple[Dialect, dict[str, Any]]:
    for path, member, dialect in _PROBES:
        facts = _facts(exchange, exchange.connection.address.root + path)
        if member in facts:
            return dialect, facts
    return COMPATIBLE, {}


def _facts(exchange: Exchange, url: str) -> dict[str, Any]:
    """The facts that a server reports; empty if it reports none."""
    try:
        reply = exchange.get(url, seconds=5.0)
    except RequestFailed:
        return {}
    return json_object(reply.body) if reply.status == 200 else {}


def _info(
    address: Address, model: str, entry: dict[str, Any], facts: dict[str, Any], dialect: Dialect, version: str
) -> ModelInfo:
    meta, settings = as_object(entry.get("meta")), as_object(facts.get("default_generation_settings"))
    name = model.replace("\\", "/").rpartition("/")[2] if model.endswith(".gguf") else model
    return ModelInfo(
        name=name.removesuffix(".gguf"),
        kind="remote",
        path=str(address),
        parameters=_number(meta.get("n_params")),
        vocabulary=_number(meta.get("n_vocab")),
        context=_number(entry.get("max_model_len")) or _number(settings.get("n_ctx")),
        bytes=_number(meta.get("size")),
        tool_calls="openai",
        server=excerpt(f"{dialect.title} {version}", _MAX_SERVER),
        reads_thinking=None if dialect.template_fields else False,
    )


def _number(value: Any) -> int:
    return whole_number(value) or 0
