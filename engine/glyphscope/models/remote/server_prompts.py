"""A server's own prompt for some messages, and its counts of tokens, where it reports them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from glyphscope.base.errors import ModelError
from glyphscope.base.json_values import json_object
from glyphscope.base.lines import common_length
from glyphscope.models.interface import GenerateRequest, RenderedPrompt
from glyphscope.models.remote import fields
from glyphscope.models.remote.chunks import whole_number
from glyphscope.models.remote.connection import HttpExchange, HttpReply
from glyphscope.models.remote.dialect import LLAMA_CPP_PYTHON, LLAMA_SERVER, TEMPLATE_FIELD, VLLM, Dialect
from glyphscope.models.remote.failures import words_of
from glyphscope.models.remote.retry import RequestFailed


def count_tokens(exchange: HttpExchange, dialect: Dialect, text: str) -> int:
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


def _count(exchange: HttpExchange, dialect: Dialect, text: str) -> int:
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


def rendered(exchange: HttpExchange, dialect: Dialect, asked: GenerateRequest) -> RenderedPrompt | None:
    """The prompt that the server makes of the messages and tools; None if it has no path for it, or cannot be reached.

    Raises ModelError with its words if it rejects the messages.
    """
    if not dialect.renders or not asked.messages:
        return None
    made = _rendered(exchange, dialect, asked)
    if made is None or not asked.tools:
        return made
    without = _rendered(exchange, dialect, replace(asked, tools=()))
    if without is None:
        return made
    start = common_length(made.text, without.text)
    rest, other = made.text[start:], without.text[start:]
    return RenderedPrompt(
        made.text,
        made.tokens,
        made.note,
        rest[: len(rest) - common_length(rest[::-1], other[::-1])],
        made.pieces,
    )


def _rendered(exchange: HttpExchange, dialect: Dialect, asked: GenerateRequest) -> RenderedPrompt | None:
    model = exchange.connection.address.model
    body = fields.body_of(asked, fields.EndpointConstraint(), dialect, model, logprobs=False)
    body = {name: body[name] for name in ("model", "messages", "tools", TEMPLATE_FIELD) if name in body}
    if dialect.renders == "template":
        found = _asked(exchange, "/apply-template", body)
        text = found.get("prompt")
        tokens = {"content": text, "add_special": True, "parse_special": True, "with_pieces": True}
        listed = _asked(exchange, "/tokenize", tokens).get("tokens") if isinstance(text, str) else ()
        pieces: Any = [each.get("piece") for each in listed or () if isinstance(each, dict)]
    else:
        more = {"add_generation_prompt": True, "return_token_strs": True}
        found = _asked(exchange, "/tokenize", body | more)
        ids, pieces = found.get("tokens"), found.get("token_strs")
        text = _asked(exchange, "/detokenize", {"model": model, "tokens": ids}).get("prompt") if ids else None
    if not isinstance(text, str) or not text:
        return None
    letters = dialect.renders == "tokens"
    spelled = _spelling(text, list(_bytes_of(pieces if isinstance(pieces, list) else (), letters=letters)))
    note = f"The prompt is as {dialect.title} renders it."
    return RenderedPrompt(text, len(spelled), note, pieces=spelled)


def _asked(exchange: HttpExchange, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The server's answer; empty without one. Raises ModelError for a body that it rejects."""
    address = exchange.connection.address
    try:
        reply: HttpReply = exchange.get(address.root + path, body=json.dumps(body).encode(), seconds=10.0)
    except RequestFailed:
        return {}
    if reply.status in (400, 422, 500):
        raise ModelError(words_of(reply.body), where=str(address))
    return json_object(reply.body) if reply.status == 200 else {}


def _spelling(text: str, pieces: list[bytes]) -> tuple[bytes, ...]:
    """The tokens if they spell the text, except one that begins a sequence; otherwise none."""
    data = text.encode("utf-8", "replace")
    for found in (pieces, [b"", *pieces[1:]]):
        if b"".join(found) == data:
            return tuple(found)
    return ()


def _bytes_of(pieces: Sequence[Any], *, letters: bool) -> Iterator[bytes]:
    """The bytes of tokens as a server writes them: a text, a list of bytes, or `letters` of a vocabulary by bytes."""
    for piece in pieces:
        if isinstance(piece, list):
            yield bytes(each for each in piece if isinstance(each, int) and 0 <= each < 256)
        elif isinstance(piece, str) and letters and all(char in _LETTERS for char in piece):
            yield bytes(_LETTERS[char] for char in piece)
        else:
            yield str(piece).encode("utf-8", "replace")


_PLAIN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_LETTERS = {chr(each): each for each in _PLAIN} | {
    chr(0x100 + place): each for place, each in enumerate(sorted({*range(256)} - {*_PLAIN}))
}
"""The bytes by the letters that vocabularies of GPT-2's kind write for them: `Ġ` is a space."""
