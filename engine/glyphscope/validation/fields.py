"""The members of a document, recorded while they are written."""

from __future__ import annotations

from typing import Any

import msgspec

from glyphscope.events import FieldChanged, FieldClosed, FieldOpened, Status


class RecordedField(msgspec.Struct):
    """A member: the characters `start` to `end` (exclusive) are its value so far. `parent` is the member around it."""

    path: str  # a JSON Pointer
    start: int
    end: int
    status: Status
    parent: RecordedField | None


class FieldRecorder:
    """The members in order of appearance, and the innermost one that is open."""

    __slots__ = ("innermost", "recorded")

    def __init__(self) -> None:
        self.recorded: list[RecordedField] = []
        self.innermost: RecordedField | None = None

    def open(self, path: str, start: int, *, possible: bool = True) -> FieldOpened:
        """`possible`: whether there may be a member of that name; otherwise no value of it is valid."""
        status: Status = "open" if possible else "impossible"
        self.innermost = field = RecordedField(path, start, start, status, self.innermost)
        self.recorded.append(field)
        return FieldOpened(path=path, start=start)

    def close(self, end: int, value: Any) -> FieldClosed:
        field = self.innermost
        assert field is not None, "a member is open"
        field.end = end
        if field.status == "open":
            field.status = "holds"
        self.innermost = field.parent
        return FieldClosed(path=field.path, start=field.start, end=end, status=field.status, value=value)

    def grow(self, end: int) -> None:
        """Extend every open member to `end`; while a text streams in, only the innermost one is extended."""
        field = self.innermost
        while field is not None:
            field.end = end
            field = field.parent

    def reject(self, path: str) -> list[FieldChanged]:
        """Mark a closed member as impossible: what follows it showed that its value was."""
        for field in reversed(self.recorded):
            if field.path == path:
                field.status = "impossible"
                return [FieldChanged(path=path, end=field.end, status=field.status)]
        return []

    def mark_impossible(self) -> None:
        """A violation in the innermost member makes all open members impossible."""
        field = self.innermost
        while field is not None:
            field.status = "impossible"
            field = field.parent
