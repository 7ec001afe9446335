"""llama.cpp's grammar engine with a vocabulary and no weights, in the process of `grammar_probe.py`.

llama.cpp's output goes to stderr, which must be a file: it is emptied before each grammar, and read for the reason of a
rejection.

A text is fed byte by byte in a custom vocabulary, with a token for each of the 256 bytes and one that ends the text.
Real vocabularies lack some bytes (SmolLM2 has no token for U+0004, nor for the first byte of U+40000). Only for a
grammar that names tokens (`<think>`, `<[5]>`) are the model's vocabulary and its tokenization of the text used.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import struct
import sys
import tempfile
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any

import llama_cpp as llama

from glyphscope.base.lines import common_length
from glyphscope.models.tokens import read_ends, read_piece, read_pieces

_STDERR = 2
_END = 256
_STRING, _ARRAY, _UINT32, _INT32, _FLOAT32 = 8, 9, 4, 5, 6  # GGUF's value types
_CONTROL, _BYTE = 3, 6  # and its token types
# outside literals, classes and comments, `<` begins a token's name
_NAMES_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#[^\r\n]*|(<)', re.DOTALL)


class Vocabulary:
    """The vocabulary of a GGUF file; its weights are not read."""

    def __init__(self, path: str) -> None:
        """Raises ValueError for a file that llama.cpp cannot load."""
        parameters = llama.llama_model_default_params()
        parameters.vocab_only = True
        self._model = llama.llama_model_load_from_file(os.fsencode(path), parameters)
        if not self._model:
            raise ValueError(_first_line(_printed()) or "llama.cpp cannot load the file")
        _forget_printed()  # the output of loading is not a reason
        self.vocab = llama.llama_model_get_vocab(self._model)
        self._size = llama.llama_vocab_n_tokens(self.vocab)
        self._ends = read_ends(self.vocab, self._size)
        self.end = self._ends[0] if self._ends else -1

    @property
    def ends(self) -> list[tuple[int, bytes]]:
        """Every token that ends a generation, and its bytes."""
        return [(token, read_piece(self.vocab, token)) for token in self._ends]

    def tokens(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The tokens of a text and their bytes; the texts of special tokens become these tokens."""
        room = (llama.llama_token * (len(data) + 8))()
        count = llama.llama_tokenize(self.vocab, data, len(data), room, len(room), False, True)
        for token in room[: max(count, 0)]:
            yield token, read_piece(self.vocab, token)

    def single(self, byte: bytes) -> int:
        """The token of one byte; -1 if there is none."""
        return self._singles.get(byte, -1)

    @cached_property
    def _singles(self) -> dict[bytes, int]:
        pieces = read_pieces(self.vocab, self._size)
        return {piece: token for token, piece in enumerate(pieces) if len(piece) == 1}


class Recogniser:
    """A parsed grammar that reads texts, each with a copy of its initial state."""

    def __init__(self, vocabulary: Vocabulary, gbnf: bytes, by_byte: bool) -> None:
        """Raises ValueError, with llama.cpp's reason, for a grammar that it rejects."""
        self._sampler: Any = None
        self._vocabulary, self._by_byte = vocabulary, by_byte
        self._sampler = llama.llama_sampler_init_grammar(vocabulary.vocab, gbnf, b"root")
        if not self._sampler:
            raise ValueError(reason(_printed()))
        self._candidate = llama.llama_token_data()
        self._one = llama.llama_token_data_array(ctypes.pointer(self._candidate), 1, -1, False)
        self._array = ctypes.byref(self._one)

    def __del__(self) -> None:
        if self._sampler:
            llama.llama_sampler_free(self._sampler)

    def read_all(self, texts: list[bytes]) -> list[tuple[bool, int]]:
        """For each text, whether the grammar accepts it, and the length of its longest viable prefix in bytes.

        The common prefix of texts that are neighbours in sorted order is fed once, and the sampler is copied there.
        """
        found: dict[bytes, tuple[bool, int]] = {}
        kept: list[tuple[int, Any]] = [(0, self._sampler)]
        ordered = sorted(set(texts))
        try:
            for index, data in enumerate(ordered):
                following = ordered[index + 1] if index + 1 < len(ordered) else b""
                shared = common_length(data, following) if self._by_byte else 0
                found[data] = self._read(data, kept, shared)
                while kept[-1][0] > shared:
                    llama.llama_sampler_free(kept.pop()[1])
        finally:
            for _, sampler in kept[1:]:
                llama.llama_sampler_free(sampler)
        return [found[data] for data in texts]

    def _read(self, data: bytes, kept: list[tuple[int, Any]], shared: int) -> tuple[bool, int]:
        """Continue from the longest cached prefix, and cache the one of `shared` bytes for the next text."""
        done, sampler = kept[-1]
        sampler = llama.llama_sampler_clone(sampler)
        try:
            if not self._by_byte:
                taken = self._feed_tokens(sampler, data)
            else:
                taken = self._feed(sampler, data, done, max(shared, done))
                if taken == shared > done:
                    kept.append((shared, llama.llama_sampler_clone(sampler)))
                if taken >= shared:
                    taken = self._feed(sampler, data, taken, len(data))
            return taken == len(data) and self._allows(sampler, self._vocabulary.end), taken
        finally:
            llama.llama_sampler_free(sampler)

    def _feed(self, sampler: Any, data: bytes, start: int, end: int) -> int:
        accept = llama.llama_sampler_accept
        for index in range(start, end):
            if not self._allows(sampler, data[index]):
                return index
            accept(sampler, data[index])
        return end

    def _feed_tokens(self, sampler: Any, data: bytes) -> int:
        taken = 0
        for token, piece in self._vocabulary.tokens(data):
            if self._allows(sampler, token):
                llama.llama_sampler_accept(sampler, token)
                taken += len(piece)
                continue
            for byte in piece:  # a token may be rejected for its last byte
                single = self._vocabulary.single(bytes([byte]))
                if single < 0 or not self._allows(sampler, single):
                    return taken
                llama.llama_sampler_accept(sampler, single)
                taken += 1
        return taken

    def _allows(self, sampler: Any, token: int) -> bool:
        """Whether a token is allowed. Check before accepting it: accepting a rejected token aborts the process."""
        candidate = self._candidate
        candidate.id, candidate.logit = token, 0.0
        llama.llama_sampler_apply(sampler, self._array)
        return bool(candidate.logit == 0.0)


@lru_cache(maxsize=1)
def _bytes() -> Vocabulary:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bytes.gguf")
        with open(path, "wb") as file:
            file.write(byte_vocabulary())
        return Vocabulary(path)


@lru_cache(maxsize=1)
def vocabulary_of(model: str) -> Vocabulary:
    """The vocabulary of a model's file. Raises ValueError for an empty path, and a file that cannot be loaded."""
    if not model:
        raise ValueError("the grammar names tokens, and there is no model whose tokens they could be")
    _forget_printed()
    return Vocabulary(model)


def recogniser(model: str, gbnf: bytes) -> Recogniser:
    """The last one is kept, for more texts. Raises ValueError, with llama.cpp's reason, for a rejected grammar."""
    _forget_printed()
    return _recogniser(model, gbnf)


@lru_cache(maxsize=1)
def _recogniser(model: str, gbnf: bytes) -> Recogniser:
    found = _NAMES_TOKENS.finditer(gbnf.decode("utf-8", "surrogatepass"))
    names_tokens = any(match[1] for match in found)
    vocabulary = vocabulary_of(model) if names_tokens else _bytes()
    return Recogniser(vocabulary, gbnf, by_byte=not names_tokens)


def byte_vocabulary() -> bytes:
    """A GGUF file with nothing but a vocabulary: token N is the byte N, token 256 ends the text."""
    tokens = [f"<0x{byte:02X}>" for byte in range(_END)] + ["</s>"]
    types = [_BYTE] * _END + [_CONTROL]
    pairs = [
        _pair("general.architecture", _STRING, _text("llama")),
        _pair("tokenizer.ggml.model", _STRING, _text("llama")),
        _pair("tokenizer.ggml.tokens", _ARRAY, _list(_STRING, [_text(token) for token in tokens])),
        _pair("tokenizer.ggml.scores", _ARRAY, _list(_FLOAT32, [struct.pack("<f", 0.0)] * len(tokens))),
        _pair(
            "tokenizer.ggml.token_type", _ARRAY, _list(_INT32, [struct.pack("<i", kind) for kind in types])
        ),
        *(
            _pair(f"tokenizer.ggml.{name}_token_id", _UINT32, struct.pack("<I", _END))
            for name in ("bos", "eos", "unknown")
        ),
    ]
    header = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(pairs)) + b"".join(pairs)
    return header + bytes(-len(header) % 32)


def _pair(key: str, kind: int, value: bytes) -> bytes:
    return _text(key) + struct.pack("<I", kind) + value


def _list(kind: int, values: list[bytes]) -> bytes:
    return struct.pack("<IQ", kind, len(values)) + b"".join(values)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def reason(printed: str) -> str:
    """The reason why llama.cpp rejected a grammar, from its output: the lines after the first repeat the grammar."""
    return _first_line(printed).removeprefix("parse: error parsing grammar: ")


def _first_line(printed: str) -> str:
    return printed.strip().partition("\n")[0]


def _printed() -> str:
    """The output on stderr since the last call."""
    sys.stderr.flush()
    size = os.fstat(_STDERR).st_size
    data = os.pread(_STDERR, min(size, 4096), 0) if size else b""
    _forget_printed()
    return data.decode("utf-8", errors="replace")


def _forget_printed() -> None:
    with contextlib.suppress(OSError):
        os.ftruncate(_STDERR, 0)
        os.lseek(_STDERR, 0, os.SEEK_SET)


llama.llama_backend_init()
