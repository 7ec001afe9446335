"""Downloads a model's files into the folder of models; renames them once all are verified. In `child.py`'s process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from glyphscope.errors import ModelError
from glyphscope.models.files import inspect_file
from glyphscope.models.gguf import read_header
from glyphscope.models.hub.client import Hub
from glyphscope.models.hub.files import Choice, HubFile, Listing, is_safe
from glyphscope.models.hub.part import PartialFile, Report, give_names, hash_of, need_room
from glyphscope.models.hub.progress import How, Phase, Progress
from glyphscope.text.shorten import shorten


def fetch(
    hub: Hub, listing: Listing, choice: Choice, folder: str, notify: Callable[[Progress], None]
) -> tuple[str, How, bool]:
    """Returns the path of the (first) file, its origin, and whether its hash was verified.

    Raises GlyphscopeError and OSError. An interrupted download is resumed the next time.
    """
    place, files, before = (
        Path(folder) / listing.repo,
        choice.files,
        0,
    )  # before: bytes of the completed files

    def report(phase: Phase, done: int, words: str = "") -> None:
        notify(Progress(phase, before + done, choice.bytes, words))

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


def _complete(hub: Hub, listing: Listing, part: PartialFile) -> None:
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
