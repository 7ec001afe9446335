"""A loaded model with the objects that are made once for it: the tokenizer of masks and the chat template."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cached_property

import msgspec
import numpy as np

from glyphscope.decoding.mask import MaskTokenizer, mask_tokenizer
from glyphscope.decoding.token_texts import Spelling
from glyphscope.models import wire
from glyphscope.models.batch_sizes import BatchTimer
from glyphscope.models.files import identity_of
from glyphscope.models.interface import Vocabulary
from glyphscope.models.llama_engine import LlamaEngine
from glyphscope.models.stored_prompts import StoredPrompts
from glyphscope.models.templates import TemplateSource
from glyphscope.models.tokens import read_special
from glyphscope.notation.chat_tool_format import template_form

_SPECIAL = b"\xff"


class Session:
    """The engine, and the facts about the loaded model beyond its file's header."""

    def __init__(self, load: wire.Load, *, progress: Callable[[float], None], log: Iterable[str]) -> None:
        """Raises ModelError."""
        identity = identity_of(load.path)
        self.engine = LlamaEngine(load.path, load.options, progress=progress, log=log)
        self.prompts = StoredPrompts(self.engine, load.path, identity) if self.engine.has_cells else None
        self.batch_timer = BatchTimer()
        """Not complete if timing was interrupted, and then continued by the next one."""
        self.info = msgspec.structs.replace(
            load.info,
            context=self.engine.context,
            vocabulary=self.engine.vocabulary,
            parameters=self.engine.parameters,
            has_chat_template=self.engine.chat_template is not None,
            tool_calls=template_form(self.engine.tool_template or ""),
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

    @property
    def template(self) -> TemplateSource | None:
        """The chat template for prompts without tools."""
        return self._source(self.engine.chat_template)

    @property
    def tool_template(self) -> TemplateSource | None:
        """The chat template for prompts with tools."""
        return self._source(self.engine.tool_template)

    def _source(self, source: str | None) -> TemplateSource | None:
        if source is None:
            return None
        engine = self.engine
        ends = tuple(engine.pieces[token].decode("utf-8", errors="replace") for token in engine.ends)
        return TemplateSource(source, engine.special("bos"), engine.special("eos"), ends)
