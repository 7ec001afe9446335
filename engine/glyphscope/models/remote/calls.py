"""Tool calls as an endpoint tells them, written as the text that our validators read: `{"name": …, "arguments": …}`."""

from __future__ import annotations

import json

from glyphscope.models.remote.chunks import CallPiece


class CallWriter:
    """Pieces of calls to pieces of text. The arguments are given on as they came, right or wrong."""

    def __init__(self) -> None:
        self.begun = False
        """Whether there was a call."""
        self._open = False
        self._index: int | None = None
        self._name = ""
        self._in_arguments = self._any_arguments = False

    def feed(self, piece: CallPiece) -> str:
        """What the piece adds to the text. A call of another number ends the one before."""
        if not (piece.name or piece.arguments):
            return ""
        other = piece.number is not None and self._index is not None and piece.number != self._index
        again = piece.number is None and bool(piece.name) and self._in_arguments
        text = ""
        if self._open and (other or again):
            text += self.end()
        if not self._open:
            text += "\n" if self.begun else ""
            text += '{"name": '
            self.begun = self._open = True
            self._name, self._in_arguments, self._any_arguments = "", False, False
        self._index = piece.number
        if not self._in_arguments:
            self._name += piece.name
        if piece.arguments:
            text += self._to_arguments() + piece.arguments
            self._any_arguments = True
        return text

    def end(self) -> str:
        """What closes the call that is open."""
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
