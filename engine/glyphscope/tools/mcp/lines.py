"""Split the bytes of a pipe into lines, in bounded memory: of overlong lines, only the two ends are kept."""

from __future__ import annotations

from typing import NamedTuple

MAX_LINE = 32_000_000
"""The maximum bytes of one message; larger ones are reported, not read."""
_ENDS = 4 * 1024


class Line(NamedTuple):
    """A whole line without its line end or, if it is too long, its beginning (`data`) and its `tail`."""

    data: bytes
    size: int
    whole: bool = True
    tail: bytes = b""


class BoundedLines:
    """Splits the fed bytes into lines."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._begin()

    def _begin(self) -> None:
        self._kept = bytearray()  # the line so far; if it is too long, its beginning
        self._tail = b""
        self._size = 0

    def feed(self, data: bytes) -> list[Line]:
        """The lines that end in `data`, without blank ones."""
        first, *others = data.split(b"\n")
        self._grow(first)
        found = []
        for part in others:
            line = Line(bytes(self._kept), self._size, self._size <= self._limit, self._tail)
            self._begin()
            self._grow(part)
            if not line.whole or line.data.strip():
                found.append(line)
        return found

    def _grow(self, part: bytes) -> None:
        before = self._size
        self._size += len(part)
        if self._size <= self._limit:
            self._kept += part
            return
        if before <= self._limit:  # it has just become too long
            self._tail = bytes(self._kept[-_ENDS:])
            del self._kept[_ENDS:]
        self._kept += part[: _ENDS - len(self._kept)]
        self._tail = (self._tail + part[-_ENDS:])[-_ENDS:]
