"""A text in pieces, between which the model's control tokens are: so that some of their texts are encoded as text.

llama.cpp tokenizes a text as stretches between control tokens, each by itself. A stretch with a text that only reads
like such a token is tokenized without them; the tokens that a model's maker defined as text remain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import llama_cpp as llama
import numpy as np

from glyphscope.events import Spans
from glyphscope.models.tokens import read_attributes


class ControlTokens:
    """The control tokens of a vocabulary, whose address is `vocab`, with the bytes of all tokens."""

    def __init__(self, vocab: int, pieces: Sequence[bytes]) -> None:
        kinds = read_attributes(vocab, len(pieces))
        found = np.flatnonzero(
            kinds & (llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_UNKNOWN)
        ).tolist()
        texts = {pieces[token].decode("utf-8", errors="replace"): int(kinds[token]) for token in found}
        self._kinds = {text: kind for text, kind in texts.items() if text}
        longest = sorted(self._kinds, key=len, reverse=True)
        self._any = re.compile("|".join(map(re.escape, longest)) or r"(?!)")

    @property
    def texts(self) -> list[str]:
        return list(self._kinds)

    def pieces(self, text: str, plain: Spans) -> Iterator[tuple[str, bool]]:
        """The text's control tokens, and the stretches between them, which have none; each with whether it is a control
        token. One that has some of the characters of `plain` belongs to its stretch.
        """
        at = kind = 0
        for found in self._any.finditer(text):
            if any(start < found.end() and found.start() < end for start, end in plain):
                continue
            yield _trimmed(text[at : found.start()], kind, self._kinds[found[0]]), False
            yield found[0], True
            at, kind = found.end(), self._kinds[found[0]]
        yield _trimmed(text[at:], kind, 0), False


def _trimmed(stretch: str, before: int, after: int) -> str:
    """A stretch without the white space that the tokens around it swallow."""
    if before & llama.LLAMA_TOKEN_ATTR_RSTRIP:
        stretch = stretch.lstrip()
    return stretch.rstrip() if after & llama.LLAMA_TOKEN_ATTR_LSTRIP else stretch
