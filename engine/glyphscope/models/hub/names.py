"""Parses the name of a model at the Hub: OWNER/NAME, OWNER/NAME:FILE, OWNER/NAME@REVISION:Q4_K_M, or an address."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from glyphscope.base.errors import ModelError

HINT = "A name is OWNER/NAME, OWNER/NAME:Q4_K_M or OWNER/NAME:FILE.gguf."

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
_REPO = re.compile(rf"{_PART}/{_PART}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,200}")
_USER = re.compile(r"//[^/@]*@")
"""The user in an address, which may be a token and is never shown."""
_SCHEMES = ("hf://", "hf.co/", "huggingface.co/")


class HubRequest(NamedTuple):
    """`which` is a file's name or path, a quantisation, or empty; `revision` is a branch, a tag or a commit."""

    repo: str
    which: str = ""
    revision: str = "main"

    def __str__(self) -> str:
        at = "" if self.revision == "main" else f"@{self.revision}"
        return f"{self.repo}{at}" + (f":{self.which}" if self.which else "")


def read_request(text: str) -> HubRequest:
    """Parse a name, or the address of a repository's page or file. Raises ModelError."""
    text = text.strip()
    where = _USER.sub("//", text)[:200]
    request = _of_address(text) if text.lower().startswith(("http://", "https://")) else _of_name(text)
    if not is_repo(request.repo):
        raise ModelError("Invalid repository name.", where=where, hint=HINT)
    if not _REVISION.fullmatch(request.revision) or ".." in request.revision:
        raise ModelError("Invalid revision.", where=where, hint="It is a branch, a tag or a commit.")
    return request


def is_repo(name: str) -> bool:
    """Whether it is a valid name of a repository, and safe as a local folder too."""
    return bool(_REPO.fullmatch(name)) and ".." not in name and "--" not in name


def _of_name(text: str) -> HubRequest:
    for scheme in _SCHEMES:
        text = text[len(scheme) :] if text.lower().startswith(scheme) else text
    name, _, which = text.partition(":")
    repo, at, revision = name.partition("@")
    more = repo.split("/")
    if len(more) > 2 and not which and not at:  # OWNER/NAME/FILE
        repo, which = "/".join(more[:2]), "/".join(more[2:])
    return HubRequest(repo, which.strip(), revision if at else "main")


def _of_address(text: str) -> HubRequest:
    """Parse `https://host/OWNER/NAME`, also with `/blob/REVISION/FILE`, `/resolve/…` or `/tree/REVISION` after it.

    The host is ignored: requests go only to HF_ENDPOINT.
    """
    try:
        parts = [unquote(part) for part in urlsplit(text).path.split("/") if part]
    except ValueError:
        parts = []
    repo = "/".join(parts[:2])
    if len(parts) >= 4 and parts[2] in ("blob", "resolve", "raw", "tree"):
        return HubRequest(repo, "" if parts[2] == "tree" else "/".join(parts[4:]), parts[3])
    return HubRequest(repo)
