"""The syntax tree of a grammar's text, GBNF or Lark: nodes with exact spans, as editors need them.

All places are code points from 0, `end` exclusive. Nothing is simplified here: the text can be rebuilt from the
document, and `tree_of` makes a rule tree of it. Nodes are msgspec structs because a grammar of a thousand rules is read
again at each keystroke, and creating them takes a tenth of the time of a dataclass. The garbage collector ignores them
(they cannot form cycles), except repetitions: `x****…` may be nested to any depth without a tuple between, and freeing
such a chain would overflow the C stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeAlias, TypeVar

import msgspec

from glyphscope.grammar.gbnf.diagnostics import Diagnostic

T = TypeVar("T")


class Syntax(msgspec.Struct, frozen=True, gc=False, eq=False):
    """Any node. Nodes compare by identity, because trees may be thousands of levels deep."""

    start: int
    end: int
    inner: ClassVar[tuple[Part, ...]] = ()
    """The nodes directly inside: the items of all options, the body of a group, the repeated item."""


class Quoted(Syntax, frozen=True, gc=False, eq=False):
    """`"text"`. `text` has its escapes resolved; a code point that does not exist becomes U+D800."""

    text: str


class Class(Syntax, frozen=True, gc=False, eq=False):
    """`[a-z]`, `[^a-z]`. `ranges` are as written: unsorted, possibly reversed, possibly above U+10FFFF."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool


class AnyCharacter(Syntax, frozen=True, gc=False, eq=False):
    """`.`"""


class Reference(Syntax, frozen=True, gc=False, eq=False):
    """A rule's name in a body."""

    name: str


class TokenItem(Syntax, frozen=True, gc=False, eq=False):
    """`<[5]>`, `<think>`, `!<[5]>`: the id, or the text between `<` and `>`."""

    token: int | str
    negated: bool


class GroupItem(Syntax, frozen=True, gc=False, eq=False):
    """`( … )`, with its parentheses."""

    body: Alternatives

    @property
    def inner(self) -> tuple[Part, ...]:  # type: ignore[override]
        return (self.body,)


class Repetition(Syntax, frozen=True, gc=True, eq=False):
    """`item*`, `item{2,5}`; the operator extends from `operator` to `end`. `maximum` None is unbounded."""

    item: Item
    minimum: int
    maximum: int | None
    operator: int

    @property
    def inner(self) -> tuple[Part, ...]:  # type: ignore[override]
        return (self.item,)


class Sequence(Syntax, frozen=True, gc=False, eq=False):
    """Consecutive items; without items, the empty text."""

    items: tuple[Item, ...]


class Alternatives(Syntax, frozen=True, gc=False, eq=False):
    """The items between the `|`; always at least one."""

    options: tuple[Sequence, ...]

    @property
    def inner(self) -> tuple[Part, ...]:  # type: ignore[override]
        return tuple([item for option in self.options for item in option.items])


# Only Lark has these.


class Pattern(Syntax, frozen=True, gc=False, eq=False):
    """One lexeme as it is written: `/…/` (`regex`), `"a".."z"` (`range`), `"a"i` (`any case`), `%regex` (`substring`).

    `value`: the expression, a pair of texts, the text, or the JSON. `flags`: those of the expression.
    """

    kind: str
    words: str
    value: Any
    flags: str = ""


class Embedded(Syntax, frozen=True, gc=False, eq=False):
    """A grammar inside of a rule: `%json` with its schema, `%lark` with its text, `@name`."""

    kind: str
    value: Any


class Negation(Syntax, frozen=True, gc=True, eq=False):
    """`~item`: any text that the item does not match."""

    item: Item

    @property
    def inner(self) -> tuple[Part, ...]:  # type: ignore[override]
        return (self.item,)


class Conjunction(Syntax, frozen=True, gc=False, eq=False):
    """`a & b`: the texts that all parts match."""

    parts: tuple[Sequence, ...]

    @property
    def inner(self) -> tuple[Part, ...]:  # type: ignore[override]
        return tuple(item for part in self.parts for item in part.items)


Item: TypeAlias = (
    Quoted
    | Class
    | AnyCharacter
    | Reference
    | TokenItem
    | GroupItem
    | Repetition
    | Pattern
    | Embedded
    | Negation
    | Conjunction
)


Part: TypeAlias = Alternatives | Item


def by_option(node: Alternatives, parts: list[T]) -> Iterator[list[T]]:
    """The results for `inner` of the alternatives, for each option."""
    start = 0
    for option in node.options:
        yield parts[start : start + len(option.items)]
        start += len(option.items)


class RuleSyntax(Syntax, frozen=True, gc=False, eq=False):
    """A rule: `name ::= body`. `references` are all references in its body, in the order of the text."""

    name: str
    name_span: tuple[int, int]
    body: Alternatives
    references: tuple[Reference, ...]


class Comment(Syntax, frozen=True, gc=False, eq=False):
    """From `#` to the end of its line, without the line end."""


class GrammarSyntax(msgspec.Struct, frozen=True, eq=False):
    """A text, read to its end or until there were too many `problems`: deviations from the syntax of its engine."""

    text: str
    rules: tuple[RuleSyntax, ...]
    comments: tuple[Comment, ...]
    problems: tuple[Diagnostic, ...]

    def occurrences(self, name: str) -> tuple[tuple[int, int], ...]:
        """Every span of the name, in definitions and uses, in the order of the text."""
        spans = [rule.name_span for rule in self.rules if rule.name == name]
        spans += [(ref.start, ref.end) for rule in self.rules for ref in rule.references if ref.name == name]
        return tuple(sorted(spans))
