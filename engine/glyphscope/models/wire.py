"""What goes over the pipes of the model's process: msgpack frames, each with its length before it."""

from __future__ import annotations

import os
import struct
import sys
import threading
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from glyphscope.events import Message, ModelInfo, Thinking, TokenStep
from glyphscope.events.encoding import encode_json
from glyphscope.models.interface import (
    GenerateRequest,
    PromptProgress,
    PromptReady,
    RenderedPrompt,
    Vocabulary,
)
from glyphscope.turns import TurnForm

_LENGTH = struct.Struct("<I")
_LIMIT = 1 << 30
_BLOCK, _LARGE_BLOCK = 1 << 16, 1 << 20


class _Frame(msgspec.Struct, frozen=True, tag=True, array_like=True):
    pass


class Load(_Frame, frozen=True):
    """Load the file; `threads` 0 is the number of cores. `info` is what its header told."""

    path: str
    info: ModelInfo
    context: int
    threads: int = 0


class Tokenize(_Frame, frozen=True):
    """Answered by `Tokens`, also while a generation runs."""

    text: str


class ListVocabulary(_Frame, frozen=True):
    """Answered by `Listed`, also while a generation runs."""


class Render(_Frame, frozen=True):
    """Answered by `Rendered`, also while a generation runs."""

    messages: list[Message]
    tools: list[dict[str, Any]] = []
    thinking: Thinking = "auto"


class DeriveForm(_Frame, frozen=True):
    """Derive the form of the model's turns from its chat template: `FormDerived`, between the steps of a generation."""


class Generate(_Frame, frozen=True):
    """Evaluate the prompt: `Progress`, then `Ready`."""

    request: GenerateRequest


class Step(_Frame, frozen=True):
    """Decode one step of the generation with this frame's number: `Steps`."""


class Cancel(_Frame, frozen=True):
    """End the generation with this frame's number; not answered."""


class Loading(_Frame, frozen=True):
    """The share of the file that is loaded, from 0 to 1."""

    share: float


class Loaded(_Frame, frozen=True):
    info: ModelInfo


class Tokens(_Frame, frozen=True):
    ids: list[int]


class Listed(_Frame, frozen=True):
    vocabulary: Vocabulary


class Rendered(_Frame, frozen=True):
    prompt: RenderedPrompt


class FormDerived(_Frame, frozen=True):
    """None for a model without a chat template, or with one from which nothing can be derived."""

    form: TurnForm | None


class Progress(_Frame, frozen=True):
    progress: PromptProgress


class Ready(_Frame, frozen=True):
    ready: PromptReady


class Steps(_Frame, frozen=True):
    """`ended`: there is no further step to ask for."""

    steps: tuple[TokenStep, ...]
    ended: bool


class Failed(_Frame, frozen=True):
    """An error by the name of its class; `needed` and `available` are those of a ContextOverflow."""

    error: str
    message: str
    where: str = ""
    hint: str = ""
    needed: int = 0
    available: int = 0


Request: TypeAlias = Load | Tokenize | ListVocabulary | Render | DeriveForm | Generate | Step | Cancel
Reply: TypeAlias = (
    Loading | Loaded | Tokens | Listed | Rendered | FormDerived | Progress | Ready | Steps | Failed
)


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """A request with its number."""

    number: int
    body: Request


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """A reply, with the number of the request it answers."""

    number: int
    body: Reply


F = TypeVar("F", bound=msgspec.Struct)


class Pipe(Generic[F]):
    """Frames of type `F` read from one file descriptor, any frames written to another, from any thread."""

    def __init__(self, read_fd: int, write_fd: int, kind: type[F]) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self._decoder: msgspec.msgpack.Decoder[F] = msgspec.msgpack.Decoder(kind)
        self._encoder = msgspec.msgpack.Encoder()
        self._writing = threading.Lock()
        self._ahead = bytearray()

    def read(self) -> F | None:
        """The next frame; None where the other end is closed, also in the middle of a frame."""
        head = self._exactly(_LENGTH.size)
        if head is None:
            return None
        body = self._exactly(_LENGTH.unpack(head)[0])
        return None if body is None else self._decoder.decode(body)

    def write(self, frame: msgspec.Struct) -> None:
        """Raises OSError where the other end is closed, ValueError for a frame of 1 GiB or more."""
        try:
            body = self._encoder.encode(frame)
        except UnicodeEncodeError:  # half of a character, which a prompt can hold and no process can be sent
            body = self._encoder.encode(msgspec.json.decode(encode_json(frame), type=type(frame)))
        if len(body) >= _LIMIT:
            raise ValueError("a frame of 1 GiB or more")
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


def take_stdio() -> tuple[int, int]:
    """Keeps stdin and stdout for frames: what C and Python code print goes to stderr instead."""
    read_fd, write_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return read_fd, write_fd
