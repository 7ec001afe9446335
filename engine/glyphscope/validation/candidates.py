"""What is still possible: candidates, the open containers, and what a container lacks when it closes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from glyphscope.validation.reasons import AS_DECIMAL, Reason, kinds_in_words, one_of
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.spec import ANYTHING, Deferred, Spec


class Candidate:
    """One alternative that is still possible for one value; `parent` is its container's alternative."""

    __slots__ = ("parent", "schemas", "spec")

    def __init__(self, schemas: SchemaSet, spec: Spec, parent: Candidate | None) -> None:
        self.schemas = schemas
        self.spec = spec
        self.parent = parent


class Level:
    """An open object or array: its candidates, its value so far, the name of its present member."""

    __slots__ = ("_items", "candidates", "field", "key", "path", "repeated", "unique", "used", "value")

    def __init__(self, candidates: list[Candidate], value: Any, path: str, field: list[Any] | None) -> None:
        self.candidates = candidates
        self.value = value
        self.path = path
        self.field = field  # the member that this container is the value of
        self.key = ""
        self.used: set[str] = set()
        self.repeated: list[Candidate] | None = (
            None  # the candidates of every further item, where they are the same
        )
        self.unique = any(c.spec.unique_rule for c in candidates)
        self._items: set[Hashable] = set()

    def repeats(self, item: Any) -> bool:
        """Whether an equal item came before; remembers this one."""
        before = len(self._items)
        self._items.add(identity(item))
        return len(self._items) == before


def parents(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The distinct alternatives of the container that these candidates belong to."""
    return list({id(c.parent): c.parent for c in candidates if c.parent is not None}.values())


def unjudged(candidates: list[Candidate]) -> list[Candidate]:
    """In the place of candidates that all died: whatever comes, their containers live on."""
    above = parents(candidates)
    if not above:
        return [Candidate(c.schemas, ANYTHING, None) for c in candidates[:1]]
    return [Candidate(parent.schemas, ANYTHING, parent) for parent in above]


def gravest(reasons: Iterable[Reason]) -> Reason:
    """The reason to tell when every alternative has its own: a broken constraint says more than a wrong type, and so
    does a way of writing."""
    listed = list(reasons)
    chosen = min(listed, key=_gravity)
    alike = [reason for reason in listed if reason.code == chosen.code]
    viable = one_of(dict.fromkeys(reason.viable for reason in alike if reason.viable))
    if _gravity(chosen) == _ONLY_TYPE and len({reason.message for reason in alike}) > 1:
        return chosen._replace(message=f"must be of type {viable}", viable=viable)
    return chosen._replace(viable=viable)


_ONLY_TYPE = 2


def _gravity(reason: Reason) -> int:
    """The lower, the graver."""
    if reason.code != "TYPE_MISMATCH":
        return 0
    return 1 if reason.message == AS_DECIMAL else _ONLY_TYPE


def wrong_type(candidate: Candidate) -> Reason:
    viable = kinds_in_words(candidate.spec.kinds)
    return Reason("TYPE_MISMATCH", f"must be of type {viable}", candidate.spec.kinds_rule, viable)


def failing(candidate: Candidate, value: Any) -> Deferred | None:
    """The first keyword left for the end that the complete value breaks."""
    for deferred in candidate.spec.deferred:
        if not candidate.schemas.checker.valid(value, deferred.fragment):
            return _named(deferred, value)
    return None


def late(deferred: Deferred | None) -> Reason:
    assert deferred is not None
    return Reason(deferred.code, deferred.message, deferred.rule)


def _named(deferred: Deferred, value: Any) -> Deferred:
    """With the members that this value lacks, where one of its members demands others."""
    demands = deferred.fragment.get("dependentRequired") if isinstance(deferred.fragment, dict) else None
    for name, others in (demands or {}).items():
        lacking = [f"'{other}'" for other in others if other not in value]
        if name in value and lacking:
            words = " and ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
            return deferred._replace(message=f"lacks {words}, which '{name}' demands")
    return deferred


def item_possible(candidate: Candidate, index: int) -> bool:
    places = candidate.spec.item(index)
    return places is not None and bool(candidate.schemas.specs(places))


def too_many_items(spec: Spec) -> Reason:
    rule = spec.max_items_rule or next((part.pointer for part in spec.arrays), "")
    if spec.max_items is not None:
        return Reason(
            "CONSTRAINT_ITEMS", f"holds at most {spec.max_items} items", rule, "the end of the list"
        )
    return Reason("CONSTRAINT_ITEMS", "allows no further item", rule, "the end of the list")


def object_lacks(spec: Spec, value: dict[str, Any]) -> Reason | None:
    """Why an object with these members may not close."""
    for name, rule in spec.required.items():
        if name not in value:
            return Reason("MISSING_REQUIRED", f"lacks the required argument '{name}'", rule, f"'{name}'")
    if len(value) < spec.min_members:
        message = f"needs at least {spec.min_members} members"
        return Reason("CONSTRAINT_OTHER", message, spec.min_members_rule)
    return _not_listed(spec, value)


def array_lacks(spec: Spec, value: list[Any]) -> Reason | None:
    """Why a list of these items may not close."""
    if len(value) < spec.min_items:
        message = f"needs at least {spec.min_items} items"
        return Reason("CONSTRAINT_ITEMS", message, spec.min_items_rule, "another item")
    return _not_listed(spec, value)


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
