"""Parses server-sent events from bytes in chunks of any size, in bounded memory."""

from __future__ import annotations

from glyphscope.errors import ModelError
from glyphscope.text.figures import byte_size

MAX_EVENT = 1_000_000
"""Bytes of one event. A chunk of a chat completion has a few hundred; with alternatives, a few thousand."""


class EventReader:
    """Returns the data of each whole event; comments and other fields are ignored.

    An event with the id and the data of the previous one was sent twice and counts once.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._id = b""
        self._last: tuple[bytes, bytes] | None = None
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that these bytes complete. Raises ModelError for an event longer than `MAX_EVENT`."""
        if not chunk:
            return []
        second_half = self._after_cr and chunk.startswith(b"\n")  # of a line ending that was cut in two
        self._after_cr = chunk.endswith(b"\r")
        chunk = chunk[1:] if second_half else chunk
        *whole, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events: list[bytes] = []
        for line in whole:
            self._add(line)
            done = bytes(self._line)
            self._line.clear()
            if event := self._read(done):
                events.append(event)
        self._add(rest)
        return events

    def end(self) -> list[bytes]:
        """The last event, if no blank line follows it."""
        line = bytes(self._line)
        self._line.clear()
        return [event for event in (self._read(line) if line else b"", self._read(b"")) if event]

    def _add(self, part: bytes) -> None:
        self._line += part
        if self._size + len(self._line) > MAX_EVENT:
            raise ModelError(
                f"The endpoint sent more than {byte_size(MAX_EVENT)} without the end of an event.",
                hint="Is this the address of an OpenAI-compatible API?",
            )

    def _read(self, line: bytes) -> bytes:
        if not line:
            data, self._data, self._size = b"\n".join(self._data), [], 0
            this = (self._id, data)
            twice = bool(self._id) and this == self._last
            self._last = this if data else self._last
            return b"" if twice else data
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif name == b"id":
            self._id = value
        return b""
