"""Ambiguous rules: a rule with a text that its own alternatives, repetitions or sequences read in two ways.

Whether a grammar is ambiguous is undecidable, so texts are tried: a rule that is found has such a text, any other may
have one. How the rules that a rule uses read their parts of the text does not count, so the rule itself is the cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import tree
from glyphscope.grammar.generate.sample import covering_texts, texts_by_rule
from glyphscope.grammar.time_limit import check_time, limited
from glyphscope.grammar.traversal import bottom_up
from glyphscope.grammar.tree import Grammar, Literal, Node

MAX_TEXT = 24
"""Characters of a text that is tried: the number of ways is counted for each part of it."""
TRIED = 12
"""Random texts of a rule that are tried, and texts of its alternatives."""
SECONDS = 4.0
"""The CPU time for a grammar."""
_PRIVATE = 0xE000
"""The first character that represents a lexeme."""
_LEXEMES = (tree.Terminal, tree.TokenMatch)


def ambiguous_rules(grammar: Grammar) -> Iterator[tuple[str, str]]:
    """Each rule that is found to be ambiguous, with the shortest text that shows it, as far as the time allows.

    With a lexer, the ways of reading one lexeme do not count. Raises Stopped.
    """
    signs: dict[Node, str] = {}

    def sign(node: Node, parts: list[Node]) -> Node:
        if isinstance(node, _LEXEMES):
            return Literal(signs.setdefault(node, chr(_PRIVATE + len(signs))))
        return tree.with_parts(node, parts) if parts else node

    rules = {
        name: replace(
            rule,
            body=bottom_up(rule.body, lambda node: () if isinstance(node, _LEXEMES) else node.inner, sign),
        )
        for name, rule in grammar.rules.items()
    }
    plain = replace(grammar, rules=rules, lexer=None, lexed=False, lark=None)
    shown = {char: _example(node) for node, char in signs.items()}
    try:
        with limited(seconds=SECONDS):
            for name, texts in texts_by_rule(plain, TRIED):
                short = sorted((text for text in texts if len(text) <= MAX_TEXT), key=len)
                found = next((text for text in short if _Ways(plain, text).of_rule(name) > 1), None)
                if found is not None:
                    yield name, "".join(shown.get(char, char) for char in found)
    except (GrammarError, RecursionError):
        return


def _example(lexeme: Node) -> str:
    try:
        alone = Grammar({"lexeme": tree.Rule("lexeme", lexeme)}, "lexeme", lexed=True)
        return covering_texts(alone, limit=1)[0]
    except GrammarError:
        return f"<{getattr(lexeme, 'token', '…')}>"


class _Ways:
    """The number of ways, 0, 1 or 2 for more, in which nodes read parts of a text."""

    def __init__(self, grammar: Grammar, text: str) -> None:
        self._rules = grammar.rules
        self._text = text
        self._known: dict[tuple[int, int, int], int] = {}
        self._reads: dict[tuple[str, int, int], bool] = {}

    def of_rule(self, name: str) -> int:
        """The ways in which the rule reads the whole text."""
        return self._of(self._rules[name].body, 0, len(self._text))

    def _of(self, node: Node, start: int, end: int) -> int:
        key = id(node), start, end
        if key not in self._known:
            check_time()
            self._known[key] = 0  # a node that contains itself and reads nothing between adds no text
            self._known[key] = min(2, self._count(node, start, end))
        return self._known[key]

    def _count(self, node: Node, start: int, end: int) -> int:
        if isinstance(node, Literal):
            return int(self._text[start:end] == node.text)
        if isinstance(node, tree.CharClass):
            if end - start != 1:
                return 0
            code = ord(self._text[start])
            return int(any(low <= code <= high for low, high in node.ranges) != node.negated)
        if isinstance(node, tree.RuleRef):
            return int(self._is_read(node.name, start, end))
        if isinstance(node, tree.Alt):
            return sum(self._of(option, start, end) for option in node.options)
        if isinstance(node, tree.Seq):
            return self._sequence(node.parts, start, end)
        return self._repeated(node, start, end) if isinstance(node, tree.Repeat) else 0

    def _is_read(self, name: str, start: int, end: int) -> bool:
        key = name, start, end
        if key not in self._reads:
            self._reads[key] = False
            self._reads[key] = name in self._rules and self._of(self._rules[name].body, start, end) > 0
        return self._reads[key]

    def _sequence(self, parts: tuple[Node, ...], start: int, end: int) -> int:
        at = {start: 1}
        for number, part in enumerate(parts):
            ends = (end,) if number == len(parts) - 1 else range(start, end + 1)
            at = self._step(part, at, ends)
        return at.get(end, 0)

    def _repeated(self, node: tree.Repeat, start: int, end: int) -> int:
        """A repetition that reads nothing does not count as another way: it is reported as such."""
        most = min(end - start if node.maximum is None else node.maximum, end - start)
        empty = self._of(node.body, start, start) > 0
        at, ways = {start: 1}, int(start == end and (not node.minimum or empty))
        for times in range(1, most + 1):
            at = self._step(node.body, at, range(start, end + 1), growing=True)
            if times >= node.minimum or empty:
                ways += at.get(end, 0)
        return ways

    def _step(
        self, part: Node, at: dict[int, int], ends: range | tuple[int, ...], *, growing: bool = False
    ) -> dict[int, int]:
        after: dict[int, int] = {}
        for begun, ways in at.items():
            for stop in ends:
                if stop >= begun + growing and (more := self._of(part, begun, stop)):
                    after[stop] = min(2, after.get(stop, 0) + ways * more)
        return after
