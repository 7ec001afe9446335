"""The rules of a grammar under construction: their names, rules that places share, and rules that derive no text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set

from glyphscope.grammar import tree
from glyphscope.grammar.time_limit import check_time
from glyphscope.grammar.traversal import reachable

MAX_NAME = 60  # characters
_MAX_TRIED = 50  # candidates for the cause of a dead end; each costs a fixed point over all rules


class RuleNames:
    """Hands out each name only once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._counts = dict.fromkeys(taken, 1)

    def fresh(self, base: str) -> str:
        """Take the first of `base`, `base-2`, `base-3` … that is free."""
        name = base
        while name in self._counts:
            self._counts[base] += 1
            name = f"{base}-{self._counts[base]}"
        self._counts[name] = 1
        return name


class RuleBook:
    """Rules by name. Names consist of lower-case letters, digits and hyphens, which both GBNF and Lark accept."""

    def __init__(self, rules: Mapping[str, tree.Rule] | None = None) -> None:
        """Start with these rules, under their names."""
        self.rules = dict(rules or {})
        self._names = RuleNames(self.rules)
        self._shared: dict[tuple[str, object], str] = {}
        self._inner: dict[tuple[tree.Node, tree.Origin | None], str] = {}

    def reserve(self, hint: str) -> str:
        """An unused name, made from the hint."""
        base = re.sub(r"[^a-z0-9]+", "-", hint.lower()).strip("-")[:MAX_NAME].strip("-")
        base = base if base[:1].isalpha() else f"r-{base}".strip("-")
        return self._names.fresh(base)

    def add(self, name: str, body: tree.Node, origin: tree.Origin | None = None) -> None:
        """Set the rule of a reserved name."""
        self.rules[name] = tree.Rule(name, body, origin)

    def include(self, grammar: tree.Grammar) -> str:
        """Add the rules of another grammar, under their names if these are free. Returns the name of its root."""
        names = {name: self._names.fresh(name) for name in grammar.rules}
        for name, rule in grammar.rules.items():
            body = rule.body
            if any(names[other] != other for other in rule.refs):
                body = tree.replace_refs(body, lambda other: tree.RuleRef(names[other]))
            self.add(names[name], body, rule.origin)
        return names[grammar.root]

    def inner(self, hint: str, body: tree.Node, origin: tree.Origin | None = None) -> tree.Node:
        """A rule for a piece of another rule, so that no tree gets deep.

        Equal pieces of the same origin share a rule: a hundred objects that all refer to one of 300 members have
        30,000 of them.
        """
        if body == tree.NEVER or body == tree.Seq(()):
            return body
        name = self._inner.get((body, origin))
        if name is None:
            name = self._inner[body, origin] = self.reserve(hint)
            self.add(name, body, origin)
        return tree.RuleRef(name)

    def shared(self, hint: str, make: Callable[[], tree.Node], of: object = None) -> tree.Node:
        """The rule that all places with the same `of` share under a hint.

        It is made once, and `make` may request it recursively.
        """
        name = self._shared.get((hint, of))
        if name is None:
            name = self._shared[hint, of] = self.reserve(hint)
            self.add(name, make())
        return tree.RuleRef(name)

    def grammar(
        self, root: str, unenforced: tuple[tree.Unenforced, ...], *, lexed: bool = True, unlexed: tuple[str, ...] = (),
        ordered: tuple[tree.Ordered, ...] = (),
    ) -> tree.Grammar:  # fmt: skip
        """The rules that the root needs, without those that derive no text at all."""
        productive = self.productive()

        def productive_node(name: str) -> tree.Node:
            return tree.RuleRef(name) if name in productive else tree.NEVER

        rules: dict[str, tree.Rule] = {}
        roots = [root] if root in productive else []
        for name in reachable(roots, lambda name: rules[name].refs):
            rule = self.rules[name]
            if not productive.issuperset(rule.refs):
                rule = tree.Rule(name, tree.replace_refs(rule.body, productive_node), rule.origin)
            rules[name] = rule
        remaining = tuple(name for name in unlexed if name in rules)
        return tree.Grammar(rules, root, unenforced, lexed, remaining, ordered)

    def productive(self, given: Set[str] = frozenset()) -> set[str]:
        """The rules that derive any text, assuming that the `given` rules do."""
        users: dict[str, list[str]] = defaultdict(list)
        for rule in self.rules.values():
            for name in rule.refs:
                users[name].append(rule.name)
        productive = set(given)
        pending = [name for name in self.rules if name not in given]
        while pending:  # by rounds: a rule with a thousand alternatives is not read for each of them
            check_time()
            again: dict[str, None] = {}
            for name in reversed(pending):
                if name not in productive and _derives(self.rules[name].body, productive):
                    productive.add(name)
                    again |= dict.fromkeys(users[name])
            pending = [name for name in again if name not in productive]
        return productive

    def dead_end(self, root: str) -> tuple[str, ...]:
        """Why a root derives no text: the rule that is the cause, then the rules from it back to the root.

        The cause is a rule that derives no text whatever other rules derive, preferably one whose text would suffice
        for the root. Empty if there is none, because rules need each other in a cycle.
        """
        productive = self.productive()
        users = {root: ""}
        waiting, ends = [root], []
        while waiting:
            name = waiting.pop()
            needed = list(_missing(self.rules[name].body, productive))
            for other in reversed(needed):
                if other not in users:
                    users[other] = name
                    waiting.append(other)
            if not needed:
                ends.append(name)
        enough = (name for name in ends[:_MAX_TRIED] if root in self.productive({name}))
        name = next(enough, next(iter(ends), ""))
        way = []
        while name:
            way.append(name)
            name = users[name]
        return tuple(way)


def _missing(node: tree.Node, productive: set[str]) -> Iterator[str]:
    """The rules that are missing for a node to derive a text; empty if no rule could change that."""
    if isinstance(node, tree.RuleRef):
        yield node.name
        return
    for part in node.inner:
        if not _derives(part, productive):
            yield from _missing(part, productive)


def _derives(node: tree.Node, productive: set[str]) -> bool:
    if isinstance(node, tree.RuleRef):
        return node.name in productive
    if isinstance(node, tree.Seq):
        return all(_derives(part, productive) for part in node.parts)
    if isinstance(node, tree.Alt):
        return any(_derives(option, productive) for option in node.options)
    if isinstance(node, tree.Unordered):
        return _derives_some(node, productive)
    return not isinstance(node, tree.Repeat) or node.minimum == 0 or _derives(node.body, productive)


def _derives_some(node: tree.Unordered, productive: set[str]) -> bool:
    derived = [_derives(member, productive) for member in node.members]
    if any(node.required >> place & 1 and not derives for place, derives in enumerate(derived)):
        return False
    return sum(derived) >= node.low or _derives(node.free, productive)
