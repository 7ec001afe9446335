"""The rule tree of a grammar, independent of the form that an engine needs.

Rules are context-free. A `Terminal` must be one lexeme for an engine with a lexer: its body is regular (without
`RuleRef`), and only there may languages be intersected. Build nodes with the functions at the end: they keep the tree
flat, join neighbouring literals, and simplify nodes that contain the empty language (`NEVER`).
Modules that handle many kinds of nodes refer to them as `tree.Alt` and so on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Generic, TypeAlias, TypeVar

import msgspec

from glyphscope.grammar.chars import Ranges

T = TypeVar("T")


class _Leaf:
    """A node without inner nodes.

    Leaves are structs, which are made, hashed and compared in C; other nodes are not, as C would overflow its stack
    where Python raises RecursionError.
    """

    __slots__ = ()
    inner: ClassVar[tuple[Node, ...]] = ()


class _AroundOne:
    """A node with one inner node."""

    __slots__ = ()
    body: Node

    @property
    def inner(self) -> tuple[Node, ...]:
        return (self.body,)


class Literal(_Leaf, msgspec.Struct, frozen=True):
    """This text."""

    text: str


class CharClass(_Leaf, msgspec.Struct, frozen=True):
    """One character in (or, if negated, outside) sorted, disjoint ranges of code points, both ends included."""

    ranges: Ranges
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Seq:
    """The parts in sequence; without parts, `EMPTY`."""

    parts: tuple[Node, ...]

    @property
    def inner(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True, slots=True)
class Alt:
    """One of the options; without options, `NEVER`."""

    options: tuple[Node, ...]

    @property
    def inner(self) -> tuple[Node, ...]:
        return self.options


@dataclass(frozen=True, slots=True)
class Repeat(_AroundOne):
    """The body, `minimum` to `maximum` times (None: unbounded)."""

    body: Node
    minimum: int
    maximum: int | None

    @property
    def sign(self) -> str:
        """The operator in regular expressions and GBNF: `*`, `+`, `?`, `{2}`, `{2,}` or `{2,5}`."""
        if self.minimum == self.maximum:
            return f"{{{self.minimum}}}"
        known = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((self.minimum, self.maximum))
        return known or f"{{{self.minimum},{'' if self.maximum is None else self.maximum}}}"


class RuleRef(_Leaf, msgspec.Struct, frozen=True):
    """A text of the rule of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Terminal(_AroundOne):
    """One lexeme. A literal in it is a separate lexeme, which is never joined to its neighbours."""

    body: Node


@dataclass(frozen=True, slots=True)
class Intersect:
    """The texts that are in all parts; only inside a terminal."""

    parts: tuple[Node, ...]

    @property
    def inner(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True, slots=True)
class Except(_AroundOne):
    """Every text outside the body's language, as a part of an intersection (`all_but`)."""

    body: Node


class TokenMatch(_Leaf, msgspec.Struct, frozen=True):
    """One token of a model's vocabulary, or any other token: given by its id, or by its name in `<…>`.

    GBNF's `<[5]>`, `<think>`, `!<[5]>`. It does not match characters; only a run with that model can match it.
    """

    token: int | str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Unordered:
    """Entries in any order, separated by `separator`: each of `members` at most once, `free` any number of times.

    `required` has a bit for each required member; there are `low` to `high` entries in total (None: no limit). With
    `leading`, a separator also precedes the first entry. No entry is empty.

    The entries so far are represented by two numbers: `present`, with a bit for each member, and `extra`, the number of
    `free` entries, up to `counted`.
    """

    members: tuple[Node, ...]
    required: int
    free: Node
    separator: Node
    low: int = 0
    high: int | None = None
    leading: bool = False

    @property
    def least(self) -> int:
        """The minimal number of entries."""
        return max(self.low, self.required.bit_count())

    @property
    def counted(self) -> int:
        """The largest number of `free` entries that makes a difference."""
        if self.free == NEVER:
            return 0
        return max(0, max(self.low, self.high or 0) - self.required.bit_count())

    def may_end(self, present: int, extra: int) -> bool:
        """Whether no further entry is needed after these."""
        return not self.required & ~present and present.bit_count() + extra >= self.low

    def may_come(self, present: int, extra: int) -> tuple[int, ...]:
        """The numbers of the entries that may be next; `free` has the number after the last member."""
        needed = self.required
        room = self.high is None or (present & ~needed).bit_count() + extra < self.high - needed.bit_count()
        members = [i for i in range(len(self.members)) if not present >> i & 1 and (room or needed >> i & 1)]
        return (*members, len(self.members)) if room and self.free != NEVER else tuple(members)

    def after(self, entry: int, present: int, extra: int) -> tuple[int, int]:
        """`present` and `extra` after that entry."""
        if entry < len(self.members):
            return present | 1 << entry, extra
        return present, min(extra + 1, self.counted)

    def entry(self, number: int) -> Node:
        """The entry with that number: a member, or `free` after the last member."""
        return self.members[number] if number < len(self.members) else self.free

    @property
    def inner(self) -> tuple[Node, ...]:
        return (*self.members, self.free, self.separator)


Node: TypeAlias = (
    TokenMatch
    | Literal
    | CharClass
    | Seq
    | Alt
    | Repeat
    | RuleRef
    | Terminal
    | Intersect
    | Except
    | Unordered
)
"""Each has `inner`, the nodes directly inside it."""


class Origin(msgspec.Struct, frozen=True):
    """The place from which a rule was made: a JSON Pointer into the `parameters` of a tool.

    `text_keywords`: the pointers of all keywords that limit its text or count its members, if some of them are at
    another place that applies together with this one.
    """

    tool: str
    pointer: str
    text_keywords: tuple[str, ...] = ()

    def unenforced(self, keywords: Iterable[str], why: str) -> Iterator[Unenforced]:
        """The constraints of `keywords`, which limit the text or count the members, as unenforced constraints."""
        for keyword in keywords:
            ending = f"/{keyword}"
            pointers = [p for p in self.text_keywords if p.endswith(ending)] or [self.pointer + ending]
            yield from (Unenforced(self.tool, pointer, keyword, why) for pointer in pointers)


NOWHERE = Origin("", "")
"""The origin of a rule without a place."""


@dataclass(frozen=True)
class Rule:
    """A name for a node. `origin` is None for rules that several places share."""

    name: str
    body: Node
    origin: Origin | None = None

    @cached_property
    def refs(self) -> tuple[str, ...]:
        """The names of the rules to which it refers, in reading order."""
        return tuple(refs(self.body))


class Unenforced(msgspec.Struct, frozen=True):
    """A constraint that the grammar does not enforce: `keyword` at the schema place `pointer`, and why not.

    The validator checks it on the value, unless it is not `checked`.
    """

    tool: str
    pointer: str
    keyword: str
    why: str
    checked: bool = True


class Ordered(msgspec.Struct, frozen=True):
    """An object with members only in the schema's order, although any order was requested, and the reason."""

    tool: str
    pointer: str
    why: str


@dataclass(frozen=True, slots=True)
class Lexer:
    """A lexer that takes the longest lexeme and never goes back.

    The lexemes of the rules `lazy` end as soon as they can, with the text that they could grow to; those of the rules
    `skipped` are what `%ignore` allows.
    """

    lazy: Mapping[str, Node] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Grammar:
    """Rules by name, the start rule `root`, the unenforced constraints, and the objects with a fixed order (`ordered`).

    `lexed`: its literals, classes and terminals are lexemes with which a lexer that takes the longest match loses no
    text, except below the rules named in `unlexed`. This is true of the builder's grammars; other grammars and the
    `unlexed` rules are divided into other lexemes for such a lexer (`grammar/lark/lexeme_partition.py`).

    `lexer`: texts are read as llguidance reads them (`grammar/match/longest.py`). Without one, in any way. `lark`: a
    rule and the Lark text that it was read from, which llguidance gets as it is.
    """

    rules: dict[str, Rule]
    root: str
    unenforced: tuple[Unenforced, ...] = ()
    lexed: bool = False
    unlexed: tuple[str, ...] = ()
    ordered: tuple[Ordered, ...] = ()
    lexer: Lexer | None = None
    lark: tuple[str, str] | None = None


EMPTY = Seq(())
NEVER = Alt(())


def seq(*parts: Node | str) -> Node:
    """The parts in sequence; without parts, `EMPTY`."""
    flat: list[Node] = []
    for part in parts:
        if isinstance(part, str):
            part = Literal(part)
        if isinstance(part, Alt) and not part.options:
            return NEVER
        for piece in part.parts if isinstance(part, Seq) else (part,):
            if not isinstance(piece, Literal):
                flat.append(piece)
            elif flat and isinstance(flat[-1], Literal):
                flat[-1] = Literal(flat[-1].text + piece.text)
            elif piece.text:
                flat.append(piece)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def alt(*options: Node | str) -> Node:
    """One of the options; without options, `NEVER`."""
    flat: dict[Node, None] = {}
    for option in options:
        if isinstance(option, str):
            option = Literal(option) if option else EMPTY
        flat.update(dict.fromkeys(option.options if isinstance(option, Alt) else (option,)))
    return next(iter(flat)) if len(flat) == 1 else Alt(tuple(flat))


def repeat(body: Node, minimum: int = 0, maximum: int | None = None) -> Node:
    """The body, `minimum` to `maximum` times (None: unbounded)."""
    if maximum is not None and maximum < minimum:
        return NEVER
    if maximum == 0 or body == EMPTY:
        return EMPTY
    if body == NEVER:
        return NEVER if minimum else EMPTY
    return body if (minimum, maximum) == (1, 1) else Repeat(body, minimum, maximum)


def optional(body: Node) -> Node:
    """The body, once or not at all."""
    return repeat(body, 0, 1)


def unordered(
    members: Iterable[tuple[Node, bool]], separator: Node, free: Node = NEVER, *, low: int = 0,
    high: int | None = None, leading: bool = False,
) -> Node:  # fmt: skip
    """Members, each with a flag for required ones, and free entries: `low` to `high` in total, in any order."""
    listed: list[Node] = []
    required = 0
    for member, is_required in members:
        if member == NEVER and is_required:
            return NEVER
        if member != NEVER:
            required |= is_required << len(listed)
            listed.append(member)
    needed = required.bit_count()
    if high is not None and high < max(low, needed):
        return NEVER
    if high == needed:  # no other entries are possible
        listed = [member for number, member in enumerate(listed) if required >> number & 1]
        required, free = (1 << needed) - 1, NEVER
    if free == NEVER:
        high = None if high is not None and high >= len(listed) else high
        if low > len(listed):
            return NEVER
    low = 0 if low <= needed else low
    if not listed and free == NEVER:
        return EMPTY
    if len(listed) == 1 and free == NEVER:
        one = seq(separator, listed[0]) if leading else listed[0]
        return one if required or low else optional(one)
    if not listed and leading:
        return repeat(seq(separator, free), low, high)
    if not listed:
        return separated(free, separator, low, high)
    return Unordered(tuple(listed), required, free, separator, low, high, leading)


def separated(item: Node, separator: Node, low: int = 0, high: int | None = None) -> Node:
    """`low` to `high` items with separators between them; `high` must allow at least one."""
    following = repeat(seq(separator, item), max(0, low - 1), None if high is None else high - 1)
    return seq(item, following) if low else optional(seq(item, following))


def intersect(parts: Iterable[Node]) -> Node:
    """The texts that are in all parts; there must be at least one part."""
    distinct = tuple(dict.fromkeys(parts))
    if NEVER in distinct:
        return NEVER
    return distinct[0] if len(distinct) == 1 else Intersect(distinct)


def all_but(text: Node, *bodies: Node) -> Node:
    """The texts of a regular node that are in none of the bodies."""
    parts = text.parts if isinstance(text, Intersect) else (text,)
    return intersect((*parts, *(Except(body) for body in bodies if body != NEVER)))


def terminal(body: Node) -> Node:
    """One lexeme; a literal already is one."""
    return body if body in (NEVER, EMPTY) or isinstance(body, Literal) else Terminal(body)


def with_parts(node: Node, inner: Iterable[Node]) -> Node:
    """The same kind of node with other inner nodes, as many as it has; nothing is simplified."""
    parts = tuple(inner)
    if isinstance(node, Seq | Alt | Intersect):
        return type(node)(parts)
    if isinstance(node, Repeat):
        return Repeat(parts[0], node.minimum, node.maximum)
    if isinstance(node, Terminal | Except):
        return type(node)(parts[0])
    if isinstance(node, Unordered):
        *members, free, separator = parts
        return dataclasses.replace(node, members=tuple(members), free=free, separator=separator)
    return node


def joined(node: Node, inner: Iterable[Node]) -> Node:
    """The same kind of node with other inner nodes, simplified; a leaf is returned unchanged."""
    parts = tuple(inner)
    if isinstance(node, Seq):
        return seq(*parts)
    if isinstance(node, Alt):
        return alt(*parts)
    if isinstance(node, Repeat):
        return repeat(parts[0], node.minimum, node.maximum)
    if isinstance(node, Intersect):
        return intersect(parts)
    if isinstance(node, Terminal):
        return terminal(parts[0])
    if isinstance(node, Unordered):
        *members, free, separator = parts
        named = [(member, bool(node.required >> place & 1)) for place, member in enumerate(members)]
        return unordered(named, separator, free, low=node.low, high=node.high, leading=node.leading)
    return with_parts(node, parts)


def walk(node: Node, *, skip: type[Node] | None = None) -> Iterator[Node]:
    """The node and all nodes inside it, in reading order, except those inside nodes of the type `skip`."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if skip is None or not isinstance(node, skip):
            waiting += node.inner[::-1]


def refs(node: Node) -> Iterator[str]:
    """The names of the rules to which a node refers, in reading order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, RuleRef):
            yield node.name
        elif not isinstance(node, Terminal):
            waiting += node.inner[::-1]


def replace_refs(node: Node, change: Callable[[str], Node]) -> Node:
    """The node with each reference replaced, simplified if one becomes `NEVER`."""
    if isinstance(node, RuleRef):
        return change(node.name)
    if isinstance(node, _OF_RULES):
        return joined(node, [replace_refs(part, change) for part in node.inner])
    return node


_OF_RULES = (Seq, Alt, Repeat, Unordered)  # nodes that can contain references


class ByIdentity(Generic[T]):
    """A cache key for an immutable value, by identity: hashing a grammar would cost as much as writing it."""

    def __init__(self, value: T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.value is self.value


def with_suffix(grammar: Grammar, text: str) -> Grammar:
    """The texts of the grammar, each followed by `text`."""
    if not text:
        return grammar
    name = f"{grammar.root}-and-on"
    while name in grammar.rules:
        name += "-1"
    body = seq(RuleRef(grammar.root), text)
    return dataclasses.replace(grammar, rules={name: Rule(name, body, None), **grammar.rules}, root=name)
