"""Output for llama.cpp: the rule tree as GBNF.

llama.cpp tests every stack of its parser on the whole vocabulary at each step, so the form of the rules determines the
cost: common prefixes of alternatives are factored out, a class of many characters is the last alternative (it is tried
first, and only characters it rejects reach the others), and a string's end is right-recursive instead of a repetition.
Larger repetitions than llama.cpp supports are written as blocks of the same language (`plain_rules.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from glyphscope.base.errors import GrammarError
from glyphscope.base.lines import common_length
from glyphscope.base.visible import visible
from glyphscope.grammar import tree
from glyphscope.grammar.gbnf.emit.gbnf_text import Speller
from glyphscope.grammar.gbnf.emit.plain_rules import (
    expansion,
    repeated,
    with_plain_orders,
    without_empty_iterations,
)
from glyphscope.grammar.normalize import limit_depth
from glyphscope.grammar.notation_syntax import WHITE
from glyphscope.grammar.regular.intersections import DroppedPart, Intersections
from glyphscope.grammar.regular.numbers import MAX_INTEGER, integer_node, number_node
from glyphscope.grammar.regular.strings import any_character, string_node
from glyphscope.grammar.rules import RuleBook
from glyphscope.grammar.time_limit import check_time, limited
from glyphscope.grammar.traversal import reachable
from glyphscope.registry.facts import EVERY_NUMBER

ROOT = "root"
MAX_INLINE = 24  # nodes of a lexeme that is written at each of its uses

_QUOTE = tree.Literal('"')
_CHARACTERS = frozenset((any_character("json"), any_character("glyph")))


def _known() -> dict[tree.Node, str]:
    """The lexemes that have the same name in all grammars."""
    named: dict[tree.Node, str] = {
        number_node(EVERY_NUMBER): "number",
        integer_node(-MAX_INTEGER, MAX_INTEGER): "integer",
    }
    for node in (string_node("json"), string_node("glyph")):
        assert isinstance(node, tree.Terminal)
        named[node.body] = "string"
    return named


_KNOWN = _known()


@dataclass(frozen=True)
class GbnfText:
    """A grammar for llama.cpp, the origins of its rules, and the constraints of the tree that it does not enforce.

    `ordered`: the objects whose members have only one order, although any order was requested.
    """

    text: str
    origins: dict[str, tree.Origin]
    unenforced: tuple[tree.Unenforced, ...] = ()
    ordered: tuple[tree.Ordered, ...] = ()


def emit_gbnf(
    grammar: tree.Grammar, *, comments: bool = False, notes: Callable[[tree.Origin], str] = lambda _: ""
) -> GbnfText:
    """The grammar for llama.cpp, beginning with `root`; each rule precedes the rules that it refers to.

    With `comments`, a line before each rule names the tool and the schema place of its origin, with the words of
    `notes` for the place. An intersection that would need too many rules loses its weakest part, which `unenforced`
    lists. Raises GrammarError if the time limit is exceeded.
    """
    with limited(grammar):
        return _emitter(grammar).emit(notes) if comments else _plain(tree.ByIdentity(grammar))


@lru_cache(maxsize=8)
def _plain(key: tree.ByIdentity[tree.Grammar]) -> GbnfText:
    return _emitter(key.value).emit(None)


def _emitter(grammar: tree.Grammar) -> _Emitter:
    plain = with_plain_orders(grammar)
    flat = plain.grammar if plain.grammar.lexed else limit_depth(plain.grammar)
    return _Emitter(without_empty_iterations(flat), plain.unenforced, plain.ordered)


class _SharedRule(NamedTuple):
    """A rule that several places share, and the parts dropped from it, which are unenforced at each of them."""

    name: str
    dropped: tuple[DroppedPart, ...] = ()


class _Emitter:
    """Rewrites the rules of a grammar for llama.cpp, under GBNF names, and adds the rules that they need.

    In all methods, `owner` is the grammar's rule to which a node belongs: added rules have its name as a prefix, and
    its origin.
    """

    def __init__(
        self,
        grammar: tree.Grammar,
        unenforced: tuple[tree.Unenforced, ...],
        ordered: tuple[tree.Ordered, ...],
    ) -> None:
        self.grammar = grammar
        self.ordered = ordered
        self.rules: dict[str, tree.Node] = {}
        self.origins: dict[str, tree.Origin] = {}
        self.unenforced = dict.fromkeys(unenforced)
        self.speller = Speller(ROOT, grammar.root, grammar.rules)
        self._shared: dict[tree.Node, _SharedRule] = {}
        self._intersections = Intersections()
        self._dropped: list[DroppedPart] = []  # from the lexeme that is being written
        self._uses = Counter[
            int
        ]()  # of each lexeme's body, by identity: a body with several uses becomes a rule

    def emit(self, notes: Callable[[tree.Origin], str] | None) -> GbnfText:
        lexemes = (
            node for rule in self.grammar.rules.values() for node in tree.walk(rule.body, skip=tree.Terminal)
        )
        self._uses = Counter(id(node.body) for node in lexemes if isinstance(node, tree.Terminal))
        for rule in self.grammar.rules.values():
            name = self.speller.name(rule.name)
            if rule.origin is not None:
                self.origins[name] = rule.origin
            self.rules[name] = self._node(rule.body, rule)
        self._drop_impossible()
        lines = []
        for name in reachable([ROOT], lambda name: tree.refs(self.rules[name])):
            if notes is not None and name in self.origins:
                lines.append(_comment(self.origins[name], notes))
            lines.append(self.speller.rule(name, self.rules[name]))
        return GbnfText("\n".join(lines) + "\n", self.origins, tuple(self.unenforced), self.ordered)

    def _drop_impossible(self) -> None:
        """Leave out the rules without a text, such as an intersection that is empty: GBNF cannot write them."""
        if tree.NEVER not in self.rules.values():
            return
        book = RuleBook({name: tree.Rule(name, body) for name, body in self.rules.items()})
        self.rules = {name: rule.body for name, rule in book.grammar(ROOT, ()).rules.items()}
        if ROOT not in self.rules:
            raise GrammarError("The grammar derives no text at all.", where=self.grammar.root)

    def _new_rule(self, hint: str, body: tree.Node, owner: tree.Rule) -> tree.RuleRef:
        """A separate rule for a finished body."""
        name = self.speller.fresh(hint)
        self.rules[name] = body
        if owner.origin is not None:
            self.origins[name] = owner.origin
        return tree.RuleRef(name)

    def _for_all(self, hint: str, key: tree.Node, make: Callable[[str], tree.Node]) -> tree.Node:
        """The rule, without an origin, that all places share for the node `key`; `make` returns its body."""
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = _SharedRule(self.speller.fresh(hint))
            self.rules[shared.name] = make(shared.name)
        return tree.RuleRef(shared.name)

    def _named(self, hint: str, body: tree.Node) -> tree.Node:
        """The rule that all places share for a lexeme."""
        return self._for_all(hint, body, lambda name: self._lexeme_body(body, tree.Rule(name, body)))

    def _node(self, node: tree.Node, owner: tree.Rule) -> tree.Node:
        if isinstance(node, tree.RuleRef):
            return tree.RuleRef(self.speller.name(node.name))
        if isinstance(node, tree.Terminal):
            return self._lexeme(node.body, owner)
        if isinstance(node, tree.Seq):
            return tree.seq(*(self._node(part, owner) for part in node.parts))
        if isinstance(node, tree.Alt):
            if node in _CHARACTERS:
                return self._character(node)
            options = [self._node(option, owner) for option in node.options]
            return self._left_factored(options, owner)
        if isinstance(node, tree.Repeat):
            return self._repeated(node, owner)
        if isinstance(node, tree.Intersect):
            return self._intersection(node, owner)
        return node

    def _lexeme(self, body: tree.Node, owner: tree.Rule) -> tree.Node:
        known = _KNOWN.get(body)
        if known is not None:
            return self._named(known, body)
        if self._uses[id(body)] < 2 or _is_short(body):
            return self._lexeme_body(body, owner)
        shared = self._shared.get(body)
        if shared is None:
            self._dropped = []
            ready = self._lexeme_body(body, owner)
            rule = self._new_rule(f"{self.speller.name(owner.name)}-text", ready, owner)
            shared = self._shared[body] = _SharedRule(rule.name, tuple(self._dropped))
        else:
            self._report(shared.dropped, owner)
        return tree.RuleRef(shared.name)

    def _report(self, dropped: Iterable[DroppedPart], owner: tree.Rule) -> None:
        """List the dropped parts as unenforced at the owner's place."""
        origin = owner.origin or tree.NOWHERE
        for part in dropped:
            self.unenforced.update(dict.fromkeys(origin.unenforced(part.keywords, part.why)))

    def _lexeme_body(self, body: tree.Node, owner: tree.Rule) -> tree.Node:
        """A lexeme's body. If it ends in any characters and a quote, that end becomes the shared rule of strings."""
        if isinstance(body, tree.Seq) and len(body.parts) > 1 and body.parts[-1] == _QUOTE:
            open_end = body.parts[-2]
            if (
                isinstance(open_end, tree.Repeat)
                and open_end.maximum is None
                and open_end.body in _CHARACTERS
            ):
                least = tree.repeat(open_end.body, open_end.minimum, open_end.minimum)
                return tree.seq(
                    self._node(tree.seq(*body.parts[:-2], least), owner), self._string_end(open_end.body)
                )
        return self._node(body, owner)

    def _string_end(self, character: tree.Node) -> tree.Node:
        """Any characters and the closing quote, by right recursion."""

        def end(name: str) -> tree.Node:
            raw, escape = self._raw_and_escape(character)
            return tree.alt('"', tree.seq(escape, tree.RuleRef(name)), tree.seq(raw, tree.RuleRef(name)))

        return self._for_all("string-end", tree.repeat(character), end)

    def _character(self, character: tree.Node) -> tree.Node:
        return self._for_all(
            "char", character, lambda _: tree.alt(*reversed(self._raw_and_escape(character)))
        )

    def _raw_and_escape(self, character: tree.Node) -> tuple[tree.Node, tree.Node]:
        assert isinstance(character, tree.Alt) and len(character.options) == 2
        raw, escape = character.options
        return raw, self._named("escape", escape)

    def _repeated(self, node: tree.Repeat, owner: tree.Rule) -> tree.Node:
        if node == WHITE:
            return self._for_all("ws", WHITE, lambda _: WHITE)
        body = self._node(node.body, owner)
        if body == tree.NEVER:
            return tree.EMPTY if node.minimum == 0 else tree.NEVER

        def block(inner: tree.Node) -> tree.Node:
            return self._new_rule(f"{self.speller.name(owner.name)}-block", inner, owner)

        if expansion(body, node.minimum, node.maximum) is None:
            body = block(body)
        return repeated(body, node.minimum, node.maximum, block)

    def _intersection(self, node: tree.Intersect, owner: tree.Rule) -> tree.Node:
        shared = self._shared.get(node)
        if shared is None:
            hint = f"{self.speller.name(owner.name)}-text"
            dropped: list[DroppedPart] = []
            ready = self._intersections.right_linear(
                node, lambda body: self._new_rule(hint, body, owner), self.rules, dropped.append
            )
            parts = tuple(dropped)
        else:
            ready, parts = tree.RuleRef(shared.name), shared.dropped
        self._dropped += parts
        self._report(parts, owner)
        if isinstance(ready, tree.Intersect):
            return tree.NEVER
        if not isinstance(ready, tree.RuleRef):
            return self._node(ready, owner)
        self._shared[node] = _SharedRule(ready.name, parts)
        return ready

    def _left_factored(self, options: list[tree.Node], owner: tree.Rule) -> tree.Node:
        """The alternatives, if there are many, with common prefixes factored out, letter by letter."""
        if len(options) <= MAX_BESIDE:
            return tree.alt(*options)
        name = self.speller.name(owner.name)
        factoring = Factoring(options, lambda hint, body: self._new_rule(f"{name}-{hint}", body, owner))
        for rule, body in factoring.rules():
            self.rules[rule] = body
        return factoring.whole


def _comment(origin: tree.Origin, notes: Callable[[tree.Origin], str]) -> str:
    """The line before a rule: the tool, the place in its schema, and the words for the place."""
    place = f"{origin.tool} {origin.pointer}".rstrip()
    words = notes(origin)
    line = f"# {place}: {words}" if words else f"# {place}"
    return visible(" ".join(line.splitlines()))


def _is_short(lexeme: tree.Node) -> bool:
    return not any(True for _ in islice(tree.walk(lexeme, skip=tree.Except), MAX_INLINE, None))


MAX_BESIDE = 8  # alternatives that are not factored
_MAX_DEPTH = 16  # prefixes in each other in one rule


class _Option(NamedTuple):
    """An alternative that begins with a literal, its number among all of them, and what follows the literal."""

    text: str
    number: int
    rest: tuple[tree.Node, ...]


class _Group(NamedTuple):
    """The options from `low` to `high` (exclusive), which have their first `at` letters in common."""

    low: int
    high: int
    at: int


class Factoring:
    """The alternatives as `whole`; `rules` must be read once, which makes the rest of the rules it refers to.

    `new_rule(hint, body)` makes a rule.
    """

    def __init__(
        self, options: Sequence[tree.Node], new_rule: Callable[[str, tree.Node], tree.RuleRef]
    ) -> None:
        self._new_rule = new_rule
        self._waiting: list[tuple[str, _Group]] = []
        others: list[tuple[int, tree.Node]] = []
        begun: list[_Option] = []
        for index, option in enumerate(options):
            first, *rest = option.parts if isinstance(option, tree.Seq) and option.parts else (option,)
            if isinstance(first, tree.Literal) and first.text:
                begun.append(_Option(first.text, index, tuple(rest)))
            else:
                others.append((index, option))
        self._options = sorted(begun, key=itemgetter(0))
        self.whole = self._factored(_Group(0, len(begun), 0), others, 0)

    def rules(self) -> Iterator[tuple[str, tree.Node]]:
        """The bodies of the rules that were made without one."""
        while self._waiting:
            check_time()
            name, group = self._waiting.pop()
            yield name, self._factored(group, [], 0)

    def _factored(self, group: _Group, others: Sequence[tuple[int, tree.Node]], depth: int) -> tree.Node:
        low, high, at = group
        options = self._options
        if high - low + len(others) <= MAX_BESIDE:
            return _in_order([*others, *((o.number, _from(o, at)) for o in options[low:high])])
        if depth >= _MAX_DEPTH:
            rule = self._new_rule(str(at), tree.EMPTY)
            self._waiting.append((rule.name, group))
            return rule
        parts = [*others]
        while low < high and len(options[low].text) == at:
            parts.append((options[low].number, _from(options[low], at)))
            low += 1
        while low < high:
            first = options[low].text
            end = bisect_right(options, first[at], low, high, key=lambda option: option.text[at])
            node = _from(options[low], at)
            if end - low > 1:
                common = at + common_length(first[at:], options[end - 1].text[at:])
                rest = self._factored(_Group(low, end, common), (), depth + 1)
                if isinstance(rest, tree.Alt) and len(rest.options) > MAX_BESIDE:
                    rest = self._new_rule(str(common - at), rest)
                node = tree.seq(first[at:common], rest)
            parts.append((min(map(itemgetter(1), options[low:end])), node))
            low = end
        return _in_order(parts)


def _from(option: _Option, at: int) -> tree.Node:
    """The option from a letter of its literal on."""
    return tree.seq(option.text[at:], *option.rest)


def _in_order(parts: Sequence[tuple[int, tree.Node]]) -> tree.Node:
    return tree.alt(*(node for _, node in sorted(parts, key=itemgetter(0))))
