"""A loaded model with the objects that are made once for it: the tokenizer of masks, the chat template, and the KV
state of prompts on disk, so that another process does not evaluate them again. In the model's process.

llama.cpp's result for a token depends on the tokens before it, the model's file, the options of the context, the
build and, in its last digits, on the batches. So a state is used up to where a prompt has the batches in which it was
evaluated, and the key covers all the rest. A damaged file, or one with another key, is not used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

import llama_cpp as llama
import msgspec
import numpy as np

from glyphscope.base.lines import common_length
from glyphscope.base.structs import ready
from glyphscope.events.load_options import read_adapter
from glyphscope.models import wire
from glyphscope.models.batch_sizes import BatchTimer
from glyphscope.models.decoding.mask import MaskTokenizer, mask_tokenizer
from glyphscope.models.decoding.token_texts import Spelling
from glyphscope.models.files import Identity, available_memory, identity_of, libraries_in
from glyphscope.models.interface import Vocabulary
from glyphscope.models.llama_engine import LEAST, LlamaEngine
from glyphscope.models.llama_sequence import LlamaSequence
from glyphscope.models.prompt_cache import SUFFIX, UNFINISHED, PromptCache, stored_files
from glyphscope.models.templates import ModelTemplates, template_form
from glyphscope.models.tokens import read_special

WORTH = 128
"""The fewest tokens for which a file is written or read; half, for reading one of which at least half is used."""
_FASTER = 4
"""A state is stored if evaluating its tokens takes this many times as long as copying and checking it."""
_FREE = 4
"""How many times a state's size must be free: in memory before copying it, on disk before writing it."""
_MAGIC = b"glyphscope KV state 1\n"
_PIECE = 4 << 20
"""Bytes of one write."""
_MAX_HEADER = 16 << 20
"""Bytes of the largest header, nearly all of it token ids."""
_STALE = 3600 * 10**9
"""Nanoseconds after which an unfinished file is deleted."""


class _Header(msgspec.Struct, frozen=True, array_like=True):
    """`tokens` are little-endian 32-bit ids, `size` is the state's size in bytes, `digest` covers header and state."""

    key: str
    sha256: str
    tokens: bytes
    size: int
    digest: bytes = b""

    def digest_with(self, state: bytes | memoryview) -> bytes:
        digest = hashlib.sha256(msgspec.msgpack.encode(msgspec.structs.replace(self, digest=b"")))
        digest.update(state)
        return digest.digest()


class _Found(NamedTuple):
    """A file whose state contains the first `length` tokens of a prompt."""

    path: Path
    header: _Header
    length: int

    def is_worth_reading(self, have: int) -> bool:
        """Whether it saves enough evaluation if the first `have` tokens are in the context already."""
        mostly = 2 * self.length >= len(self.header.tokens) // 4
        return self.length - have >= (WORTH // 2 if mostly else WORTH)


def _build() -> tuple[object, ...]:
    """llama.cpp's build: its version, its compilation target, and its libraries."""
    libraries = libraries_in(Path(llama.llama_cpp._lib._name).parent)
    return (llama.__version__, llama.llama_print_system_info(), libraries)


class StoredPrompts:
    """The stored prompts of one loaded model.

    The owner sets `cache` (None: nothing is stored or read), the model file's `sha256` once it is known, and
    `ms_per_token`, the time that the last evaluation of a prompt took.
    """

    def __init__(self, engine: LlamaEngine, files: Sequence[str], identity: Identity) -> None:
        """`identity` identifies the model's files and its adapters' before they were loaded: nothing is stored once one
        of them has changed.
        """
        self._engine, self._files, self._identity = engine, files, identity
        options = engine.options
        if (
            options.flash_attention == "off"
        ):  # then the threads divide the rows, and a row has the same digits in any thread
            options = msgspec.structs.replace(options, threads=0)
        how = repr((identity, options, engine.context, engine.batch, LEAST, _build()))
        self._key = hashlib.sha256(how.encode("utf-8", "surrogatepass")).hexdigest()
        self.cache: PromptCache | None = None
        self.sha256 = ""
        self.ms_per_token = 0.0
        self._writer: threading.Thread | None = None
        self._stored: list[int] = []  # the tokens of the state last written or read

    def restore(self, sequence: LlamaSequence, prompt: Sequence[int]) -> int:
        """Load the stored state that covers most of the prompt, if worthwhile. Returns its number of tokens, or 0.

        The prompt's last token is never restored, as its evaluation gives the first logits.
        """
        cache = self.cache
        have = len(sequence.tokens)
        if cache is None or len(prompt) - 1 - have < WORTH // 2 or not self._is_unchanged():
            return 0
        found = self._best(Path(cache.folder), prompt[:-1])
        if found is None or not found.is_worth_reading(have):
            return 0
        state = self._read(found)
        tokens = _numbers(found.header.tokens)
        if state is None or not sequence.restore(tokens, state, found.length):
            return 0
        self._stored = tokens
        with suppress(OSError):
            os.utime(found.path)  # `_make_room` deletes the least recently used
        return found.length

    def keep(self, sequence: LlamaSequence) -> None:
        """Copy the state of the prompt in the sequence, and write it in the background, if worthwhile."""
        cache, tokens, ms_per_token = self.cache, sequence.tokens_in_batches, self.ms_per_token
        new = len(tokens) - common_length(self._stored, tokens)
        if cache is None or new < WORTH or self._is_writing() or not self._is_unchanged():
            return
        found = self._best(Path(cache.folder), tokens)
        if found is not None and len(tokens) - found.length < WORTH:
            return
        begin = time.perf_counter()
        free = available_memory()
        most = cache.limit if free is None else min(cache.limit, free // _FREE)
        state = sequence.copy_state(len(tokens), most)
        if state is None:
            return
        header = _Header(self._key, self.sha256, np.asarray(tokens, "<i4").tobytes(), len(state))

        def write() -> None:
            _work_quietly()
            whole = msgspec.structs.replace(header, digest=header.digest_with(state))
            took = (time.perf_counter() - begin) * 1000
            if took * _FASTER < ms_per_token * len(tokens) and self._is_unchanged():
                with suppress(OSError):  # a full disk, no permission: the prompt is evaluated again
                    _write(cache, whole, state)
                    self._stored = tokens
                    if found is not None and header.tokens.startswith(found.header.tokens):
                        found.path.unlink()  # the new one begins with all of it

        self._writer = threading.Thread(target=write, name="prompt-writer", daemon=True)
        self._writer.start()

    def finish(self, seconds: float) -> None:
        """Wait at most that long for the file that is being written."""
        if self._writer is not None:
            self._writer.join(seconds)

    def _is_writing(self) -> bool:
        return self._writer is not None and self._writer.is_alive()

    def _is_unchanged(self) -> bool:
        return bool(self._identity) and sum(map(identity_of, self._files), ()) == self._identity

    def _best(self, folder: Path, tokens: Sequence[int]) -> _Found | None:
        """The file whose state covers the most of `tokens`, in the batches in which these are evaluated."""
        ends = self._engine.batch_ends(tokens)

        def covered(stored: list[int]) -> int:
            same = common_length(stored, tokens)
            alike = ends[: common_length(self._engine.batch_ends(stored), ends)] if same else ()
            return max((end for end in alike if end <= same), default=0)

        found = (
            _Found(path, header, covered(_numbers(header.tokens)))
            for path, header in self._headers(folder)
            if not self.sha256 or not header.sha256 or header.sha256 == self.sha256
        )
        return max(found, key=lambda each: each.length, default=None)

    def _headers(self, folder: Path) -> Iterator[tuple[Path, _Header]]:
        for file in stored_files(folder):
            if file.path.name.startswith(_short(self._key)) and file.path.name.endswith(SUFFIX):
                with suppress(OSError), open(file.path, "rb") as opened:
                    header = _read_header(opened)
                    if header is not None and header.key == self._key:
                        yield file.path, header

    def _read(self, found: _Found) -> bytes | None:
        """The state; None, and the file is deleted, if its contents are not as written."""
        with suppress(OSError):
            with open(found.path, "rb") as file:
                header = _read_header(file)
                state = file.read()
            if (
                header == found.header
                and len(state) == header.size
                and header.digest_with(state) == header.digest
            ):
                return state
            found.path.unlink()
        return None


def _short(digest: str) -> str:
    """The part of a digest in a file's name, which consists of a part for the key and one for the tokens."""
    return digest[:16]


def _numbers(tokens: bytes) -> list[int]:
    numbers: list[int] = np.frombuffer(tokens[: len(tokens) // 4 * 4], "<i4").tolist()
    return numbers


def _read_header(file: BinaryIO) -> _Header | None:
    """The header; None for a file of another kind, or with a damaged beginning."""
    if file.read(len(_MAGIC)) != _MAGIC:
        return None
    size = int.from_bytes(file.read(4), "little")
    try:
        return msgspec.msgpack.decode(file.read(min(size, _MAX_HEADER)), type=ready(_Header))
    except msgspec.MsgspecError:
        return None


def _write(cache: PromptCache, header: _Header, state: memoryview) -> None:
    """Write a file if there is room, atomically, so that a reader sees all of it or nothing. Raises OSError."""
    folder = Path(cache.folder)
    packed = msgspec.msgpack.encode(header)
    size = len(_MAGIC) + 4 + len(packed) + len(state)
    folder.mkdir(parents=True, exist_ok=True)
    if size > cache.limit or shutil.disk_usage(folder).free < _FREE * size:
        return
    _make_room(folder, cache.limit - size)
    handle, temporary = tempfile.mkstemp(suffix=UNFINISHED, dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + len(packed).to_bytes(4, "little") + packed)
            for begin in range(0, len(state), _PIECE):
                file.write(state[begin : begin + _PIECE])
        tokens = hashlib.sha256(header.tokens).hexdigest()
        os.replace(temporary, folder / f"{_short(header.key)}-{_short(tokens)}{SUFFIX}")
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _make_room(folder: Path, limit: int) -> None:
    """Delete stale unfinished files, then the least recently used ones until the rest has at most `limit` bytes."""
    files = stored_files(folder)  # the least recently used first
    total = sum(file.size for file in files)
    for file in files:
        stale = file.path.name.endswith(UNFINISHED) and time.time_ns() - file.used > _STALE
        if stale or total > limit:
            with suppress(OSError):
                file.path.unlink()
                total -= file.size


def _work_quietly() -> None:
    """Lower this thread's priority, which only Linux has."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


_SPECIAL = b"\xff"


class Session:
    """The engine, and the facts about the loaded model beyond its file's header."""

    def __init__(self, load: wire.Load, *, progress: Callable[[float], None], log: Iterable[str]) -> None:
        """Raises ModelError."""
        files = (load.path, *(path for path, _ in map(read_adapter, load.options.lora)))
        identity = sum(map(identity_of, files), ())
        self.engine = LlamaEngine(load.path, load.options, progress=progress, log=log)
        self.prompts = StoredPrompts(self.engine, files, identity) if self.engine.has_cells else None
        self.batch_timer = BatchTimer()
        """Not complete if timing was interrupted, and then continued by the next one."""
        tool_template = self.templates.chosen(tools=True)
        self.info = msgspec.structs.replace(
            load.info,
            context=self.engine.context,
            vocabulary=self.engine.vocabulary,
            parameters=self.engine.parameters,
            has_chat_template="" in self.templates.sources,
            tool_calls=template_form("" if tool_template is None else tool_template.source),
            load=self.engine.options,
        )

    @cached_property
    def special(self) -> list[int]:
        """The tokens that no text of a grammar matches, in ascending order."""
        return read_special(self.engine.vocab, self.engine.pieces)

    @cached_property
    def mask_tokenizer(self) -> MaskTokenizer:
        engine = self.engine
        pieces = engine.pieces.copy()
        for token in self.special:
            pieces[token] = _SPECIAL + pieces[token]
        return mask_tokenizer(pieces, engine.vocab, engine.tokenize_address, engine.ends)

    @cached_property
    def spelling(self) -> Spelling:
        """The vocabulary in the form that budgets use."""
        return Spelling(self.engine.pieces, self.special, self.engine.ends)

    @cached_property
    def _vocabulary_digest(self) -> bytes:
        pieces = self.engine.pieces
        digest = hashlib.sha256(b"".join(pieces))
        for numbers in (map(len, pieces), self.special):
            digest.update(np.fromiter(numbers, "<i4").tobytes())
        return digest.digest()

    def constraint_key(self, kind: str, grammar: str) -> str:
        """The cache key of a constraint: a digest of its text and of the vocabulary that it is compiled for."""
        text = f"{kind} {grammar}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(self._vocabulary_digest + text).hexdigest()[:16]

    def list_vocabulary(self) -> Vocabulary:
        """The bytes of each token. A special token has a name instead."""
        tokens = self.engine.pieces.copy()
        for token in self.special:
            tokens[token] = b""
        pieces = ((token, self.engine.pieces[token]) for token in self.special)
        names = {piece.decode("utf-8", errors="replace"): token for token, piece in pieces}
        return Vocabulary(tuple(tokens), names)

    @cached_property
    def templates(self) -> ModelTemplates:
        """The chat templates of the model."""
        engine = self.engine
        ends = tuple(engine.pieces[token].decode("utf-8", errors="replace") for token in engine.ends)
        return ModelTemplates(engine.chat_templates, engine.special("bos"), engine.special("eos"), ends)
