"""Choices that accept too much because one of their alternatives does.

An unenforced constraint in one alternative weakens the others too: for `{"enum": ["a"]} or {"not": …}`, a grammar that
cannot enforce the `not` accepts any value, so neither the `anyOf` nor the `enum` rejects anything. Such a choice is
listed as unenforced, with the constraint that causes it.
"""

from __future__ import annotations

from collections import defaultdict

from glyphscope.grammar.builder.context import Choice, ToolContext, UnenforcedIn
from glyphscope.grammar.builder.schema import Part
from glyphscope.registry.pointer import is_under

MAX_FOLLOWED = 8  # unenforced constraints that one rule passes on to its users; one is enough

_DEFINITIONS = ("$defs", "definitions")


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


def _is_beside(choice: Choice, number: int, place: str) -> bool:
    """Whether the place belongs to a constraint outside the choice, which does not weaken it."""
    if is_under(place, choice.part.at(choice.keyword, number).pointer):
        return False
    return any(_belongs(place, part, choice) for part in choice.parts)


def _belongs(place: str, part: Part, choice: Choice) -> bool:
    pointer = part.place.pointer
    if not is_under(place, pointer):
        return False
    step = place[len(pointer) + 1 :].partition("/")[0]
    return step not in _DEFINITIONS and not (part is choice.part and step == choice.keyword)
