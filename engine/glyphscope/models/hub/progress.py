"""Reports of the Hub's process: the progress of a download, and the repositories that it found."""

from __future__ import annotations

from typing import Literal, NamedTuple

from glyphscope.models.hub.files import Listing

Phase = Literal["waiting", "checking", "downloading", "naming"]
How = Literal["downloaded", "kept", "cached"]
"""Downloaded now, already in the folder of models, or found in Hugging Face's cache."""


class Progress(NamedTuple):
    """`done` and `total` are bytes of all files; `total` is 0 if unknown. `words`: the reason why a download waits."""

    phase: Phase
    done: int
    total: int
    words: str = ""


class Failure(NamedTuple):
    """A ModelError, or a StorageError if `disk`."""

    message: str
    where: str
    hint: str
    disk: bool = False


class Found(NamedTuple):
    """A found repository: its files, or the reason why they could not be listed."""

    repo: str
    downloads: int
    listing: Listing | None = None
    failure: Failure | None = None
