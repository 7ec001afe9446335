"""The number of characters that each token of a text completes, by matching the tokens' bytes to the text."""

from __future__ import annotations

from collections.abc import Sequence

from glyphscope.models.interface import Model, Vocabulary

_BLANKS = b" \t\r\n"


def token_lengths(text: str, tokens: int, model: Model) -> tuple[int, ...]:
    """The number of characters that each of the text's tokens completes; empty if unknown.

    `tokens`, their number, may include the one that begins a sequence, whose entry is the first, with 0.
    Raises ModelError.
    """
    if not tokens:
        return ()
    vocabulary = model.vocabulary()
    if not vocabulary.tokens:
        return ()
    ids = model.tokenize(text)
    if tokens - len(ids) not in (0, 1):
        return ()
    lengths = spelled(text, ids, vocabulary)
    return (0,) * (tokens - len(ids)) + lengths if lengths else ()


def spelled(text: str, ids: Sequence[int], vocabulary: Vocabulary) -> tuple[int, ...]:
    """The number of characters that each token completes; empty if the tokens do not spell the text.

    A tokenizer may put a space before a text that has none, and a special token may swallow white space after it.
    """
    names = {number: name.encode() for name, number in vocabulary.names.items()}
    data = text.encode("utf-8", "replace")
    ends: list[int] = []
    at = 0
    for number in ids:
        piece = names.get(number) or (vocabulary.tokens[number] if number < len(vocabulary.tokens) else b"")
        here = _after(data, at, piece)
        if here is None:
            start = _after_blanks(data, at)
            here = _after(data, start, piece) if start > at and ends else None
            if here is None:
                return ()
            ends[-1] = start
        ends.append(here)
        at = here
    if ends and data[at:].strip(_BLANKS) == b"":
        ends[-1] = at = len(data)
    return _characters(data, ends) if at == len(data) else ()


def _after(data: bytes, at: int, piece: bytes) -> int | None:
    """The position after the piece, which may begin with a space that the text does not have; None without a match."""
    if data.startswith(piece, at):
        return at + len(piece)
    if piece.startswith(b" ") and data.startswith(piece[1:], at):
        return at + len(piece) - 1
    return None


def _after_blanks(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in _BLANKS:
        at += 1
    return at


def _characters(data: bytes, ends: Sequence[int]) -> tuple[int, ...]:
    """For each byte position in `ends`, the number of characters that are complete there and were not before."""
    lengths = []
    at = whole = 0
    for end in ends:
        before = whole
        while at < end:
            at += 1
            whole += at == len(data) or data[at] & 0xC0 != 0x80  # the next byte begins another character
        lengths.append(whole - before)
    return tuple(lengths)
