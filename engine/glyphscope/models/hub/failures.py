"""The errors of the Hub: what happened, where, what to do, and whether to retry. Never a token."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping

import httpx2
import msgspec
from huggingface_hub.errors import OfflineModeIsEnabled
from huggingface_hub.utils._http import parse_ratelimit_headers

from glyphscope.base.errors import GlyphscopeError, ModelError, StorageError
from glyphscope.base.shorten import excerpt
from glyphscope.models.remote.keys import without
from glyphscope.models.remote.retry import RETRYABLE_STATUS, RequestFailed, asked_pause

TOKEN_HINT = "Set HF_TOKEN to your token, or use: hf auth login"
NOT_A_HUB = "Is a login page or a proxy in between, or HF_ENDPOINT no such server?"
OFFLINE_HINT = "A .gguf file that is copied into a folder is found too: glyphscope models --folder FOLDER"


def failed(error: Exception, where: str = "", token: str = "") -> RequestFailed:
    """Any exception of a request or a download as a GlyphscopeError, and whether a retry (`again`) may succeed."""
    network = f"Check the network connection; HTTPS_PROXY sets a proxy, HF_ENDPOINT a mirror. {OFFLINE_HINT}"
    words = re.sub(r"\[Errno -?\d+\] ", "", excerpt(without(token, str(error)))) or type(error).__name__
    again = False
    match error:
        case GlyphscopeError():
            return RequestFailed(error, again=False)
        case OfflineModeIsEnabled():
            said, hint = "HF_HUB_OFFLINE disables the network.", f"Unset it. {OFFLINE_HINT}"
        case httpx2.HTTPStatusError():
            return _refusal(error.response.status_code, error.response.headers, where, token)
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            said, hint = f"Invalid address: {words}", "HF_ENDPOINT is an address: https://…"
        case httpx2.TooManyRedirects():
            said, hint = "The server redirects in a loop.", network
        case httpx2.HTTPError() if "CERTIFICATE" in words.upper():
            said = f"TLS certificate verification failed: {words}"
            hint = "Fix the certificate, or name its authority in SSL_CERT_FILE."
        case httpx2.TimeoutException():
            said, hint, again = "The server stopped responding.", network, True
        case httpx2.ConnectError():
            said, hint, again = f"The server cannot be reached: {words}.", network, True
        case httpx2.ProxyError():
            said, hint, again = f"The proxy rejected the request: {words}.", network, True
        case httpx2.HTTPError():
            said, hint, again = f"The connection was cut: {words}.", network, True
        case OSError() if error.errno is None:  # the library's word for a wrong length
            said, hint, again = "The connection was cut.", network, True
        case OSError():
            return RequestFailed(_disk(error, where), again=False)
        case msgspec.MsgspecError() | UnicodeError():
            said, hint = f"The answer is not the Hub's: {words}.", NOT_A_HUB
        case MemoryError():
            said, hint = "The answer is far too long.", NOT_A_HUB
        case _:
            said, hint = f"{type(error).__name__}: {words}", "Try again."
    return RequestFailed(ModelError(said, where=where, hint=hint), again=again)


def _refusal(status: int, headers: Mapping[str, str], where: str, token: str) -> RequestFailed:
    """The error of an HTTP status; `where` is the repository's page."""
    code = headers.get("x-error-code", "")
    said = excerpt(without(token, headers.get("x-error-message", "")))
    reason = f" It says: {said}" if said else ""
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
        words, hint = f"Access was denied ({status}).{reason}", TOKEN_HINT
    elif status == 429:
        words = f"Rate limited ({status}).{reason}"
        hint = f"Try again later. {'' if token else 'A token raises the limit. ' + TOKEN_HINT}"
    else:
        words, hint = f"The server failed ({status}).{reason}", "Try again later."
    pause = asked_pause(headers.get("retry-after"))
    limit = parse_ratelimit_headers(headers)
    if pause is None and status == 429 and limit is not None and limit.remaining == 0:
        pause = float(limit.reset_in_seconds)
    return RequestFailed(
        ModelError(words, where=where, hint=hint.strip()),
        again=status in {416, *RETRYABLE_STATUS},
        wait=pause,
    )


def _disk(error: OSError, where: str) -> StorageError:
    where = str(error.filename or where)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "Free some space and start the download again: it resumes."
        return StorageError("The disk is full.", where=where, hint=hint)
    return StorageError(
        f"The file cannot be read or written: {error.strerror or error}.",
        where=where,
        hint="Check the disk and the permissions, or choose another folder: glyphscope models get --to FOLDER",
    )
