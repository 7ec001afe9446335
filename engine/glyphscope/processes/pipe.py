"""Frames over pipes between a child process and its parent: msgpack, each preceded by its length."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Generic, TypeVar

import msgspec

from glyphscope.base import errors
from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.structs import ready

_LENGTH = struct.Struct("<I")
_LIMIT = 1 << 30
_BLOCK, _LARGE_BLOCK = 1 << 16, 1 << 20

F = TypeVar("F", bound=msgspec.Struct)


class SentError(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """An error on its way to another process: its class in `base.errors`, its texts, and the numbers in it."""

    kind: str
    message: str
    where: str = ""
    hint: str = ""
    numbers: dict[str, int] = {}

    @classmethod
    def of(cls, error: GlyphscopeError) -> SentError:
        kind = next(each for each in type(error).__mro__ if each.__module__ == errors.__name__)
        numbers = {name: value for name, value in vars(error).items() if isinstance(value, int)}
        return cls(kind.__name__, error.message, error.where, error.hint, numbers)

    def arrived(self) -> GlyphscopeError:
        """The error, to be raised here."""
        kind: type[GlyphscopeError] = getattr(errors, self.kind)
        error = kind.__new__(kind)
        GlyphscopeError.__init__(error, self.message, where=self.where, hint=self.hint)
        vars(error).update(self.numbers)
        return error


class Pipe(Generic[F]):
    """Reads frames of type `F` from one file descriptor; writes any frames to another, from any thread."""

    def __init__(self, read_fd: int, write_fd: int, kind: type[F]) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self._decoder: msgspec.msgpack.Decoder[F] = msgspec.msgpack.Decoder(ready(kind))
        self._encoder = msgspec.msgpack.Encoder()
        self._writing = threading.Lock()
        self._ahead = bytearray()

    @property
    def has_frame(self) -> bool:
        """Whether a whole frame was read with the one before it, so that the file descriptor may have nothing left."""
        size = _LENGTH.size
        return len(self._ahead) >= size and len(self._ahead) >= size + _LENGTH.unpack(self._ahead[:size])[0]

    def read(self) -> F | None:
        """The next frame; None if the other end is closed, even in the middle of a frame."""
        head = self._exactly(_LENGTH.size)
        if head is None:
            return None
        body = self._exactly(_LENGTH.unpack(head)[0])
        return None if body is None else self._decoder.decode(body)

    def write(self, frame: msgspec.Struct) -> None:
        """Raises OSError if the other end is closed, ValueError for a frame of 2^30 bytes or more."""
        try:
            body = self._encoder.encode(frame)
        except UnicodeEncodeError:  # a lone surrogate, which a prompt can contain but UTF-8 cannot encode
            # imported here, as the events take longer to import than a child to start
            from glyphscope.events.encoding import encode_json

            body = self._encoder.encode(msgspec.json.decode(encode_json(frame), type=ready(type(frame))))
        if len(body) >= _LIMIT:
            raise ValueError("a frame of 1.1 GB or more")
        data = memoryview(_LENGTH.pack(len(body)) + body)
        with self._writing:
            while data:
                data = data[os.write(self._write_fd, data) :]

    def _exactly(self, count: int) -> bytes | None:
        while len(self._ahead) < count:
            part = os.read(self._read_fd, max(_BLOCK, min(count - len(self._ahead), _LARGE_BLOCK)))
            if not part:
                return None
            self._ahead += part
        data = bytes(self._ahead[:count])
        del self._ahead[:count]
        return data


def start_child(
    command: Sequence[str], answers: type[F], environment: Mapping[str, str], stderr: int | IO[bytes]
) -> tuple[subprocess.Popen[bytes], Pipe[F]]:
    """Start a child process; returns it and the pipe to it. `environment` is added to this process's environment."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        bufsize=0,
        env={**environment, **os.environ},
    )
    assert child.stdin and child.stdout, "both are pipes"
    return child, Pipe(child.stdout.fileno(), child.stdin.fileno(), answers)


def parent_pipe(kind: type[F]) -> Pipe[F]:
    """The pipe of a child process to its parent, through stdin and stdout.

    Output of C and Python code goes to stderr instead. Ctrl+C reaches every process of the terminal, so it is ignored
    here: the parent decides its effect.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    read_fd, write_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return Pipe(read_fd, write_fd, kind)
