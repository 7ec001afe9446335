"""A loaded model with the objects that are made once for it: the tokenizer of masks and the chat template."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from glyphscope.decoding.mask import MaskTokenizer, mask_tokenizer
from glyphscope.decoding.token_texts import Spelling
from glyphscope.errors import PromptError
from glyphscope.events import Message, Thinking
from glyphscope.models import wire
from glyphscope.models.batch_sizes import BatchTimer
from glyphscope.models.chat import NO_TEMPLATE, ChatTemplate, render_chat
from glyphscope.models.files import identity_of
from glyphscope.models.interface import RenderedPrompt, Vocabulary
from glyphscope.models.llama_engine import LlamaEngine
from glyphscope.models.stored_prompts import StoredPrompts
from glyphscope.models.tokens import read_special
from glyphscope.models.turn_forms import template_turn_form
from glyphscope.notation.chat_tool_format import template_form
from glyphscope.turns import TurnForm

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
            reads_thinking=self._reads_thinking,
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
    def _template(self) -> ChatTemplate | None:
        return self._of(self.engine.chat_template)

    @cached_property
    def _tool_template(self) -> ChatTemplate | None:
        source = self.engine.tool_template
        return self._template if source == self.engine.chat_template else self._of(source)

    @property
    def _reads_thinking(self) -> bool | None:
        """None for a damaged template: the next prompt raises the error."""
        try:
            templates = (self._template, self._tool_template)
        except PromptError:
            return None
        return any(template.reads_thinking for template in templates if template is not None)

    @cached_property
    def turn_form(self) -> TurnForm | None:
        """The form of the model's turns, derived from its template for prompts with tools."""
        engine = self.engine
        if engine.tool_template is None:
            return None
        ends = tuple(engine.pieces[token].decode("utf-8", errors="replace") for token in engine.ends)
        return template_turn_form(
            engine.tool_template, bos=engine.special("bos"), eos=engine.special("eos"), ends=ends
        )

    def _of(self, source: str | None) -> ChatTemplate | None:
        if source is None:
            return None
        return ChatTemplate(source, bos=self.engine.special("bos"), eos=self.engine.special("eos"))

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        thinking: Thinking = "auto",
    ) -> RenderedPrompt:
        """Raises PromptError."""
        template = self._tool_template if tools else self._template
        text, note, added = render_chat(template, messages, tools, thinking, no_template=NO_TEMPLATE)
        return RenderedPrompt(text, len(self.engine.tokenize(text, begin=True)), note, added)
