"""The places of lessons: bundled lessons, the user's folder, and any file. Recordings are beside them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from glyphscope.base import resources
from glyphscope.base.errors import LessonError, RecordError, StorageError
from glyphscope.base.inputs import named_file, read_file
from glyphscope.events import AnyEvent, RunStarted, Token
from glyphscope.lessons.lesson import Lesson
from glyphscope.lessons.reading import MAX_BYTES, NUMBER, RUN_NAME, parse_lesson
from glyphscope.store import places
from glyphscope.store.records import parse_record

FOLDER, RUNS, SUFFIX = "lessons", "runs", ".md"
MAX_RECORD_BYTES = 16_000_000
"""The maximum size of a recording; a run of 512 tokens with all its evidence has about 1 MB."""
MAX_TOKENS = 8_000
"""The maximum tokens of a recording: a run with several stages has more tokens than one answer."""
MAX_LESSONS = 500
"""The maximum number of lessons in the user's folder."""


@dataclass(frozen=True)
class LessonPlace:
    """The place of a lesson: a bundled one by its file name, or a file. `name` is without number and suffix."""

    file: str
    path: Path | None = None

    @property
    def name(self) -> str:
        return NUMBER.sub("", self.file.removesuffix(SUFFIX))

    @property
    def key(self) -> str:
        """The key under which its progress is stored."""
        return self.name if self.path is None else str(self.path)

    @property
    def where(self) -> str:
        """The file, as shown in errors and lists."""
        return str(self.path or self.file)

    @property
    def folder(self) -> Path | None:
        """The folder of the file; None for a bundled lesson."""
        return None if self.path is None else self.path.parent

    def read(self) -> Lesson:
        """Read the lesson. Raises LessonError with every error, and StorageError."""
        if self.path is None:
            data = resources.read_bytes(f"{FOLDER}/{self.file}")
        else:
            data = read_file(self.path, MAX_BYTES, "a lesson")
        return parse_lesson(data, name=self.file.removesuffix(SUFFIX), where=self.where, folder=self.folder)

    def events(self, run: str) -> tuple[AnyEvent, ...]:
        """The recorded run of that name. Raises RecordError if none can be shown, and StorageError."""
        if not RUN_NAME.fullmatch(run):
            raise RecordError("Invalid name of a run.", where=run)
        if self.path is None:
            return _bundled_events(run)
        path = named_file(self.path.parent, f"{RUNS}/{run}.jsonl")
        if not path.exists():
            raise _no_recording(run, str(path))
        return _events(read_file(path, MAX_RECORD_BYTES, "a lesson's recording"), str(path))


def bundled_lessons() -> tuple[LessonPlace, ...]:
    """The bundled lessons, in the order of their files' numbers."""
    return tuple(LessonPlace(name) for name in resources.names(FOLDER, SUFFIX))


def user_lessons(folder: Path | None = None) -> tuple[LessonPlace, ...]:
    """The lessons in the user's folder (by default, from this program's places), by name."""
    folder = folder or places().lessons
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and path.is_file())
    except OSError:
        return ()
    return tuple(LessonPlace(path.name, path) for path in files[:MAX_LESSONS])


def find_lesson(source: str | Path) -> LessonPlace:
    """A bundled lesson or a user's lesson by its name (with or without its number), or a file.

    Raises LessonError if there is none.
    """
    known = (*bundled_lessons(), *user_lessons())
    for place in known if isinstance(source, str) else ():
        if source in (place.name, place.file, place.file.removesuffix(SUFFIX)):
            return place
    path = Path(source)
    if path.suffix == SUFFIX or os.path.exists(path):  # Path.exists raises for invalid file names
        return LessonPlace(path.name, path.absolute())
    names = ", ".join(place.name for place in known)
    raise LessonError("There is no such lesson.", where=str(source), hint=f"Give a file, or one of: {names}.")


def all_lessons(
    folder: Path | None = None,
) -> Iterator[tuple[LessonPlace, Lesson | LessonError | StorageError]]:
    """Every lesson, bundled ones first; unreadable ones with their error. `folder` as in `user_lessons`."""
    for place in (*bundled_lessons(), *user_lessons(folder)):
        try:
            yield place, place.read()
        except (LessonError, StorageError) as error:
            yield place, error


@lru_cache(maxsize=64)
def _bundled_events(run: str) -> tuple[AnyEvent, ...]:
    where = f"{FOLDER}/{RUNS}/{run}.jsonl"
    try:
        data = resources.read_bytes(where)
    except FileNotFoundError:
        raise _no_recording(run, where) from None
    return _events(data, where)


def _events(data: bytes, where: str) -> tuple[AnyEvent, ...]:
    record = parse_record(data, where)
    if not record.events or not isinstance(record.events[0], RunStarted):
        raise RecordError("The recording lacks the beginning of a run.", where=where)
    if (tokens := sum(isinstance(event, Token) for event in record.events)) > MAX_TOKENS:
        raise RecordError(
            f"The recording has {tokens:,} tokens; at most {MAX_TOKENS:,} are shown.", where=where
        )
    return record.events


def _no_recording(run: str, where: str) -> RecordError:
    return RecordError(
        f'The run "{run}" is not recorded.', where=where, hint="Make it: glyphscope lesson record FILE."
    )
