"""The errors of an endpoint: what happened, where, and what to do. Never with a key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx2

from glyphscope.base.errors import ContextOverflow, GlyphscopeError, ModelError, PromptError
from glyphscope.base.json_values import as_object, json_object
from glyphscope.base.shorten import excerpt
from glyphscope.models.remote.address import KEY_HINT, Address
from glyphscope.models.remote.dialect import TEMPLATE_FIELD
from glyphscope.models.remote.keys import without
from glyphscope.models.remote.retry import RETRYABLE_STATUS, RequestFailed, asked_pause


def unreachable(error: httpx2.HTTPError, address: Address, key: str) -> RequestFailed:
    """The error of a request without any answer."""
    words = excerpt(without(key, str(error)), 200).rstrip(".") or type(error).__name__
    hint, again = "Is the server running, and is this its address?", True
    match error:
        case httpx2.ConnectTimeout():
            said = "The endpoint did not accept the connection in time."
        case httpx2.ConnectError() if "CERTIFICATE" in words.upper():
            said, again = f"TLS certificate verification failed: {words}", False
            hint = "Fix the certificate, or name its authority in SSL_CERT_FILE."
        case httpx2.ConnectError():
            said = f"The endpoint cannot be reached: {words}."
        case httpx2.RemoteProtocolError() | httpx2.ReadError() | httpx2.WriteError():
            said = f"The endpoint closed the connection instead of answering: {words}."
            hint = "See the server's log."
        case _:
            said = f"The request could not be sent: {words}."
    return RequestFailed(ModelError(said, where=str(address), hint=hint), again=again)


def refusal(
    status: int, headers: Mapping[str, str], body: bytes, address: Address, *, had_key: bool
) -> RequestFailed:
    """The error of a status other than 200; the key is removed from `body`."""
    said, where = words_of(body), str(address)
    if (overflow := _overflow(body, where)) is not None:
        return RequestFailed(overflow, again=False)
    kind: type[GlyphscopeError] = ModelError
    hint = "See the server's log."
    if status in (401, 403):
        words = f"{'The key was rejected' if had_key else 'The endpoint asks for a key'} ({status})."
        hint = KEY_HINT
    elif 300 <= status < 400:
        words = f"The endpoint redirects to another address ({status}), to which the key is not sent."
        said, hint = "", "Use that address."
    elif status == 404:
        words = f"There is no such model or path ({status})."
        hint = "The address of an API mostly ends in /v1; a model is named behind it, as in …/v1#name."
        if address.option("api") == "responses":
            hint = "The server may not have Responses: ?api=chat in the address asks it by chat completions."
    elif status == 429:
        words, hint = f"Rate limited or overloaded ({status}).", "Try again later, or send smaller requests."
    elif status in (400, 413, 422):
        kind, words, hint = PromptError, f"The endpoint rejected the request ({status}).", _hint(said)
    else:
        words = f"The endpoint failed ({status})."
    error = kind(f"{words} {said}".rstrip(), where=where, hint=hint)
    return RequestFailed(
        error, again=status in RETRYABLE_STATUS, wait=asked_pause(headers.get("retry-after"))
    )


def words_of(body: bytes) -> str:
    """The sentence in an error's body: the message in JSON, or the title of a web page."""
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError):
        if body.lstrip()[:1] == b"<":
            title = re.search(rb"<title[^>]*>(.{1,400}?)</title", body, re.IGNORECASE | re.DOTALL)
            return f"It sent a web page: {excerpt(title[1] if title else body, 120)}"
        return excerpt(body)
    return excerpt(message_of(document))


def message_of(document: Any) -> str:
    """The message in any of the known forms of errors."""
    found = document
    for name in ("error", "detail", "message"):
        if isinstance(found, dict) and found.get(name):
            found = found[name]
    if isinstance(found, str):
        return found
    return json.dumps(found, ensure_ascii=False) if found else ""


def not_understood(what: str, address: Address, data: bytes | str = b"") -> ModelError:
    """The error for an answer outside the protocol."""
    shown = f" It begins: {excerpt(data, 160)}" if data else ""
    return ModelError(
        f"{what}{shown}", where=str(address), hint="Is this the address of an OpenAI-compatible API?"
    )


def _overflow(body: bytes, where: str) -> ContextOverflow | PromptError | None:
    """The error of a prompt that is too long for the endpoint's model."""
    error = as_object(json_object(body).get("error"))
    kind = f"{error.get('type')} {error.get('code')}"
    if "exceed_context_size" not in kind and "context_length_exceeded" not in kind:
        return None
    needed, available = error.get("n_prompt_tokens"), error.get("n_ctx")
    if isinstance(needed, int) and isinstance(available, int):
        return ContextOverflow(needed, available)
    return PromptError(
        f"The prompt is too long for the endpoint's model. {excerpt(message_of(error))}",
        where=where,
        hint="Shorten the prompt, allow fewer tools, or start the server with a larger context.",
    )


def _hint(said: str) -> str:
    low = said.lower()
    if any(
        word in low
        for word in ("grammar", "schema", "response_format", "structured_output", "guided_", "regex")
    ):
        return "It rejects the constraint; name its dialect in the address (?dialect=…), or use --constraint off."
    if TEMPLATE_FIELD in low:
        return "It takes no variables of a template: leave them out, and thinking to it (--thinking auto)."
    if "reasoning_effort" in low or "reasoning effort" in low:
        return "It does not know this reasoning effort: give another one, or leave it out."
    if "custom" in low and "tool" in low:
        return "Its model takes no custom tools: with ?dialect=compatible in the address, they are sent as functions."
    if "tool" in low:
        return "Use GLYPH or JSON, or start the server with its tool calls enabled."
    return ""
