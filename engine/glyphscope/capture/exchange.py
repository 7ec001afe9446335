"""A request and its answer as a file of JSON lines, written while they come; without any header, so without a key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from glyphscope.base.errors import RecordError
from glyphscope.base.inputs import read_file, storage_error
from glyphscope.base.structs import ready
from glyphscope.models.remote.apis import ChatApi
from glyphscope.models.remote.keys import hidden_in, without
from glyphscope.store.files import own_file

SUFFIX = ".exchange"
MAX_REQUEST = 32_000_000
"""Bytes of a request's body; larger ones are rejected."""
MAX_RECORDED = 32_000_000
"""Bytes of an answer that are recorded; all of it is forwarded."""

PORT = 4321
"""The port for agents, unless another is chosen."""
STALL_SECONDS = 600.0
"""The longest time between two pieces of an answer; a long prompt is read before the first."""

EndedBy: TypeAlias = Literal["server", "agent", "stop", "stall", "broken", "killed", "dropped", "late"]
"""Who ended an exchange: the server as the protocol has it, the agent by leaving, the user, a server that stalled or
whose connection broke, whoever killed the capture; or its request was paused, and dropped or never sent on.
"""
Side: TypeAlias = Literal["request", "answer"]
PauseEnd: TypeAlias = Literal["sent", "edited", "dropped", "late", "agent", "stop"]
"""How a pause ended: a person sent the request or answer on, edited or not, or dropped it; its time was over, the agent
left, or the capture ended.
"""


class Asked(msgspec.Struct, frozen=True, tag="asked"):
    """The request. `to` is the server's address; `time` the wall clock in ISO 8601."""

    number: int
    api: ChatApi
    path: str
    time: str
    to: str
    body: bytes


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """The beginning of the answer, `t` seconds after the request; `kind` is its content type."""

    t: float
    status: int
    kind: str
    encoding: str = ""


class Piece(msgspec.Struct, frozen=True, tag="piece"):
    """Bytes of the answer, unchanged."""

    t: float
    data: bytes


class Waited(msgspec.Struct, frozen=True, tag="waited"):
    """The request or the answer waited for some seconds. A `body` was sent in its place."""

    seconds: float
    side: Side
    end: PauseEnd
    body: bytes | None = None


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The end. `cut`: the answer was longer than what is recorded."""

    t: float
    by: EndedBy
    message: str = ""
    cut: bool = False


_LINE = msgspec.json.Decoder(ready(Asked | Answered | Piece | Waited | Ended))


class Exchange(msgspec.Struct, frozen=True):
    """An exchange that was read. `answered` is None if the server sent nothing."""

    asked: Asked
    answered: Answered | None
    pieces: tuple[Piece, ...]
    ended: Ended
    waits: tuple[Waited, ...] = ()

    @property
    def sent(self) -> bytes:
        """The body of the request that the server got, or would have got."""
        return self._edited("request") or self.asked.body

    @property
    def received(self) -> bytes | None:
        """The edited answer that the agent got in place of the server's, if any."""
        return self._edited("answer")

    def _edited(self, side: Side) -> bytes | None:
        return next((each.body for each in self.waits if each.side == side and each.body is not None), None)


class ExchangeWriter:
    """Writes one exchange. Each line is in the file, unbuffered, before its piece is forwarded.

    `keys` are hidden wherever the request or the answer repeats them, also where a piece ends within one.
    Raises StorageError.
    """

    def __init__(self, folder: Path, asked: Asked, keys: tuple[str, ...]) -> None:
        self.path = folder / f"{asked.number:06}{SUFFIX}"
        self._keys = tuple(key for key in keys if key)
        self._waiting, self._size, self._cut = b"", 0, False
        try:
            self._file = os.open(
                own_file(folder, self.path.name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600
            )
        except OSError as error:
            raise storage_error(error, self.path, "written") from error
        self._write(msgspec.structs.replace(asked, body=self._hidden(asked.body)))

    def answered(self, t: float, status: int, kind: str, encoding: str) -> None:
        """The answer has begun."""
        self._write(Answered(t, status, kind, encoding))

    def piece(self, t: float, data: bytes) -> None:
        """A piece of the answer has come."""
        if self._cut:
            return
        self._size += len(data)
        self._cut = self._size > MAX_RECORDED
        data = self._hidden(self._waiting + data)
        begun = max((hidden_in(key, data) for key in self._keys), default=0)
        self._waiting = data[len(data) - begun :]
        if data := data[: len(data) - begun]:
            self._write(Piece(t, data))

    def waited(self, wait: Waited) -> None:
        """The request or the answer no longer waits."""
        body = None if wait.body is None else self._hidden(wait.body)
        self._write(msgspec.structs.replace(wait, body=body))

    def end(self, t: float, by: EndedBy, message: str = "") -> None:
        """The exchange is over."""
        if self._waiting:
            self._write(Piece(t, self._waiting))
        for key in self._keys:
            message = without(key, message)
        self._write(Ended(t, by, message, self._cut))
        os.close(self._file)

    def _hidden(self, data: bytes) -> bytes:
        for key in self._keys:
            data = without(key, data)
        return data

    def _write(self, line: msgspec.Struct) -> None:
        data = memoryview(msgspec.json.encode(line) + b"\n")
        try:
            while data:  # a full disk may take a part
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise storage_error(error, self.path, "written") from error


def read_exchange(path: Path) -> Exchange:
    """The exchange of a file, which a killed capture may have left unfinished. Raises StorageError, RecordError."""
    lines: list[Asked | Answered | Piece | Waited | Ended] = []
    for number, line in enumerate(read_file(path).split(b"\n"), 1):
        try:
            lines += [_LINE.decode(line)] if line else []
        except (msgspec.MsgspecError, RecursionError) as error:
            if not lines:
                raise RecordError(f"Line {number} is damaged: {error}.", where=str(path)) from None
            break  # the line in which the writer was killed
    asked = lines[0] if lines else None
    if not isinstance(asked, Asked):
        raise RecordError(
            "The file has no request.", where=str(path), hint="The capture was killed before it."
        )
    answered = next((line for line in lines if isinstance(line, Answered)), None)
    pieces = tuple(line for line in lines if isinstance(line, Piece))
    late = max([0.0, *(line.t for line in lines if not isinstance(line, Asked | Waited))])
    ended = next((line for line in lines if isinstance(line, Ended)), Ended(late, "killed"))
    waits = tuple(line for line in lines if isinstance(line, Waited))
    return Exchange(asked, answered, pieces, ended, waits)
