"""The Hub through huggingface_hub's client, endpoint, token and settings. Only in the process of `jobs.py`.

`fetch` downloads a model's files into the folder of models, and renames them once all are verified.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

import httpx2
import msgspec
from huggingface_hub import constants, get_session, get_token, hf_hub_url, try_to_load_from_cache
from huggingface_hub.file_download import http_get
from huggingface_hub.utils.tqdm import silent_tqdm

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.figures import estimate
from glyphscope.base.shorten import shorten
from glyphscope.base.structs import ready
from glyphscope.models.files import inspect_file
from glyphscope.models.gguf import read_header
from glyphscope.models.hub.failures import TOKEN_HINT, failed
from glyphscope.models.hub.files import (
    DownloadFailure,
    DownloadProgress,
    FileChoice,
    FileListing,
    FoundFiles,
    How,
    HubFile,
    Phase,
    choices_of,
    is_safe,
)
from glyphscope.models.hub.names import HubRequest, is_repo
from glyphscope.models.hub.part import PartialFile, Report, give_names, hash_of, need_room
from glyphscope.models.remote.keys import fits_header
from glyphscope.models.remote.retry import Retries, Timeouts

T = TypeVar("T")

QUESTION = Timeouts(between=15.0, attempts=3, retrying=30.0, wait=1.0, longest=15.0)
"""For a request that a user waits for."""
FILE = Timeouts(attempts=6, retrying=300.0, wait=1.0, longest=60.0)
"""For a download. An attempt that brought data resets the count; HF_HUB_DOWNLOAD_TIMEOUT ends a silent one."""
MAX_ANSWER = 32_000_000
"""Bytes of a repository's description: tens of thousands of files."""
_AT_ONCE = 4
"""Repositories whose files are requested at the same time."""
_MAX_BYTES = 1 << 60
"""A larger size is a server error: no disk is that large."""
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
    sha: str | None = None
    siblings: list[_Sibling] = []


class _Found(msgspec.Struct):
    id: str
    downloads: int | None = None


class Hub:
    """The Hub for one question, with the token and settings of that moment. All methods raise GlyphscopeError."""

    def __init__(self) -> None:
        token = "" if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token() or ""
        if token and not fits_header(token):
            raise ModelError(
                "The token for the Hub has characters that no token has.",
                where=constants.ENDPOINT,
                hint=f"{TOKEN_HINT}, or unset it.",
            )
        self._token = token
        # not the library's headers: making them may send further requests, and they describe this machine
        self._headers = {"user-agent": "glyphscope", "accept-encoding": "identity"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        # before the library's own retries, which wait silently for as long as the server requests
        get_session().event_hooks["response"] = [_raise_for_error]
        # received data is written at once, so that it is not lost with this process
        setattr(constants, "DOWNLOAD_CHUNK_SIZE", None)  # noqa: B010

    def look(self, request: HubRequest) -> FileListing:
        """The files of a repository, in one request."""
        at = "" if request.revision == "main" else f"/revision/{quote(request.revision, safe='')}"
        info = self._ask(f"/{request.repo}{at}", {"blobs": "true"}, _where(request.repo), _Info)
        files = [_file(sibling) for sibling in info.siblings]
        choices = choices_of(files)
        others = len(files) - sum(len(choice.files) for choice in choices)
        commit = (info.sha or "").lower()
        commit = commit if _COMMIT.fullmatch(commit) else request.revision
        # under the requested name, even if the repository was renamed
        return FileListing(constants.ENDPOINT, request.repo, commit, choices, others)

    def find(self, words: str, limit: int) -> list[FoundFiles]:
        """At most `limit` repositories with GGUF files, most downloaded first."""
        query = {"search": words, "filter": "gguf", "sort": "downloads", "limit": limit}
        found = self._ask("", query, constants.ENDPOINT, list[_Found])
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(self._listed, [each for each in found if is_repo(each.id)][:limit]))

    def _listed(self, each: _Found) -> FoundFiles:
        found = FoundFiles(each.id, max(each.downloads or 0, 0))
        try:
            return found._replace(listing=self.look(HubRequest(each.id)))
        except GlyphscopeError as error:
            return found._replace(failure=DownloadFailure(error.message, error.where, error.hint))

    def _ask(self, path: str, query: dict[str, Any], where: str, kind: type[T]) -> T:
        address, retries = f"{constants.ENDPOINT}/api/models{path}", Retries(QUESTION)
        while True:
            try:
                return msgspec.json.decode(self._body(address, query), type=ready(kind))
            except Exception as error:
                time.sleep(retries.pause(failed(error, where, self._token)))

    def _body(self, address: str, query: dict[str, Any]) -> bytes:
        body = bytearray()
        ask = get_session().stream(
            "GET", address, params=query, headers=self._headers, timeout=QUESTION.between
        )
        with ask as response:
            for data in response.iter_bytes():
                body += data
                if len(body) > MAX_ANSWER:
                    raise MemoryError
        return bytes(body)

    def download(self, listing: FileListing, part: PartialFile) -> None:
        """Append the rest of the file to `part`, by the library's own download, with retries."""
        file, where = part.file, _where(listing.repo)
        address = hf_hub_url(listing.repo, file.path, revision=listing.commit, endpoint=listing.endpoint)
        retries, furthest = Retries(FILE), part.size
        bar = cast(Any, silent_tqdm)  # a visible progress bar starts a thread
        while not file.bytes or part.size < file.bytes:
            try:
                http_get(address, part, resume_size=part.size, headers=self._headers, tqdm_class=bar)
                if not file.bytes:
                    return
            except Exception as error:
                if isinstance(error, httpx2.HTTPStatusError) and error.response.status_code == 416:
                    part.restart()  # the range begins after the file's end: the data is not of this file
                if part.size > furthest:
                    retries, furthest = Retries(FILE), part.size
                failure = failed(error, where, self._token)
                pause = retries.pause(failure)
                words = f"{failure.error.message} Trying again in {estimate(pause)}."
                part.report("waiting", part.size, words)
                time.sleep(pause)

    def cached(self, listing: FileListing, choice: FileChoice) -> str:
        """The path of the (first) file in the Hugging Face cache; empty unless it has all files with their hashes."""
        found = []
        for file in choice.files:
            path = try_to_load_from_cache(listing.repo, file.path, revision=listing.commit)
            if not isinstance(path, str) or not file.sha256:
                return ""
            try:
                blob = Path(os.readlink(path)).name  # the library names blobs by their hashes
                if blob != file.sha256 or os.stat(path).st_size != file.bytes:
                    return ""
            except OSError:  # no link, or one to nothing
                return ""
            found.append(path)
        return found[0]


def _raise_for_error(response: httpx2.Response) -> None:
    if response.is_error:
        response.raise_for_status()


def _where(repo: str) -> str:
    return f"{constants.ENDPOINT}/{repo}"


def _file(sibling: _Sibling) -> HubFile:
    """A file of the listing, without an invalid hash or size."""
    lfs = sibling.lfs or _Lfs()
    size = lfs.size or sibling.size or 0
    sha256, blob = lfs.sha256.lower(), (sibling.blobId or "").lower()
    return HubFile(
        sibling.rfilename,
        size if 0 < size < _MAX_BYTES else 0,
        sha256 if _SHA256.fullmatch(sha256) else "",
        blob if not lfs.sha256 and _SHA1.fullmatch(blob) else "",
    )


def fetch(
    hub: Hub,
    listing: FileListing,
    choice: FileChoice,
    folder: str,
    notify: Callable[[DownloadProgress], None],
) -> tuple[str, How, bool]:
    """Returns the path of the (first) file, its origin, and whether its hash was verified.

    Raises GlyphscopeError and OSError. An interrupted download is resumed the next time.
    """
    place, files = Path(folder) / listing.repo, choice.files
    before = 0  # bytes of the completed files

    def report(phase: Phase, done: int, words: str = "") -> None:
        notify(DownloadProgress(phase, before + done, choice.bytes, words))

    if choice.missing or not all(is_safe(file.path) for file in files):
        raise ModelError("Incomplete split model.", where=choice.name, hint="Choose another file.")
    if cached := hub.cached(listing, choice):
        return cached, "cached", True
    missing = []
    for file in files:
        if _has(place / file.path, file, report):
            before += file.bytes
        else:
            missing.append(file)
    with ExitStack() as stack:
        parts = [stack.enter_context(PartialFile(place / file.path, file, report)) for file in missing]
        need_room(place, sum(max(part.file.bytes - part.size, 0) for part in parts))
        for part in parts:
            _complete(hub, listing, part)
            before += part.size
        report("naming", 0)
        for part in reversed(
            parts
        ):  # the first part, whose header describes the model, is fully checked last
            _inspect(part, is_first=part.file is files[0])
        give_names(parts)
    has_hash = all(file.right_hash for file in files)
    return str(place / files[0].path), "downloaded" if missing else "kept", has_hash


def _has(place: Path, file: HubFile, report: Report) -> bool:
    """Whether the file is already at `place`. Raises ModelError if a different file is there."""
    if not place.exists():
        return False
    if file.bytes in (0, place.stat().st_size) and hash_of(place, file, report) == file.right_hash:
        return True
    raise ModelError(
        "Another file has this name already: the Hub's has another size or hash by now, or it was changed here.",
        where=str(place),
        hint="Move it away or delete it, and get the model again.",
    )


def _complete(hub: Hub, listing: FileListing, part: PartialFile) -> None:
    """Download the rest of a file and check its hash; if it is wrong after resuming, repeat once from the start."""
    file, resumed = part.file, part.size > 0
    if file.bytes and part.size > file.bytes:
        part.restart()
    hub.download(listing, part)
    while (found := hash_of(part.path, file, part.report)) != file.right_hash:
        part.restart()
        if not resumed:
            raise ModelError(
                f"The downloaded file differs from the Hub's: its hash is {shorten(found, 13)}, not "
                f"{shorten(file.right_hash, 13)}.",
                where=file.path,
                hint="The file was discarded. Try again. If it fails again, something in between changes the file.",
            )
        resumed = False
        hub.download(listing, part)


def _inspect(part: PartialFile, *, is_first: bool) -> None:
    """Discards the data and raises ModelError if no model can be opened from it."""
    try:
        if is_first:
            inspect_file(part.path, fits=False)
        else:
            read_header(part.path)
    except ModelError as error:
        part.restart()
        raise ModelError(error.message, where=part.file.path, hint="The file was discarded.") from error
