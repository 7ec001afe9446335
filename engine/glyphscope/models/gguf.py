"""A GGUF file's header, read without llama.cpp: the model's facts, and whether the file is complete.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The file is a download: no length in it is
trusted before it is compared with the file's size.
"""

from __future__ import annotations

import math
import os
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from glyphscope.base.bounded_cache import BoundedCache
from glyphscope.base.errors import ModelError
from glyphscope.base.figures import byte_size
from glyphscope.base.inputs import storage_error
from glyphscope.events import Sampling, settings_of, wrong_value

_DAMAGED = "Download it again: it is damaged, or not complete."
_BLOCK = 1 << 20
_HEADER_LIMIT = 1 << 28
_DEPTH_LIMIT = 4
_MAX_STRING = 1 << 20
_MAX_NAME = 64
"""Bytes of a tensor's name in ggml."""

_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_LENGTH = struct.Struct("<Q")

_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS",
    20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M",
    28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
    39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
}  # fmt: skip
"""llama.cpp's `llama_ftype`: the storage type of most of the weights."""

_SAMPLING = {"temperature": "temp", "repeat_last_n": "penalty_last_n", "repeat_penalty": "penalty_repeat"}
"""The keys of `general.sampling` with other names than ours. llama.cpp reads the same ones, and also `sequence` and
those of Mirostat.
"""

TENSOR_TYPES = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 16: (256, 66),
    17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82), 23: (256, 136),
    24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54),
    35: (256, 66), 39: (32, 17),
}  # fmt: skip
"""ggml's tensor types by number: elements and bytes of a block. The sizes of other types are not checked."""


@dataclass(frozen=True, slots=True)
class Header:
    """A file's header. `values` are the metadata's numbers and texts; an array is represented by its length. `kinds`
    are GGUF's types of these values, and `tensors` has the dimensions and ggml's type of each tensor.
    """

    size: int
    parameters: int
    values: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, tuple[tuple[int, ...], int]] = field(default_factory=dict)

    def text(self, key: str) -> str:
        """The metadata's text under that key; empty if there is none."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int:
        """The metadata's number under that key, or the length of its array; 0 if there is none."""
        value = self.values.get(key)
        return value if isinstance(value, int) else 0

    @property
    def architecture(self) -> str:
        return self.text("general.architecture")

    @property
    def name(self) -> str:
        return self.text("general.name")

    @property
    def quantisation(self) -> str:
        kind = self.values.get("general.file_type")
        return _FILE_TYPES.get(kind, "") if isinstance(kind, int) else ""

    @property
    def sampling(self) -> dict[str, float]:
        """The settings of `Sampling` that the file states for its model; without values that are out of bounds."""
        stated: dict[str, float] = {}
        for name, setting in settings_of(Sampling).items():
            value = self.values.get(f"general.sampling.{_SAMPLING.get(name, name)}")
            if isinstance(value, bool) or not isinstance(value, int | float) or wrong_value(setting, value):
                continue
            stated[name] = round(value) if setting.kind is int else float(f"{value:.7g}")  # it has 32 bits
        return stated

    @property
    def context(self) -> int:
        """The number of tokens that the model was trained for."""
        return self.number(f"{self.architecture}.context_length")

    @property
    def vocabulary(self) -> int:
        return self.number("tokenizer.ggml.tokens")

    @property
    def has_chat_template(self) -> bool:
        return bool(self.text("tokenizer.chat_template"))


_TOKEN_TYPES = "tokenizer.ggml.token_type"
_TOKENS = "tokenizer.ggml.tokens"
_SPECIALS = ("bos", "eos", "eot", "eom")
_MAX_TOKENS = 1 << 22


_headers: BoundedCache[tuple[object, ...], Header] = BoundedCache(64)
"""Without the arrays of the vocabulary, by the file's identity: the search for models reads the same as opening one."""
_reading = threading.Lock()
"""A second reader waits for the header instead of reading it at the same time."""
_TICK_NS = 2_000_000_000
"""A file that changed less than 2 s ago may change again without another time."""


def read_header(path: Path) -> Header:
    """Raises ModelError for a file that cannot be read, is not a GGUF, or is visibly damaged or cut off."""
    return _read_file(path, "")


def read_token_types(path: Path) -> tuple[int, ...]:
    """llama.cpp's type of each token, from the file (1 text, 3 control, 4 defined by the maker); may be empty.

    Raises ModelError as `read_header` does.
    """
    found = _read_file(path, _TOKEN_TYPES).values.get(_TOKEN_TYPES)
    return found if isinstance(found, tuple) else ()


def read_with_heads(path: Path) -> Header:
    """The header with the attention heads of each layer, if the layers have different numbers of them.

    Raises ModelError as `read_header` does.
    """
    return _read_file(path, ".attention.head_count_kv")


class SpecialTexts(NamedTuple):
    """The texts of the vocabulary's special tokens; empty if the file names none. `ends` end a generation."""

    bos: str = ""
    eos: str = ""
    ends: tuple[str, ...] = ()


def read_special_texts(path: Path) -> SpecialTexts:
    """The special texts that the file's metadata names; llama.cpp adds further ends by the texts of tokens.

    Raises ModelError as `read_header` does.
    """
    header = _read_file(path, _TOKENS)
    tokens = header.values.get(_TOKENS)
    found = {name: _token(header, name, tokens if isinstance(tokens, tuple) else ()) for name in _SPECIALS}
    ends = (text for name, text in found.items() if name != "bos" and text)
    return SpecialTexts(found["bos"], found["eos"], tuple(dict.fromkeys(ends)))


def _token(header: Header, name: str, tokens: Sequence[str]) -> str:
    number = header.values.get(f"tokenizer.ggml.{name}_token_id")
    return tokens[number] if isinstance(number, int) and 0 <= number < len(tokens) else ""


def _read_file(path: Path, kept: str) -> Header:
    try:
        with path.open("rb") as file, _reading:
            status = os.fstat(file.fileno())
            changed = max(status.st_mtime_ns, status.st_ctime_ns)
            key = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, changed, kept
            header = _headers.get(key)
            if header is None:
                header = _read(_Cursor(file, status.st_size, str(path)), kept)
                if kept not in (_TOKENS, _TOKEN_TYPES) and time.time_ns() - changed > _TICK_NS:
                    _headers.put(key, header)
            return header
    except OSError as error:
        failure = storage_error(error, path, "read")
        raise ModelError(failure.message, where=failure.where, hint=failure.hint) from error


class _Cursor:
    """A read position in a file; it never moves past the end."""

    def __init__(self, file: BinaryIO, size: int, where: str) -> None:
        self._file = file
        self._buffer = b""
        self._at = 0
        self._before = 0
        self.size = size
        self.where = where

    @property
    def position(self) -> int:
        return self._before + self._at

    def damaged(self, what: str) -> ModelError:
        return ModelError(f"The GGUF file is damaged: {what}.", where=self.where, hint=_DAMAGED)

    def take(self, count: int) -> bytes:
        left = self.size - self.position
        if count > left:
            raise self.damaged(f"its header extends beyond the file's end ({self.size:,} bytes)")
        if self.position + count > _HEADER_LIMIT:
            raise self.damaged(f"its header is larger than {byte_size(_HEADER_LIMIT)}")
        if self._at + count > len(self._buffer):
            self._before += self._at
            rest = self._buffer[self._at :]
            self._buffer = rest + self._file.read(max(count - len(rest), _BLOCK))
            self._at = 0
            if count > len(self._buffer):
                raise self.damaged("it became shorter while it was read")
        data = self._buffer[self._at : self._at + count]
        self._at += count
        return data

    def skip_texts(self, count: int) -> None:
        """Skip `count` texts. A vocabulary may have 262,144, so the ones in memory are not read one by one."""
        while count:
            buffer, at, last = self._buffer, self._at, len(self._buffer) - _LENGTH.size
            while count and at <= last:
                end = at + _LENGTH.size + _LENGTH.unpack_from(buffer, at)[0]
                if end > len(buffer):
                    break
                at, count = end, count - 1
            self._at = at
            if count:  # the next one is not in memory, or only in part
                self.take(self.length())
                count -= 1

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def length(self, unit: int = 1) -> int:
        """A count of items of at least `unit` bytes each, which must fit in the rest of the file."""
        count: int = self.number("<Q")
        if count * unit > self.size - self.position:
            raise self.damaged(f"it declares {count} entries, and has no room for them")
        return count


def _read(cursor: _Cursor, kept: str) -> Header:
    """Read the header. Arrays whose keys end in `kept` are read in full."""
    if cursor.size == 0:
        raise ModelError("The file is empty.", where=cursor.where, hint=_DAMAGED)
    if cursor.size < 4 or cursor.take(4) != b"GGUF":
        raise ModelError(
            "The file is not a GGUF model.",
            where=cursor.where,
            hint="Choose a file that llama.cpp can load (.gguf).",
        )
    _check_version(cursor)
    tensors, pairs = cursor.length(unit=24), cursor.length(unit=12)
    values: dict[str, Any] = {}
    kinds: dict[str, int] = {}
    for _ in range(pairs):
        key = cursor.take(cursor.length()).decode("utf-8", errors="replace")
        kinds[key] = cursor.number("<I")
        values[key] = _value(cursor, kinds[key], keep=bool(kept) and key.endswith(kept))
    found, end = _tensors(cursor, tensors)
    alignment = values.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise cursor.damaged("its alignment is not a power of two")
    data = -(-cursor.position // alignment) * alignment
    if tensors and data + end > cursor.size:  # a file without tensors need not be padded
        raise ModelError(
            f"The file is cut off: {cursor.size:,} of at least {data + end:,} bytes are there.",
            where=cursor.where,
            hint=_DAMAGED,
        )
    parameters = sum(math.prod(shape) for shape, _ in found.values())
    return Header(cursor.size, parameters, values, kinds, found)


def _check_version(cursor: _Cursor) -> None:
    version: int = cursor.number("<I")
    if version in (2, 3):
        return
    if version & 0xFFFF == 0:
        raise ModelError(
            "The GGUF file is for big-endian machines.", where=cursor.where, hint="Get the usual one."
        )
    raise ModelError(
        f"The GGUF file has version {version}; 2 and 3 can be read.",
        where=cursor.where,
        hint="Convert it again, or download it again.",
    )


def _value(cursor: _Cursor, kind: int, depth: int = 0, *, keep: bool = False) -> Any:
    """A number or a text; an array's length or, with `keep`, its numbers or texts.

    Long texts are cut: only their presence matters.
    """
    if form := _SCALARS.get(kind):
        return cursor.number(form)
    if kind == _STRING:
        return cursor.take(cursor.length())[:_MAX_STRING].decode("utf-8", errors="replace")
    if kind != _ARRAY or depth == _DEPTH_LIMIT:
        raise cursor.damaged(f"a value of the unknown type {kind}")
    item = cursor.number("<I")
    if form := _SCALARS.get(item):
        width = struct.calcsize(form)
        count = cursor.length(unit=width)
        data = cursor.take(count * width)
        return struct.unpack(f"<{count}{form[1]}", data) if keep and count <= _MAX_TOKENS else count
    count = cursor.length(unit=8)
    if keep and item == _STRING and count <= _MAX_TOKENS:
        return tuple(cursor.take(cursor.length()).decode("utf-8", errors="replace") for _ in range(count))
    if item == _STRING:
        cursor.skip_texts(count)
    else:
        for _ in range(count):
            _value(cursor, item, depth + 1)
    return count


def _tensors(cursor: _Cursor, count: int) -> tuple[dict[str, tuple[tuple[int, ...], int]], int]:
    """The dimensions and type of each tensor, and the end of the last tensor's data, counted from the data's start."""
    found: dict[str, tuple[tuple[int, ...], int]] = {}
    end = 0
    for _ in range(count):
        name = cursor.take(cursor.length())[:_MAX_NAME].decode("utf-8", errors="replace")
        dimensions: int = cursor.number("<I")
        if not 1 <= dimensions <= 4:
            raise cursor.damaged(f"a tensor with {dimensions} dimensions")
        shape = tuple(cursor.number("<Q") for _ in range(dimensions))
        elements = math.prod(shape)
        kind, offset = cursor.number("<I"), cursor.number("<Q")
        per_block, width = TENSOR_TYPES.get(kind, (1, 0))
        found[name] = (shape, kind)
        end = max(end, offset + -(-elements // per_block) * width)
    return found, end
