"""Lexemes for a grammar that has none, chosen so that a lexer loses no text.

llguidance's lexer takes the longest lexeme of those allowed at a point and never goes back (measured: `("a" | "ab")
"bc"` refuses `abc`), but hands all lexemes of that length to its parser. So a lexeme is safe where no text of it can
go on in any lexeme with a character that may also follow it in the grammar. Regular pieces start out as large as they
can be, because large lexemes make masks fast; whatever could swallow the beginning of what follows is taken apart,
in the end into single characters, which are always safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache

from glyphscope.grammar.lark.lexeme_conflicts import LexemeConflicts
from glyphscope.grammar.normalize import limit_depth
from glyphscope.grammar.patience import check_time
from glyphscope.grammar.regular.intersections import Weakened, right_linear
from glyphscope.grammar.tree import (
    EMPTY,
    NEVER,
    Alt,
    ByIdentity,
    CharClass,
    Except,
    Grammar,
    Intersect,
    Literal,
    Node,
    Origin,
    Repeat,
    Rule,
    RuleRef,
    Seq,
    Terminal,
    TokenMatch,
    Unenforced,
    Unordered,
    alt,
    refs,
    repeat,
    seq,
)  # fmt: skip

MAX_PIECE = 300  # nodes of a lexeme, the rules it refers to written out
MAX_LEXEMES = 1500  # distinct ones that are compared with each other
MAX_ROUNDS = 8

_TOO_LARGE = "together with the rest it is too large to be taken apart for llguidance's lexer"

_SIGNS, _ENDS = frozenset("{}[](), "), frozenset(":=")


def partition_lexemes(grammar: Grammar, *, grow: bool = True) -> Grammar:
    """The same language with lexemes that are safe.

    What of an intersection is too large to be taken apart is dropped, and told in `unenforced` of what is returned.
    Without `grow` the lexemes are those that the grammar has already, and what becomes of them. A builder's are of the
    size that engines are fast with: a whole object as one lexeme costs llguidance an automaton of its own.
    """
    return _exact(ByIdentity(grammar), grow)


def with_partitioned_rules(grammar: Grammar) -> Grammar:
    """The grammar with what is under its `loose` rules cut anew, each by itself: nothing of two is open at once."""
    rules = dict(grammar.rules)
    unenforced = dict.fromkeys(grammar.unenforced)
    swallowing = LexemeConflicts()  # one for all: tools have most of their lexemes in common
    for place, name in enumerate(grammar.loose):
        cut = _cut_until_safe(Grammar(_needed(grammar.rules, name), name), False, swallowing)
        unenforced.update(dict.fromkeys(cut.unenforced))
        names = {inner: f"{inner}-cut-{place + 1}" for inner in cut.rules} | {name: name}
        for rule in cut.rules.values():
            rules[names[rule.name]] = Rule(names[rule.name], _renamed(rule.body, names), rule.origin)
    needed = _needed(rules, grammar.root)
    return Grammar(needed, grammar.root, tuple(unenforced), lexed=True, ordered=grammar.ordered)


def _renamed(node: Node, names: dict[str, str]) -> Node:
    """Other names for rules; lexemes that stand side by side stay two."""
    if isinstance(node, RuleRef):
        return RuleRef(names[node.name])
    if isinstance(node, Seq):
        return Seq(tuple(_renamed(part, names) for part in node.parts))
    if isinstance(node, Alt):
        return Alt(tuple(_renamed(option, names) for option in node.options))
    if isinstance(node, Repeat):
        return Repeat(_renamed(node.body, names), node.minimum, node.maximum)
    if isinstance(node, Unordered):
        return _each(node, lambda inner: _renamed(inner, names))
    return node


def _each(node: Unordered, change: Callable[[Node], Node]) -> Node:
    """The same entries, each changed; none is left out, which has no text at all only as a free one."""
    *members, separator = (change(part) for part in (*node.members, node.separator))
    free = node.free if node.free == NEVER else change(node.free)
    return replace(node, members=tuple(members), free=free, separator=separator)


def _needed(rules: dict[str, Rule], root: str) -> dict[str, Rule]:
    needed: dict[str, Rule] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed[name] = rules[name]
            waiting += reversed(list(refs(rules[name].body)))
    return needed


@lru_cache(maxsize=8)
def _exact(key: ByIdentity, grow: bool) -> Grammar:
    return _cut_until_safe(key.grammar, grow, LexemeConflicts())


def _cut_until_safe(given: Grammar, grow: bool, swallowing: LexemeConflicts) -> Grammar:
    grammar = limit_depth(given)
    cutter = _Cutter(grammar, set(), grow)
    for _ in range(MAX_ROUNDS):
        cut = cutter.grammar()
        if len(cutter.lexemes) > MAX_LEXEMES:
            break
        found = swallowing.among(cut, cutter.lexemes)
        if not found:
            return cut
        cutter.split(found)
    return _Cutter(grammar, None, grow).grammar()


class _Cutter:
    """Cuts the rules into lexemes: the largest regular pieces, or what is inside those that are to be `split`.

    None splits all of them, down to single characters.
    """

    def __init__(self, grammar: Grammar, split: set[Node] | None, grow: bool) -> None:
        self._grammar = grammar
        self._split = split
        self._grow = grow
        self._written = _regular_rules(grammar) if grow else {}
        self._pieces: dict[int, tuple[Node, Node | None]] = {}
        self._made: dict[str, Node] = {}
        self._origin = Origin("", "")
        self._lost: dict[Unenforced, None] = {}
        self._ready: dict[str, tuple[Rule, dict[Node, None]]] = {}
        self.lexemes: dict[Node, None] = {}

    def split(self, more: set[Node]) -> None:
        """Takes these lexemes apart as well. Only the rules that have any of them are cut again."""
        assert self._split is not None, "otherwise all of them are apart"
        self._split |= more
        self._ready = {name: ready for name, ready in self._ready.items() if more.isdisjoint(ready[1].keys())}

    def grammar(self) -> Grammar:
        """What the root needs of the rules, cut."""
        rules: dict[str, Rule] = {}
        lexemes: dict[Node, None] = {}
        waiting = [self._grammar.root]
        while waiting:
            name = waiting.pop()
            if name in rules:
                continue
            ready = self._ready.get(name)
            if ready is None:
                self.lexemes = {}
                ready = self._ready[name] = self._rule(name), self.lexemes
            rules[name] = ready[0]
            lexemes.update(ready[1])
            waiting += reversed(list(refs(rules[name].body)))
        self.lexemes = lexemes
        return Grammar(rules, self._grammar.root, (*self._grammar.unenforced, *self._lost))

    def _rule(self, name: str) -> Rule:
        check_time()
        rule = self._grammar.rules.get(name)
        if rule is None:
            return Rule(name, self._letters(self._made[name]))
        self._origin = rule.origin or Origin("", "")
        return Rule(name, self._cut(rule.body), rule.origin)

    def _cut(self, node: Node) -> Node:
        piece = self._piece(node)
        if piece is not None:
            if piece == EMPTY:
                return EMPTY
            if self._whole(piece) or _single(piece):
                self.lexemes[piece] = None
                return piece if isinstance(piece, Literal | CharClass) else Terminal(piece)
        if isinstance(node, RuleRef | TokenMatch):
            return node
        if isinstance(node, Terminal):
            before, self._grow = self._grow, True
            inside = self._cut(node.body)
            self._grow = before
            return inside
        if isinstance(node, Literal):
            if (
                node.text[0] in _SIGNS and len(node.text) > 1
            ):  # a key that comes after a bracket or comma may well stay whole
                return _in_a_row((self._letter(node.text[0]), self._cut(Literal(node.text[1:]))))
            if node.text[-1] in _ENDS and len(node.text) > 1:
                return _in_a_row((self._cut(Literal(node.text[:-1])), self._letter(node.text[-1])))
            return seq(*(self._letter(char) for char in node.text))
        if isinstance(node, Alt):
            return alt(*(self._cut(option) for option in self._together(node.options, alt)))
        if isinstance(node, Repeat):
            return repeat(self._cut(node.body), node.minimum, node.maximum)
        if isinstance(node, Seq):
            return _in_a_row(self._cut(part) for part in self._together(node.parts, seq))
        if isinstance(node, Unordered):
            return _each(node, self._cut)
        assert isinstance(node, Intersect), "every other node is a lexeme or cut"
        left = right_linear(node, self._helper, self._made, self._weakened)
        return left if isinstance(left, RuleRef) else self._cut(left)

    def _weakened(self, part: Weakened) -> None:
        for keyword in part.keywords:
            for pointer in self._origin.at(keyword):
                self._lost[Unenforced(self._origin.tool, pointer, keyword, _TOO_LARGE)] = None

    def _helper(self, body: Node) -> Node:
        """A rule of the automaton that an intersection becomes."""
        name = f"automaton-{len(self._made) + 1}"
        while name in self._grammar.rules:
            name = f"r-{name}"
        self._made[name] = body
        return RuleRef(name)

    def _letters(self, node: Node) -> Node:
        if isinstance(node, Literal):
            return seq(*(self._letter(char) for char in node.text))
        if isinstance(node, CharClass):
            self.lexemes[node] = None
            return node
        if isinstance(node, Alt):
            return alt(*(self._letters(option) for option in node.options))
        if isinstance(node, Seq):
            return seq(*(self._letters(part) for part in node.parts))
        return node

    def _whole(self, piece: Node) -> bool:
        return self._split is not None and piece not in self._split

    def _letter(self, char: str) -> Node:
        # A class, because neighbouring literals would join into one lexeme again.
        letter = CharClass(((ord(char), ord(char)),))
        self.lexemes[letter] = None
        return letter

    def _together(self, parts: tuple[Node, ...], join: Callable[..., Node]) -> Iterable[Node]:
        """Neighbours that are regular as one piece, unless that piece was to be taken apart."""
        if not self._grow:
            return parts
        run: list[Node] = []
        done: list[Node] = []

        def close() -> None:
            if len(run) > 1 and len(run) < len(parts):
                joined = join(*(self._piece(part) for part in run))
                if _size(joined) <= MAX_PIECE and self._whole(joined):
                    done.append(joined)
                    run.clear()
            done.extend(run)
            run.clear()

        for part in parts:
            if self._piece(part) is not None:
                run.append(part)
            else:
                close()
                done.append(part)
        close()
        return done

    def _piece(self, node: Node) -> Node | None:
        """The node with the rules it refers to written out, where it is regular and not too large."""
        if not self._grow and isinstance(node, RuleRef | Seq | Alt | Repeat | Unordered):
            return EMPTY if node == EMPTY else None
        known = self._pieces.get(id(node))
        if known is None or known[0] is not node:
            known = self._pieces[id(node)] = (node, _written_out(node, self._written, self._piece))
        return known[1]


def _in_a_row(parts: Iterable[Node]) -> Node:
    # Not joined as `seq` does: two literals are two lexemes here.
    kept = tuple(part for part in parts if part != EMPTY)
    return kept[0] if len(kept) == 1 else Seq(kept)


def _single(piece: Node) -> bool:
    return isinstance(piece, CharClass) or (isinstance(piece, Literal) and len(piece.text) == 1)


def _written_out(
    node: Node, written: dict[str, Node], again: Callable[[Node], Node | None] | None = None
) -> Node | None:
    again = again or (lambda inner: _written_out(inner, written))
    if isinstance(node, RuleRef):
        return written.get(node.name)
    if isinstance(node, TokenMatch | Unordered):
        return None
    if isinstance(node, Literal | CharClass | Intersect | Except):
        return node
    if isinstance(node, Terminal):
        return node.body
    if isinstance(node, Repeat):
        body = again(node.body)
        return None if body is None else repeat(body, node.minimum, node.maximum)
    parts = []
    for part in node.parts if isinstance(node, Seq) else node.options:
        inner = again(part)
        if inner is None:
            return None
        parts.append(inner)
    whole = seq(*parts) if isinstance(node, Seq) else alt(*parts)
    return whole if _size(whole) <= MAX_PIECE else None


def _size(node: Node) -> int:
    count, waiting = 0, [node]
    while waiting and count <= MAX_PIECE:
        inner = waiting.pop()
        count += 1
        if isinstance(inner, Seq | Intersect):
            waiting += inner.parts
        elif isinstance(inner, Alt):
            waiting += inner.options
        elif isinstance(inner, Repeat | Terminal | Except):
            waiting.append(inner.body)
    return count


def _regular_rules(grammar: Grammar) -> dict[str, Node]:
    """The bodies of the rules that come back to themselves nowhere, written out, as far as they are small."""
    users: dict[str, list[str]] = {name: [] for name in grammar.rules}
    missing: dict[str, int] = {}
    for name, rule in grammar.rules.items():
        needed = set(refs(rule.body))
        missing[name] = len(needed)
        for other in needed:
            users[other].append(name)
    written: dict[str, Node] = {}
    waiting = [name for name, count in missing.items() if count == 0]
    while waiting:
        name = waiting.pop()
        body = _written_out(grammar.rules[name].body, written)
        if body is not None:
            written[name] = body
        for user in users[name]:
            missing[user] -= 1
            if missing[user] == 0:
                waiting.append(user)
    return written


def as_lexeme(grammar: Grammar) -> Node | None:
    """The whole grammar as one regular piece; None where it comes back to itself, names tokens or is too large."""
    return _regular_rules(limit_depth(grammar)).get(grammar.root)
