"""The open containers of a document: what may come next in each, and what it lacks when it closes.

A level knows the alternatives that its members so far still fit, and answers with a reason where none is left. It
narrows them, and never records anything: verdicts are the validator's.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from glyphscope.events import Violation
from glyphscope.validation import members
from glyphscope.validation.candidates import Candidate, gravest, parents, unjudged
from glyphscope.validation.fields import Field
from glyphscope.validation.reasons import Reason
from glyphscope.validation.spec import ANYTHING, Spec


class Level:
    """An open container. `field` is the innermost member that it is in, `path` its JSON Pointer."""

    __slots__ = ("candidates", "field", "path")
    value: Any

    def __init__(self, candidates: list[Candidate], path: str, field: Field | None) -> None:
        self.candidates = candidates
        self.path = path
        self.field = field

    def value_candidates(self) -> list[Candidate]:
        """Those of the member or item that begins; none where no further item is allowed."""
        raise NotImplementedError

    def separator(self) -> Reason | None:
        """Another member or item must come."""
        raise NotImplementedError

    def add(self, value: Any) -> Reason | None:
        """A member or item is complete."""
        raise NotImplementedError

    def close(self) -> Reason | None:
        """The container ends: what it lacks, where no alternative is left."""
        reasons = [self._lack(c.spec) for c in self.candidates]
        if None in reasons:
            self.candidates = [
                c for c, reason in zip(self.candidates, reasons, strict=True) if reason is None
            ]
            return None
        self.candidates = unjudged(self.candidates)
        return gravest(filter(None, reasons))

    def _keep(self, fitting: list[Candidate]) -> bool:
        """Whether an alternative is left; if one is, only these stay."""
        self.candidates = fitting or self.candidates
        return bool(fitting)

    def _lack(self, spec: Spec) -> Reason | None:
        """The members that the container lacks for this alternative."""
        raise NotImplementedError

    def keep_parents(self, candidates: list[Candidate]) -> None:
        """Narrow the alternatives to those that a complete member or item fits."""
        if len(self.candidates) > 1:
            alive = {id(parent) for parent in parents(candidates)}
            self.candidates = [c for c in self.candidates if id(c) in alive]


class ArrayLevel(Level):
    """An open array."""

    __slots__ = ("_items", "_same", "_unique", "value")

    def __init__(self, candidates: list[Candidate], path: str, field: Field | None) -> None:
        super().__init__(candidates, path, field)
        self.value: list[Any] = []
        self._same: list[Candidate] | None = None  # those of every further item, where they are the same
        self._unique = any(c.spec.unique_rule for c in candidates)
        self._items: set[Hashable] = set()

    def value_candidates(self) -> list[Candidate]:
        if self._same is not None:
            return self._same
        index = len(self.value)
        candidates = []
        for c in self.candidates:
            places = c.spec.item(index) if c.spec.arrays or c.spec.max_items is not None else ()
            if places is not None:
                candidates += [Candidate(c.schemas, spec, c) for spec in c.schemas.specs(places)]
        if candidates and all(c.spec.same_items for c in self.candidates):
            self._same = candidates
        return candidates

    def too_many(self) -> Reason:
        """Why no further item is allowed."""
        spec = self.candidates[0].spec
        rule = spec.max_items_rule or next((part.pointer for part in spec.arrays), "")
        message = (
            "allows no further item" if spec.max_items is None else f"holds at most {spec.max_items} items"
        )
        return Reason("CONSTRAINT_ITEMS", message, rule, "the end of the list")

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
        if len(self.value) < spec.min_items:
            message = f"needs at least {spec.min_items} items"
            return Reason("CONSTRAINT_ITEMS", message, spec.min_items_rule, "another item")
        return _not_listed(spec, self.value)


class ObjectLevel(Level):
    """An open object, with the key that is being written. `records`: its members are fields of the document."""

    __slots__ = ("_bare", "_pieces", "checks_key", "empty", "key", "records", "repeated", "used", "value")

    def __init__(self, candidates: list[Candidate], path: str, field: Field | None) -> None:
        super().__init__(candidates, path, field)
        self.value: dict[str, Any] = {}
        self.records = True
        self.empty = "this object takes no members"
        self.key = ""  # of the present member
        self.used: set[str] = set()
        self.checks_key = True
        self.repeated: Violation | None = None  # the open key began like one that was given already
        self._bare = False
        self._pieces: list[str] = []

    # the key

    def open_key(self, *, bare: bool) -> bool:
        """A key begins; whether one can."""
        self._pieces = []
        self._bare = bare
        self.checks_key = True
        self.repeated = None
        return self.key_can_begin("")

    @property
    def key_text(self) -> str:
        return "".join(self._pieces)

    def feed_key(self, text: str) -> str | None:
        """The next characters of the key. Where no key can begin so: the shortest beginning that none has."""
        before = self.key_text if self.checks_key else ""
        self._pieces.append(text)
        if not self.checks_key or self.key_can_begin(before + text):
            return None
        sizes = range(1, len(text) + 1)
        return next(before + text[:size] for size in sizes if not self.key_can_begin(before + text[:size]))

    def key_can_begin(self, prefix: str) -> bool:
        """Whether some member's name can begin so; if it can, only the alternatives that allow it stay."""
        used = self.used
        fitting = [
            c
            for c in self.candidates
            if (c.spec.max_members is None or len(used) < c.spec.max_members)
            and members.can_begin(c.schemas, c.spec, prefix, used, bare=self._bare)
        ]
        return self._keep(fitting)

    def key_possible(self, key: str) -> bool:
        """Whether a member may have exactly this name; if it may, only the alternatives that allow it stay."""
        return key not in self.used and self._keep(
            [c for c in self.candidates if members.may_be_given(c.schemas, c.spec, key)]
        )

    def end_key(self, key: str) -> None:
        self.key = key
        self.used.add(key)

    def why_no_key(self, prefix: str, *, whole: bool = False) -> Reason:
        """Why no key can begin with `prefix`, or be it where it is `whole`."""
        return members.name_reason(self.candidates[0].spec, prefix, self.used, self.empty, whole=whole)

    def not_repeated(self, *, whole: bool) -> Reason | None:
        """Another reason for the open key, which only began like one that was given already; None while it does."""
        name = self.key_text
        ways = [(name[:size], False) for size in range(1, len(name) + 1)] + [(name, True)] * whole
        reasons = (self.why_no_key(way, whole=ended) for way, ended in ways)
        return next((reason for reason in reasons if reason.code != "DUPLICATE_ARGUMENT"), None)

    # the member

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
        reason = None if fitting else self.why_no_member()
        self.candidates = fitting or unjudged(self.candidates)
        return reason

    def why_no_member(self) -> Reason:
        """Why no further member is possible."""
        return self.why_no_key("")

    def _lack(self, spec: Spec) -> Reason | None:
        for name, rule in spec.required.items():
            if name not in self.value:
                return Reason("MISSING_REQUIRED", f"lacks the required argument '{name}'", rule, f"'{name}'")
        if len(self.value) < spec.min_members:
            message = f"needs at least {spec.min_members} members"
            return Reason("CONSTRAINT_OTHER", message, spec.min_members_rule)
        return _not_listed(spec, self.value)


def _item_possible(candidate: Candidate, index: int) -> bool:
    places = candidate.spec.item(index)
    return places is not None and bool(candidate.schemas.specs(places))


def _not_listed(spec: Spec, value: Any) -> Reason | None:
    if spec.enum is None or any(identity(value) == identity(v) for v in spec.enum):
        return None
    return Reason("CONSTRAINT_ENUM", "is not one of the allowed values", spec.enum_rule)


def identity(value: Any) -> Hashable:
    """Equal for equal JSON values: 1 and 1.0 are, 1 and true are not (draft 2020-12, core §4.2.2)."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", *map(identity, value))
    if isinstance(value, dict):
        return ("object", frozenset((key, identity(member)) for key, member in value.items()))
    return value  # type: ignore[no-any-return]
