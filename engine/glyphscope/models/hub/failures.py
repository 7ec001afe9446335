"""What the Hub said in place of an answer, in words: what happened, where, what to do. Never a token."""

from __future__ import annotations

import re
from collections.abc import Mapping

import httpx2

from glyphscope.errors import ModelError
from glyphscope.models.remote.keys import without
from glyphscope.models.remote.retry import RETRYABLE_STATUS, RequestFailed, asked_pause
from glyphscope.text.shorten import excerpt

_LIMIT = re.compile(r"\br\s*=\s*0\s*;\s*t\s*=\s*(\d{1,6})\b")
"""In `RateLimit: "api";r=0;t=55`: nothing is left, for so many seconds."""
TOKEN_HINT = "Set HF_TOKEN to your token, or use: hf auth login"
OFFLINE_HINT = "A .gguf file that is copied into a folder is found too: glyphscope models --folder FOLDER"


def offline(where: str) -> ModelError:
    """The environment forbids the network."""
    return ModelError("HF_HUB_OFFLINE disables the network.", where=where, hint=f"Unset it. {OFFLINE_HINT}")


def unreachable(error: httpx2.HTTPError | TimeoutError, where: str, token: str = "") -> RequestFailed:
    """What kept a request from being answered, or an answer from coming to its end."""
    words = excerpt(without(token, str(error))) or type(error).__name__
    hint = f"Is there a network? HTTPS_PROXY names a proxy, HF_ENDPOINT a mirror. {OFFLINE_HINT}"
    if "CERTIFICATE" in words.upper():
        hint = "Fix the certificate, or name its authority in SSL_CERT_FILE."
        said = f"TLS certificate verification failed: {words}"
        return RequestFailed(ModelError(said, where=where, hint=hint), again=False)
    if isinstance(error, httpx2.UnsupportedProtocol):
        said = f"Invalid address: {words}"
        return RequestFailed(
            ModelError(said, where=where, hint="HF_ENDPOINT is an address: https://…"), again=False
        )
    match error:
        case httpx2.ConnectTimeout():
            said = "The connection timed out."
        case httpx2.TimeoutException() | TimeoutError():
            said = "The server stopped responding."
        case httpx2.ConnectError():
            said = f"The server cannot be reached: {words}."
        case httpx2.ProxyError():
            said = f"The proxy rejected the request: {words}."
        case httpx2.TooManyRedirects():
            said = "The server redirects in a loop."
        case httpx2.RemoteProtocolError() | httpx2.ReadError() | httpx2.WriteError():
            said = f"The connection was cut: {words}."
        case _:
            said = f"The request could not be sent: {words}."
    return RequestFailed(
        ModelError(said, where=where, hint=hint), again=not isinstance(error, httpx2.TooManyRedirects)
    )


def refusal(status: int, headers: Mapping[str, str], where: str, *, token: str) -> RequestFailed:
    """What a status other than success says; `where` is the repository's page."""
    code = headers.get("x-error-code", "")
    said = excerpt(without(token, headers.get("x-error-message", "")))
    told = f" It says: {said}" if said else ""
    hint = ""
    if code == "GatedRepo" or (status in (401, 403) and "gated" in said.lower()):
        words = "The repository is gated: its conditions must be accepted first."
        hint = f"Accept them at {where}. " + ("" if token else TOKEN_HINT)
    elif code == "RevisionNotFound":
        words, hint = "There is no such revision.", "Omit it to get the newest."
    elif code == "EntryNotFound":
        words, hint = "The file no longer exists.", "Look at the repository's files again."
    elif status == 401 and token:
        words, hint = f"There is no such repository, or the token has no access to it ({status}).", TOKEN_HINT
    elif status in (401, 404):
        words = f"There is no such repository, or it is private ({status})."
        hint = f"Check the spelling of OWNER/NAME. A private one needs a token. {TOKEN_HINT}"
    elif status == 403:
        words, hint = f"Access was denied ({status}).{told}", TOKEN_HINT
    elif status == 429:
        words = f"Rate limited ({status}).{told}"
        hint = f"Try again later. {'' if token else 'A token raises the limit. ' + TOKEN_HINT}"
    elif 300 <= status < 400:
        words = f"The server redirects without an address ({status})."
        hint = "Is HF_ENDPOINT the address of a Hub?"
    else:
        words, hint = f"The server failed ({status}).{told}", "Try again later."
    pause = asked_pause(headers.get("retry-after"))
    if pause is None and status == 429 and (limit := _LIMIT.search(headers.get("ratelimit", ""))):
        pause = float(limit[1])
    return RequestFailed(
        ModelError(words, where=where, hint=hint.strip()), again=status in RETRYABLE_STATUS, wait=pause
    )


def not_understood(what: str, where: str) -> ModelError:
    """For an answer that is none of the Hub's."""
    return ModelError(
        what, where=where, hint="Is a login page or a proxy in between, or HF_ENDPOINT no such server?"
    )
