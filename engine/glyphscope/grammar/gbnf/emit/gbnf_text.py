"""The text of nodes in GBNF: names, literals, classes, groups."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.rules import Names
from glyphscope.grammar.tree import EMPTY, NEVER, Node, alt
from glyphscope.visible import is_seen

MAX_LINE = 110  # characters; in longer rules, each alternative has its own line
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_NEVER = "[^\\x00-\\U0010FFFF]"


class Speller:
    """Gives rules names that llama.cpp accepts, and writes their text."""

    def __init__(self, root: str, start: str, rules: Iterable[str]) -> None:
        self._taken = Names()
        self._names = {start: self.fresh(root)}
        for name in rules:
            if name != start:
                self._names[name] = self.fresh(name)

    def name(self, rule: str) -> str:
        """The GBNF name of one of the grammar's rules."""
        return self._names[rule]

    def fresh(self, hint: str) -> str:
        """An unused name, made from the hint: letters, digits and hyphens."""
        return self._taken.fresh(re.sub(r"[^A-Za-z0-9-]+", "-", hint).strip("-") or "rule")

    def rule(self, name: str, body: Node) -> str:
        """The rule's text; alternatives that do not fit on one line have a line each."""
        options = (
            [_spell(option) for option in body.options] if isinstance(body, tree.Alt) else [_spell(body)]
        )
        line = f"{name} ::= {' | '.join(options)}"
        if len(line) <= MAX_LINE or len(options) <= 1:
            return line
        return f"{name} ::=\n  " + " |\n  ".join(options)


def _spell(node: Node) -> str:
    if isinstance(node, tree.Seq):
        return (
            " ".join(_grouped(part) if isinstance(part, tree.Alt) else _spell(part) for part in node.parts)
            or '""'
        )
    if isinstance(node, tree.Alt):
        return " | ".join(_spell(option) for option in node.options) or _NEVER
    if isinstance(node, tree.Literal):
        return f'"{"".join(_character(ord(char), inside=False) for char in node.text)}"'
    if isinstance(node, tree.CharClass):
        return spell_class(chars.complement(node.ranges) if node.negated else node.ranges)
    if isinstance(node, tree.RuleRef):
        return node.name
    if isinstance(node, tree.Repeat):
        return f"{_grouped(node.body)}{node.sign}"
    assert isinstance(node, tree.TokenMatch), "lexemes and intersections are rules by now"
    named = f"[{node.token}]" if isinstance(node.token, int) else node.token
    return f"{'!' if node.negated else ''}<{named}>"


def _grouped(node: Node) -> str:
    if isinstance(node, tree.Alt) and EMPTY in node.options:
        rest = alt(*(option for option in node.options if option != EMPTY))
        return (
            f"{_grouped(rest)}?"
            if rest != NEVER and not isinstance(rest, tree.Repeat)
            else f"({_spell(node)})"
        )
    single = isinstance(node, tree.Literal | tree.CharClass | tree.RuleRef | tree.TokenMatch)
    return _spell(node) if single else f"({_spell(node)})"


def spell_class(ranges: Ranges) -> str:
    """A class, negated if that is shorter: llama.cpp tests every range for every token.

    Only ASCII characters are excluded this way. A token may end inside a character, and a negated class then rejects
    the first bytes of an excluded character: `[^é]` rejects an `è` (llama.cpp's match_partial_char).
    """
    if not ranges:
        return _NEVER
    others = chars.complement(ranges)
    if not others:
        return "."
    negated = ranges[-1][1] == sys.maxunicode and others[-1][1] < 0x80 and _cost(others) <= _cost(ranges)
    return f"[^{_ranges(others)}]" if negated else f"[{_ranges(ranges)}]"


def _cost(ranges: Ranges) -> int:
    return sum(1 + (low != high) for low, high in ranges)


def _ranges(ranges: Ranges) -> str:
    return "".join(
        _character(low, inside=True)
        + ("" if low == high else ("" if high == low + 1 else "-") + _character(high, inside=True))
        for low, high in ranges
    )


def _character(code: int, *, inside: bool) -> str:
    char = chr(code)
    if char in _SHORT:
        return _SHORT[char]
    if char == '"' and not inside:
        return '\\"'
    if inside and char in "[]":
        return "\\" + char
    if code < 0x80:
        # Hyphens and carets have a meaning in a class, and only newer versions of llama.cpp know their escapes.
        return f"\\x{code:02X}" if not is_seen(char) or (inside and char in "-^") else char
    if is_seen(char):
        return char
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
