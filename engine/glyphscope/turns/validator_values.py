"""What the text of a tagged parameter is read as, while it is written: a string, another value, or either."""

from __future__ import annotations

from typing import NamedTuple

from glyphscope.notation import structure as s
from glyphscope.notation.structure import Structural
from glyphscope.turns.tools import ArgumentTypes
from glyphscope.turns.validator_judge import CallJudge, Hypothesis
from glyphscope.turns.validator_literals import LiteralReader
from glyphscope.validation.streaming_validator import Limits


class Piece(NamedTuple):
    """A part of a value's text. `broke`: the character that showed that it is no marker, -1 where none was held
    back.
    """

    at: int
    text: str
    broke: int


class RawValue:
    """A text that is a string."""

    def __init__(self, judge: CallJudge | Hypothesis, at: int) -> None:
        self._judge = judge
        judge.drive([(s.STRING_OPEN, at, at, "")])

    def text(self, piece: Piece) -> None:
        marker = piece.broke >= 0
        kind, end = (
            (s.PENDING_TEXT, piece.broke + 1) if marker else (s.STRING_TEXT, piece.at + len(piece.text))
        )
        self._judge.drive([(kind, piece.at, end, piece.text)])

    def end(self, start: int, end: int, marker: str) -> None:
        """The text ended at `start`, as the marker `marker`, up to `end`, shows."""
        self._judge.drive([(s.RAW_END, start, end, marker)])


class TypedValue:
    """A text that has to be a value in JSON or Python."""

    def __init__(self, judge: CallJudge | Hypothesis, at: int, max_depth: int) -> None:
        self._judge = judge
        self._reader = LiteralReader(at, max_depth=max_depth)
        self._whole: list[str] = []
        self.refused_at = -1

    def text(self, piece: Piece) -> None:
        self._whole.append(piece.text)
        if self.refused_at >= 0:
            return
        events: list[Structural] = []
        at = self._reader.feed(piece.text, 0, events)
        self._drive(events)
        rest = piece.text[at:]
        if self._reader.broken or (self._reader.done and rest.strip()):
            at += len(rest) - len(rest.lstrip()) if self._reader.done else 0
            self.refused_at = max(piece.at + at, piece.broke)

    def _drive(self, events: list[Structural]) -> None:
        """A text that is no value is a string: the wrong type, not an error of notation."""
        self._judge.drive([event for event in events if event[0] not in (s.SYNTAX, s.TOO_DEEP)])

    @property
    def whole(self) -> bool:
        return self._reader.done and self.refused_at < 0

    @property
    def may_end(self) -> bool:
        """Whether what was read so far is a value."""
        return self.refused_at < 0 and self._reader.may_end

    def end(self, start: int, end: int, marker: str) -> None:
        events: list[Structural] = []
        if self.refused_at < 0:
            self._reader.finish(events)
            self._drive(events)
            if not self._reader.done:
                at = self._reader.feed(marker, 0, [])
                self.refused_at = start + at if self._reader.broken else end - 1

    @property
    def read_text(self) -> str:
        return "".join(self._whole)


class EitherValue:
    """A text that may be a string or another value: both readings, while both are possible."""

    def __init__(self, judge: CallJudge, at: int, limits: Limits) -> None:
        self._judge, self._at, self._depth = judge, at, limits.depth
        self._pieces: list[Piece] = []
        self._string = Hypothesis(judge.candidates, limits)
        self._typed = Hypothesis(judge.candidates, limits)
        self._as_string = RawValue(self._string, at)
        self._as_typed = TypedValue(self._typed, at, limits.depth)

    def text(self, piece: Piece) -> RawValue | TypedValue | None:
        """Returns the reading that is left, once it is the only one."""
        self._pieces.append(piece)
        self._as_string.text(piece)
        self._as_typed.text(piece)
        if not self._typed_left:
            return self._replay(RawValue(self._judge, self._at))
        if not self._string.possible:
            return self._replay(TypedValue(self._judge, self._at, self._depth))
        return None

    @property
    def _typed_left(self) -> bool:
        return self._as_typed.refused_at < 0 and self._typed.possible and not self._typed.stopped

    def _replay(self, value: RawValue | TypedValue) -> RawValue | TypedValue:
        for piece in self._pieces:
            value.text(piece)
        return value

    def ended(self, start: int, end: int, marker: str) -> RawValue | TypedValue:
        """The reading that counts, to be ended."""
        self._as_typed.end(start, end, marker)
        self._as_string.end(start, end, marker)
        if self._as_typed.whole and self._typed_left:
            self._judge.raise_floor(self._string.floor)
            return self._replay(TypedValue(self._judge, self._at, self._depth))
        return self._replay(RawValue(self._judge, self._at))


def value_by(
    types: ArgumentTypes, judge: CallJudge, at: int, limits: Limits
) -> RawValue | TypedValue | EitherValue:
    """How a raw text is read whose value has these types."""
    if types.only_string:
        return RawValue(judge, at)
    return EitherValue(judge, at, limits) if types.string else TypedValue(judge, at, limits.depth)


def end_empty(value: TypedValue, types: ArgumentTypes | None, judge: CallJudge, start: int, end: int) -> bool:
    """Ends a value without text as the empty list or object that it is; False where it is none."""
    empty = None if types is None or value.read_text else types.empty
    if empty is None:
        return False
    listed = isinstance(empty, list)
    judge.drive([(s.ARRAY_OPEN if listed else s.OBJECT_OPEN, start, start, "")])
    judge.drive([(s.ARRAY_CLOSE if listed else s.OBJECT_CLOSE, start, end, "")])
    return True
