"""The tokens of a text that the user types into an answer, with which a run would continue."""

from __future__ import annotations

from dataclasses import dataclass

from glyphscope.errors import GlyphscopeError
from glyphscope.models.interface import Model
from glyphscope.models.response_prefix import ModelTokenizer, tokenize_after


@dataclass(frozen=True)
class Typed:
    """A text that is typed after `before`, which ends the answer so far."""

    before: bytes
    text: str


@dataclass(frozen=True)
class Pieces:
    """The tokens of a typed text. `count` is None where only a run can show it. `spelled` are the special tokens whose
    names the text contains (as plain text), `special` the ids of all special tokens.
    """

    typed: Typed
    count: int | None = None
    pieces: tuple[bytes, ...] = ()
    spelled: tuple[str, ...] = ()
    special: frozenset[int] = frozenset()


def pieces_of(model: Model | None, typed: Typed) -> Pieces:
    """The tokens of a typed text, without a count if the model cannot tokenize it. In the worker's thread."""
    if model is None or model.info.kind == "remote":
        return Pieces(typed)  # an endpoint would get a request at every key press
    try:
        vocabulary = model.vocabulary()
        special = frozenset(vocabulary.names.values())
        spelled = tuple(name for name in vocabulary.names if name in typed.text)
        if spelled or not typed.text:
            return Pieces(typed, spelled=spelled, special=special)
        if not vocabulary.tokens:
            return Pieces(typed, model.count_tokens(typed.text))
        data, tokenizer = typed.text.encode("utf-8", "replace"), ModelTokenizer(model, vocabulary.tokens)
        ids = tokenize_after(typed.before, data, tokenizer)
        pieces = tuple(vocabulary.tokens[each] for each in ids)
        return Pieces(typed, len(ids), pieces, special=special)
    except GlyphscopeError:
        return Pieces(typed)
