"""The readings of a tagged parameter's text while it is written: as a string, as another value, or either."""

from __future__ import annotations

from typing import Any, NamedTuple

from glyphscope.notation import structure as s
from glyphscope.notation.structure import Structural
from glyphscope.turns.literals import LiteralReader
from glyphscope.turns.tools import ArgumentTypes
from glyphscope.turns.validator_one_call import Hypothesis, OneCallValidator
from glyphscope.validation.streaming_validator import Limits

_ENDS = (s.STRING_END, s.ARRAY_CLOSE, s.OBJECT_CLOSE)


class ValuePart(NamedTuple):
    """A part of a value's text. `broke`: the character that ruled out a marker, -1 if none was possible."""

    at: int
    text: str
    broke: int


class RawValue:
    """A text read as a string."""

    def __init__(self, validator: OneCallValidator | Hypothesis, at: int) -> None:
        self._validator = validator
        validator.drive([(s.STRING_OPEN, at, at, "")])

    def text(self, piece: ValuePart) -> None:
        marker = piece.broke >= 0
        kind, end = (
            (s.PENDING_TEXT, piece.broke + 1) if marker else (s.STRING_TEXT, piece.at + len(piece.text))
        )
        self._validator.drive([(kind, piece.at, end, piece.text)])

    def end(self, start: int, end: int, marker: str) -> None:
        """The text ended at `start`, as the marker `marker`, up to `end`, shows."""
        self._validator.drive([(s.RAW_END, start, end, marker)])


class TypedValue:
    """A text read as a value in JSON or Python; `invalid_at` is the character that rules that out, -1 until then."""

    def __init__(self, validator: OneCallValidator | Hypothesis, at: int, max_depth: int) -> None:
        self._validator = validator
        self._reader = LiteralReader(at, max_depth=max_depth)
        self._texts: list[str] = []
        self._space = ""  # withheld, as it would end a number or a word
        self.invalid_at = -1
        self.ended = False  # the validator knows the value's end

    def text(self, piece: ValuePart) -> None:
        self._texts.append(piece.text)
        if self.invalid_at >= 0:
            return
        broke = piece.broke if self._reader.may_end else -1  # otherwise a marker is not possible here
        text, start = self._space + piece.text, piece.at - len(self._space)
        ink = text.rstrip()
        self._space = text[len(ink) :]
        before = self._reader.place
        events = self._reader.feed(ink)
        at = self._reader.place - before
        rest = ink[at:]
        if self._reader.broken or (self._reader.done and rest.strip()):
            at += len(rest) - len(rest.lstrip()) if self._reader.done else 0
            self.invalid_at = max(start + at, broke)
            events = events[:-1] if events and events[-1][0] == s.SCALAR_END else events
        self._drive(events)
        self.ended = self.ended or (self._reader.done and bool(events) and events[-1][0] in _ENDS)

    def _drive(self, events: list[Structural]) -> None:
        """Pass on the structure without syntax errors, because an invalid value is a violation of its type."""
        self._validator.drive([event for event in events if event[0] not in (s.SYNTAX, s.TOO_DEEP)])

    @property
    def whole(self) -> bool:
        return self._reader.done and self.invalid_at < 0

    @property
    def may_end(self) -> bool:
        """Whether the text so far is a complete value."""
        return self.invalid_at < 0 and self._reader.may_end

    def end(self, start: int, end: int, marker: str) -> None:
        if self.invalid_at < 0:
            self._drive(self._reader.finish())
            if not self._reader.done:
                before = self._reader.place
                self._reader.feed(marker)
                self.invalid_at = start + self._reader.place - before if self._reader.broken else end - 1

    @property
    def read_text(self) -> str:
        return "".join(self._texts)


class EitherValue:
    """A text that may be a string or another value: validated as both while both are possible."""

    def __init__(self, validator: OneCallValidator, at: int, limits: Limits) -> None:
        self._validator, self._at, self._depth = validator, at, limits.depth
        self._pieces: list[ValuePart] = []
        self._string = Hypothesis(validator.candidates, limits)
        self._typed = Hypothesis(validator.candidates, limits)
        self._as_string = RawValue(self._string, at)
        self._as_typed = TypedValue(self._typed, at, limits.depth)

    def text(self, piece: ValuePart) -> RawValue | TypedValue | None:
        """Add a piece of the text. Returns the remaining reading once only one is possible."""
        self._pieces.append(piece)
        self._as_string.text(piece)
        self._as_typed.text(piece)
        if not self._typed_left:
            return self._replay(RawValue(self._validator, self._at))
        if not self._string.possible:
            return self._replay(TypedValue(self._validator, self._at, self._depth))
        return None

    @property
    def _typed_left(self) -> bool:
        return self._as_typed.invalid_at < 0 and self._typed.possible and not self._typed.stopped

    def _replay(self, value: RawValue | TypedValue) -> RawValue | TypedValue:
        for piece in self._pieces:
            value.text(piece)
        return value

    def ended(self, start: int, end: int, marker: str) -> RawValue | TypedValue:
        """The reading that applies; it has not been ended yet."""
        self._as_typed.end(start, end, marker)
        self._as_string.end(start, end, marker)
        if self._as_typed.whole and self._typed_left:
            self._validator.raise_floor(self._string.floor)
            return self._replay(TypedValue(self._validator, self._at, self._depth))
        return self._replay(RawValue(self._validator, self._at))


class ValueText:
    """The value of a parameter, or of a tag inside one, read by its types.

    `as_string`: the marker before it declares a string, `as_data`: another value. `empty`: an empty text may be an
    empty list or object. A text that cannot be a value of these types is reported at the first character that rules it
    out.
    """

    def __init__(
        self, validator: OneCallValidator, types: ArgumentTypes, at: int, limits: Limits, *, as_string: bool,
        empty: bool, as_data: bool = False,
    ) -> None:  # fmt: skip
        self._validator = validator
        self._empty = types.empty if empty else None
        self._depth = validator.depth
        self._rejected = False
        self._reading: RawValue | TypedValue | EitherValue
        if as_string or types.only_string:
            self._reading = RawValue(validator, at)
        elif types.string and not as_data:
            self._reading = EitherValue(validator, at, limits)
        else:
            self._reading = TypedValue(validator, at, limits.depth)

    @property
    def may_end(self) -> bool:
        """Whether the text is a complete value other than a string."""
        return isinstance(self._reading, TypedValue) and self._reading.may_end

    def text(self, piece: ValuePart) -> None:
        if isinstance(self._reading, EitherValue):
            self._reading = self._reading.text(piece) or self._reading
        else:
            self._reading.text(piece)
        self._reject()

    def end(self, start: int, end: int, marker: str) -> None:
        """The text ended at `start`, as the marker `marker`, up to `end`, shows."""
        reading = self._reading
        if isinstance(reading, TypedValue) and self._empty is not None and not reading.read_text:
            listed = isinstance(self._empty, list)
            self._validator.drive([(s.ARRAY_OPEN if listed else s.OBJECT_OPEN, start, start, "")])
            self._validator.drive([(s.ARRAY_CLOSE if listed else s.OBJECT_CLOSE, start, end, "")])
            return
        if isinstance(reading, EitherValue):
            self._reading = reading = reading.ended(start, end, marker)
        reading.end(start, end, marker)
        self._reject()
        if isinstance(reading, TypedValue) and reading.invalid_at >= 0 and not reading.ended:
            self._validator.end_value(reading.read_text, start, end - 1)

    def replace(self, value: Any, start: int, at: int) -> None:
        """The text ended at `start`, as the character `at` shows, and is read as this value."""
        self._validator.drop_levels(self._depth)
        self._validator.end_value(value, start, at)

    def _reject(self) -> None:
        """Report an invalid value, once."""
        reading = self._reading
        if isinstance(reading, TypedValue) and reading.invalid_at >= 0 and not self._rejected:
            self._rejected = True
            if reading.ended:
                self._validator.violate("SYNTAX", "the value had ended before", reading.invalid_at, "")
                return
            self._validator.drop_levels(self._depth)
            self._validator.reject_value(reading.invalid_at)
