"""The streaming validator: structural events in, verdicts out, at the first character that decides.

The path of a character: a reader of the notation turns the text into structural events (`notation.structure`);
`_handlers` has a method for each kind; the method checks the possible continuations: a `Level` has those of the open
container (`levels`), the `CandidateSet` those of the value being written (`candidates`). Both narrow themselves and
return a reason if no alternative is left, which is a violation. The value is then no longer judged; everything else
still is. Members are recorded separately (`fields`).

The constructor takes the schema's candidates (`roots`), the name of the document in messages (`subject`) and a function
that may replace a violation's reason (`explain`). A subclass adds the final verdict on the complete document; for calls
(`call`), also the level of the call's object and GLYPH's head.

To change when a value is a violation: `literals` and `strings` for scalars, `members` for names, `levels` for
containers. To change the messages: `reasons`. To support another keyword of JSON Schema: `schema`.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from glyphscope.base.pointer import step_of, to_pointer
from glyphscope.events import Code, FieldChanged, Notation, RunEvent, Violation
from glyphscope.notation import structure as s
from glyphscope.notation.read import make_reader
from glyphscope.notation.scalars import ARRAY, OBJECT, STRING, scalar_value
from glyphscope.notation.structure import Structural
from glyphscope.validation.candidates import Candidate, CandidateSet, anything
from glyphscope.validation.fields import FieldRecorder, RecordedField
from glyphscope.validation.levels import ArrayLevel, Level, ObjectLevel
from glyphscope.validation.literals import ScalarPrefix
from glyphscope.validation.reasons import LocatedReason, Reason, correct, in_words, one_of
from glyphscope.validation.spec import ANYTHING
from glyphscope.validation.tools import reason_of


@dataclass(frozen=True)
class Limits:
    """Limits on the memory and time that a text may take; beyond a limit, the text is read no further."""

    text: int = 16_000_000  # characters
    depth: int = 256  # levels of nesting
    fields: int = 250_000  # members in total
    errors: int = 100  # reported violations


@dataclass(frozen=True)
class JudgedCall:
    """A call in a text: the characters `start` to `end` (exclusive), markers included.

    `arguments` is None if they are unknown or cannot be read. `violations` is empty for a valid call.
    """

    tool: str | None
    arguments: dict[str, Any] | None
    start: int
    end: int
    complete: bool
    violations: tuple[Violation, ...]

    @property
    def valid(self) -> bool:
        return self.complete and not self.violations


Handler: TypeAlias = Callable[[int, int, str], None]
"""Takes a structural event: its characters from `start` to `end` (exclusive), and its text with escapes resolved."""
Explain: TypeAlias = Callable[[Reason, str, str, int | None], LocatedReason]
"""From a reason, its path, the text of the scalar being written and how many of its characters were possible (None if
that was not counted): the reason and path to report."""


class StreamingValidator:
    """Judges a document in a notation, fed in pieces of any size, or driven by another notation's reader (`drive`)."""

    content = reasoning = ""
    turn = None
    """As in a validator of answers; a value has no text around it."""

    def __init__(
        self,
        notation: Notation,
        roots: Callable[[], list[Candidate]],
        *,
        limits: Limits | None = None,
        calls: bool = False,
        subject: str = "the value",
        explain: Explain | None = None,
        at: int | None = None,
    ) -> None:
        """`roots` returns the candidates of the document, called `subject` in messages. `calls`: it is a call.

        `at` is the position of its first character.
        """
        self.notation = notation
        self.violations: list[Violation] = []
        self.complete = False
        self.chars = at or 0  # the position after the last character that was fed
        self.value: Any = None  # the whole document, once it is complete
        self.floor = -1  # no violation is reported at an earlier character, as none can be decided there
        self._roots = roots
        self._subject = subject
        self._explain = explain
        self._limits = limits or Limits()
        self._reader = make_reader(
            notation, calls=calls, max_depth=self._limits.depth, at=at if calls else None
        )
        if at and not calls:
            self._reader.feed("", at)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._token = -1  # index of the piece being judged
        self._out: list[RunEvent] = []  # the events that the current `feed` or `finish` returns
        self._stopped = False
        self._fields = FieldRecorder()
        self._levels: list[Level] = []  # the open containers, the innermost last
        self._candidates = CandidateSet()  # the alternatives of the value being written
        self._pieces: list[str] = []  # of the open string
        self._scalar: ScalarPrefix | None = None  # the open number, literal or bare word
        self._handlers: dict[int, Handler] = {
            s.OBJECT_OPEN: self._object_open,
            s.OBJECT_CLOSE: self._container_close,
            s.ARRAY_OPEN: self._array_open,
            s.ARRAY_CLOSE: self._container_close,
            s.SEPARATOR: self._separator,
            s.KEY_OPEN: self._key_open,
            s.KEY_TEXT: self._key_text,
            s.KEY_END: self._key_end,
            s.STRING_OPEN: self._string_open,
            s.STRING_TEXT: self._string_text,
            s.ESCAPE_OPEN: self._escape_open,
            s.STRING_END: self._string_end,
            s.PENDING_TEXT: self._pending_text,
            s.RAW_END: lambda start, end, text: self._late_end(start, end, text, start),
            s.QUOTE_END: lambda start, end, text: self._late_end(start, end, text, end),
            s.SCALAR_TEXT: self._scalar_text,
            s.SCALAR_END: self._scalar_end,
            s.DOCUMENT_END: self._document_end,
            s.TRAILING_TEXT: self._trailing_text,
            s.SYNTAX: self._syntax,
            s.TOO_DEEP: self._too_deep,
        }

    @property
    def fields(self) -> list[RecordedField]:
        """The members, in order of appearance."""
        return self._fields.recorded

    @property
    def stopped(self) -> bool:
        """Whether the text is read no further."""
        return self._stopped

    @property
    def calls(self) -> Sequence[JudgedCall]:
        """The call, if the document is one."""
        return ()

    @property
    def valid(self) -> bool:
        """Whether the document is complete and nothing was wrong."""
        return self.complete and not self.violations

    # text and events in

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        """Judge the next piece, of any size; bytes may end inside a character. Returns the resulting events.

        `token` is the piece's index among the tokens; by default, pieces are counted.
        """
        if isinstance(text, bytes):
            text = self._decoder.decode(text)
        self._token = self._token + 1 if token is None else token
        out: list[RunEvent] = []
        self._out = out
        chars = self.chars = self.chars + len(text)
        if self._stopped:
            return out
        excess = chars - self._limits.text
        self.drive(self._reader.feed(text if excess <= 0 else text[:-excess]))
        if excess > 0 and not self._stopped:
            self._stop(
                "LIMIT_EXCEEDED", f"the text is longer than {self._limits.text} characters", self._limits.text
            )
        field = self._fields.innermost
        if field is not None:
            field.end = chars
            out.append(FieldChanged(path=field.path, end=chars, status=field.status))
        return out

    def finish(self, token: int | None = None) -> list[RunEvent]:
        """Judge the end of the text, after that token; open members end there."""
        self._token = self._token if token is None else token
        rest = self._decoder.decode(b"", final=True)
        self._out = out = self.feed(rest, self._token) if rest else []
        if not self._stopped:
            self.drive(self._reader.finish())
        if not self.complete and not self._stopped:
            self._text_ended()
        self._fields.grow(self.chars)
        return out

    def drive(self, events: list[Structural]) -> None:
        """Judge a reader's events."""
        handlers = self._handlers
        for kind, start, end, text in events:
            if self._stopped:
                return
            handlers[kind](start, end, text)

    def _text_ended(self) -> None:
        self._violate(
            Reason("TRUNCATED", f"the text ends before {self._subject} does"), self.chars, self._path()
        )

    # verdicts

    def raise_floor(self, at: int) -> None:
        """Report no further violations at earlier characters than this one."""
        self.floor = max(self.floor, at)

    def _violate(self, reason: Reason, at: int, path: str) -> None:
        """Record and report a violation decided at the character `at`."""
        at = max(at, self.floor)
        if self._explain is not None:
            reason, path = self._explain(reason, path, self._scalar_so_far, self._candidates.reached)
        if len(self.violations) >= self._limits.errors:
            self._stop("LIMIT_EXCEEDED", f"more than {self._limits.errors} violations", at)
            return
        violation = Violation(
            code=reason.code, message=in_words(reason, path, self._subject), path=path, char=at, token=self._token,
            rule=reason.rule, viable=one_of(reason.viable),
        )  # fmt: skip
        self.violations.append(violation)
        self._out.append(violation)
        self._fields.mark_impossible()

    def _report(self, reason: Reason | None, at: int) -> None:
        """Report a violation of the value being written, if there is a reason."""
        if reason is not None:
            self._violate(reason, at, self._path())

    def _stop(self, code: Code, message: str, at: int) -> None:
        """Report a violation after which the text is read no further."""
        violation = Violation(code=code, message=message, path=self._path(), char=at, token=self._token)
        self.violations.append(violation)
        self._out.append(violation)
        self._read_no_further(at)

    def _read_no_further(self, at: int) -> None:
        self._stopped = True
        self._fields.grow(at)
        self._fields.innermost = None
        self._levels.clear()

    def _path(self) -> str:
        """The JSON Pointer of the value being written, or of the next one."""
        if not self._levels:
            return ""
        level = self._levels[-1]
        if isinstance(level, ArrayLevel):
            return f"{level.path}/{len(level.value)}"
        field = self._fields.innermost
        return field.path if field is not None and field is not level.field else level.path

    @property
    def _scalar_so_far(self) -> str:
        """The text of the scalar being written."""
        return "".join(self._pieces) if self._scalar is None else self._scalar.text

    # values

    def _begin(self, start: int) -> None:
        """A value begins, with the candidates of its place."""
        if not self._levels:
            self._candidates.replace(self._roots())
            if not self._candidates.left:
                self._candidates.replace(anything())
                self._violate(Reason("CONSTRAINT_OTHER", "is of a schema that nothing satisfies"), start, "")
            return
        level = self._levels[-1]
        if isinstance(level, ObjectLevel) and level.records:
            path = f"{level.path}/{step_of(level.key)}"
            self._out.append(self._fields.open(path, start, possible=level.checks_key))
            if len(self._fields.recorded) > self._limits.fields:
                self._stop("LIMIT_EXCEEDED", f"more than {self._limits.fields} members", start)
        self._candidates.replace(level.value_candidates())
        if isinstance(level, ArrayLevel) and not self._candidates.left and level.candidates:
            self._violate(level.too_many(), start, self._path())
            self._candidates.replace([Candidate(c.schemas, ANYTHING, c) for c in level.candidates])

    def _end(self, value: Any, end: int, at: int) -> None:
        """A value is complete: it ends at `end` (exclusive), and the character `at` showed that."""
        if (reason := self._candidates.end(value)) is not None:
            self._report(reason, at)
        if not self._levels:
            self.value = value
            return
        level = self._levels[-1]
        if len(level.candidates) > 1:
            level.keep_parents(self._candidates.left)
        reason = level.add(value)
        if reason is not None:
            self._violate(reason, at, f"{level.path}/{len(level.value) - 1}")
        elif self._fields.innermost is not level.field:
            self._out.append(self._fields.close(end, value))

    # containers

    def _object_open(self, start: int, end: int, text: str) -> None:
        self._begin(start)
        self._report(self._candidates.keep_kind(OBJECT), start)
        self._levels.append(self._object_level(self._path()))

    def _object_level(self, path: str) -> ObjectLevel:
        return ObjectLevel(self._candidates.left, path, self._fields.innermost)

    def _array_open(self, start: int, end: int, text: str) -> None:
        self._begin(start)
        self._report(self._candidates.keep_kind(ARRAY), start)
        self._levels.append(ArrayLevel(self._candidates.left, self._path(), self._fields.innermost))

    def _separator(self, start: int, end: int, text: str) -> None:
        """A comma after which another member or item must come."""
        level = self._levels[-1]
        reason = level.separator()
        if reason is not None:
            self._violate(reason, start, level.path)

    def _container_close(self, start: int, end: int, text: str) -> None:
        level = self._levels[-1]
        reason = level.close()
        if reason is not None:
            reason, path = self._nearest(level, reason)
            self._violate(reason, start, path)
        if self._stopped:
            return
        self._levels.pop()
        self._candidates.replace(level.candidates)
        self._end(level.value, end, start)

    def _nearest(self, level: Level, reason: Reason) -> tuple[Reason, str]:
        """The reason and the path for a container that no alternative allows to end here.

        It is the value inside that has excluded nearer alternatives, if there is one: open objects of a `oneOf` accept
        each other's members, so that the last alternative can be one that the text does not resemble.
        """
        if not level.narrowed:
            return reason, level.path
        outer = self._levels[-2] if len(self._levels) > 1 else None
        for c in level.candidates if outer is None else outer.candidates:
            for place in (c.schemas.top,) if outer is None else outer.places(c) or ():
                error = c.schemas.checker.best_error(level.value, place.schema)
                if error is not None and error.absolute_path:
                    path = level.path + to_pointer(error.absolute_path)
                    self._out += self._fields.reject(path)
                    return reason_of(error, c.schemas, place.pointer), path
        return reason, level.path

    # keys

    def _key_open(self, start: int, end: int, text: str) -> None:
        level = self._levels[-1]
        assert isinstance(level, ObjectLevel)
        if not level.open_key(bare=not text):
            self._reject_key(level, "", start)

    def _key_text(self, start: int, end: int, text: str) -> None:
        level = self._levels[-1]
        assert isinstance(level, ObjectLevel)
        rejected = level.feed_key(text)
        if rejected is not None:
            one_escape = end - start != len(text)
            size = len(text) - len(level.key_text) + len(rejected)
            self._reject_key(level, rejected, end - 1 if one_escape else start + size - 1)
        if level.repeated is not None:
            self._correct_repeated(level, level.repeated, whole=False)

    def _key_end(self, start: int, end: int, text: str) -> None:
        level = self._levels[-1]
        assert isinstance(level, ObjectLevel)
        key = level.key_text
        if level.repeated is not None:
            self._correct_repeated(level, level.repeated, whole=True)
        if level.checks_key and not level.key_possible(key):
            self._reject_key(level, key, start, whole=True)
        level.end_key(key)

    def _reject_key(self, level: ObjectLevel, prefix: str, at: int, *, whole: bool = False) -> None:
        self._violate(level.reject_key(prefix, whole=whole), at, level.path)
        last = self.violations[-1]
        level.repeated = last if last.code == "DUPLICATE_ARGUMENT" else None

    def _correct_repeated(self, level: ObjectLevel, repeated: Violation, *, whole: bool) -> None:
        """Correct the verdict, made at the first character, on a key that only began like an earlier one."""
        if (reason := level.not_repeated(whole=whole)) is not None:
            correct(repeated, reason, self.violations, self._out)
            level.repeated = None

    # quoted strings

    def _string_open(self, start: int, end: int, text: str) -> None:
        self._begin(start)
        self._pieces = []
        self._report(self._candidates.keep_kind(STRING), start)
        self._candidates.open_string(bare=False)

    def _string_text(self, start: int, end: int, text: str) -> None:
        self._pieces.append(text)
        if self._candidates.checking:
            possible, reason = self._candidates.feed_string(text)
            if reason is not None:
                one_escape = end - start != len(text)
                self._report(reason, end - 1 if one_escape else start + possible)

    def _escape_open(self, start: int, end: int, text: str) -> None:
        if self._candidates.checking:
            self._report(self._candidates.escape_opened(), start)

    def _string_end(self, start: int, end: int, text: str) -> None:
        if self._candidates.checking:
            self._report(self._candidates.end_string(), start)
        self._end("".join(self._pieces), end, start)

    # strings whose end is recognised late

    def _pending_text(self, start: int, end: int, text: str) -> None:
        if self._candidates.checking and self._candidates.string_may_end():
            self.raise_floor(end - 1)
        self._string_text(start, start + len(text), text)

    def _late_end(self, start: int, end: int, text: str, field_end: int) -> None:
        """`text`, from `start` to `end`, shows that the string ended before it.

        If the schema allows a string that continues with part of `text`, only the character after that part decides.
        """
        decided = end - 1
        if self._candidates.checking:
            possible, reason = self._candidates.end_string_late(text)
            decided = start + min(possible, decided - start)
            self._report(reason, decided)
        self.raise_floor(decided)
        self._end("".join(self._pieces), field_end, decided)

    # numbers, literals, bare words

    def _scalar_text(self, start: int, end: int, text: str) -> None:
        if self._scalar is None:
            self._begin(start)
        self._grow_scalar(start, text)

    def _grow_scalar(self, start: int, text: str) -> None:
        """A scalar, whose value has begun, begins or continues."""
        scalar = self._scalar
        if scalar is None:
            scalar = self._scalar = ScalarPrefix(self.notation)
            self._candidates.open_string(bare=True)
        grown = scalar.grown(text)
        if not self._candidates.checking and self._candidates.keep_scalar(grown):
            self._scalar = grown
            return
        for at, char in enumerate(text, start):
            scalar = self._scalar = scalar.grown(char)
            self._report(self._candidates.feed_scalar(scalar, char), at)

    def _scalar_end(self, start: int, end: int, text: str) -> None:
        kind, value = scalar_value(text, self.notation)
        whole = self._scalar is None
        if whole:
            self._begin(start - len(text))
        if not self._candidates.end_free(kind):  # else each prefix was possible
            if whole:
                self._grow_scalar(start - len(text), text)
            self._report(self._candidates.end_scalar(kind, value, text, self.notation), start)
        self._scalar = None
        self._end(value, start, start)

    # the document

    def _document_end(self, start: int, end: int, text: str) -> None:
        self.complete = True
        if self.violations:
            return
        try:
            verdict = self._final_verdict()
        except RecursionError:
            self._stop("LIMIT_EXCEEDED", f"{self._subject} is nested too deeply to be checked", end - 1)
            return
        if verdict is not None:
            self._violate(verdict.reason, end - 1, verdict.path)

    def _final_verdict(self) -> LocatedReason | None:
        """The violation in a complete document in which nothing was wrong so far."""
        return None

    def _trailing_text(self, start: int, end: int, text: str) -> None:
        reason = Reason("TRAILING_TEXT", f"'{text}' follows the end of {self._subject}", "", ("nothing",))
        self._violate(reason, start, "")

    def _syntax(self, start: int, end: int, text: str) -> None:
        self._violate(Reason("SYNTAX", text), start, self._path())
        self._read_no_further(start)

    def _too_deep(self, start: int, end: int, text: str) -> None:
        self._stop("LIMIT_EXCEEDED", text, start)
