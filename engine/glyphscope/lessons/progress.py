"""The reader's progress in each lesson, in one small file; a damaged file is replaced."""

from __future__ import annotations

from pathlib import Path

import msgspec

from glyphscope.base.errors import StorageError
from glyphscope.base.inputs import read_file
from glyphscope.base.structs import ready
from glyphscope.store.files import atomic_write

MAX_LESSONS = 1_000
"""The maximum number of lessons with stored progress; the least recently used are removed first."""
MAX_BYTES = 4_000_000


class LessonProgress(msgspec.Struct, frozen=True, kw_only=True):
    """`step` is the reader's current step, `seen` the steps that were shown, `answers`, by question number, whether the
    first answer was right.
    """

    step: int = 0
    seen: tuple[int, ...] = ()
    steps: int = 0
    answers: dict[int, bool] = {}

    def is_done(self, steps: int, questions: int) -> bool:
        """Whether all steps were shown and all questions answered; the arguments are their current numbers."""
        return set(range(steps)) <= set(self.seen) and set(range(questions)) <= set(self.answers)

    def at(self, step: int, steps: int) -> LessonProgress:
        """The progress with `step` shown, of the current number of steps."""
        seen = {number for number in (*self.seen, step) if number < steps}
        return msgspec.structs.replace(self, step=step, steps=steps, seen=tuple(sorted(seen)))

    def answered(self, question: int, right: bool) -> LessonProgress:
        """The progress with an answer, if it is the first to that question."""
        if question in self.answers:
            return self
        return msgspec.structs.replace(self, answers={**self.answers, question: right})


class ReadingProgress:
    """The progress in all lessons. Code that changes it must save it, in the background, as disks may be slow."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            content = read_file(path, MAX_BYTES)
            self._lessons = msgspec.json.decode(content, type=ready(dict[str, LessonProgress]))
        except (StorageError, ValueError, RecursionError):  # also invalid UTF-8
            self._lessons = {}

    def of(self, key: str) -> LessonProgress:
        """The progress of the lesson with this key."""
        return self._lessons.get(key, LessonProgress())

    def put(self, key: str, progress: LessonProgress) -> None:
        self._lessons.pop(key, None)
        self._lessons[key] = progress
        while len(self._lessons) > MAX_LESSONS:
            del self._lessons[next(iter(self._lessons))]

    def forget(self, key: str) -> None:
        """Reset the progress of a lesson."""
        self._lessons.pop(key, None)

    def encode(self) -> bytes:
        """The current content of the file, for `write` in another thread."""
        return msgspec.json.encode(self._lessons)

    def write(self, content: bytes) -> str:
        """Write the file. Returns the error, or an empty text; a lesson continues without the file."""
        try:
            atomic_write(self._path, content)
        except StorageError as error:
            return str(error)
        return ""

    def save(self) -> str:
        """Write the current progress, like `write`."""
        return self.write(self.encode())
