"""The streaming judge: structural events in, verdicts out, at the first character that decides.

At every moment there are candidates: one for each alternative of the schema that the text so far still fits. A
character that leaves none is a violation; its ground is the candidate that lived longest. After a violation the value
in question is no longer judged, everything else still is.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from glyphscope.events import (
    Code,
    FieldChanged,
    FieldClosed,
    FieldOpened,
    Notation,
    RunEvent,
    Status,
    Violation,
)
from glyphscope.notation.read import make_reader
from glyphscope.notation.scalars import ARRAY, OBJECT, STRING, scalar_value
from glyphscope.notation.structure import SCALAR_END, SCALAR_TEXT, Structural
from glyphscope.registry.pointer import step_of
from glyphscope.validation import literals, members
from glyphscope.validation.candidates import (
    Candidate,
    Level,
    array_lacks,
    failing,
    gravest,
    item_possible,
    late,
    object_lacks,
    parents,
    too_many_items,
    unjudged,
    wrong_type,
)
from glyphscope.validation.literals import ScalarPrefix
from glyphscope.validation.reasons import Reason, correct, in_words
from glyphscope.validation.spec import ANYTHING
from glyphscope.validation.strings import StringCheck


@dataclass(frozen=True)
class Limits:
    """What a text may cost: characters, levels of nesting, members in all, and violations that are told."""

    text: int = 16_000_000
    depth: int = 256
    fields: int = 250_000
    errors: int = 100


class Judge:
    """Base of every streaming validator. Subclasses say what the document must be (`_root_candidates`)."""

    WHOLE: ClassVar[str] = "the call"
    """What the whole document is called in messages."""

    def __init__(self, notation: Notation, *, limits: Limits, calls: bool) -> None:
        self.notation = notation
        self.violations: list[Violation] = []
        self.fields: list[list[Any]] = []  # [path, start, end, status] of each member, in order of appearance
        self.complete = False
        self.chars = 0
        self.value: Any = None
        self._limits = limits
        self._reader = make_reader(notation, calls=calls, max_depth=limits.depth)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._token = -1
        self._out: list[RunEvent] = []
        self._stopped = False
        self._levels: list[Level] = []
        self._candidates: list[Candidate] = []
        self._strings: list[StringCheck | None] = []  # beside self._candidates, while a string is open
        self._judging_string = False
        self._scalar: ScalarPrefix | None = None
        self._pieces: list[str] = []
        self._key_judged = True
        self._key_bare = False
        self._repeated: Violation | None = None  # the open key began like one that was given already
        self._field: list[Any] | None = None  # the innermost open member
        self._handlers: tuple[Callable[[int, int, str], None], ...] = (
            self._object_open, self._object_close, self._array_open, self._array_close, self._key_open,
            self._key_text, self._key_end, self._string_open, self._string_text, self._string_end,
            self._scalar_text, self._scalar_end, self._escape_open, self._separator, self._head_text,
            self._head_end, self._document_end, self._leading_text, self._trailing_text, self._syntax,
            self._too_deep,
        )  # fmt: skip

    # what is fed

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        """Judge the next piece, of any size; bytes may end inside a character. Returns the events it decided.

        `token` is the piece's index among the tokens; by default pieces are counted.
        """
        if isinstance(text, bytes):
            text = self._decoder.decode(text)
        self._token = self._token + 1 if token is None else token
        out: list[RunEvent] = []
        self._out = out
        room = self._limits.text - self.chars
        self.chars += len(text)
        if self._stopped:
            return out
        self._take(self._reader.feed(text if len(text) <= room else text[:room]))
        if len(text) > room and not self._stopped:
            self._stop(
                "LIMIT_EXCEEDED", f"the text is longer than {self._limits.text} characters", self._limits.text
            )
        field = self._field
        if field is not None:
            field[2] = self.chars
            out.append(FieldChanged(path=field[0], end=self.chars, status=field[3]))
        return out

    def finish(self) -> list[RunEvent]:
        """Judge the end of the text."""
        self._out = out = []
        rest = self._decoder.decode(b"", final=True)
        if rest:
            out += self.feed(rest, self._token)
            self._out = out
        if not self._stopped:
            self._take(self._reader.finish())
        if not self.complete and not self._stopped:
            self._text_ended()
        return out

    def _take(self, events: list[Structural]) -> None:
        handlers = self._handlers
        last = len(events) - 1
        for index, (kind, start, end, text) in enumerate(events):
            if (
                kind == SCALAR_TEXT
                and index < last
                and events[index + 1][0] == SCALAR_END
                and self._scalar is None
            ):
                self._whole_scalar(start, end, text)
            else:
                handlers[kind](start, end, text)
            if self._stopped:
                return

    def _text_ended(self) -> None:
        self._violate(
            Reason("TRUNCATED", f"the text ends before {self.WHOLE} does"), self.chars, self._path()
        )

    # verdicts

    def _violate(self, reason: Reason, at: int, path: str) -> None:
        if len(self.violations) >= self._limits.errors:
            self._stop("LIMIT_EXCEEDED", f"more than {self._limits.errors} violations", at)
            return
        violation = Violation(
            code=reason.code, message=in_words(reason, path, self.WHOLE), path=path, char=at, token=self._token,
            rule=reason.rule, viable=reason.viable,
        )  # fmt: skip
        self.violations.append(violation)
        self._out.append(violation)
        if self._field is not None:
            self._field[3] = "impossible"
        for level in self._levels:
            if level.field is not None:
                level.field[3] = "impossible"

    def _stop(self, code: Code, message: str, at: int) -> None:
        """Refuse to read on."""
        violation = Violation(code=code, message=message, path=self._path(), char=at, token=self._token)
        self.violations.append(violation)
        self._out.append(violation)
        self._read_no_further(at)

    def _read_no_further(self, at: int) -> None:
        self._stopped = True
        self._grow_open_fields(at)
        self._field = None
        self._levels.clear()

    def _grow_open_fields(self, end: int) -> None:
        """Let every open member reach to `end`; while a text streams in only the innermost one follows it."""
        if self._field is not None:
            self._field[2] = end
        for level in self._levels:
            if level.field is not None:
                level.field[2] = end

    def _path(self) -> str:
        """The JSON Pointer of the value that is being written, or would come next."""
        if not self._levels:
            return ""
        level = self._levels[-1]
        if isinstance(level.value, dict):
            return (
                self._field[0] if self._field is not None and self._field is not level.field else level.path
            )
        return f"{level.path}/{len(level.value)}"

    def _keep(self, kept: list[Candidate], why: Callable[[Candidate], Reason], at: int) -> bool:
        """Go on with the candidates that are left; if there are none, tell why and judge this value no further."""
        if kept:
            self._candidates = kept
            return True
        self._violate(gravest(why(candidate) for candidate in self._candidates), at, self._path())
        self._candidates = unjudged(self._candidates)
        return False

    # values begin and end

    def _root_candidates(self) -> list[Candidate]:
        raise NotImplementedError

    def _begin(self, start: int) -> None:
        """A value begins: gather the candidates of its place."""
        if not self._levels:
            self._candidates = self._root_candidates()
            return
        level = self._levels[-1]
        if isinstance(level.value, dict):
            self._open_field(f"{level.path}/{step_of(level.key)}", start)
            self._candidates = self._member_candidates(level)
        else:
            self._candidates = self._item_candidates(level, start)

    def _open_field(self, path: str, start: int) -> None:
        self._field = field = [path, start, start, "open"]
        self.fields.append(field)
        self._out.append(FieldOpened(path=path, start=start))
        if len(self.fields) > self._limits.fields:
            self._stop("LIMIT_EXCEEDED", f"more than {self._limits.fields} members", start)

    def _member_candidates(self, level: Level) -> list[Candidate]:
        found = [
            Candidate(c.schemas, spec, c)
            for c in level.candidates
            for spec in c.schemas.specs(c.spec.member(level.key) or ())
        ]
        return found or [Candidate(c.schemas, ANYTHING, c) for c in level.candidates]

    def _item_candidates(self, level: Level, start: int) -> list[Candidate]:
        if level.repeated is not None:
            return level.repeated
        index = len(level.value)
        found = []
        for c in level.candidates:
            places = c.spec.item(index) if c.spec.arrays or c.spec.max_items is not None else ()
            if places is not None:
                found += [Candidate(c.schemas, spec, c) for spec in c.schemas.specs(places)]
        if found and all(c.spec.same_items for c in level.candidates):
            level.repeated = found
        if found or not level.candidates:
            return found
        self._candidates = level.candidates
        self._violate(too_many_items(level.candidates[0].spec), start, self._path())
        return [Candidate(c.schemas, ANYTHING, c) for c in level.candidates]

    def _end(self, value: Any, end: int, at: int) -> None:
        """A value is complete at character `end` (exclusive); `at` is the character that ended it."""
        if len(self._candidates) != 1 or self._candidates[0].spec.deferred:
            kept = [c for c in self._candidates if failing(c, value) is None]
            self._keep(kept, lambda c: late(failing(c, value)), at)
        if not self._levels:
            self.value = value
            return
        level = self._levels[-1]
        if len(level.candidates) > 1:
            alive = {id(parent) for parent in parents(self._candidates)}
            left = [c for c in level.candidates if id(c) in alive]
            if len(left) < len(level.candidates):
                level.candidates, level.repeated = left, None
        if isinstance(level.value, dict):
            self._store_member(level, value)
            self._close_field(level, value, end)
        else:
            if level.unique and level.repeats(value):
                self._not_unique(level, at)
            level.value.append(value)

    def _store_member(self, level: Level, value: Any) -> None:
        level.value[level.key] = value

    def _close_field(self, level: Level, value: Any, end: int) -> None:
        field = self._field
        if field is not None:
            field[2] = end
            if field[3] == "open":
                field[3] = "holds"
            status: Status = field[3]
            self._out.append(FieldClosed(path=field[0], start=field[1], end=end, status=status, value=value))
        self._field = level.field

    def _not_unique(self, level: Level, at: int) -> None:
        kept = [c for c in level.candidates if not c.spec.unique_rule]
        if kept:
            level.candidates = kept
            return
        rule = level.candidates[0].spec.unique_rule
        self._violate(Reason("CONSTRAINT_ITEMS", "is in the list already", rule), at, self._path())

    # objects

    def _object_open(self, start: int, end: int, text: str) -> None:
        self._begin(start)
        self._keep([c for c in self._candidates if c.spec.kinds & OBJECT], wrong_type, start)
        self._push({})

    def _push(self, value: Any) -> None:
        path = self._path() if self._levels else ""
        self._levels.append(Level(self._candidates, value, path, self._field))

    def _object_close(self, start: int, end: int, text: str) -> None:
        level = self._levels[-1]
        self._candidates = level.candidates
        kept = [c for c in level.candidates if object_lacks(c.spec, level.value) is None]
        self._close_container(level, kept, lambda c: object_lacks(c.spec, level.value), start, end)

    def _close_container(
        self,
        level: Level,
        kept: list[Candidate],
        lacks: Callable[[Candidate], Reason | None],
        start: int,
        end: int,
    ) -> None:
        if not kept:
            reason = gravest(filter(None, (lacks(c) for c in level.candidates)))
            self._violate(reason, start, level.path)
            kept = unjudged(level.candidates)
        self._levels.pop()
        self._candidates = kept
        self._field = level.field
        self._end(level.value, end, start)

    def _key_open(self, start: int, end: int, text: str) -> None:
        self._pieces = []
        self._key_bare = not text
        self._key_judged = True
        self._repeated = None
        if not self._key_can_begin(""):
            self._refuse_key("", start)

    def _key_text(self, start: int, end: int, text: str) -> None:
        before = "".join(self._pieces) if self._key_judged else ""
        self._pieces.append(text)
        if not self._key_judged:
            self._check_repeated(whole=False)
            return
        if self._key_can_begin(before + text):
            return
        if end - start != len(text):  # one character, written by an escape
            self._refuse_key(before + text, end - 1)
            return
        size = next(n for n in range(1, len(text) + 1) if not self._key_can_begin(before + text[:n]))
        self._refuse_key(before + text[:size], start + size - 1)
        self._check_repeated(whole=False)

    def _key_can_begin(self, prefix: str) -> bool:
        """Whether some member's name can begin so; if it can, only candidates that allow it stay."""
        level = self._levels[-1]
        used = level.used
        kept = [
            c
            for c in level.candidates
            if (c.spec.max_members is None or len(used) < c.spec.max_members)
            and members.can_begin(c.schemas, c.spec, prefix, used, bare=self._key_bare)
        ]
        if kept:
            level.candidates = kept
        return bool(kept)

    def _refuse_key(self, prefix: str, at: int) -> None:
        self._key_judged = False
        self._violate(self._key_reason(prefix, whole=False), at, self._levels[-1].path)
        last = self.violations[-1]
        self._repeated = last if last.code == "DUPLICATE_ARGUMENT" else None

    def _key_reason(self, name: str, *, whole: bool) -> Reason:
        """Why no key can begin with `name`, or be it."""
        return self._name_reason(self._levels[-1], name, whole=whole)

    def _check_repeated(self, *, whole: bool) -> None:
        """Correct the verdict, made at its first character, on a key that only began like one given already."""
        refused = self._repeated
        name = "" if refused is None else "".join(self._pieces)
        ways = [(name[:size], False) for size in range(1, len(name) + 1)] + [(name, True)] * whole
        reasons = (self._key_reason(way, whole=ended) for way, ended in ways)
        reason = next((each for each in reasons if each.code != "DUPLICATE_ARGUMENT"), None)
        if refused is not None and reason is not None:
            self._repeated = None
            correct(refused, reason, self.violations, self._out)

    def _name_reason(self, level: Level, prefix: str, *, whole: bool = False) -> Reason:
        none = self._takes_none(level)
        return members.name_reason(level.candidates[0].spec, prefix, level.used, none, whole=whole)

    def _takes_none(self, level: Level) -> str:
        return "this object takes no members"

    def _key_end(self, start: int, end: int, text: str) -> None:
        level = self._levels[-1]
        level.key = key = "".join(self._pieces)
        self._check_repeated(whole=True)
        if self._key_judged:
            kept = [
                c
                for c in level.candidates
                if key not in level.used and members.may_be_given(c.schemas, c.spec, key)
            ]
            if kept:
                level.candidates = kept
            else:
                self._refuse_key(key, start)
        level.used.add(key)

    # arrays

    def _array_open(self, start: int, end: int, text: str) -> None:
        self._begin(start)
        self._keep([c for c in self._candidates if c.spec.kinds & ARRAY], wrong_type, start)
        self._push([])

    def _array_close(self, start: int, end: int, text: str) -> None:
        level = self._levels[-1]
        self._candidates = level.candidates
        kept = [c for c in level.candidates if array_lacks(c.spec, level.value) is None]
        self._close_container(level, kept, lambda c: array_lacks(c.spec, level.value), start, end)

    def _separator(self, start: int, end: int, text: str) -> None:
        """A comma after which another member or item must come."""
        level = self._levels[-1]
        if isinstance(level.value, dict):
            self._another_member(level, start)
            return
        if level.repeated is not None:
            return
        kept = [c for c in level.candidates if item_possible(c, len(level.value))]
        if not kept:
            self._violate(too_many_items(level.candidates[0].spec), start, level.path)
            kept = unjudged(level.candidates)
        level.candidates = kept

    def _another_member(self, level: Level, at: int) -> None:
        kept = [c for c in level.candidates if members.another_possible(c.schemas, c.spec, level.used)]
        if not kept:
            self._violate(self._name_reason(level, ""), at, level.path)
            kept = unjudged(level.candidates)
        level.candidates = kept

    # quoted strings

    def _string_open(self, start: int, end: int, text: str) -> None:
        self._begin(start)
        self._pieces = []
        kept = [c for c in self._candidates if c.spec.kinds & STRING]
        self._keep(kept, wrong_type, start)
        self._watch_string(bare=False)

    def _watch_string(self, *, bare: bool) -> None:
        """A check for each candidate; None where every string will do."""
        self._strings = [
            None if c.spec.free_string else StringCheck(c.spec, bare=bare) for c in self._candidates
        ]
        self._judging_string = any(self._strings)

    def _string_text(self, start: int, end: int, text: str) -> None:
        self._pieces.append(text)
        if not self._judging_string:
            return
        taken = [len(text) if check is None else check.feed(text) for check in self._strings]
        furthest = max(taken)
        if furthest == len(text):
            self._narrow_strings([count == furthest for count in taken])
            return
        alive = [check for check, count in zip(self._strings, taken, strict=True) if count == furthest]
        at = start + furthest if end - start == len(text) else end - 1
        self._keep([], lambda c: gravest(check.why() for check in alive if check), at)
        self._watch_string(bare=False)

    def _narrow_strings(self, alive: list[bool]) -> None:
        if not all(alive):
            self._candidates = [c for c, live in zip(self._candidates, alive, strict=True) if live]
            self._strings = [s for s, live in zip(self._strings, alive, strict=True) if live]

    def _escape_open(self, start: int, end: int, text: str) -> None:
        if not self._judging_string:
            return
        alive = [check is None or check.can_grow() for check in self._strings]
        if any(alive):
            self._narrow_strings(alive)
            return
        checks = [check for check in self._strings if check is not None]
        self._keep([], lambda c: gravest(check.why() for check in checks), start)
        self._watch_string(bare=False)

    def _string_end(self, start: int, end: int, text: str) -> None:
        if self._judging_string:
            reasons = [None if check is None else check.ended() for check in self._strings]
            if None in reasons:
                self._narrow_strings([reason is None for reason in reasons])
            else:
                self._keep([], lambda c: gravest(filter(None, reasons)), start)
            self._judging_string = False
        self._end("".join(self._pieces), end, start)

    # numbers, literals, bare words

    def _begin_scalar(self, start: int) -> ScalarPrefix:
        self._begin(start)
        self._scalar = ScalarPrefix(self.notation)
        self._watch_string(bare=True)
        return self._scalar

    def _whole_scalar(self, start: int, end: int, text: str) -> None:
        """A scalar that came in one piece: if it is right as a whole, so was each of its beginnings."""
        scalar = self._begin_scalar(start)
        if not self._judging_string and self._scalar_left(scalar.kinds_of(text), text):
            return
        self._scalar_text(start, end, text)

    def _scalar_left(self, kinds: int, text: str) -> bool:
        """Whether some candidate can hold a scalar that begins so; narrows the candidates if one can."""
        kept = [c for c in self._candidates if literals.can_hold(c.spec, kinds, text, self.notation)]
        if kept and len(kept) < len(self._candidates):
            self._candidates = kept
            self._strings = [None] * len(kept)
        return bool(kept)

    def _scalar_text(self, start: int, end: int, text: str) -> None:
        scalar = self._scalar or self._begin_scalar(start)
        if not self._judging_string:
            if scalar.certainly_text and self._scalar_left(STRING, ""):
                return
            if self._scalar_left(scalar.kinds_of(scalar.text + text), scalar.text + text):
                scalar.grow(text)
                return
        for offset, char in enumerate(text):
            self._scalar_char(scalar, char, start + offset)

    def _scalar_char(self, scalar: ScalarPrefix, char: str, at: int) -> None:
        scalar.grow(char)
        checks = self._strings
        for check in checks:
            if check is not None and not check.dead:
                check.feed(char)
        alive = [
            literals.can_still_hold(c.spec, scalar, check)
            for c, check in zip(self._candidates, checks, strict=True)
        ]
        if any(alive):
            self._narrow_strings(alive)
            return
        by_candidate = {id(c): check for c, check in zip(self._candidates, checks, strict=True)}
        self._keep([], lambda c: literals.why_not(c.spec, scalar, by_candidate[id(c)]), at)
        self._watch_string(bare=True)

    def _scalar_end(self, start: int, end: int, text: str) -> None:
        kind, value = scalar_value(text, self.notation)
        self._scalar = None
        self._judging_string = False
        reasons = [
            literals.complete(c.spec, kind, value, check)
            for c, check in zip(self._candidates, self._strings, strict=True)
        ]
        if None in reasons:
            self._narrow_strings([reason is None for reason in reasons])
        else:
            self._keep([], lambda c: gravest(filter(None, reasons)), start)
        self._end(value, start, start)

    # the document

    def _head_text(self, start: int, end: int, text: str) -> None:
        raise NotImplementedError

    _head_end = _leading_text = _head_text

    def _document_end(self, start: int, end: int, text: str) -> None:
        self.complete = True

    def _trailing_text(self, start: int, end: int, text: str) -> None:
        self._violate(
            Reason("TRAILING_TEXT", f"'{text}' follows the end of {self.WHOLE}", "", "nothing"), start, ""
        )

    def _syntax(self, start: int, end: int, text: str) -> None:
        self._violate(Reason("SYNTAX", text), start, self._path())
        self._read_no_further(start)

    def _too_deep(self, start: int, end: int, text: str) -> None:
        self._stop("LIMIT_EXCEEDED", text, start)
