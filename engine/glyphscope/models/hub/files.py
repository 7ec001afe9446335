"""The GGUF models of a repository: the files and the quantisation of each, derived from file names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from glyphscope.base.visible import unseen

QUANTISATION = re.compile(
    r"(?<![A-Za-z0-9])((?:UD-)?I?Q[1-9](?:_(?:X{0,2}[SML]|XL|NL|K|[0-9]))*|TQ[12]_0|MXFP4(?:_MOE)?|BF16|FP?16|FP?32)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"^(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf$", re.IGNORECASE)
_NO_MODEL = re.compile(r"mmproj|(?<![a-z])(?:imatrix|importance[-_]matrix)(?![a-z])", re.IGNORECASE)
_UNSAFE = re.compile(r"[\\:*?\"<>|]")
"""Characters that some systems forbid in file names."""
MAX_NAME = 200
"""Bytes of a file's name: file systems allow 255, and the name of a partial file is longer."""
MAX_DEPTH = 5
"""Parts of a path: with OWNER/NAME before it, the model is still found, as the search goes to a depth of 8."""


class HubFile(NamedTuple):
    """One file. `sha256` is the hash of its content; without one, `blob` may have git's SHA-1 of it. Sizes in bytes."""

    path: str
    bytes: int
    sha256: str = ""
    blob: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def right_hash(self) -> str:
        """The hash of its content; empty if the Hub reports none."""
        return self.sha256 or self.blob


class FileChoice(NamedTuple):
    """A model: one file, or the parts of a split one, of which `missing` (a number) are not in the repository."""

    files: tuple[HubFile, ...]
    quantisation: str = ""
    missing: int = 0

    @property
    def name(self) -> str:
        """The path of its first file in the repository, which is the one passed to llama.cpp."""
        return self.files[0].path

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


class FileListing(NamedTuple):
    """The models of a repository at a commit, smallest first. `others` is the number of other files."""

    endpoint: str
    repo: str
    commit: str
    choices: tuple[FileChoice, ...]
    others: int = 0


def is_safe(path: str) -> bool:
    """Whether a path from a server may become a local one: relative, plain, and only below its folder."""
    parts = path.split("/")
    return (
        not (_UNSAFE.search(path) or unseen(path, lines=False))
        and len(parts) <= MAX_DEPTH
        and all(map(_is_plain, parts))
    )


def _is_plain(part: str) -> bool:
    if not part or part[0] in ".~ " or part[-1] in ". ":
        return False
    try:
        return len(part.encode()) <= MAX_NAME
    except UnicodeEncodeError:  # a lone surrogate
        return False


def is_model(path: str) -> bool:
    """Whether the name is of a GGUF model; image parts and importance matrices are not models."""
    return path.lower().endswith(".gguf") and not _NO_MODEL.search(path.rpartition("/")[2]) and is_safe(path)


def quantisation_of(path: str) -> str:
    """The quantisation in the name of the file or of a folder, such as `Q4_K_M`; empty if there is none."""
    for part in reversed(path.split("/")):
        if found := QUANTISATION.findall(part):
            kind = str(found[-1]).upper()
            return {"FP16": "F16", "FP32": "F32"}.get(kind, kind)
    return ""


def choices_of(files: Iterable[HubFile]) -> tuple[FileChoice, ...]:
    """The models among the files, smallest first."""
    return tuple(sorted(_grouped(files), key=lambda choice: (choice.bytes, choice.name)))


def _grouped(files: Iterable[HubFile]) -> Iterator[FileChoice]:
    sets: dict[tuple[str, int], dict[int, HubFile]] = {}
    for file in files:
        if not is_model(file.path):
            continue
        if split := _SPLIT.match(file.path):
            parts = sets.setdefault((split["stem"], int(split["count"])), {})
            parts[int(split["number"])] = file
        else:
            yield FileChoice((file,), quantisation_of(file.path))
    for (stem, count), parts in sets.items():
        numbered = [parts[number] for number in sorted(parts) if 1 <= number <= count]
        whole = numbered or list(parts.values())
        yield FileChoice(tuple(whole), quantisation_of(stem), max(count - len(whole), 0))


Phase = Literal["waiting", "checking", "downloading", "naming"]
How = Literal["downloaded", "kept", "cached"]
"""Downloaded now, already in the folder of models, or found in Hugging Face's cache."""


class DownloadProgress(NamedTuple):
    """`done` and `total` are bytes of all files; `total` is 0 if unknown. `words`: the reason why a download waits."""

    phase: Phase
    done: int
    total: int
    words: str = ""


class DownloadFailure(NamedTuple):
    """A ModelError, or a StorageError if `disk`."""

    message: str
    where: str
    hint: str
    disk: bool = False


class FoundFiles(NamedTuple):
    """A found repository: its files, or the reason why they could not be listed."""

    repo: str
    downloads: int
    listing: FileListing | None = None
    failure: DownloadFailure | None = None
