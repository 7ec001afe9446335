"""The alternatives of a choice: equal ones, those of which a value may satisfy two, and those that weaken the others.

An unenforced constraint in one alternative weakens the others too: for `{"enum": ["a"]} or {"not": …}`, a grammar that
cannot enforce the `not` accepts any value, so neither the `anyOf` nor the `enum` rejects anything. Such a choice is
listed as unenforced, with the constraint that causes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import combinations

from glyphscope.base.pointer import is_under
from glyphscope.grammar.builder.context import ContextChoice, ToolContext, UnenforcedIn
from glyphscope.grammar.builder.schema import Part, Parts, Place, Schema, names_of
from glyphscope.grammar.checking import identity
from glyphscope.grammar.time_limit import check_time
from glyphscope.registry.facts import listed, types_of
from glyphscope.registry.keywords import DEFINITIONS

MAX_FOLLOWED = 8  # unenforced constraints that one rule passes on to its users; one is enough


def note_weak_choices(context: ToolContext) -> None:
    """Note as unenforced each `anyOf` and `oneOf` with an alternative that has an unenforced constraint."""
    unenforced_in = [one for one in context.unenforced_in if one.unenforced.keyword]
    if not context.choices or not unenforced_in:
        return
    below = _unenforced_below(context, unenforced_in)
    for choice in context.choices:
        for number, name in enumerate(choice.rules):
            own = (one for one in below.get(name, ()) if not _is_beside(choice, number, one.place))
            weak = next(own, None)
            if weak is not None:
                context.note_unenforced(
                    choice.part,
                    choice.keyword,
                    f"alternative {number + 1} lets through what {weak.unenforced.pointer} would reject",
                )
                break


def _unenforced_below(
    context: ToolContext, unenforced_in: list[UnenforcedIn]
) -> dict[str, dict[UnenforcedIn, None]]:
    """For each rule, the first few constraints that it or a rule below it does not enforce."""
    users: dict[str, list[str]] = defaultdict(list)
    seen: set[str] = set()
    waiting = list(context.origins)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            for other in context.book.rules[name].refs:
                users[other].append(name)
                waiting.append(other)
    below: dict[str, dict[UnenforcedIn, None]] = defaultdict(dict)
    news = [(one.rule, one) for one in unenforced_in]
    while news:
        name, one = news.pop()
        if one not in below[name] and len(below[name]) < MAX_FOLLOWED:
            below[name][one] = None
            news += ((user, one) for user in users[name])
    return below


def _is_beside(choice: ContextChoice, number: int, place: str) -> bool:
    """Whether the place belongs to a constraint outside the choice, which does not weaken it."""
    if is_under(place, choice.part.at(choice.keyword, number).pointer):
        return False
    return any(_belongs(place, part, choice) for part in choice.parts)


def _belongs(place: str, part: Part, choice: ContextChoice) -> bool:
    pointer = part.place.pointer
    if not is_under(place, pointer):
        return False
    step = place[len(pointer) + 1 :].partition("/")[0]
    return step not in DEFINITIONS and not (part is choice.part and step == choice.keyword)


_MAX_COMPARED = 200  # alternatives of a `oneOf` that are compared in pairs
_MAX_LEVELS = 6  # of properties compared to decide whether alternatives overlap


def distinct(schema: Schema, branches: Sequence[Place]) -> list[Place | None]:
    """The alternatives, without those (None) that refer to the same schemas as an earlier one: each would double the
    rules, and so would each link of a chain of them.
    """
    known: set[tuple[Place, ...]] = set()
    distinct: list[Place | None] = []
    for place in branches:
        parts = schema.expand([place])
        own = () if isinstance(parts, str) else tuple(p.place for p in parts if p.schema.keys() != {"$ref"})
        distinct.append(None if own in known else place)
        known |= {own} if own else set()
    return distinct


def may_overlap(schema: Schema, places: Sequence[Place]) -> bool:
    """Whether a value may satisfy two alternatives of a choice, which a grammar cannot count; True if undecided."""
    alternatives = [
        parts for parts in (schema.expand([place]) for place in places) if not isinstance(parts, str)
    ]
    if _distinguished([[_enumerated(parts)] for parts in alternatives]):
        return False
    if all(types_of(parts).names == {"object"} for parts in alternatives):
        keys = set.intersection(*(names_of(parts)[1] for parts in alternatives)) if alternatives else set()
        if any(_distinguished([_listed_at(schema, key, parts) for parts in alternatives]) for key in keys):
            return False
    if len(places) > _MAX_COMPARED:
        return True
    return any(_may_both(schema, a, b, _MAX_LEVELS) for a, b in combinations(places, 2))


def _distinguished(listed: Sequence[Sequence[set[Hashable] | None]]) -> bool:
    """Whether each alternative lists values, and none is listed by two of them."""
    known: set[Hashable] = set()
    for lists in listed:
        values = next((values for values in lists if values is not None), None)
        if values is None or not known.isdisjoint(values):
            return False
        known |= values
    return True


def _listed_at(schema: Schema, key: str, parts: Parts) -> list[set[Hashable] | None]:
    """The lists of values for a property, one of each schema that names it."""
    expanded = (schema.expand([place]) for place in _places_of(key, parts))
    return [set() if isinstance(inner, str) else _enumerated(inner) for inner in expanded]


def _may_both(schema: Schema, a: Place, b: Place, levels: int) -> bool:
    """Whether a value may satisfy both, judging by types, lists of values, and the properties that both require."""
    check_time()
    left, right = schema.expand([a]), schema.expand([b])
    if isinstance(left, str) or isinstance(right, str):
        return False
    types = types_of(left).names & types_of(right).names
    if not types:
        return False
    listed = [values for values in (_enumerated(left), _enumerated(right)) if values is not None]
    if len(listed) == 2 and not listed[0] & listed[1]:
        return False
    if types != {"object"} or levels == 0:
        return True
    (_, left_required), (_, right_required) = names_of(left), names_of(right)
    return not any(
        _property_excludes(schema, key, left, right, levels) for key in left_required & right_required
    )


def _property_excludes(schema: Schema, key: str, left: Parts, right: Parts, levels: int) -> bool:
    ours, theirs = _places_of(key, left), _places_of(key, right)
    return any(not _may_both(schema, a, b, levels - 1) for a in ours for b in theirs)


def _places_of(key: str, parts: Parts) -> list[Place]:
    """The schemas that the parts have for a property."""
    return [part.at("properties", key) for part in parts if key in part.schema.get("properties", {})]


def _enumerated(parts: Parts) -> set[Hashable] | None:
    lists = (found for part in parts if (found := listed(part.schema)) is not None)
    found = next(lists, None)
    return None if found is None else set(map(identity, found.values))
