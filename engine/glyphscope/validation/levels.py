"""The open containers of a document: the members or items that may come next, and those missing at the end.

A level knows the alternatives of its container that are still possible, and narrows them with each member or item.
If none is left, it returns a reason, which the validator reports.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from glyphscope.events import Violation
from glyphscope.grammar.checking import identity
from glyphscope.validation import members
from glyphscope.validation.candidates import Candidate, most_specific, parents, unjudged
from glyphscope.validation.fields import RecordedField
from glyphscope.validation.reasons import Reason
from glyphscope.validation.spec import ANYTHING, Spec, SpecPlace


class Level:
    """An open container at the JSON Pointer `path`, in the member `field` (None: not in a recorded member)."""

    __slots__ = ("candidates", "end_words", "field", "narrowed", "path")
    value: Any  # the complete members or items

    def __init__(self, candidates: list[Candidate], path: str, field: RecordedField | None) -> None:
        self.candidates = candidates
        self.path = path
        self.field = field
        self.end_words = "the end of the list"  # of this container, in messages
        self.narrowed = False  # a value inside excluded alternatives

    def value_candidates(self) -> list[Candidate]:
        """The candidates of the member or item that begins; empty if no further item is allowed."""
        raise NotImplementedError

    def places(self, of: Candidate) -> tuple[SpecPlace, ...]:
        """The places of the member or item that is being written, in one alternative."""
        raise NotImplementedError

    def separator(self) -> Reason | None:
        """Another member or item must come."""
        raise NotImplementedError

    def add(self, value: Any) -> Reason | None:
        """A member or item is complete."""
        raise NotImplementedError

    def close(self) -> Reason | None:
        """The container ends. If no alternative is left, returns what is missing."""
        reasons = [self._lack(c.spec) for c in self.candidates]
        if None in reasons:
            self.candidates = [
                c for c, reason in zip(self.candidates, reasons, strict=True) if reason is None
            ]
            return None
        missing = self._missing()
        self.candidates = unjudged(self.candidates)
        return most_specific(filter(None, reasons))._replace(viable=missing)

    def _missing(self) -> tuple[str, ...]:
        """The continuations that may come in place of the container's end, in words."""
        raise NotImplementedError

    def _end(self) -> tuple[str, ...]:
        """The container's end, in words, if it may come here."""
        return (self.end_words,) if any(self._lack(c.spec) is None for c in self.candidates) else ()

    def _keep(self, fitting: list[Candidate]) -> bool:
        """Narrow the alternatives to `fitting` unless it is empty, and return whether it is not."""
        self.candidates = fitting or self.candidates
        return bool(fitting)

    def _lack(self, spec: Spec) -> Reason | None:
        """Why this alternative does not allow the container to end here; None if it does."""
        raise NotImplementedError

    def keep_parents(self, candidates: list[Candidate]) -> None:
        """Narrow the alternatives to those that a complete member or item fits."""
        alive = {id(parent) for parent in parents(candidates)}
        left = [c for c in self.candidates if id(c) in alive]
        self.narrowed = self.narrowed or len(left) < len(self.candidates)
        self.candidates = left


class ArrayLevel(Level):
    """An open array."""

    __slots__ = ("_items", "_unique", "value")

    def __init__(self, candidates: list[Candidate], path: str, field: RecordedField | None) -> None:
        super().__init__(candidates, path, field)
        self.value: list[Any] = []
        self._unique = any(c.spec.unique_rule for c in candidates)
        self._items: set[Hashable] = set()  # by `identity`, for `uniqueItems`

    def value_candidates(self) -> list[Candidate]:
        index = len(self.value)
        return _joined(
            [c.inside(found) for c in self.candidates if (found := c.spec.item(index)) is not None]
        )

    def places(self, of: Candidate) -> tuple[SpecPlace, ...]:
        return of.spec.item(len(self.value)) or ()

    def too_many(self) -> Reason:
        """Why no further item is allowed."""
        spec = max((c.spec for c in self.candidates), key=lambda one: one.items.most or 0)
        rule = spec.items.most_rule or next((part.pointer for part in spec.arrays), "")
        most = spec.items.most
        message = "allows no further item" if most is None else f"holds at most {most} items"
        return Reason("CONSTRAINT_ITEMS", message, rule, self._end())

    def separator(self) -> Reason | None:
        fitting = self._allowing_another()
        reason = None if fitting else self.too_many()
        self.candidates = fitting or unjudged(self.candidates)
        return reason

    def add(self, value: Any) -> Reason | None:
        self.value.append(value)
        if not self._unique:
            return None
        before = len(self._items)
        self._items.add(identity(value))
        if len(self._items) > before:
            return None
        if self._keep([c for c in self.candidates if not c.spec.unique_rule]):
            return None
        return Reason("CONSTRAINT_ITEMS", "is already in the list", self.candidates[0].spec.unique_rule)

    def _lack(self, spec: Spec) -> Reason | None:
        if len(self.value) < spec.items.least:
            message = f"needs at least {spec.items.least} items"
            return Reason("CONSTRAINT_ITEMS", message, spec.items.least_rule)
        return _not_listed(spec, self.value)

    def _missing(self) -> tuple[str, ...]:
        return ("another item",) if self._allowing_another() else ()

    def _allowing_another(self) -> list[Candidate]:
        """The alternatives that allow one more item."""
        index = len(self.value)
        return [c for c in self.candidates if (found := c.spec.item(index)) is not None and c.inside(found)]


class ObjectLevel(Level):
    """An open object, with the key being written. `records`: its members are fields of the document."""

    __slots__ = (
        "_any_name", "_bare", "_pieces", "_rejected", "_separated", "checks_key", "key", "member", "no_members_message",
        "records", "repeated", "used", "value",
    )  # fmt: skip

    def __init__(self, candidates: list[Candidate], path: str, field: RecordedField | None) -> None:
        super().__init__(candidates, path, field)
        self.value: dict[str, Any] = {}
        self.records = True
        self.member = "argument"  # the word for a member
        self.no_members_message = "this object takes no members"
        self.end_words = "the end of the object"
        self.key = ""  # of the current member
        self.used: set[str] = set()  # the keys so far
        self.checks_key = True  # no violation of the open key was reported
        self.repeated: Violation | None = None  # reported because the open key begins like an earlier one
        self._any_name = False  # every alternative allows another member of any name
        self._bare = False  # the open key has no quotes
        self._separated = False  # a comma was read, after which a member must come
        self._rejected = ""  # the beginning of the open key that was reported
        self._pieces: list[str] = []  # of the open key

    # the key

    def open_key(self, *, bare: bool) -> bool:
        """A key begins. Returns whether that is allowed."""
        self._pieces = []
        self._bare = bare
        self.checks_key = True
        self.repeated = None
        self._any_name = self._any_name or self.any_name()  # alternatives only become fewer
        return self._any_name or self.key_can_begin("")

    def any_name(self) -> bool:
        """Whether every alternative allows another member of any name."""
        return not [c for c in self.candidates if not c.spec.any_name]

    @property
    def key_text(self) -> str:
        return "".join(self._pieces)

    def feed_key(self, text: str) -> str | None:
        """The next characters of the key. Returns its shortest prefix that begins no possible key; None without one."""
        self._pieces.append(text)
        if self._any_name or not self.checks_key or self.key_can_begin(grown := self.key_text):
            return None
        before = grown.removesuffix(text)
        sizes = range(1, len(text) + 1)
        return next(before + text[:size] for size in sizes if not self.key_can_begin(before + text[:size]))

    def key_can_begin(self, prefix: str) -> bool:
        """Whether a member's name can begin with `prefix`; if one can, drop the alternatives that do not allow it."""
        return self._keep(
            [
                c
                for c in self.candidates
                if members.can_begin(c.schemas, c.spec, prefix, self.used, bare=self._bare)
            ]
        )

    def key_possible(self, key: str) -> bool:
        """Whether a member may have this name; if it may, drop the alternatives that do not allow it."""
        if key in self.used or self._any_name:
            return key not in self.used
        return self._keep(
            [
                c
                for c in self.candidates
                if c.spec.member(key) is not None and c.schemas.name_allowed(c.spec, key)
            ]
        )

    def end_key(self, key: str) -> None:
        """The key is complete."""
        self.key = key
        self.used.add(key)
        self._separated = False

    def reject_key(self, prefix: str, *, whole: bool = False) -> Reason:
        """Why no key can begin with `prefix` or, if `whole`, be equal to it; the open key is judged no further."""
        self.checks_key = False
        self._rejected = prefix
        begun = prefix if whole else prefix[:-1]
        opened = whole or bool(begun) or (bool(prefix) and not self._bare)
        reason = self._why_no_key(prefix, whole=whole)
        names = tuple(dict.fromkeys(self._names_from(begun, bare=self._bare and opened)))
        return reason._replace(viable=names if opened or self._separated else (*names, *self._end()))

    def _why_no_key(self, prefix: str, *, whole: bool) -> Reason:
        nothing, used = self.no_members_message, self.used
        return members.name_reason(self.candidates, prefix, used, nothing, whole=whole, member=self.member)

    def _names_from(self, begun: str, *, bare: bool = False) -> Iterator[str]:
        """In words, the names that a further member can have if its key begins with `begun`, if `bare` unquoted."""
        for c in self.candidates:
            yield from members.possible_names(c.schemas, c.spec, begun, self.used, bare=bare)

    def _missing(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._names_from("")))

    def not_repeated(self, *, whole: bool) -> Reason | None:
        """The reason for the open key, reported as repeated, if it differs; None while it may be the same."""
        name = self.key_text
        ways = [(name[:size], False) for size in range(1, len(name) + 1)] + [(name, True)] * whole
        reasons = (self._why_no_key(way, whole=ended) for way, ended in ways)
        other = next((reason for reason in reasons if reason.code != "DUPLICATE_ARGUMENT"), None)
        return other and members.unknown_name(self._rejected, False, other.rule, member=self.member)

    # the member

    def places(self, of: Candidate) -> tuple[SpecPlace, ...]:
        return of.spec.member(self.key) or ()

    def value_candidates(self) -> list[Candidate]:
        candidates = _joined([c.inside(c.spec.member(self.key) or ()) for c in self.candidates])
        return candidates or [Candidate(c.schemas, ANYTHING, c) for c in self.candidates]

    def add(self, value: Any) -> Reason | None:
        self.value[self.key] = value
        return None

    def separator(self) -> Reason | None:
        self._separated = True
        if self._any_name:
            return None
        fitting = [c for c in self.candidates if members.can_begin(c.schemas, c.spec, "", self.used)]
        reason = None if fitting else self._why_no_key("", whole=False)._replace(viable=self._end())
        self.candidates = fitting or unjudged(self.candidates)
        return reason

    def _lack(self, spec: Spec) -> Reason | None:
        for name, rule in spec.required.items():
            if name not in self.value:
                return Reason("MISSING_REQUIRED", f"lacks the required {self.member} '{name}'", rule)
        if len(self.value) < spec.members.least:
            message = f"needs at least {spec.members.least} members"
            return Reason("CONSTRAINT_OTHER", message, spec.members.least_rule)
        return _not_listed(spec, self.value)


def _joined(candidates: list[list[Candidate]]) -> list[Candidate]:
    """The candidates of a value in all alternatives of its container; of a single one, the same list."""
    return candidates[0] if len(candidates) == 1 else [one for some in candidates for one in some]


def _not_listed(spec: Spec, value: Any) -> Reason | None:
    if spec.enum is None or any(identity(value) == identity(v) for v in spec.enum):
        return None
    return Reason("CONSTRAINT_ENUM", "is not one of the allowed values", spec.enum_rule)
