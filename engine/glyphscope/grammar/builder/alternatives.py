"""Choices that accept more than they should, because one of their alternatives does.

A constraint of an alternative that is left to the validator weakens the other alternatives too: of `{"enum": ["a"]} or
{"not": …}`, a grammar that cannot enforce the `not` accepts any value, and neither the `anyOf` nor the `enum` in it
rejects anything then. So the choice is listed as not enforced, with the place that is the reason.
"""

from __future__ import annotations

from collections import defaultdict

from glyphscope.grammar.builder.context import Choice, ToolContext, UnenforcedIn
from glyphscope.grammar.builder.schema import Part
from glyphscope.grammar.tree import refs
from glyphscope.registry.pointer import is_under

MAX_FOLLOWED = 8  # constraints that are followed up from one rule: one of them is enough

_DEFINITIONS = ("$defs", "definitions")


def note_weak_choices(context: ToolContext) -> None:
    """Notes as not enforced each `anyOf` and `oneOf` of which an alternative enforces less than its schema says."""
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
    """By rule, what it or a rule that it leads to does not enforce: the first few."""
    users: dict[str, list[str]] = defaultdict(list)
    seen: set[str] = set()
    waiting = list(context.origins)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            for other in refs(context.book.rules[name].body):
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


def _is_beside(choice: Choice, number: int, place: str) -> bool:
    """Whether the place belongs to constraints next to the choice: then it is not the alternative that weakens it."""
    if is_under(place, choice.part.at(choice.keyword, number).pointer):
        return False
    return any(_belongs(place, part, choice) for part in choice.parts)


def _belongs(place: str, part: Part, choice: Choice) -> bool:
    pointer = part.place.pointer
    if not is_under(place, pointer):
        return False
    step = place[len(pointer) + 1 :].partition("/")[0]
    return step not in _DEFINITIONS and not (part is choice.part and step == choice.keyword)
