"""An answer in the parts that an endpoint sends, written as the text that our validators read.

Reasoning comes first, between the markers of `ENDPOINT_FORM`; then the text, then each call as `{"name": …,
"arguments": …}`.
"""

from __future__ import annotations

import json

from glyphscope.models.remote.chunks import CallPiece
from glyphscope.turns.endpoint import ENDPOINT_FORM

assert ENDPOINT_FORM.reasoning is not None, "the form has its markers"
_OPEN, _CLOSE = ENDPOINT_FORM.reasoning.open, ENDPOINT_FORM.reasoning.close


class ReasoningWriter:
    """Pieces of reasoning to pieces of text. What comes after anything else of the answer is not written."""

    def __init__(self) -> None:
        self._open = self._over = False

    def feed(self, piece: str) -> str:
        """What the piece adds to the text."""
        if self._over or not piece:
            return ""
        before, self._open = "" if self._open else _OPEN, True
        return before + piece

    def end(self) -> str:
        """What closes the reasoning, once something else comes."""
        close = _CLOSE if self._open else ""
        self._open, self._over = False, True
        return close


class _Whole:
    """Whether pieces of JSON come to a whole value: by brackets and quotes, as each piece is read once."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_text = self._escaped = self._any = False

    def __bool__(self) -> bool:
        return self._any and not self._in_text and self._depth <= 0

    def feed(self, piece: str) -> None:
        self._any = self._any or bool(piece.strip())
        for char in piece:
            if self._in_text:
                self._in_text = self._escaped or char != '"'
                self._escaped = char == "\\" and not self._escaped
            elif char == '"':
                self._in_text = True
            else:
                self._depth += (char in "{[") - (char in "}]")


class CallWriter:
    """Pieces of calls to pieces of text. The arguments are given on as they came, right or wrong.

    A call that begins while the arguments of another are not complete waits for their end: some servers send calls in
    turns.
    """

    def __init__(self) -> None:
        self.begun = False
        """Whether there was a call."""
        self._open = False
        self._index: int | None = None
        self._name = ""
        self._in_arguments = False
        self._any_arguments = False
        self._whole = _Whole()
        self._waiting: dict[int | None, list[CallPiece]] = {}

    def feed(self, piece: CallPiece) -> str:
        """What the piece adds to the text. A call of another number comes after the one before."""
        if not (piece.name or piece.arguments):
            return ""
        other = piece.number is not None and self._index is not None and piece.number != self._index
        if self._open and other and not self._whole:
            self._waiting.setdefault(piece.number, []).append(piece)
            return ""
        return self._write(piece) + self._write_waiting()

    def end(self) -> str:
        """What closes the call that is open, and those that waited."""
        text = [self._close()]
        for pieces in self._waiting.values():
            text += [*map(self._write, pieces), self._close()]
        self._waiting.clear()
        return "".join(text)

    def _write_waiting(self) -> str:
        """Those that waited, where what is open does not keep them any more."""
        text: list[str] = []
        while self._waiting and self._whole:
            text += map(self._write, self._waiting.pop(next(iter(self._waiting))))
        return "".join(text)

    def _write(self, piece: CallPiece) -> str:
        other = piece.number is not None and self._index is not None and piece.number != self._index
        again = piece.number is None and bool(piece.name) and self._in_arguments
        text = self._close() if self._open and (other or again) else ""
        if not self._open:
            text += "\n" if self.begun else ""
            text += '{"name": '
            self.begun = self._open = True
            self._name, self._in_arguments, self._any_arguments = "", False, False
            self._whole = _Whole()
        self._index = piece.number
        if not self._in_arguments:
            self._name += piece.name
        if piece.arguments:
            text += self._to_arguments() + piece.arguments
            self._any_arguments = True
            self._whole.feed(piece.arguments)
        return text

    def _close(self) -> str:
        if not self._open:
            return ""
        self._open = False
        return self._to_arguments() + ("}" if self._any_arguments else "{}}")

    def _to_arguments(self) -> str:
        """The name, which is known to be whole once something follows it."""
        if self._in_arguments:
            return ""
        self._in_arguments = True
        return f'{json.dumps(self._name, ensure_ascii=False)}, "arguments": '
