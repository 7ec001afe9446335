"""A loaded model with what is made of it once: its masks' tokenizer and its chat template."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import llama_cpp as llama
import msgspec

from glyphscope.decoding import MaskTokenizer, mask_tokenizer
from glyphscope.errors import PromptError
from glyphscope.events import Message, Thinking
from glyphscope.models import wire
from glyphscope.models.chat import NO_TEMPLATE, ChatTemplate
from glyphscope.models.chat_tools import render_chat
from glyphscope.models.interface import RenderedPrompt, Vocabulary
from glyphscope.models.native import LlamaEngine
from glyphscope.notation.native import template_form

_SPECIAL = b"\xff"


class Session:
    """The engine, and what the loaded model tells of itself beyond its file's header."""

    def __init__(self, load: wire.Load, *, progress: Callable[[float], None], log: Iterable[str]) -> None:
        """Raises ModelError."""
        self.engine = LlamaEngine(
            load.path, context=load.context, threads=load.threads, progress=progress, log=log
        )
        self.info = msgspec.structs.replace(
            load.info,
            context=self.engine.context,
            vocabulary=self.engine.vocabulary,
            parameters=self.engine.parameters,
            has_chat_template=self.engine.chat_template is not None,
            tool_calls=template_form(self.engine.tool_template or ""),
            reads_thinking=self._reads_thinking,
        )

    @cached_property
    def mask_tokenizer(self) -> MaskTokenizer:
        engine = self.engine
        pieces = [
            _SPECIAL + piece if self._is_special(token, piece) else piece
            for token, piece in enumerate(engine.pieces)
        ]
        return mask_tokenizer(pieces, engine.vocab, engine.tokenize_address, engine.ends)

    @cached_property
    def _vocabulary_digest(self) -> bytes:
        digest = hashlib.sha256()
        for token, piece in enumerate(self.engine.pieces):
            digest.update(b"%d %d " % (self._is_special(token, piece), len(piece)) + piece)
        return digest.digest()

    def constraint_key(self, kind: str, grammar: str) -> str:
        """Under what a constraint is kept: a digest of its text and of the vocabulary that it is compiled for."""
        text = f"{kind} {grammar}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(self._vocabulary_digest + text).hexdigest()[:16]

    def list_vocabulary(self) -> Vocabulary:
        """What each token spells. A special one spells nothing: it has a name."""
        special = {t for t, piece in enumerate(self.engine.pieces) if self._is_special(t, piece)}
        tokens = (b"" if t in special else piece for t, piece in enumerate(self.engine.pieces))
        names = {self.engine.pieces[t].decode("utf-8", errors="replace"): t for t in sorted(special)}
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
        """None for a template that is damaged: a prompt tells that, once one is asked for."""
        try:
            templates = (self._template, self._tool_template)
        except PromptError:
            return None
        return any(template.reads_thinking for template in templates if template is not None)

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

    def _is_special(self, token: int, piece: bytes) -> bool:
        """A control token, or one defined by the model's maker that looks like one: no grammar's text matches it."""
        kind = llama.llama_vocab_get_attr(self.engine.vocab, token)
        if kind & llama.LLAMA_TOKEN_ATTR_CONTROL:
            return True
        defined = bool(kind & llama.LLAMA_TOKEN_ATTR_USER_DEFINED)
        return defined and piece.startswith(b"<") and piece.endswith(b">")
