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
from glyphscope.validation.fields import Field
from glyphscope.validation.reasons import Reason
from glyphscope.validation.spec import ANYTHING, Place, Spec


class Level:
    """An open container at the JSON Pointer `path`, in the member `field` (None: not in a recorded member)."""

    __slots__ = ("candidates", "end_words", "field", "narrowed", "path")
    value: Any  # the complete members or items

    def __init__(self, candidates: list[Candidate], path: str, field: Field | None) -> None:
        self.candidates = candidates
        self.path = path
        self.field = field
        self.end_words = "the end of the list"  # of this container, in messages
        self.narrowed = False  # a value inside excluded alternatives

    def value_candidates(self) -> list[Candidate]:
        """The candidates of the member or item that begins; empty if no further item is allowed."""
        raise NotImplementedError

    def places(self, of: Candidate) -> tuple[Place, ...]:
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
        if len(self.candidates) > 1:
            alive = {id(parent) for parent in parents(candidates)}
            left = [c for c in self.candidates if id(c) in alive]
            self.narrowed = self.narrowed or len(left) < len(self.candidates)
            self.candidates = left


class ArrayLevel(Level):
    """An open array."""

    __slots__ = ("_items", "_same", "_unique", "value")

    def __init__(self, candidates: list[Candidate], path: str, field: Field | None) -> None:
        super().__init__(candidates, path, field)
        self.value: list[Any] = []
        self._same: list[Candidate] | None = None  # of every further item, if all have the same
        self._unique = any(c.spec.unique_rule for c in candidates)
        self._items: set[Hashable] = set()  # by `identity`, for `uniqueItems`

    def value_candidates(self) -> list[Candidate]:
        if self._same is not None:
            return self._same
        index = len(self.value)
        candidates = []
        for c in self.candidates:
            places = c.spec.item(index) if c.spec.arrays or c.spec.items.most is not None else ()
            if places is not None:
                candidates += [Candidate(c.schemas, spec, c) for spec in c.schemas.specs(places)]
        if candidates and all(c.spec.same_items for c in self.candidates):
            self._same = candidates
        return candidates

    def places(self, of: Candidate) -> tuple[Place, ...]:
        return of.spec.item(len(self.value)) or ()

    def too_many(self) -> Reason:
        """Why no further item is allowed."""
        spec = max((c.spec for c in self.candidates), key=lambda one: one.items.most or 0)
        rule = spec.items.most_rule or next((part.pointer for part in spec.arrays), "")
        most = spec.items.most
        message = "allows no further item" if most is None else f"holds at most {most} items"
        return Reason("CONSTRAINT_ITEMS", message, rule, self._end())

    def separator(self) -> Reason | None:
        if self._same is not None:
            return None
        fitting = [c for c in self.candidates if _item_possible(c, len(self.value))]
        reason = None if fitting else self.too_many()
        self.candidates = fitting or unjudged(self.candidates)
        return reason

    def keep_parents(self, candidates: list[Candidate]) -> None:
        before = len(self.candidates)
        super().keep_parents(candidates)
        if len(self.candidates) < before:
            self._same = None

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
        return Reason("CONSTRAINT_ITEMS", "is in the list already", self.candidates[0].spec.unique_rule)

    def _lack(self, spec: Spec) -> Reason | None:
        if len(self.value) < spec.items.least:
            message = f"needs at least {spec.items.least} items"
            return Reason("CONSTRAINT_ITEMS", message, spec.items.least_rule)
        return _not_listed(spec, self.value)

    def _missing(self) -> tuple[str, ...]:
        return ("another item",) if any(_item_possible(c, len(self.value)) for c in self.candidates) else ()


class ObjectLevel(Level):
    """An open object, with the key being written. `records`: its members are fields of the document."""

    __slots__ = (
        "_bare", "_pieces", "_rejected", "_separated", "checks_key", "key", "no_members_message", "records",
        "repeated", "used", "value",
    )  # fmt: skip

    def __init__(self, candidates: list[Candidate], path: str, field: Field | None) -> None:
        super().__init__(candidates, path, field)
        self.value: dict[str, Any] = {}
        self.records = True
        self.no_members_message = "this object takes no members"
        self.end_words = "the end of the object"
        self.key = ""  # of the current member
        self.used: set[str] = set()  # the keys so far
        self.checks_key = True  # no violation of the open key was reported
        self.repeated: Violation | None = None  # reported because the open key begins like an earlier one
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
        return self.key_can_begin("")

    @property
    def key_text(self) -> str:
        return "".join(self._pieces)

    def feed_key(self, text: str) -> str | None:
        """The next characters of the key. Returns its shortest prefix that begins no possible key; None without one."""
        before = self.key_text if self.checks_key else ""
        self._pieces.append(text)
        if not self.checks_key or self.key_can_begin(before + text):
            return None
        sizes = range(1, len(text) + 1)
        return next(before + text[:size] for size in sizes if not self.key_can_begin(before + text[:size]))

    def key_can_begin(self, prefix: str) -> bool:
        """Whether a member's name can begin with `prefix`; if one can, drop the alternatives that do not allow it."""
        used = self.used
        fitting = [
            c
            for c in self.candidates
            if members.room(c.spec, used)
            and members.can_begin(c.schemas, c.spec, prefix, used, bare=self._bare)
        ]
        return self._keep(fitting)

    def key_possible(self, key: str) -> bool:
        """Whether a member may have this name; if it may, drop the alternatives that do not allow it."""
        return key not in self.used and self._keep(
            [c for c in self.candidates if members.may_be_given(c.schemas, c.spec, key)]
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
        return members.name_reason(self.candidates, prefix, self.used, self.no_members_message, whole=whole)

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
        return other and members.unknown_name(self._rejected, False, other.rule)

    # the member

    def places(self, of: Candidate) -> tuple[Place, ...]:
        return of.spec.member(self.key) or ()

    def value_candidates(self) -> list[Candidate]:
        candidates = [
            Candidate(c.schemas, spec, c)
            for c in self.candidates
            for spec in c.schemas.specs(c.spec.member(self.key) or ())
        ]
        return candidates or [Candidate(c.schemas, ANYTHING, c) for c in self.candidates]

    def add(self, value: Any) -> Reason | None:
        self.value[self.key] = value
        return None

    def separator(self) -> Reason | None:
        fitting = [c for c in self.candidates if members.another_possible(c.schemas, c.spec, self.used)]
        reason = None if fitting else self._why_no_key("", whole=False)._replace(viable=self._end())
        self.candidates = fitting or unjudged(self.candidates)
        self._separated = True
        return reason

    def _lack(self, spec: Spec) -> Reason | None:
        for name, rule in spec.required.items():
            if name not in self.value:
                return Reason("MISSING_REQUIRED", f"lacks the required argument '{name}'", rule)
        if len(self.value) < spec.members.least:
            message = f"needs at least {spec.members.least} members"
            return Reason("CONSTRAINT_OTHER", message, spec.members.least_rule)
        return _not_listed(spec, self.value)


def _item_possible(candidate: Candidate, index: int) -> bool:
    places = candidate.spec.item(index)
    return places is not None and bool(candidate.schemas.specs(places))


def _not_listed(spec: Spec, value: Any) -> Reason | None:
    if spec.enum is None or any(identity(value) == identity(v) for v in spec.enum):
        return None
    return Reason("CONSTRAINT_ENUM", "is not one of the allowed values", spec.enum_rule)
