"""Parts of a schema that no value can ever use, because other constraints exclude them.

A grammar is built without them and does not show them: an `enum` with five values of which `maxLength` allows two is
enforced as two. The parts that the builder drops are reported: a listed value, a type, an alternative, or an argument.
A part that is excluded in one combination of alternatives but possible in another is not reported, and neither is the
schema `false`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from glyphscope.base.errors import GrammarError
from glyphscope.base.pointer import is_under
from glyphscope.base.shorten import shorten
from glyphscope.grammar.builder.context import MAX_RULES, ToolContext
from glyphscope.grammar.builder.schema import Place, join
from glyphscope.grammar.builder.values import build_values
from glyphscope.grammar.notation_syntax import notation_syntax
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.time_limit import limited
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.registry.keywords import said

_LISTED = 4  # excluded values in a message
_MAX_LENGTH = 40  # characters of one
_LISTS = ("enum", "const", "type")
_CONTRADICT = "its constraints contradict each other"


class _Unusable(NamedTuple):
    """Why a place of the schema can never be used: none of its values or types (`kind`) is possible, because `why`.

    With an empty `kind`, only some of them are impossible, and `why` is the whole message.
    """

    kind: str
    why: str


class Contradiction(NamedTuple):
    """A part of the tool's parameters, by JSON Pointer, that can never be used, and why."""

    tool: str
    pointer: str
    message: str


def registry_contradictions(registry: ToolRegistry) -> tuple[Contradiction, ...]:
    """The contradictions of every allowed tool."""
    return tuple(found for tool in registry.allowed for found in contradictions(tool))


def contradictions(tool: Tool, *, closed: bool = True) -> tuple[Contradiction, ...]:
    """The parts of a tool's parameters that can never be used, in the schema's order; empty if it needs too many rules
    or too much time.

    `closed`: arguments that the schema does not name are rejected, as in a call.
    This takes as long as building the tool's grammar: milliseconds, or a second for a schema with thousands of places.
    """
    try:
        with limited():
            context, _ = _built(tool, closed=closed)
    except GrammarError:
        return ()
    if context.unreadable is not None:
        return (Contradiction(tool.name, context.unreadable.pointer, context.unreadable.why),)
    return tuple(
        Contradiction(tool.name, pointer, f"No {kind} is possible, as {why}." if kind else why)
        for pointer, (kind, why) in _unusable(context).items()
    )


def why_uncallable(tool: Tool, most_rules: int) -> tuple[str, str] | tuple[()]:
    """The place and the reason why no call of a tool can be written; empty if one can, or with too many rules."""
    try:
        with limited():
            context, root = _built(tool, most_rules=most_rules)
            return () if root in context.book.productive() else cause(context, root)
    except GrammarError:
        return ()


def _built(tool: Tool, *, closed: bool = True, most_rules: int = MAX_RULES) -> tuple[ToolContext, str]:
    """The context with all rules of a tool's arguments, and the name of their rule. Raises GrammarError."""
    book, syntax = RuleBook(), notation_syntax("json", "none")
    context = ToolContext(book, syntax, tool.name, tool.parameters, closed=closed, most_rules=most_rules)
    root = book.reserve("arguments")
    book.add(root, context.ref((Place(""),), "value", "value"))
    build_values(context, root)
    return context, root


def cause(context: ToolContext, root: str) -> tuple[str, str]:
    """The JSON Pointer and the reason why `root`, for which all rules are made, derives no text."""
    if context.unreadable is not None:
        return context.unreadable.pointer, context.unreadable.why
    way = context.book.dead_end(root)
    if not way:
        return "", "a value would have to contain itself without end"
    dead = next((name for name in way if name in context.origins), "")
    at = context.origins[dead].pointer if dead else ""
    for pointer, (kind, why) in _unusable(context).items():
        if kind and why != _CONTRADICT and pointer in (at, *(join(at, keyword) for keyword in _LISTS)):
            return pointer, why
    return next(
        ((pointer, why) for rule, pointer, why in context.impossible if rule == dead), (at, _CONTRADICT)
    )


def _unusable(context: ToolContext) -> dict[str, _Unusable]:
    """The places that can never be used, by JSON Pointer; only the innermost ones."""
    unusable = _excluded_from_lists(context)
    for pointer, why in _impossible_places(context):
        if not any(is_under(other, pointer) for other in unusable):
            unusable[pointer] = _Unusable("value", why)
    return unusable


def _excluded_from_lists(context: ToolContext) -> dict[str, _Unusable]:
    """Lists of values or types of which some, or all, are never possible."""
    lists: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
    for value, why in context.listed.items():
        lists.setdefault((value.place, value.pointer), []).append((value.label, why))
    unusable = {}
    for (place, pointer), listed in lists.items():
        excluded = [(label, why) for label, why in listed if why is not None]
        if not excluded:
            continue
        named = ", ".join(
            shorten(label, _MAX_LENGTH) + (f" ({why})" if why else "") for label, why in excluded[:_LISTED]
        )
        named += f" and {len(excluded) - _LISTED} more" if len(excluded) > _LISTED else ""
        kind = "type" if pointer.endswith("/type") else "value"
        if len(excluded) == len(listed):
            reason = _Unusable(kind, f"other constraints exclude every one: {named}")
        else:
            message = f"Other constraints exclude {len(excluded)} of {len(listed)} {kind}s: {named}."
            reason = _Unusable("", message)
        here = pointer.startswith(f"{place}/")  # otherwise in a definition, and possible elsewhere
        unusable[pointer if here else place] = reason
    return unusable


def _impossible_places(context: ToolContext) -> Iterator[tuple[str, str]]:
    """Places of the schema where constraints at that place, not inside it, exclude every value, and the reason."""
    productive = context.book.productive()
    alive = {origin.pointer for name, origin in context.origins.items() if name in productive}
    for name, origin in context.origins.items():
        by_itself = productive.issuperset(context.book.rules[name].refs)
        if origin.pointer not in alive and name not in productive and by_itself:
            words = _constraints(context.schema.at(origin.pointer))
            yield (
                origin.pointer,
                f"these constraints contradict each other: {words}" if words else _CONTRADICT,
            )


def _constraints(schema: Any) -> str:
    """`minimum 5, maximum 3`; empty if fewer than two can be named."""
    named = [
        words
        for keyword, words in said(schema).items()
        if _is_plain(schema[keyword]) and keyword not in _LISTS
    ]
    return ", ".join(named) if len(named) > 1 else ""


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
