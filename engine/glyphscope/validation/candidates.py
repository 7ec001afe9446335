"""The candidates of a value: the alternatives of its schema that fit the text so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from glyphscope.events import Notation
from glyphscope.notation.scalars import STRING
from glyphscope.validation import literals
from glyphscope.validation.literals import ScalarPrefix
from glyphscope.validation.reasons import AS_DECIMAL, Reason, kinds_in_words, must_be
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.spec import ANYTHING, Deferred, Spec, SpecPlace
from glyphscope.validation.strings import StringCheck
from glyphscope.validation.tools import CallableTool


class Candidate:
    """One alternative of a value. `parent` is its container's alternative; `tool` is set for a call's arguments."""

    __slots__ = ("_inside", "parent", "schemas", "spec", "tool")

    def __init__(
        self,
        schemas: SchemaSet,
        spec: Spec,
        parent: Candidate | None = None,
        tool: CallableTool | None = None,
    ) -> None:
        self.schemas = schemas
        self.spec = spec
        self.parent = parent
        self.tool = tool
        self._inside: dict[tuple[SpecPlace, ...], list[Candidate]] = {}

    def inside(self, places: tuple[SpecPlace, ...]) -> list[Candidate]:
        """The alternatives of a member or item that must satisfy these places, the same list each time."""
        found = self._inside.get(places)
        if found is None:
            specs = self.schemas.specs(places)
            found = self._inside[places] = [Candidate(self.schemas, spec, self) for spec in specs]
        return found


ANY_SCHEMA = SchemaSet(True)


def anything() -> list[Candidate]:
    """The candidates of a value that is not judged."""
    return [Candidate(ANY_SCHEMA, ANYTHING)]


class CandidateSet:
    """The alternatives that are left for the value being written, each with the check of its string.

    The methods that take text narrow the set. If no alternative is left, they return the reason of one that accepted
    the most characters, and the value is not judged any further.
    """

    __slots__ = ("_checks", "checking", "left", "reached")

    def __init__(self) -> None:
        self.left: list[Candidate] = []
        self.checking = False  # whether the text of a string must be checked
        self.reached: int | None = None  # at a violation: characters of the string that were possible
        self._checks: dict[Candidate, StringCheck] = {}  # of all alternatives, while `checking`

    def replace(self, candidates: list[Candidate]) -> None:
        """Begin another value."""
        self.left = candidates
        self._checks = {}
        self.checking = False

    def keep_kind(self, kind: int) -> Reason | None:
        """The value has this kind; 0: it has none."""
        fitting = [c for c in self.left if c.spec.kinds & kind]
        if fitting:
            self.replace(fitting)
            return None
        return self._none_left(literals.not_of_kind(c.spec) for c in self.left)

    def end(self, value: Any) -> Reason | None:
        """The value is complete: check the deferred keywords with jsonschema."""
        if len(self.left) == 1 and not self.left[0].spec.deferred:
            return None
        return self._keep_without([_broken_keyword(candidate, value) for candidate in self.left])

    def _keep_without(self, reasons: list[Reason | None]) -> Reason | None:
        """Narrow the set to the alternatives without a reason; `reasons` has one entry for each."""
        if None in reasons:
            self.left = [c for c, reason in zip(self.left, reasons, strict=True) if reason is None]
            return None
        return self._none_left(filter(None, reasons))

    def _keep(self, fitting: list[Candidate]) -> bool:
        """Narrow the set to `fitting` unless it is empty, and return whether it is not."""
        self.left = fitting or self.left
        return bool(fitting)

    def _none_left(self, reasons: Iterable[Reason]) -> Reason:
        reason = most_specific(reasons)
        self.reached = max((self._checks[c].count for c in self.left if c in self._checks), default=None)
        self.replace(unjudged(self.left))
        return reason

    # quoted strings

    def open_string(self, *, bare: bool) -> None:
        """A string begins, or an unquoted scalar (`bare`), which may turn out to be a string."""
        limited = [c for c in self.left if c.spec.kinds & ~c.spec.free & STRING]
        self.checking = bool(limited)
        self._checks = {c: StringCheck(c.spec, bare=bare) for c in self.left} if limited else {}
        self.reached = None

    def feed_string(self, text: str) -> tuple[int, Reason | None]:
        """The next characters of a string. Returns how many of them were possible, and the reason if not all were."""
        counts = [self._checks[c].feed(text) for c in self.left]
        furthest = max(counts)
        longest = [c for c, count in zip(self.left, counts, strict=True) if count == furthest]
        if furthest == len(text):
            self.left = longest
            return furthest, None
        return furthest, self._none_left(self._checks[c].why() for c in longest)

    def escape_opened(self) -> Reason | None:
        """At least one more character of the string must follow."""
        if self._keep([c for c in self.left if self._checks[c].can_grow()]):
            return None
        return self._none_left(self._checks[c].why() for c in self.left)

    def end_string(self) -> Reason | None:
        """The string is complete."""
        reason = self._keep_without([self._checks[c].ended() for c in self.left])
        self.checking = False
        return reason

    def end_string_late(self, after: str) -> tuple[int, Reason | None]:
        """The string ended before `after`. Returns how many of these characters could have continued it."""
        reasons = [self._checks[c].ended() for c in self.left]
        furthest = max(self._checks[c].feed(after) for c in self.left)
        reason = self._keep_without(reasons)
        self.checking = False
        return furthest, reason

    def string_may_end(self) -> bool:
        """Whether the string may end here; True if a pattern is only checked on the whole string."""
        checks = [self._checks[c] for c in self.left]
        return any(
            any(not one.linear for one in check.spec.patterns) or check.ended() is None for check in checks
        )

    # numbers, literals, bare words

    def end_free(self, kind: int) -> bool:
        """A scalar of this kind is complete: narrow the set to its alternatives, if they allow every such scalar.

        Returns whether there are any, and they do; if not, the set is unchanged.
        """
        free = [c for c in self.left if c.spec.free & kind]
        others = len(free) < len(self.left)
        if not free or (others and any(c.spec.kinds & ~c.spec.free & kind for c in self.left)):
            return False
        self.left, self.checking = free, False
        return True

    def keep_scalar(self, scalar: ScalarPrefix) -> bool:
        """Narrow the set to the alternatives that allow a scalar with this prefix. Returns whether there are any."""
        checks = self._checks
        return self._keep([c for c in self.left if literals.can_satisfy(c.spec, scalar, checks.get(c))])

    def feed_scalar(self, scalar: ScalarPrefix, char: str) -> Reason | None:
        """The scalar grew by this character."""
        checks = self._checks
        for check in checks.values():
            if not check.dead:
                check.feed(char)
        if self.keep_scalar(scalar):
            return None
        return self._none_left(literals.why_not(c.spec, scalar, checks.get(c)) for c in self.left)

    def end_scalar(self, kind: int, value: Any, text: str, notation: Notation) -> Reason | None:
        """The scalar `text` is complete, a `value` of this kind."""
        checks = self._checks
        reasons = [literals.complete(c.spec, kind, value, text, notation, checks.get(c)) for c in self.left]
        reason = self._keep_without(reasons)
        self.checking = False
        return reason


def parents(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The distinct alternatives of the container to which these candidates belong."""
    return list({id(c.parent): c.parent for c in candidates if c.parent is not None}.values())


def unjudged(candidates: list[Candidate]) -> list[Candidate]:
    """Candidates that accept everything, in place of `candidates`; they have the same parents."""
    above = parents(candidates)
    if not above:
        return [Candidate(c.schemas, ANYTHING) for c in candidates[:1]]
    return [Candidate(parent.schemas, ANYTHING, parent) for parent in above]


def most_specific(reasons: Iterable[Reason]) -> Reason:
    """The one reason to report, given the reasons of all alternatives.

    A violated constraint is more specific than a wrong type, and so is a number with an exponent.
    """
    listed = list(reasons)
    chosen = min(listed, key=_rank)
    viable = tuple(dict.fromkeys(word for reason in listed for word in reason.viable))
    if _rank(chosen) == _ONLY_TYPE and len({reason.message for reason in listed}) > 1:
        types = dict.fromkeys(word for reason in listed for word in kinds_in_words(reason.kinds))
        return chosen._replace(message=must_be(types), viable=viable)
    return chosen._replace(viable=viable)


def _rank(reason: Reason) -> int:
    """The rank of a reason; lower is more specific."""
    if reason.code != "TYPE_MISMATCH":
        return 0
    return 1 if reason.message == AS_DECIMAL else _ONLY_TYPE


_ONLY_TYPE = 2


def _broken_keyword(candidate: Candidate, value: Any) -> Reason | None:
    """Why the complete value violates a deferred keyword; the first violation only."""
    for deferred in candidate.spec.deferred:
        if not candidate.schemas.checker.valid(value, deferred.fragment):
            return Reason(deferred.code, _lacking(deferred, value) or deferred.message, deferred.rule)
    return None


def _lacking(deferred: Deferred, value: Any) -> str:
    """The message of a violated `dependentRequired`, with the names of the missing members; "" for other keywords."""
    fragment = deferred.fragment
    if not isinstance(fragment, dict) or fragment.keys() != {"dependentRequired"}:
        return ""  # a whole schema may have the keyword beside the one that is violated
    for name, others in fragment["dependentRequired"].items():
        lacking = [f"'{other}'" for other in others if other not in value]
        if name in value and lacking:
            more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
            return f"lacks {' and '.join(lacking[:3])}{more}, which '{name}' demands"
    return ""
