"""The shared state while the rules of one tool are made: the requested rules, and unenforced constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from glyphscope.errors import GrammarError
from glyphscope.events import ArgumentOrder
from glyphscope.grammar.builder.schema import Part, Parts, Place, Schema, join
from glyphscope.grammar.notation_syntax import NotationSyntax
from glyphscope.grammar.patience import check_time
from glyphscope.grammar.regular.numbers import Bounds, number_node
from glyphscope.grammar.regular.strings import StringStyle
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.tree import (
    EMPTY,
    NEVER,
    Node,
    Ordered,
    Origin,
    RuleRef,
    Unenforced,
    alt,
    separated,
    seq,
    terminal,
)  # fmt: skip


@dataclass(frozen=True)
class Written:
    """Only the values of these types; strings in that style, which closes them, and all others before `closing`.

    What of the closing may be one lexeme with a value is `closing`, the rest `after`: where strings and other values
    may come, their lexemes end at the same place, so none is in conflict with another one.
    """

    types: frozenset[str]
    style: StringStyle | None = None
    closing: str = ""
    after: Node = EMPTY


Form: TypeAlias = Literal["value", "members", "arguments"] | Written
"""`members` is an object's inside where an entry is already before it: each member brings its separator.
`arguments` is the inside of a call's own arguments, as the context's `entries` write them."""


class Entries(Protocol):
    """How the members of an object are written: what is between two, and each one."""

    @property
    def separator(self) -> Node: ...

    def entry(self, context: ToolContext, name: str, key: str, places: tuple[Place, ...], part: Part) -> Node:
        """A named member; NEVER where it cannot be. Without `places` nothing is said of its value."""

    def free(
        self, context: ToolContext, name: str, contents: tuple[Node, ...], named: frozenset[str],
        places: tuple[Place, ...], part: Part,
    ) -> Node:  # fmt: skip
        """A member that no property names: its key is in all of `contents`, and none of the `named` ones."""


@dataclass(frozen=True)
class SurfaceEntries:
    """Members as a surface writes them."""

    surface: NotationSyntax

    @property
    def separator(self) -> Node:
        return self.surface.separator

    def entry(self, context: ToolContext, name: str, key: str, places: tuple[Place, ...], part: Part) -> Node:
        return seq(self.surface.key(key), _value(context, f"{name}-{key}", places, part))

    def free(
        self, context: ToolContext, name: str, contents: tuple[Node, ...], named: frozenset[str],
        places: tuple[Place, ...], part: Part,
    ) -> Node:  # fmt: skip
        value = _value(context, f"{name}-value", places, part)
        return seq(self.surface.map_key(contents, named), self.surface.key_end, value)


def _value(context: ToolContext, hint: str, places: tuple[Place, ...], part: Part) -> Node:
    return context.ref(places, "value", hint) if places else context.any_value(part)


MAX_RULES = 20_000

_OF_TEXTS = ("minLength", "maxLength", "pattern", "format")
_OF_COUNTS = ("minProperties", "maxProperties")


class PendingRule(NamedTuple):
    """A rule that was referred to and is still to be made."""

    name: str
    parts: Parts
    form: Form


class Left(NamedTuple):
    """A constraint that was left to the validator: by which rule, and the place of the schema that it is of."""

    rule: str
    place: str
    unenforced: Unenforced


class Choice(NamedTuple):
    """An `anyOf` or `oneOf` of one of the `parts` that apply together, and the rules of its alternatives."""

    part: Part
    keyword: str
    parts: Parts
    rules: tuple[str, ...]
    """Empty for an alternative that no value satisfies."""


def _text_keywords(parts: Parts, pointer: str) -> tuple[str, ...]:
    """Where the keywords of texts are, if not all at the pointer."""
    found = [
        (part.place.pointer, keyword)
        for part in parts
        for keyword in (*_OF_TEXTS, *_OF_COUNTS)
        if keyword in part.schema
    ]
    apart = any(place != pointer for place, _ in found)
    return tuple(join(place, keyword) for place, keyword in found) if apart else ()


class ToolContext:
    """One tool: `unenforced` has what no rule enforces, `impossible` (rule, pointer, why) where no value can exist.

    `offered`: what excludes each listed value and type, None for those that are possible, by the place of the rule, the
    pointer of the list, and the value in words.

    `rule` is the one that is being made; `left` and `choices` have what was left, and chosen between, in which.

    `order` any: members come in any order, but for the objects of which `ordered` says why not.

    `closed`: the schema's own value is a call's arguments, in which an unnamed key is an error unless it is allowed.
    `loose_in`: the rules of that kind.
    `loose`: branches may begin alike, so lexemes may be in conflict;
    `lexed` is False where not even the rest of the grammar can be sure of its lexemes.
    """

    def __init__(
        self, book: RuleBook, surface: NotationSyntax, tool: str, parameters: dict[str, Any], *, closed: bool = True,
        order: ArgumentOrder = "schema", entries: Entries | None = None,
    ) -> None:  # fmt: skip
        self.book = book
        self.surface = surface
        self.entries: Entries = entries or SurfaceEntries(surface)
        self.schema = Schema(tool, parameters)
        self.closed = closed
        self.order = order
        self.lexed = True
        self.loose = False
        self.loose_in: dict[str, None] = {}
        self.rule = ""
        self.unenforced: dict[Unenforced, None] = {}
        self.ordered: dict[Ordered, None] = {}
        self.left: list[Left] = []
        self.choices: list[Choice] = []
        self.impossible: list[tuple[str, str, str]] = []
        self.offered: dict[tuple[str, str, str], str | None] = {}
        self.pending: list[PendingRule] = []
        self.origins: dict[str, Origin] = {}
        self._names: dict[tuple[tuple[Place, ...], Form], str] = {}

    def ref(self, places: tuple[Place, ...], form: Form, hint: str) -> Node:
        """The rule of a conjunction. It is made later, so that no depth of a schema is a depth of calls."""
        parts = self.schema.expand(places)
        if isinstance(parts, str):
            self.impossible.append((self.rule, parts, "the schema is false"))
            return NEVER
        key = (tuple(part.place for part in parts), form)
        name = self._names.get(key)
        if name is None:
            check_time()
            if len(self._names) >= MAX_RULES:
                raise GrammarError(
                    f"The schema needs more than {MAX_RULES:,} rules.",
                    where=f"{self.schema.tool}: {places[0].pointer}",
                    hint="Its anyOf and oneOf multiply each other: merge or nest them.",
                )
            name = self._names[key] = self.book.reserve(hint)
            pointer = next((p for p in places if not p.taken), places[0]).pointer
            self.origins[name] = Origin(self.schema.tool, pointer, _text_keywords(parts, pointer))
            self.pending.append(PendingRule(name, parts, form))
        return RuleRef(name)

    def leave(self, part: Part, keyword: str, why: str) -> None:
        """Notes a constraint that the grammar does not enforce; an empty keyword is the schema itself."""
        pointer = join(part.place.pointer, keyword) if keyword else part.place.pointer
        unenforced = Unenforced(self.schema.tool, pointer, keyword, why)
        self.unenforced[unenforced] = None
        self.left.append(Left(self.rule, part.place.pointer, unenforced))

    def offer(self, pointer: str, label: str, why: str | None) -> None:
        """Notes a value or type that the schema lists: None where it is possible, or what excludes it.

        In one combination of alternatives it may be possible and in another not: then it is.
        """
        key = (self.origins[self.rule].pointer, pointer, label)
        self.offered[key] = None if self.offered.get(key, "") is None else why

    def loosen(self) -> None:
        """Notes that in the rule that is being made lexemes may be in conflict."""
        self.loose = True
        self.loose_in[self.rule] = None

    def keep_order(self, part: Part, why: str) -> None:
        """Notes an object whose members come in the schema's order, though any was asked for."""
        self.ordered[Ordered(self.schema.tool, part.place.pointer, why)] = None

    def any_value(self, part: Part) -> Node:
        """Any value at all, by a rule that all places share."""
        self.leave(part, "", "anything is allowed here, and the keys of a free object may repeat")
        return self.book.shared("any", self._any_value, self.surface)

    def _any_value(self) -> Node:
        surface, anything = self.surface, self.book.shared("any", self._any_value, self.surface)
        entry = seq(surface.map_key(), surface.key_end, anything)
        return alt(
            surface.any_string(), terminal(number_node(Bounds())), surface.boolean, surface.null,
            seq(surface.open_list, separated(anything, surface.separator), surface.close_list),
            seq(surface.open_object, separated(entry, surface.separator), surface.close_object),
        )  # fmt: skip
