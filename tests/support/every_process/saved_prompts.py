"""A prompt is evaluated once in all the processes of a test session: that is nine tenths of a short run's time.

llama.cpp's result for a token of a prompt depends on the tokens before it, on the model's file, on how its context
was opened and with which adapters, and, in its last digits, on the batches in which they all were evaluated. So the
state that a prompt left in the context (its KV cache) is written to a file, with the batches, and read from there
whenever any process is about to evaluate the same in the same batches. Everything else is unchanged: the engine is
asked for the same batches, reports the same progress, counts nothing as cached that it would have computed, and
evaluates every token of the answer itself. `tests/e2e/test_saved_prompts.py` checks that all figures are the same to
the last digit.

The files stay for the next session (`tests/support/prompt_folder.py`). One whose checksum is wrong is removed.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
from array import array
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import llama_cpp as llama

WORTH = 32
"""New tokens that are worth a separate file: they take about half a second, and one megabyte."""
MAX_TOKENS = 2048
"""The largest number of saved tokens: a longer prompt is a test of the context's limit."""
CHECKSUM = hashlib.sha256().digest_size


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
        """Return a state that begins with these batches; a damaged file is removed."""
        _, name = batches.digests(self._salt, self._least)[-1]
        path = self._folder / name
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        if hashlib.sha256(memoryview(data)[CHECKSUM:]).digest() != data[:CHECKSUM]:
            path.unlink(missing_ok=True)
            return None
        begin = CHECKSUM + 4
        end = begin + int.from_bytes(data[CHECKSUM:begin], "little")
        found = Batches(data[begin:end])
        if not batches.begins(found):
            return None
        with suppress(FileNotFoundError):
            os.utime(path)  # the files that were not used for longest are removed first
        return found, data[end:]

    def is_new(self, batches: Batches) -> bool:
        """Whether the state is worth a file."""
        there = [n for n, name in batches.digests(self._salt, self._least) if (self._folder / name).exists()]
        return len(batches) - max(there, default=0) >= WORTH

    def write(self, batches: Batches, state: bytes) -> None:
        """Write the state; another process may be writing the same."""
        content = len(bytes(batches)).to_bytes(4, "little") + bytes(batches) + state
        with (
            suppress(FileNotFoundError),  # another session has other code, and removed the folder
            tempfile.NamedTemporaryFile(dir=self._folder, prefix="new-") as file,
        ):
            file.write(hashlib.sha256(content).digest() + content)
            file.flush()
            for _, name in batches.digests(self._salt, self._least):
                try:
                    os.link(file.name, self._folder / name)
                except FileExistsError:
                    continue


def which_file(path: str, folder: Path) -> tuple[Any, ...]:
    """Return the identity of a file. That of a file in an installed package, which other environments have too, is its
    content, whose digest is in `folder` for the next process.
    """
    path, state = os.path.realpath(path), os.stat(path)
    place = (path, state.st_size, state.st_mtime_ns, state.st_ino)
    if f"{os.sep}site-packages{os.sep}" not in path:
        return place
    known = folder / f"which-{hashlib.sha256(repr(place).encode()).hexdigest()[:32]}"
    try:
        return (known.read_text(encoding="ascii"),)
    except FileNotFoundError:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    with suppress(OSError):  # the folder is gone
        new = folder / f"new-{os.getpid()}"
        new.write_text(digest, encoding="ascii")
        new.replace(known)
    return (digest,)


def keep_prompts(native: ModuleType, folder: str) -> None:
    """Patch the engine of that module to read and write saved prompts."""
    real, least = native.LlamaEngine, native.LEAST

    class Sequence(native.LlamaSequence):  # type: ignore[misc, name-defined]
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.batches = Batches()  # the batches of `tokens`
            self.ahead = Batches()  # the batches in llama.cpp's memory, if they extend these

        def add(self, tokens: list[int], outputs: int) -> None:
            super().add(tokens, outputs)
            self.batches += tokens

        def cut(self, length: int) -> None:
            super().cut(length)
            self.batches.cut(len(self.tokens))
            self.ahead = Batches()

    class Engine(real):  # type: ignore[misc, valid-type]
        def __init__(self, path: str, options: Any, **more: Any) -> None:
            super().__init__(path, options, **more)
            which = which_file(path, Path(folder))
            used = self.options
            how: tuple[Any, ...] = (self.context, used.threads)
            if used.lora:
                how += tuple(
                    (which_file(name, Path(folder)), scale)
                    for name, scale in map(native.read_adapter, used.lora)
                )
            if (used.kv_type, used.flash_attention) != ("f16", "off"):
                how += (used.kv_type, used.flash_attention, used.gpu_layers)
            if self.batch != 64:
                how += (self.batch,)
            self._saved = SavedPrompts(Path(folder), repr((which, how)), least)
            self._read = False  # something was evaluated since the last token that was decoded
            if len(self.sequences) == 1:
                self.sequences = [Sequence(self, 0)]

        def decode(self, parts: Any) -> Any:
            if len(self.sequences) > 1 or parts[0].sequence is self.spare:  # which share cells
                return super().decode(parts)
            ((sequence, tokens, outputs),) = parts
            if outputs:
                worth = self._read and not sequence.ahead and len(sequence.tokens) <= MAX_TOKENS
                if worth and self._saved.is_new(sequence.batches):
                    self._saved.write(sequence.batches, self._state())
                self._read = False
            else:
                self.raise_if_interrupted()
                asked = sequence.batches + tokens
                if not asked.begins(sequence.ahead) and tokens and (found := self._saved.read(asked)):
                    self._restore(sequence, *found)
                if asked.begins(sequence.ahead):
                    sequence.add(tokens, 0)
                    return [[]]
                self._read = True
            if sequence.ahead:
                llama.llama_memory_seq_rm(self.memory, 0, len(sequence.tokens), -1)
                sequence.ahead = Batches()
            return super().decode(parts)

        def _state(self) -> bytes:
            size = llama.llama_state_seq_get_size(self.handle, 0)
            buffer = (ctypes.c_uint8 * size)()
            size = llama.llama_state_seq_get_data(self.handle, buffer, size, 0)
            return bytes(memoryview(buffer)[:size])

        def _restore(self, sequence: Sequence, batches: Batches, state: bytes) -> None:
            llama.llama_memory_seq_rm(self.memory, 0, 0, -1)
            buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
            if not llama.llama_state_seq_set_data(self.handle, buffer, len(state), 0):
                raise AssertionError("llama.cpp does not accept its own state")
            sequence.ahead = batches

    native.LlamaEngine = Engine
