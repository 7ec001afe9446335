"""The rule tree: what may come next, independent of the form in which an engine wants it.

Rules are context-free. What must be one lexeme for an engine with a lexer is a `Terminal`: its body is regular (no
`RuleRef` in it), and only there may languages be intersected. Build nodes with the functions at the end: they keep
the tree flat, join neighbouring literals, and let the empty language (`NEVER`) swallow what contains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from glyphscope.grammar.chars import Ranges


@dataclass(frozen=True, slots=True)
class Literal:
    text: str


@dataclass(frozen=True, slots=True)
class CharClass:
    """One character out of sorted, disjoint ranges of code points (both ends included), or one outside them."""

    ranges: Ranges
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Seq:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`maximum` None is unbounded."""

    body: Node
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class RuleRef:
    name: str


@dataclass(frozen=True, slots=True)
class Terminal:
    """One lexeme. A literal in it is a lexeme of its own, which is never joined to its neighbours."""

    body: Node


@dataclass(frozen=True, slots=True)
class Intersect:
    """What is in all the parts; only inside a terminal."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class TokenMatch:
    """One token of a model's vocabulary, or any but that one: by its id, or by the text in `<…>` that names it.

    GBNF's `<[5]>`, `<think>`, `!<[5]>`. It matches no character: only a run under that model can.
    """

    token: int | str
    negated: bool = False


Node: TypeAlias = TokenMatch | Literal | CharClass | Seq | Alt | Repeat | RuleRef | Terminal | Intersect


@dataclass(frozen=True, slots=True)
class Origin:
    """The place a rule comes from: a JSON Pointer into the `parameters` of a tool.

    `text_keywords`: the pointers of all keywords that limit its text, where some stand at another place that holds
    together with this one.
    """

    tool: str
    pointer: str
    text_keywords: tuple[str, ...] = ()

    def at(self, keyword: str) -> tuple[str, ...]:
        """The pointers of a keyword that limits its text."""
        ending = f"/{keyword}"
        return tuple(p for p in self.text_keywords if p.endswith(ending)) or (self.pointer + ending,)


@dataclass(frozen=True, slots=True)
class Rule:
    """A name for a node. `origin` is None for rules that several places share."""

    name: str
    body: Node
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Unheld:
    """A constraint the grammar does not hold: `keyword` at the schema place `pointer`, and why not.

    Whoever uses the grammar must check it on the value: it is the validator's to decide.
    """

    tool: str
    pointer: str
    keyword: str
    why: str


@dataclass(frozen=True, slots=True)
class Grammar:
    """Rules by name, the first one to derive, and the constraints that did not go in.

    `lexed`: its literals, classes and terminals are lexemes with which a lexer that takes the longest one loses no
    text. The builder makes its grammars so, but for what is under the rules that are `loose`; these, and any other
    grammar, are cut in other places where need be (`lark/exact.py`).
    """

    rules: dict[str, Rule]
    root: str
    unheld: tuple[Unheld, ...] = ()
    lexed: bool = False
    loose: tuple[str, ...] = ()


EMPTY = Seq(())
NEVER = Alt(())


def seq(*parts: Node | str) -> Node:
    """One after the other."""
    flat: list[Node] = []
    for part in parts:
        if isinstance(part, str):
            part = Literal(part)
        if part == NEVER:
            return NEVER
        for piece in part.parts if isinstance(part, Seq) else (part,):
            if isinstance(piece, Literal) and flat and isinstance(flat[-1], Literal):
                flat[-1] = Literal(flat[-1].text + piece.text)
            elif piece != Literal(""):
                flat.append(piece)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def alt(*options: Node | str) -> Node:
    """One of them; none at all is `NEVER`."""
    flat: dict[Node, None] = {}
    for option in options:
        if isinstance(option, str):
            option = Literal(option) if option else EMPTY
        flat.update(dict.fromkeys(option.options if isinstance(option, Alt) else (option,)))
    return next(iter(flat)) if len(flat) == 1 else Alt(tuple(flat))


def repeat(body: Node, minimum: int = 0, maximum: int | None = None) -> Node:
    """`minimum` to `maximum` times."""
    if maximum is not None and maximum < minimum:
        return NEVER
    if maximum == 0 or body == EMPTY:
        return EMPTY
    if body == NEVER:
        return NEVER if minimum else EMPTY
    return body if (minimum, maximum) == (1, 1) else Repeat(body, minimum, maximum)


def optional(body: Node) -> Node:
    """Once or not at all."""
    return repeat(body, 0, 1)


def intersect(parts: Iterable[Node]) -> Node:
    """What is in all of them, at least one."""
    distinct = tuple(dict.fromkeys(parts))
    if NEVER in distinct:
        return NEVER
    return distinct[0] if len(distinct) == 1 else Intersect(distinct)


def terminal(body: Node) -> Node:
    """One lexeme; literals are lexemes by themselves."""
    return body if body in (NEVER, EMPTY) or isinstance(body, Literal) else Terminal(body)


def refs(node: Node) -> Iterator[str]:
    """The names of the rules a node refers to, in the order in which they are read."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, RuleRef):
            yield inner.name
        elif isinstance(inner, Seq):
            waiting += reversed(inner.parts)
        elif isinstance(inner, Alt):
            waiting += reversed(inner.options)
        elif isinstance(inner, Repeat):
            waiting.append(inner.body)


def replace_refs(node: Node, change: Callable[[str], Node]) -> Node:
    """The node with each reference replaced; what becomes impossible is gone."""
    if isinstance(node, RuleRef):
        return change(node.name)
    if isinstance(node, Seq):
        return seq(*(replace_refs(part, change) for part in node.parts))
    if isinstance(node, Alt):
        return alt(*(replace_refs(option, change) for option in node.options))
    if isinstance(node, Repeat):
        return repeat(replace_refs(node.body, change), node.minimum, node.maximum)
    return node
