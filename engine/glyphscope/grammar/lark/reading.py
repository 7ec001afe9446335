"""Check whether llguidance, the engine of the masks, accepts a text. It reads single bytes, so it needs no model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from glyphscope.compilers import service
from glyphscope.errors import GrammarError


class MaskReader:
    """A grammar in llguidance's Lark dialect, or a JSON Schema compiled by llguidance, ready to read texts."""

    def __init__(self, *, lark: str | None = None, schema: dict[str, Any] | None = None) -> None:
        """Takes one of the two. Raises GrammarError, with llguidance's reason, if it cannot be built."""
        self._is_schema = lark is None
        try:
            self._grammar = json.dumps(schema or {}) if lark is None else lark
        except RecursionError:
            raise GrammarError("The schema is nested too deep.", where="grammar") from None
        if refusal := service.refusal(self._grammar, is_schema=self._is_schema):
            raise GrammarError(f"llguidance rejects the grammar: {refusal}", where="grammar")

    def read(self, texts: Sequence[str]) -> list[bool | str]:
        """For each text, whether the grammar accepts it, or a message if llguidance stopped with an error.

        Raises CompilerDied if llguidance crashed on one of them, or took too long.
        """
        # lone surrogates have no bytes that a grammar could read
        readable = [text for text in texts if not any("\ud800" <= char <= "\udfff" for char in text)]
        answers = service.read_texts(self._grammar, readable, is_schema=self._is_schema)
        by_text = dict(zip(readable, answers))
        return [by_text.get(text, False) for text in texts]

    def accepts(self, text: str) -> bool:
        """Whether the grammar accepts the text. Raises GrammarError if llguidance stops with an error."""
        answer = self.read([text])[0]
        if isinstance(answer, str):
            raise GrammarError(answer)
        return answer
