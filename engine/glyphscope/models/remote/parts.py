"""An answer in the parts that an endpoint sends, written as the text that the validators read.

Reasoning is between the markers of `ENDPOINT_FORM`, each call is a line, and the order of parts is kept: text that
arrives in the middle of a call is written after it. A call is written as `{"name": …, "arguments": …}`, and that of a
custom tool with its text as the argument `input`: its end is not known before the next part.
"""

from __future__ import annotations

import json
from typing import Literal, TypeAlias

from glyphscope.models.remote.chunks import CallPiece
from glyphscope.registry.tool import CUSTOM_INPUT
from glyphscope.turns.form import ENDPOINT_FORM

assert ENDPOINT_FORM.reasoning is not None, "the form has its markers"
_OPEN, _CLOSE = ENDPOINT_FORM.reasoning.open, ENDPOINT_FORM.reasoning.close

_Kind: TypeAlias = Literal["reasoning", "text"]


class _Whole:
    """Whether pieces of JSON form a complete value, by brackets and quotes, as each piece is read only once."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_text = self._escaped = self._any = False
        self.expects_value = True
        """Whether another value may begin here."""

    def __bool__(self) -> bool:
        return self._any and not self._in_text and self._depth <= 0

    def feed(self, piece: str) -> None:
        self._any = self._any or bool(piece.strip())
        for char in piece:
            if not char.isspace():
                self.expects_value = not self._in_text and char in ":[,"
            if self._in_text:
                self._in_text = self._escaped or char != '"'
                self._escaped = char == "\\" and not self._escaped
            elif char == '"':
                self._in_text = True
            else:
                self._depth += (char in "{[") - (char in "}]")


class CallWriter:
    """Converts pieces of calls to pieces of text. The arguments are passed on unchanged, valid or not.

    A call that begins before another is complete waits for its end, as some servers interleave calls, and arguments
    wait for the name. Pieces belong together by their number; without one, by their id; otherwise by their order. A
    piece that repeats all that its call has so far, as the last chunk of some servers does, adds only what is new.
    """

    def __init__(self) -> None:
        self.count = 0
        """The calls so far, the open one included."""
        self._open = False
        self._key: int | str | None = None
        self._id = ""
        self._name = ""
        self._in_arguments = self._custom = False
        self._arguments: list[str] = []
        self._length = self._written = 0
        """The characters of the arguments so far, and the number of their pieces that are written."""
        self._whole = _Whole()
        self._waiting: dict[int | str | None, list[CallPiece]] = {}
        self._complete: dict[tuple[int | str, str], tuple[str, str]] = {}
        """The names and arguments of the calls that were closed, by key and id."""

    @property
    def between(self) -> bool:
        """Whether other text may follow now: no open call can still continue."""
        return not self._open or self._is_whole

    @property
    def _is_whole(self) -> bool:
        return bool(self._custom or self._whole) and bool(self._name)

    def feed(self, piece: CallPiece) -> str:
        """The text that the piece adds. A call with another number follows the previous one."""
        if not (piece.name or piece.arguments):
            return ""
        key = _key(piece)
        if self._open and key is not None and key != self._key and not self._is_whole:
            self._waiting.setdefault(key, []).append(piece)
            return ""
        return self._write(piece) + self._write_waiting()

    def close(self) -> str:
        """The text that closes the open call."""
        if not self._open:
            return ""
        self._open = False
        if self._key is not None and self._id:
            self._complete[self._key, self._id] = self._name, "".join(self._arguments)
        return self._to_arguments() + ('"}}' if self._custom else "}" if self._arguments else "{}}")

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
        while self._waiting and self._is_whole:
            text += map(self._write, self._waiting.pop(next(iter(self._waiting))))
        return "".join(text)

    def _write(self, piece: CallPiece) -> str:
        if self._is_repeated(piece):
            return ""
        text = self.close() if self._open and self._another(piece) else ""
        if not self._open:
            text += "\n" if self.count else ""
            text += '{"name": '
            self.count += 1
            self._open = True
            self._key, self._id, self._name = _key(piece), "", ""
            self._in_arguments, self._arguments, self._length, self._written = False, [], 0, 0
            self._custom = piece.custom
            self._whole = _Whole()
        self._id = self._id or piece.id
        if not self._in_arguments and piece.name != self._name:  # some servers repeat the name in each piece
            self._name += piece.name
        if arguments := self._new_arguments(piece.arguments):
            self._arguments.append(arguments)
            self._length += len(arguments)
            if not self._custom:
                self._whole.feed(arguments)
            if self._name:
                text += self._to_arguments()
        return text

    def _new_arguments(self, arguments: str) -> str:
        """The arguments without those that the call has already, if JSON cannot continue with its beginning."""
        if self._whole.expects_value or not 0 < self._length <= len(arguments):
            return arguments
        return arguments.removeprefix("".join(self._arguments))

    def _is_repeated(self, piece: CallPiece) -> bool:
        """Whether a piece repeats a whole call, with its number and its id."""
        key = _key(piece)
        if key is None or not piece.id or not piece.name:
            return False
        if self._open and self._whole and (key, piece.id) == (self._key, self._id):
            known: tuple[str, str] | None = (self._name, "".join(self._arguments))
        else:
            known = self._complete.get((key, piece.id))
        return known is not None and known[0] == piece.name and _same_json(known[1], piece.arguments)

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
        """The text of the name, which is complete once something follows it, and the arguments that wait for it."""
        text = "" if self._in_arguments else f'{json.dumps(self._name, ensure_ascii=False)}, "arguments": '
        self._in_arguments = True
        new = "".join(self._arguments[self._written :])
        if self._custom:  # its text is the only argument
            text += f'{{"{CUSTOM_INPUT}": "' if text else ""
            new = json.dumps(new, ensure_ascii=False)[1:-1]
        self._written = len(self._arguments)
        return text + new


def _same_json(one: str, other: str) -> bool:
    """Whether both texts are the same JSON value, or the second is empty."""
    if one == other or not other:
        return True
    try:
        return bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):
        return False


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

    @property
    def calls(self) -> int:
        """The number of calls so far."""
        return self._calls.count

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
