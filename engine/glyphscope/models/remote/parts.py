"""An answer in the parts that an endpoint sends, written as the text that our validators read.

Reasoning is between the markers of `ENDPOINT_FORM`, each call is a line, and everything stays in the order in which it
came: what comes in the middle of a call is written after it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from glyphscope.models.remote.calls import CallWriter
from glyphscope.models.remote.chunks import CallPiece
from glyphscope.turns.form import ENDPOINT_FORM

assert ENDPOINT_FORM.reasoning is not None, "the form has its markers"
_OPEN, _CLOSE = ENDPOINT_FORM.reasoning.open, ENDPOINT_FORM.reasoning.close

_Kind: TypeAlias = Literal["reasoning", "text"]


class PartWriter:
    """Pieces of reasoning, of text and of calls to pieces of one text. Each method returns what its piece adds."""

    def __init__(self) -> None:
        self._calls = CallWriter()
        self._thinking = False
        self._last = "\n"
        self._after_call = False
        self._held: list[tuple[_Kind, str]] = []

    def reasoning(self, piece: str) -> str:
        return self._beside("reasoning", piece)

    def text(self, piece: str) -> str:
        return self._beside("text", piece)

    def call(self, piece: CallPiece) -> str:
        written = self._calls.feed(piece)
        if not written:
            return self._let_go()
        text = self._rested() + written
        self._after_call = True
        self._last = text[-1]
        return text + self._let_go()

    def end(self) -> str:
        """What closes the parts that are open."""
        text = self._rested() + self._calls.end()
        self._after_call = self._after_call or bool(text)
        self._last = text[-1:] or self._last
        return text + self._let_go() + self._rested()

    def _beside(self, kind: _Kind, piece: str) -> str:
        if not piece:
            return ""
        if not self._calls.between:
            self._held.append((kind, piece))
            return ""
        return self._written(kind, piece)

    def _let_go(self) -> str:
        """What was held back, once the call is whole."""
        if not self._held or not self._calls.between:
            return ""
        held, self._held = self._held, []
        return "".join(self._written(kind, piece) for kind, piece in held)

    def _written(self, kind: _Kind, piece: str) -> str:
        text = self._calls.close()
        if kind == "reasoning" and not self._thinking:
            text += "" if self._last == "\n" and not self._after_call else "\n"
            text += _OPEN
            self._thinking = True
        elif kind == "text":
            text += self._rested()
            text += "\n" if self._after_call else ""
        self._after_call = False
        self._last = piece[-1]
        return text + piece

    def _rested(self) -> str:
        """What closes reasoning that is open."""
        close = _CLOSE if self._thinking else ""
        self._thinking = False
        self._last = close[-1:] or self._last
        return close
