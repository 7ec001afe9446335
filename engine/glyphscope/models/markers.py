"""A form's markers as tokens of a vocabulary: one special token or several text tokens; and the tokens that end a turn.

llama.cpp tokenizes, in a separate process with the file's vocabulary but not its weights. The types of tokens are
read from the file: llama.cpp treats some texts as ends of a generation whatever their type.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from glyphscope.models.gguf import read_token_types
from glyphscope.models.grammar_probe import GrammarProbe
from glyphscope.text.figures import pluralize

TokenKind: TypeAlias = Literal["control", "defined", "text"]
_KINDS: dict[int, TokenKind] = {3: "control", 4: "defined"}
_WORDS: dict[TokenKind, str] = {
    "control": "one special token",
    "defined": "one token, not special",
    "text": "one text token",
}
_SECONDS = 60.0


class MarkerToken(msgspec.Struct, frozen=True):
    """A token. `control`: special, never text; `defined`: added by the maker, but text; `text`: ordinary text."""

    id: int
    text: str
    kind: TokenKind


class Marker(msgspec.Struct, frozen=True):
    """A marker's tokens in this vocabulary."""

    text: str
    tokens: tuple[MarkerToken, ...]

    @property
    def words(self) -> str:
        """The tokens in words."""
        if len(self.tokens) == 1:
            return _WORDS[self.tokens[0].kind]
        if all(token.kind == "text" for token in self.tokens):
            return f"{len(self.tokens):,} text tokens"
        special = sum(token.kind == "control" for token in self.tokens)
        return f"{pluralize(len(self.tokens), 'token')}, {special} of them special"


class VocabularyMarkers(msgspec.Struct, frozen=True):
    """The markers, and every token at which llama.cpp ends a generation."""

    markers: tuple[Marker, ...]
    ends: tuple[MarkerToken, ...]

    def surprising_ends(self, ends: Sequence[str], written: Sequence[str]) -> tuple[MarkerToken, ...]:
        """Tokens that end a generation although the file declares them as text and the template never writes them."""
        return tuple(
            token
            for token in self.ends
            if token.kind != "control"
            and token.text not in ends
            and not any(token.text in text for text in written)
        )

    def known_ends(self, ends: Sequence[str]) -> tuple[str, ...]:
        """The form's ends at which llama.cpp stops: they begin with such a token."""
        texts = {token.text for token in self.ends}
        return tuple(end for end in ends if any(end.startswith(text) for text in texts if text))


def find_markers(path: Path, texts: Sequence[str]) -> VocabularyMarkers:
    """The tokens of the texts in the vocabulary of a GGUF. Raises ModelError and ModelDied."""
    types = read_token_types(path)
    with GrammarProbe(path, seconds=_SECONDS) as probe:
        tokens = probe.tokens(texts)

    def token(number: int, data: bytes) -> MarkerToken:
        kind = _KINDS.get(types[number], "text") if number < len(types) else "text"
        return MarkerToken(number, data.decode("utf-8", errors="replace"), kind)

    markers = (
        Marker(text, tuple(token(*each) for each in found))
        for text, found in zip(texts, tokens.texts, strict=True)
    )
    return VocabularyMarkers(tuple(markers), tuple(token(*each) for each in tokens.ends))
