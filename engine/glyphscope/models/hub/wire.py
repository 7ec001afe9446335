"""The messages of the Hub's process: one answer to each question, in order."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from glyphscope.models.hub.files import Choice, Listing
from glyphscope.models.hub.names import HubRequest

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


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of: `look` at a repository's files; `find` repositories by words, with their maximum number; `get` a download
    into a folder. An empty question acknowledges progress.
    """

    look: HubRequest | None = None
    find: tuple[str, int] | None = None
    get: tuple[Listing, Choice, str] | None = None


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the fields; `got` is the result of `fetch`. An empty answer reports that the process is ready."""

    progress: Progress | None = None
    failure: Failure | None = None
    listing: Listing | None = None
    found: list[Found] = []
    got: tuple[str, How, bool] | None = None
