"""An answer in the parts that an endpoint sends, written as the text that the validators read.

Reasoning is between the markers of `ENDPOINT_FORM`, each call is a line, and the order of parts is kept: text that
arrives in the middle of a call is written after it. A call is written as `{"name": …, "arguments": …}`.
"""

from __future__ import annotations

import json
from typing import Literal, TypeAlias

from glyphscope.models.remote.chunks import CallPiece
from glyphscope.turns.form import ENDPOINT_FORM

assert ENDPOINT_FORM.reasoning is not None, "the form has its markers"
_OPEN, _CLOSE = ENDPOINT_FORM.reasoning.open, ENDPOINT_FORM.reasoning.close

_Kind: TypeAlias = Literal["reasoning", "text"]


class _Whole:
    """Whether pieces of JSON form a complete value, by brackets and quotes, as each piece is read only once."""

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
    """Converts pieces of calls to pieces of text. The arguments are passed on unchanged, valid or not.

    A call that begins before the arguments of another are complete waits for their end, as some servers interleave
    calls. Pieces belong together by their number; without one, by their id; otherwise by their order.
    """

    def __init__(self) -> None:
        self.begun = False
        """Whether there was a call."""
        self._open = False
        self._key: int | str | None = None
        self._id = ""
        self._name = ""
        self._in_arguments = False
        self._any_arguments = False
        self._whole = _Whole()
        self._waiting: dict[int | str | None, list[CallPiece]] = {}

    @property
    def between(self) -> bool:
        """Whether other text may follow now: no open call can still continue."""
        return not self._open or bool(self._whole)

    def feed(self, piece: CallPiece) -> str:
        """The text that the piece adds. A call with another number follows the previous one."""
        if not (piece.name or piece.arguments):
            return ""
        key = _key(piece)
        if self._open and key is not None and key != self._key and not self._whole:
            self._waiting.setdefault(key, []).append(piece)
            return ""
        return self._write(piece) + self._write_waiting()

    def close(self) -> str:
        """The text that closes the open call."""
        if not self._open:
            return ""
        self._open = False
        return self._to_arguments() + ("}" if self._any_arguments else "{}}")

    def end(self) -> str:
        """The text that closes the open call, and the text of the waiting calls."""
        text = [self.close()]
        for pieces in self._waiting.values():
            text += [*map(self._write, pieces), self.close()]
        self._waiting.clear()
        return "".join(text)

    def _write_waiting(self) -> str:
        """The text of waiting calls, once the open call no longer blocks them."""
        text: list[str] = []
        while self._waiting and self._whole:
            text += map(self._write, self._waiting.pop(next(iter(self._waiting))))
        return "".join(text)

    def _write(self, piece: CallPiece) -> str:
        text = self.close() if self._open and self._another(piece) else ""
        if not self._open:
            text += "\n" if self.begun else ""
            text += '{"name": '
            self.begun = self._open = True
            self._key, self._id = _key(piece), piece.id
            self._name, self._in_arguments, self._any_arguments = "", False, False
            self._whole = _Whole()
        if not self._in_arguments and piece.name != self._name:  # some servers repeat the name in each piece
            self._name += piece.name
        if piece.arguments:
            text += self._to_arguments() + piece.arguments
            self._any_arguments = True
            self._whole.feed(piece.arguments)
        return text

    def _another(self, piece: CallPiece) -> bool:
        """Whether a piece begins a call other than the open one."""
        key = _key(piece)
        if key is not None and key != self._key:
            return True
        if not piece.name:
            return False
        if piece.id and self._id and piece.id != self._id:
            return True  # some servers give each call the number 0
        return self._in_arguments and (
            piece.name != self._name or (bool(self._whole) and bool(piece.arguments))
        )

    def _to_arguments(self) -> str:
        """The text of the name, which is complete once something follows it."""
        if self._in_arguments:
            return ""
        self._in_arguments = True
        return f'{json.dumps(self._name, ensure_ascii=False)}, "arguments": '


def _key(piece: CallPiece) -> int | str | None:
    return piece.number if piece.number is not None else piece.id or None


class PartWriter:
    """Joins pieces of reasoning, text and calls into one text. Each method returns the text that its piece adds."""

    def __init__(self) -> None:
        self._calls = CallWriter()
        self._thinking = False
        self._last = "\n"
        self._after_call = False
        self._postponed: list[tuple[_Kind, str]] = []

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
        """The text that closes the open parts."""
        text = self._rested() + self._calls.end()
        self._after_call = self._after_call or bool(text)
        self._last = text[-1:] or self._last
        return text + self._let_go() + self._rested()

    def _beside(self, kind: _Kind, piece: str) -> str:
        if not piece:
            return ""
        if not self._calls.between:
            self._postponed.append((kind, piece))
            return ""
        return self._written(kind, piece)

    def _let_go(self) -> str:
        """The postponed text, once the call is complete."""
        if not self._postponed or not self._calls.between:
            return ""
        postponed, self._postponed = self._postponed, []
        return "".join(self._written(kind, piece) for kind, piece in postponed)

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
        """The text that closes open reasoning."""
        close = _CLOSE if self._thinking else ""
        self._thinking = False
        self._last = close[-1:] or self._last
        return close
