"""The readings of a tagged parameter's text while it is written: as a string, as another value, or either."""

from __future__ import annotations

from typing import NamedTuple

from glyphscope.notation import structure as s
from glyphscope.notation.structure import Structural
from glyphscope.turns.tools import ArgumentTypes
from glyphscope.turns.validator_literals import LiteralReader
from glyphscope.turns.validator_one_call import CallJudge, Hypothesis
from glyphscope.validation.streaming_validator import Limits


class Piece(NamedTuple):
    """A part of a value's text. `broke`: the character that ruled out a marker, -1 where none was withheld."""

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
        broke = piece.broke if self._reader.may_end else -1  # else no marker could have come here
        at = self._reader.feed(piece.text, 0, events)
        self._drive(events)
        rest = piece.text[at:]
        if self._reader.broken or (self._reader.done and rest.strip()):
            at += len(rest) - len(rest.lstrip()) if self._reader.done else 0
            self.refused_at = max(piece.at + at, broke)

    def _drive(self, events: list[Structural]) -> None:
        """Read an invalid value as a string: a wrong type, not a syntax error."""
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


class ValueText:
    """The value of a parameter, or of a tag in one: its text goes to the reading for its types.

    `as_string`: the marker before it declares a string. `empty`: no text at all may be an empty list or object.
    A text that cannot be a value of these types is rejected at the character that shows it.
    """

    def __init__(
        self, judge: CallJudge, types: ArgumentTypes, at: int, limits: Limits, *, as_string: bool, empty: bool
    ) -> None:
        self._judge = judge
        self._empty = types.empty if empty else None
        self._depth = judge.depth
        self._refused = False
        self._reading: RawValue | TypedValue | EitherValue
        if as_string or types.only_string:
            self._reading = RawValue(judge, at)
        elif types.string:
            self._reading = EitherValue(judge, at, limits)
        else:
            self._reading = TypedValue(judge, at, limits.depth)

    @property
    def may_end(self) -> bool:
        """Whether the text is a complete value other than a string."""
        return isinstance(self._reading, TypedValue) and self._reading.may_end

    def text(self, piece: Piece) -> None:
        if isinstance(self._reading, EitherValue):
            self._reading = self._reading.text(piece) or self._reading
        else:
            self._reading.text(piece)
        self._refuse()

    def end(self, start: int, end: int, marker: str) -> None:
        """The text ended at `start`, as the marker `marker`, up to `end`, shows."""
        reading = self._reading
        if isinstance(reading, TypedValue) and self._empty is not None and not reading.read_text:
            listed = isinstance(self._empty, list)
            self._judge.drive([(s.ARRAY_OPEN if listed else s.OBJECT_OPEN, start, start, "")])
            self._judge.drive([(s.ARRAY_CLOSE if listed else s.OBJECT_CLOSE, start, end, "")])
            return
        if isinstance(reading, EitherValue):
            self._reading = reading = reading.ended(start, end, marker)
        reading.end(start, end, marker)
        self._refuse()
        if isinstance(reading, TypedValue) and reading.refused_at >= 0:
            self._judge.end_value(reading.read_text, start, end - 1)

    def _refuse(self) -> None:
        """Report an invalid value to the judge, once."""
        reading = self._reading
        if isinstance(reading, TypedValue) and reading.refused_at >= 0 and not self._refused:
            self._refused = True
            self._judge.drop_levels(self._depth)
            self._judge.refuse_value(reading.refused_at)
