"""A model's files, from the Hub into the folder of models: resumable, stoppable, and named only when they are right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from glyphscope.errors import ModelError, StorageError
from glyphscope.models.files import inspect_file
from glyphscope.models.gguf import read_header
from glyphscope.models.hub.cancellable import Cancellable
from glyphscope.models.hub.files import Choice, HubFile, Listing, is_safe
from glyphscope.models.hub.listing import need_hub
from glyphscope.models.hub.part import PartialFile, give_names, need_room, new_hash, read_into
from glyphscope.models.remote.retry import RequestFailed, Retries, Timeouts
from glyphscope.text.figures import estimate
from glyphscope.text.shorten import shorten

if TYPE_CHECKING:
    from glyphscope.models.hub.client import Hub

TIMEOUTS = Timeouts(
    connect=10.0, first=30.0, between=30.0, attempts=6, retrying=300.0, wait=1.0, longest=60.0
)
"""`between` is the longest silence; attempts are counted anew after each that brought something."""
MAGIC = b"GGUF"
Phase = Literal["waiting", "checking", "downloading", "naming"]


class Progress(NamedTuple):
    """`done` and `total` are bytes of all the model's files; `total` is 0 where none is told. `words`: why it waits."""

    phase: Phase
    done: int
    total: int
    words: str = ""


class DownloadResult(NamedTuple):
    """The model's (first) file; `how`: it came now, was in the folder already, or is used from Hugging Face's cache.

    `hashed`: its content was held against the hash that the Hub tells; there may be none.
    """

    path: Path
    how: Literal["downloaded", "kept", "cached"]
    hashed: bool = True


class Download(Cancellable):
    """One download. `run_to_end` may be called from any thread, and `cancel` and `progress` from any other."""

    def __init__(
        self,
        listing: Listing,
        choice: Choice,
        folder: Path,
        *,
        told: Callable[[Progress], None] = lambda _progress: None,
        patience: Timeouts = TIMEOUTS,
    ) -> None:
        super().__init__()
        self._listing, self._choice, self._patience, self._told = listing, choice, patience, told
        self._place = folder.expanduser() / listing.repo
        self._before = 0
        self.progress = Progress("checking", 0, choice.bytes)

    def run_to_end(self) -> DownloadResult:
        """Raises ModelError and StorageError; Stopped after `cancel`. What was loaded is kept for the next time."""
        need_hub()
        if self._choice.missing or not all(is_safe(file.path) for file in self._choice.files):
            raise ModelError("Incomplete split model.", where=self._choice.name, hint="Choose another file.")
        try:
            return self.run(self._get())
        except OSError as error:
            raise StorageError(
                f"The file cannot be read or written: {error.strerror or error}.",
                where=str(error.filename or self._place),
                hint="Check the disk and the permissions, or choose another folder: glyphscope models get --to FOLDER",
            ) from error

    async def _get(self) -> DownloadResult:
        from glyphscope.models.hub.client import Hub  # an extra

        async with Hub(self._patience) as hub:
            return await self._get_from(hub)

    async def _get_from(self, hub: Hub) -> DownloadResult:
        files = self._choice.files
        first, hashed = self._place / files[0].path, all(file.sha256 or file.blob for file in files)
        if (cached := hub.cached(self._listing, self._choice)) is not None:
            return DownloadResult(cached, "cached")
        wanted = [file for file in files if not await self._has(file)]
        if not wanted:
            return DownloadResult(first, "kept", hashed)
        with ExitStack() as stack:
            parts = [stack.enter_context(PartialFile(self._place / file.path, file)) for file in wanted]
            need_room(self._place, sum(max(part.file.bytes - part.there, 0) for part in parts))
            for part in parts:
                await self._fetch(hub, part)
                self._before += part.size
            self._report("naming", 0)
            for part in reversed(parts):  # the first one tells what model it is
                self._inspect(part, is_first=part.file is files[0])
            give_names(parts)
        return DownloadResult(first, "downloaded", hashed)

    async def _has(self, file: HubFile) -> bool:
        """Whether the file is in its place. Raises ModelError where another one is."""
        place = self._place / file.path
        if not place.exists():
            return False
        size, wanted = place.stat().st_size, file.sha256 or file.blob
        if not file.bytes or size == file.bytes:
            digest = new_hash(file)
            for done in read_into(digest, place):
                self._report("checking", done)
                await asyncio.sleep(0)
            if not wanted or digest.hexdigest() == wanted:
                self._before += size
                return True
        raise ModelError(
            "Another file has this name already: the Hub's has another size or hash by now, or it was changed here.",
            where=str(place),
            hint="Move it away or delete it, and get the model again.",
        )

    async def _fetch(self, hub: Hub, part: PartialFile) -> None:
        """The whole of a file, right by its hash; where it was begun before and is wrong, once more from the start."""
        begun = part.there > 0
        await self._read(part)
        while True:
            await self._load(hub, part)
            if part.is_right() is not False:
                part.settle()
                return
            found = part.hash
            part.restart()
            if not begun:
                raise ModelError(
                    f"The downloaded file differs from the Hub's: its hash is {shorten(found, 13)}, not "
                    f"{shorten(part.file.sha256 or part.file.blob, 13)}.",
                    where=part.file.path,
                    hint="The file was discarded. Try again. If it fails again, something in between changes the file.",
                )
            begun = False

    async def _load(self, hub: Hub, part: PartialFile) -> None:
        retries = Retries(self._patience)
        while not part.file.bytes or part.size < part.file.bytes:
            before = part.size
            try:
                await self._stream(hub, part)
                return
            except RequestFailed as refused:
                if part.size > before:
                    retries = Retries(self._patience)
                pause = retries.pause(refused)
                words = f"{refused.error.message} Trying again in {estimate(pause)}."
                self._report("waiting", part.size, words)
                await asyncio.sleep(pause)

    async def _stream(self, hub: Hub, part: PartialFile) -> None:
        """One connection's worth. Raises Refused where another may bring the rest."""
        where = hub.where(self._listing.repo)
        async with hub.file(self._listing, part.file, part.size) as response:
            status = response.status_code
            start, total = _range(response.headers.get("content-range", ""))
            if status == 416 or (status == 206 and start != part.size):
                part.restart()
                raise RequestFailed(
                    ModelError("The server gave another part than asked for.", where=where), again=True
                )
            if status == 200:
                part.restart()  # where there was something, the server cannot go on in the middle
                total = _number(response.headers.get("content-length", ""))
            expected = part.file.bytes or total
            if part.file.bytes and total and total != part.file.bytes:
                raise ModelError(
                    f"The server reports two sizes of the file: {part.file.bytes:,} and {total:,} bytes.",
                    where=where,
                    hint="Try again later.",
                )
            need_room(self._place, max(expected - part.size, 0))
            async for data in response.aiter_raw():
                if expected and part.size + len(data) > expected:
                    part.restart()
                    raise ModelError(
                        "The server sends more than the file has.", where=where, hint="Try again."
                    )
                _check_magic(part, data, where)
                part.write(data)
                self._report("downloading", part.size)
        if part.size < expected:
            raise RequestFailed(
                ModelError("The connection was cut.", where=where, hint="Try again."), again=True
            )

    async def _read(self, part: PartialFile) -> None:
        """What is there is hashed; in between others get a turn, and `cancel` among them."""
        for done in part.read_again():
            self._report("checking", done)
            await asyncio.sleep(0)

    def _inspect(self, part: PartialFile, *, is_first: bool) -> None:
        """Raises ModelError, and keeps nothing, where it is no GGUF that a model can be opened from."""
        try:
            if is_first:
                inspect_file(part.path, fits=False)
            else:
                read_header(part.path)
        except ModelError as error:
            part.restart()
            raise ModelError(error.message, where=part.file.path, hint="The file was discarded.") from error

    def _report(self, phase: Phase, done: int, words: str = "") -> None:
        self.progress = Progress(phase, self._before + done, self._choice.bytes, words)
        self._told(self.progress)


def _check_magic(part: PartialFile, data: bytes, where: str) -> None:
    """The first bytes tell whether it is a GGUF, long before the last have come."""
    if part.size >= len(MAGIC):
        return
    begins = part.beginning(part.size) + data[:64]
    if begins[: len(MAGIC)] == MAGIC[: len(begins)]:
        return
    part.restart()
    if begins.startswith(b"version https://git-lfs"):
        what = "it is only a pointer to one"
    elif begins.lstrip()[:1] == b"<":
        what = "it is a web page; a login may be in between"
    else:
        what = f"it begins with {begins[:8]!r}"
    raise ModelError(
        f"The server does not send a GGUF file: {what}.",
        where=f"{where}: {part.file.path}",
        hint="The file was discarded.",
    )


def _range(value: str) -> tuple[int, int]:
    """The start and the whole size in a Content-Range; -1 and 0 where they are not told."""
    span, _, total = value.removeprefix("bytes").strip().partition("/")
    return _number(span.partition("-")[0], -1), _number(total)


def _number(text: str, otherwise: int = 0) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else otherwise
