"""A prompt is evaluated once in all the processes of a test session: that is nine tenths of a short run's time.

llama.cpp's result for a token of a prompt depends on the tokens before it, on the model's file, on how its context
was opened, and, in its last digits, on the batches in which they all were evaluated. So the state that a prompt left
in the context (its KV cache) is written to a file, with the batches, and read from there whenever any process is about
to evaluate the same in the same batches. Everything else is unchanged: the engine is asked for the same batches,
reports the same progress, counts nothing as cached that it would have computed, and evaluates every token of the
answer itself. `tests/e2e/test_saved_prompts.py` checks that all figures are the same to the last digit.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
from array import array
from pathlib import Path
from types import ModuleType
from typing import Any

import llama_cpp as llama

WORTH = 32
"""New tokens that are worth a separate file: they take about half a second, and one megabyte."""
MAX_TOKENS = 2048
"""The largest number of saved tokens: a longer prompt is a test of the context's limit."""


class Batches:
    """The tokens in a context, each with the size of the batch that it was evaluated in and with its place there."""

    def __init__(self, flat: bytes = b"") -> None:
        self._flat = array("i", flat)

    def __len__(self) -> int:
        return len(self._flat) // 3

    def __bytes__(self) -> bytes:
        return self._flat.tobytes()

    def __add__(self, tokens: list[int]) -> Batches:
        """Return these and one more batch."""
        more = Batches(bytes(self))
        for place, token in enumerate(tokens):
            more._flat.extend((token, len(tokens), place))
        return more

    def begins(self, other: Batches) -> bool:
        return other._flat[: len(self._flat)] == self._flat

    def cut(self, length: int) -> None:
        del self._flat[length * 3 :]

    def digests(self, salt: bytes, least: int) -> list[tuple[int, str]]:
        """Return a digest of all, and of all up to the end of each batch of at least so many tokens; each with its
        number of tokens.
        """
        digest, found, flat = hashlib.sha256(salt), [], self._flat
        begin = 0
        for place in range(0, len(flat), 3):
            size, at = flat[place + 1], flat[place + 2]
            if place + 3 == len(flat) or (size >= least and at == size - 1):
                digest.update(flat[begin : place + 3].tobytes())
                begin = place + 3
                found.append((begin // 3, digest.hexdigest()[:32]))
        return found


class SavedPrompts:
    """The files of one model and its settings, each under a name for each prefix that it serves."""

    def __init__(self, folder: Path, settings: str, least: int) -> None:
        """`least` is the size of the smallest batch of a prompt."""
        self._folder, self._salt, self._least = folder, settings.encode(), least

    def read(self, batches: Batches) -> tuple[Batches, bytes] | None:
        """Return a state that begins with these batches."""
        _, name = batches.digests(self._salt, self._least)[-1]
        try:
            data = (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None
        end = 4 + int.from_bytes(data[:4], "little")
        return Batches(data[4:end]), data[end:]

    def is_new(self, batches: Batches) -> bool:
        """Whether the state is worth a file."""
        there = [n for n, name in batches.digests(self._salt, self._least) if (self._folder / name).exists()]
        return len(batches) - max(there, default=0) >= WORTH

    def write(self, batches: Batches, state: bytes) -> None:
        """Write the state; another process may be writing the same."""
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix="new-") as file:
            file.write(len(bytes(batches)).to_bytes(4, "little") + bytes(batches) + state)
            file.flush()
            for _, name in batches.digests(self._salt, self._least):
                try:
                    os.link(file.name, self._folder / name)
                except FileExistsError:
                    continue


def keep_prompts(native: ModuleType, folder: str) -> None:
    """Patch the engine of that module to read and write saved prompts."""
    real, least = native.LlamaEngine, native.LEAST

    class Engine(real):  # type: ignore[misc, valid-type]
        def __init__(self, path: str, options: Any, **more: Any) -> None:
            super().__init__(path, options, **more)
            file = os.stat(path)
            which = (os.path.realpath(path), file.st_size, file.st_mtime_ns, file.st_ino)
            used = self.options
            how: tuple[Any, ...] = (self.context, used.threads)
            if (used.kv_type, used.flash_attention) != ("f16", "off"):
                how += (used.kv_type, used.flash_attention, used.gpu_layers)
            if self.batch != 64:
                how += (self.batch,)
            self._saved = SavedPrompts(Path(folder), repr((which, how)), least)
            self._batches = Batches()  # the batches of `tokens`
            self._ahead = Batches()  # the batches in llama.cpp's memory, if they extend these
            self._read = False  # something was evaluated since the last token that was decoded

        def evaluate(self, tokens: list[int]) -> None:
            self.raise_if_interrupted()
            asked = self._batches + tokens
            if not asked.begins(self._ahead):
                found = self._saved.read(asked) if tokens else None
                if found is None:
                    self._read = True
                    return super().evaluate(tokens)
                self._restore(*found)
            self._batches = asked
            self._add(tokens, 0)
            return None

        def decode(self, tokens: list[int], outputs: int) -> Any:
            worth = self._read and not self._ahead and len(self.tokens) <= MAX_TOKENS
            if worth and self._saved.is_new(self._batches):
                self._saved.write(self._batches, self._state())
            self._read = False
            return super().decode(tokens, outputs)

        def _decode(self, tokens: list[int], outputs: int) -> Any:
            if self._ahead:
                llama.llama_memory_seq_rm(self._memory, 0, len(self.tokens), -1)
                self._ahead = Batches()
            rows = super()._decode(tokens, outputs)
            self._batches += tokens
            return rows

        def _cut(self, length: int) -> None:
            super()._cut(length)
            self._batches.cut(len(self.tokens))
            self._ahead = Batches()

        def _state(self) -> bytes:
            size = llama.llama_state_seq_get_size(self._context, 0)
            buffer = (ctypes.c_uint8 * size)()
            size = llama.llama_state_seq_get_data(self._context, buffer, size, 0)
            return bytes(memoryview(buffer)[:size])

        def _restore(self, batches: Batches, state: bytes) -> None:
            llama.llama_memory_seq_rm(self._memory, 0, 0, -1)
            buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
            if not llama.llama_state_seq_set_data(self._context, buffer, len(state), 0):
                raise AssertionError("llama.cpp does not accept its own state")
            self._ahead = batches

    native.LlamaEngine = Engine
