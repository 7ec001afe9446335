"""The prefix of an answer as tokens: tokens of a run by their ids, and typed text tokenized to continue them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from glyphscope.base.errors import ModelError
from glyphscope.base.lines import common_length
from glyphscope.events import Origin, PrefixPart
from glyphscope.models.decoding.text import shown
from glyphscope.models.interface import Model

OTHER_TOKENS = "From token {} on, the existing text has other tokens than in the model's own tokenization."
CONTEXT = 1024
"""Bytes before a typed text that are tokenized with it: more than any token has."""
_NEUTRAL = "\n"
"""A character put before a text to tokenize, as SentencePiece would otherwise add a space that was not typed."""

_INNER_BYTES = bytes(range(0x80, 0xC0))
"""UTF-8's continuation bytes."""


class Vocabulary(Protocol):
    """The part of an engine that tokenizes."""

    pieces: list[bytes]

    def tokenize(self, text: str, *, begin: bool = False, special: bool = True) -> list[int]:
        """The token ids. With `special`, texts of special tokens become these tokens; otherwise they are plain text."""

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""


class ModelTokenizer:
    """An open model as a `Vocabulary`; `pieces` are its tokens by id."""

    def __init__(self, model: Model, pieces: Sequence[bytes]) -> None:
        self._model = model
        self.pieces = list(pieces)

    def tokenize(self, text: str, *, begin: bool = False, special: bool = True) -> list[int]:
        return self._model.tokenize(text)

    def is_end(self, token: int) -> bool:
        return False


class PlacedText(NamedTuple):
    """The tokens with their origins. `note` reports where they differ from the model's own tokenization."""

    tokens: list[tuple[int, Origin]]
    note: str = ""


def place_prefix(written: Sequence[PrefixPart], vocabulary: Vocabulary) -> PlacedText:
    """The prefix's tokens. Raises ModelError for a token that the model lacks, or one after the answer's end."""
    tokens: list[tuple[int, Origin]] = []
    data = bytearray()
    for piece in written:
        origin: Origin = "kept" if piece.kept else "written"
        for token in _tokens(piece, bytes(data[-CONTEXT:]), len(tokens), vocabulary):
            if tokens and vocabulary.is_end(tokens[-1][0]):
                raise ModelError(
                    f"Token {len(tokens) - 1} of the prefix ends the answer, and nothing can follow it.",
                    hint="Remove the text after it.",
                )
            tokens.append((token, origin))
            data += vocabulary.pieces[token]
    typed = any(piece.id < 0 for piece in written)
    return PlacedText(tokens, _note([token for token, _ in tokens], bytes(data), vocabulary) if typed else "")


def _tokens(piece: PrefixPart, before: bytes, place: int, vocabulary: Vocabulary) -> list[int]:
    if piece.id < 0:
        return tokenize_after(before, piece.data, vocabulary)
    known = vocabulary.pieces[piece.id] if piece.id < len(vocabulary.pieces) else None
    if known != piece.data:
        here = "has no such token" if known is None else f"writes {shown(known)!r} with it"
        raise ModelError(
            f"Token {place} of the prefix is {shown(piece.data)!r} (id {piece.id}), and this model {here}.",
            hint="A branch continues with the model of its run: open that model.",
        )
    return [piece.id]


def tokenize_after(before: bytes, data: bytes, vocabulary: Vocabulary) -> list[int]:
    """The tokens of a text that follows `before`, whose tokens are unchanged. Special tokens in it are plain text.

    These are the last tokens of both texts tokenized together, if a token ends between the two; otherwise the tokens of
    the text alone. Raises ModelError if no tokens spell the text.
    """
    text = data.decode("utf-8", errors="replace")
    data = text.encode()
    if not data:
        return []
    for context in _contexts(before):
        tail = _tail(vocabulary.tokenize(context + text, special=False), data, vocabulary)
        if tail is not None:
            return tail
    raise ModelError(
        f"The model has no tokens that spell {text[:40]!r}.",
        hint="Write something else, or take one of its tokens.",
    )


def _contexts(before: bytes) -> Iterator[str]:
    text = ""
    # a character that the window cuts is left out; with an incomplete one at the end there is no text
    with suppress(UnicodeDecodeError):
        text = before.lstrip(_INNER_BYTES).decode()
    if text:
        yield text
    yield ""
    yield _NEUTRAL


def _tail(tokens: list[int], data: bytes, vocabulary: Vocabulary) -> list[int] | None:
    """The last tokens, which together spell `data`; None if no token begins where it does."""
    length, start = 0, len(tokens)
    while start and length < len(data):
        start -= 1
        length += len(vocabulary.pieces[tokens[start]])
    tail = tokens[start:]
    return tail if b"".join(vocabulary.pieces[token] for token in tail) == data else None


def _note(tokens: list[int], data: bytes, vocabulary: Vocabulary) -> str:
    """Empty if the tokens are the model's own for the text, or spell no text that could be compared."""
    try:
        data.decode()
        own = tokenize_after(b"", data, vocabulary)
    except (UnicodeDecodeError, ModelError):
        return ""
    if own == tokens:
        return ""
    same = common_length(tokens, own)
    return OTHER_TOKENS.format(same)
