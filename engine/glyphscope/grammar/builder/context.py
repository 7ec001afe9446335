"""The shared state while the rules of one tool are made: the pending rules, and notes about the finished ones.

A rule is requested by `ToolContext.ref` and made later, by `values.build_values`, so that a deep schema needs no deep
recursion. Meanwhile, the context collects the constraints that the grammar does not enforce (`note_unenforced`), which
listed values are possible (`note_listed`), and the rules whose lexemes may be in conflict (`note_unlexed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from glyphscope.base.errors import GrammarError
from glyphscope.events import ArgumentOrder
from glyphscope.grammar import tree
from glyphscope.grammar.builder.schema import Part, Parts, Place, Schema, join
from glyphscope.grammar.notation_syntax import KeyLanguage, NotationSyntax
from glyphscope.grammar.regular.numbers import number_node
from glyphscope.grammar.regular.strings import StringStyle
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.time_limit import check_time
from glyphscope.registry.facts import EVERY_NUMBER
from glyphscope.registry.keywords import KEYWORDS


@dataclass(frozen=True)
class TaggedValue:
    """A value between a model's own markers, of these types only, with its closing marker.

    If strings and other values are possible, their lexemes end at the same place, so that they do not conflict.
    """

    types: frozenset[str]
    style: StringStyle | None = None
    """The style of strings, which extend to their closing marker. With it, the value is a string."""
    closing: str = ""
    """The part of the closing marker that may be one lexeme with a value that is not a string."""
    after: tree.Node = tree.EMPTY
    """The rest of the closing marker."""


Form: TypeAlias = Literal["value", "members", "arguments"] | TaggedValue
"""How a rule writes the value of its places. `members` is the content of an object after another entry, so each member
begins with its separator. `arguments` is the content of a call's arguments, written by the context's `entries`."""


class MemberEntries(Protocol):
    """How the members of an object, and the separators between them, are written."""

    @property
    def separator(self) -> tree.Node: ...

    def entry(
        self, context: ToolContext, name: str, key: str, places: tuple[Place, ...], part: Part
    ) -> tree.Node:
        """A named member; NEVER if it is impossible. Without `places`, its value is not constrained."""

    def free(
        self, context: ToolContext, name: str, keys: KeyLanguage, places: tuple[Place, ...], part: Part
    ) -> tree.Node:
        """A member that is not a listed property, with one of these keys; NEVER if there is none."""


@dataclass(frozen=True)
class NotationEntries:
    """Members as written in a notation."""

    syntax: NotationSyntax

    @property
    def separator(self) -> tree.Node:
        return self.syntax.separator

    def entry(
        self, context: ToolContext, name: str, key: str, places: tuple[Place, ...], part: Part
    ) -> tree.Node:
        return tree.seq(self.syntax.key(key), _value(context, f"{name}-{key}", places, part))

    def free(
        self, context: ToolContext, name: str, keys: KeyLanguage, places: tuple[Place, ...], part: Part
    ) -> tree.Node:
        key = self.syntax.map_key(keys)
        if key == tree.NEVER:
            return tree.NEVER
        return tree.seq(key, self.syntax.key_end, _value(context, f"{name}-value", places, part))


def _value(context: ToolContext, hint: str, places: tuple[Place, ...], part: Part) -> tree.Node:
    return context.ref(places, "value", hint) if places else context.any_value(part)


MAX_RULES = 20_000
"""The maximum number of rules for one tool."""

_OF_STRINGS = tuple(
    name for name, one in KEYWORDS.items() if one.about == "string" or one.bounds == "members"
)


class PendingRule(NamedTuple):
    """A rule that was requested but not yet made."""

    name: str
    parts: Parts
    form: Form


class UnenforcedIn(NamedTuple):
    """A constraint that a rule does not enforce; `place` is the JSON Pointer of the schema that contains it."""

    rule: str
    place: str
    unenforced: tree.Unenforced


class ContextChoice(NamedTuple):
    """An `anyOf` or `oneOf` of one of the `parts` that apply together, and the rules of its alternatives."""

    part: Part
    keyword: str
    parts: Parts
    rules: tuple[str, ...]
    """Empty for an alternative that no value satisfies."""


def _text_keywords(parts: Parts, pointer: str) -> tuple[str, ...]:
    """The JSON Pointers of the keywords for strings and counts, unless all of them are at `pointer`."""
    keywords = [
        (part.place.pointer, keyword) for part in parts for keyword in _OF_STRINGS if keyword in part.schema
    ]
    apart = any(place != pointer for place, _ in keywords)
    return tuple(join(place, keyword) for place, keyword in keywords) if apart else ()


class Impossible(NamedTuple):
    """A rule without any text: the JSON Pointer of the schema that causes it, and why."""

    rule: str
    pointer: str
    why: str


class ListedValue(NamedTuple):
    """A value or type that a schema lists: the JSON Pointers of the place and of the list, and its text."""

    place: str
    pointer: str
    label: str


class ToolContext:
    """The state of one tool, or of one bare schema."""

    def __init__(
        self, book: RuleBook, syntax: NotationSyntax, tool: str, parameters: dict[str, Any], *, closed: bool = True,
        order: ArgumentOrder = "schema", entries: MemberEntries | None = None, most_rules: int = MAX_RULES,
    ) -> None:  # fmt: skip
        """`closed`: the schema describes a call's arguments, so a key that it neither names nor allows is an error.

        `order` any: members may come in any order, except in the objects of `ordered`.
        """
        self.book = book
        self.syntax = syntax
        self.entries: MemberEntries = entries or NotationEntries(syntax)
        self.schema = Schema(tool, parameters)
        self.closed = closed
        self.order = order
        self._most_rules = most_rules
        self.pending: list[PendingRule] = []
        self.rule = ""  # the rule that is being made
        self.origins: dict[str, tree.Origin] = {}  # by rule
        self._names: dict[tuple[tuple[Place, ...], Form], str] = {}
        # notes about the rules
        self.unenforced: dict[tree.Unenforced, None] = {}
        self.unenforced_in: list[UnenforcedIn] = []  # the same, by rule
        self.choices: list[ContextChoice] = []
        self.impossible: list[Impossible] = []
        self.unreadable: Impossible | None = None  # a grammar in the schema that cannot be read
        self.listed: dict[ListedValue, str | None] = {}  # why each is excluded; None if it is possible
        self.ordered: dict[tree.Ordered, None] = {}  # objects with members in the schema's order, and why
        self.unlexed = False  # branches may begin alike, so lexemes may be in conflict
        self.unlexed_in: dict[str, None] = {}  # the rules with such branches
        self.lexed = True  # False: lexemes outside of these rules may be in conflict, too

    def ref(self, places: tuple[Place, ...], form: Form, hint: str) -> tree.Node:
        """A reference to the rule of a conjunction of places in a form: a known rule, or a new pending one."""
        parts = self.schema.expand(places)
        if isinstance(parts, str):
            self.impossible.append(Impossible(self.rule, parts, "the schema is false"))
            return tree.NEVER
        key = (tuple(part.place for part in parts), form)
        name = self._names.get(key)
        if name is None:
            check_time()
            if len(self._names) >= self._most_rules:
                raise GrammarError(
                    f"The schema needs more than {self._most_rules:,} rules.",
                    where=f"{self.schema.tool}: {places[0].pointer}",
                    hint="Its anyOf and oneOf multiply each other: merge or nest them.",
                )
            name = self._names[key] = self.book.reserve(hint)
            pointer = next((p for p in places if not p.taken), places[0]).pointer
            self.origins[name] = tree.Origin(self.schema.tool, pointer, _text_keywords(parts, pointer))
            self.pending.append(PendingRule(name, parts, form))
        return tree.RuleRef(name)

    def note_unenforced(self, part: Part, keyword: str, why: str, *, checked: bool = True) -> None:
        """Note a constraint that the grammar does not enforce; an empty keyword means the schema itself.

        `checked`: the validator checks it.
        """
        pointer = join(part.place.pointer, keyword) if keyword else part.place.pointer
        unenforced = tree.Unenforced(self.schema.tool, pointer, keyword, why, checked)
        self.unenforced[unenforced] = None
        self.unenforced_in.append(UnenforcedIn(self.rule, part.place.pointer, unenforced))

    def note_listed(self, pointer: str, label: str, why: str | None) -> None:
        """Note the reason that excludes a value or type of the list at `pointer`, or None if it is possible.

        One combination of alternatives in which a value is possible suffices.
        """
        value = ListedValue(self.origins[self.rule].pointer, pointer, label)
        self.listed[value] = None if self.listed.get(value, "") is None else why

    def note_unlexed(self) -> None:
        """Note that lexemes may be in conflict in the rule that is being made."""
        self.unlexed = True
        self.unlexed_in[self.rule] = None

    def note_fixed_order(self, part: Part, why: str) -> None:
        """Note an object with members in the schema's order although any order was requested."""
        self.ordered[tree.Ordered(self.schema.tool, part.place.pointer, why)] = None

    def any_value(self, part: Part) -> tree.Node:
        """Any value at all: a rule shared by all places."""
        self.note_unenforced(part, "", "anything is allowed here, and the keys of a free object may repeat")
        return self.book.shared("any", self._any_value, self.syntax)

    def _any_value(self) -> tree.Node:
        syntax, anything = self.syntax, self.book.shared("any", self._any_value, self.syntax)
        entry = tree.seq(syntax.map_key(), syntax.key_end, anything)
        return tree.alt(
            syntax.any_string(), tree.terminal(number_node(EVERY_NUMBER)), syntax.boolean, syntax.null,
            tree.seq(syntax.open_list, tree.separated(anything, syntax.separator), syntax.close_list),
            tree.seq(syntax.open_object, tree.separated(entry, syntax.separator), syntax.close_object),
        )  # fmt: skip
