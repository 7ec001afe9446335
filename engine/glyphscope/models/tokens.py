"""llama.cpp's facts about each token, read for a whole vocabulary at once. Only in the model's process.

A vocabulary has up to 262,144 tokens, so the cost of a call decides how long a model takes to open. The functions are
called by their addresses: without llama-cpp-python's wrappers, and without releasing the interpreter's lock each time.
"""

from __future__ import annotations

import ctypes
from functools import cache
from itertools import compress, repeat
from typing import Any

import llama_cpp as llama
import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 512
_BYTES = 1024
"""In vocabularies with a token for each byte, these are among this many first tokens."""
_SEPARATORS = (b"\xff", b"\0")
"""Bytes that occur in no text, or in hardly any."""

_INT, _POINTER, _BOOL = ctypes.c_int32, ctypes.c_void_p, ctypes.c_bool


def read_pieces(vocab: int, count: int) -> list[bytes]:
    """The bytes of each of the `count` tokens of the vocabulary at that address, special ones as they are written.

    Many are read as one text, with a separator token between each two. Tokens are read one by one if a piece contains
    the separator, if the vocabulary has no such token, or if llama.cpp cleans up its texts (it removes the space before
    a full stop), so that a text is shorter than its pieces.
    """
    pieces = [read_piece(vocab, token) for token in range(min(count, _BYTES))]
    between = next((pieces.index(byte) for byte in _SEPARATORS if byte in pieces), None)
    if between is None:
        return pieces + [read_piece(vocab, token) for token in range(len(pieces), count)]
    separator = pieces[between]
    for start in range(len(pieces), count, _AT_ONCE):
        tokens = range(start, min(start + _AT_ONCE, count))
        pieces += _read_many(vocab, tokens, between, separator) or [
            read_piece(vocab, token) for token in tokens
        ]
    return pieces


def _read_many(vocab: int, tokens: range, between: int, separator: bytes) -> list[bytes] | None:
    """The tokens' pieces; None if their joint text cannot be split again."""
    ids = np.full(2 * len(tokens) + 1, between, np.int32)
    ids[1::2] = tokens
    to_text = _function("llama_detokenize", _INT, _POINTER, _POINTER, _INT, _POINTER, _INT, _BOOL, _BOOL)
    # the size of all pieces, before any tidying
    size = -to_text(vocab, ids.ctypes.data, ids.size, None, 0, False, True)
    buffer = ctypes.create_string_buffer(max(size, 1))
    if to_text(vocab, ids.ctypes.data, ids.size, ctypes.addressof(buffer), size, False, True) != size:
        return None
    parts = buffer.raw[:size].split(separator)[1:-1]
    return parts if len(parts) == len(tokens) else None


def read_piece(vocab: int, token: int, room: int = 64) -> bytes:
    """The bytes of one token; the default `room` is enough for most."""
    to_piece = _function("llama_token_to_piece", _INT, _POINTER, _INT, _POINTER, _INT, _INT, _BOOL)
    buffer = ctypes.create_string_buffer(room)
    size = to_piece(vocab, token, ctypes.addressof(buffer), room, 0, True)
    return buffer.raw[:size] if size >= 0 else read_piece(vocab, token, -size)


def read_ends(vocab: int, count: int) -> list[int]:
    """The tokens that end a generation, in ascending order."""
    is_end = _function("llama_vocab_is_eog", _BOOL, _POINTER, _INT)
    return list(compress(range(count), map(is_end, repeat(vocab), range(count))))


def read_special(vocab: int, pieces: list[bytes]) -> list[int]:
    """Control tokens, and tokens of the model's maker that look like one: no text of a grammar matches them."""
    kinds = read_attributes(vocab, len(pieces))
    control = kinds & llama.LLAMA_TOKEN_ATTR_CONTROL
    found: list[int] = np.flatnonzero(control | kinds & llama.LLAMA_TOKEN_ATTR_USER_DEFINED).tolist()
    return [token for token in found if control[token] or _looks_special(pieces[token])]


def read_attributes(vocab: int, count: int) -> NDArray[np.int32]:
    """llama.cpp's attributes of each token, as bits."""
    attributes = _function("llama_vocab_get_attr", _INT, _POINTER, _INT)
    return np.fromiter(map(attributes, repeat(vocab), range(count)), np.int32, count)


def _looks_special(piece: bytes) -> bool:
    return piece.startswith(b"<") and piece.endswith(b">")


@cache
def _function(name: str, *kinds: Any) -> Any:
    """llama.cpp's function of that name; `kinds` are the types of its result and its arguments."""
    address = ctypes.cast(getattr(llama.llama_cpp._lib, name), ctypes.c_void_p).value
    return ctypes.PYFUNCTYPE(*kinds)(address or 0)
