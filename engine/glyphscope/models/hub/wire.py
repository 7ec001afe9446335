"""The messages of the Hub's process: one request, one answer, in turn."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from glyphscope.models.hub.files import Choice, Listing
from glyphscope.models.hub.names import HubRequest

Phase = Literal["waiting", "checking", "downloading", "naming"]
How = Literal["downloaded", "kept", "cached"]


class Progress(NamedTuple):
    """`done` and `total` are bytes of all files; `total` is 0 where it is unknown. `words`: why it waits."""

    phase: Phase
    done: int
    total: int
    words: str = ""


class Failure(NamedTuple):
    """A ModelError; `disk`: a StorageError."""

    message: str
    where: str
    hint: str
    disk: bool = False


class Found(NamedTuple):
    """A repository that was found: its files, or why they could not be listed."""

    repo: str
    downloads: int
    listing: Listing | None = None
    failure: Failure | None = None


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of them: a repository's files, repositories by words and at most how many, a download into a folder.

    Nothing: the progress was received, continue.
    """

    look: HubRequest | None = None
    find: tuple[str, int] | None = None
    get: tuple[Listing, Choice, str] | None = None


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of them; `got` is the path of the (first) file, how it was got, and whether its hash was verified."""

    progress: Progress | None = None
    failure: Failure | None = None
    listing: Listing | None = None
    found: list[Found] = []
    got: tuple[str, How, bool] | None = None
