"""The Hub over HTTP: huggingface_hub's client, its addresses, token and settings; nothing is said of this machine."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlencode

import httpx2
import msgspec
from huggingface_hub import constants, get_async_session, get_token, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import OfflineModeIsEnabled

from glyphscope.errors import ModelError
from glyphscope.models.hub.failures import TOKEN_HINT, not_understood, offline, refusal, unreachable
from glyphscope.models.hub.files import Choice, HubFile, Listing, choices_of
from glyphscope.models.hub.names import HubRequest, is_repo
from glyphscope.models.remote.keys import fits_header
from glyphscope.models.remote.retry import Timeouts

T = TypeVar("T")

LARGEST_ANSWER = 32_000_000
"""Bytes of a repository's description: tens of thousands of files."""
_MOST_BYTES = 1 << 60
"""Of a file: more than any disk has."""
_USUAL = "https://huggingface.co"
_TRUE = ("1", "on", "yes", "true")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHA1 = re.compile(r"[0-9a-f]{40}")


class _Lfs(msgspec.Struct):
    sha256: str = ""
    size: int = 0


class _Sibling(msgspec.Struct):
    rfilename: str
    size: int | None = None
    blobId: str | None = None
    lfs: _Lfs | None = None


class _Info(msgspec.Struct):
    id: str = ""
    sha: str | None = None
    siblings: list[_Sibling] = []


class _Found(msgspec.Struct):
    id: str
    downloads: int | None = None


class Hub:
    """For one errand: `async with` it. The endpoint and the token are those of the environment at that time."""

    def __init__(self, patience: Timeouts) -> None:
        self.endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT or _USUAL).rstrip("/")
        self.patience = patience
        forbidden = constants.HF_HUB_DISABLE_IMPLICIT_TOKEN
        self._token = "" if forbidden else get_token() or ""
        if self._token and not fits_header(self._token):
            raise ModelError(
                "The token for the Hub has characters that no token has.",
                where=self.endpoint,
                hint=f"{TOKEN_HINT}, or unset it.",
            )
        # not the library's own headers: to make them it may ask the server for more, and they tell of this machine
        self._headers = {"user-agent": "glyphscope", "accept-encoding": "identity"}
        if self._token:
            self._headers["authorization"] = f"Bearer {self._token}"
        names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
        self._offline = constants.is_offline_mode() or any(
            os.environ.get(name, "").lower() in _TRUE for name in names
        )

    async def __aenter__(self) -> Hub:
        self._client = get_async_session()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    def where(self, repo: str) -> str:
        return f"{self.endpoint}/{repo}"

    async def look(self, wanted: HubRequest) -> Listing:
        """The files of a repository, in one request. Raises Refused and ModelError."""
        at = "" if wanted.revision == "main" else f"/revision/{quote(wanted.revision, safe='')}"
        address = f"{self.endpoint}/api/models/{wanted.repo}{at}?blobs=true"
        where = self.where(wanted.repo)
        info = await self._ask(address, where, _Info)
        files = [_file(sibling) for sibling in info.siblings]
        choices = choices_of(files)
        others = len(files) - sum(len(choice.files) for choice in choices)
        commit = (info.sha or "").lower()
        return Listing(
            self.endpoint,
            wanted.repo,  # by which it was asked for, also where it has another name by now
            commit if _COMMIT.fullmatch(commit) else wanted.revision,
            choices,
            others,
        )

    async def search(self, words: str, limit: int) -> list[tuple[str, int]]:
        """Names of repositories with GGUF files, and their downloads, most downloaded first. As `look`."""
        query = {"search": words, "filter": "gguf", "sort": "downloads", "limit": limit}
        address = f"{self.endpoint}/api/models?{urlencode(query)}"
        found = await self._ask(address, self.endpoint, list[_Found])
        return [(each.id, max(each.downloads or 0, 0)) for each in found if is_repo(each.id)][:limit]

    async def _ask(self, address: str, where: str, kind: type[T]) -> T:
        """The decoded answer to one request. Raises Refused and ModelError."""
        body = bytearray()
        try:
            async with asyncio.timeout(self.patience.first), self._open(address, where, {}) as response:
                async for data in response.aiter_bytes():
                    body += data
                    if len(body) > LARGEST_ANSWER:
                        raise not_understood("The answer is far too long.", where)
            return msgspec.json.decode(bytes(body), type=kind)
        except TimeoutError as error:
            raise unreachable(error, where) from error
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise not_understood(f"The answer is not the Hub's: {error}.", where) from error

    @asynccontextmanager
    async def file(self, listing: Listing, file: HubFile, offset: int) -> AsyncIterator[httpx2.Response]:
        """The file's bytes from `offset` on, unless the status is 200: then from its beginning."""
        address = hf_hub_url(listing.repo, file.path, revision=listing.commit, endpoint=listing.endpoint)
        more = {"range": f"bytes={offset}-"} if offset else {}
        async with self._open(address, self.where(listing.repo), more) as response:
            yield response

    def cached(self, listing: Listing, choice: Choice) -> Path | None:
        """Where the Hugging Face cache has all of the model's files already, by their hashes."""
        found = []
        for file in choice.files:
            path = try_to_load_from_cache(listing.repo, file.path, revision=listing.commit)
            if not isinstance(path, str) or not file.sha256:
                return None
            try:
                blob = Path(
                    os.readlink(path)
                ).name  # which may lead on, to where repositories share what is the same
                if blob != file.sha256 or os.stat(path).st_size != file.bytes:
                    return None
            except OSError:  # no link, or one to nothing
                return None
            found.append(Path(path))
        return found[0]

    @asynccontextmanager
    async def _open(self, address: str, where: str, more: dict[str, str]) -> AsyncIterator[httpx2.Response]:
        """The answer to a GET, redirects followed; the token goes to the endpoint's own host alone."""
        if self._offline:
            raise offline(where)
        patience = self.patience
        timeout = httpx2.Timeout(patience.connect, read=patience.between, write=30.0)
        headers = {**self._headers, **more}
        try:
            async with self._client.stream("GET", address, headers=headers, timeout=timeout) as response:
                if response.status_code not in (200, 206, 416):
                    raise refusal(response.status_code, response.headers, where, token=self._token)
                yield response
        except OfflineModeIsEnabled:
            raise offline(where) from None
        except httpx2.HTTPError as error:
            raise unreachable(error, where, self._token) from error
        except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
            hint = "HF_ENDPOINT is an address such as https://huggingface.co"
            raise ModelError(f"Invalid address: {error}.", where=address, hint=hint) from error


def _file(sibling: _Sibling) -> HubFile:
    """What cannot be right of it is left out: a hash in another form, a size that no file has."""
    lfs = sibling.lfs or _Lfs()
    size = lfs.size or sibling.size or 0
    sha256, blob = lfs.sha256.lower(), (sibling.blobId or "").lower()
    return HubFile(
        sibling.rfilename,
        size if 0 < size < _MOST_BYTES else 0,
        sha256 if _SHA256.fullmatch(sha256) else "",
        blob if not lfs.sha256 and _SHA1.fullmatch(blob) else "",
    )
