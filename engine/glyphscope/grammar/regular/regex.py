r"""JSON Schema patterns as nodes: ECMA-262 regular expressions, as far as they are regular.

If dialects differ (`\d` and `\w` beyond ASCII, `.` at line ends, `$` before a final line feed), the node has the texts
that all of them accept, so that every validator accepts a text made from it. Look-around, back references, word
boundaries, flags and Unicode properties raise `PatternNotEnforced`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.regular.strings import ANYTHING
from glyphscope.grammar.tree import EMPTY, Alt, CharClass, Node, RuleRef, Seq, alt, refs, repeat, seq

MAX_NESTING = 60  # of groups
MAX_REPEAT = 10_000  # the largest bound of a repetition
MAX_VARIANTS = 64  # combinations of alternatives with anchors

_START, _END = RuleRef("^"), RuleRef("$")  # the anchors, until `_variants` removes them
# The characters that belong to the set in every dialect.
_SETS: dict[str, Callable[[], Ranges]] = {
    "d": lambda: chars.DIGITS,
    "w": lambda: chars.WORD,
    "s": lambda: chars.SPACE,
    "D": chars.not_digit,
    "W": chars.not_word,
    "S": chars.not_space,
}
_SIMPLE = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}


class PatternNotEnforced(Exception):
    """A pattern that is not regular, or that dialects interpret differently; the message is the reason."""


class _Variant(NamedTuple):
    """One alternative without its anchors; `starts` and `ends`: it was anchored at that end of the string."""

    starts: bool
    ends: bool
    body: Node


@lru_cache(maxsize=512)
def pattern_node(pattern: str) -> Node:
    """The strings in which the pattern is found (searched for, not anchored). Raises PatternNotEnforced."""
    options = []
    for starts, ends, body in _variants(_Parser(pattern).parse()):
        options.append(seq(EMPTY if starts else ANYTHING, body, EMPTY if ends else ANYTHING))
    return alt(*options)


@lru_cache(maxsize=64)
def anchored_node(pattern: str) -> Node:
    """The strings that the whole pattern matches."""
    return pattern_node(f"^(?:{pattern})$")


def _variants(node: Node) -> list[_Variant]:
    """The node's alternatives without the anchors at their ends. Raises PatternNotEnforced for anchors elsewhere."""
    if node == _START:
        return [_Variant(True, False, EMPTY)]
    if node == _END:
        return [_Variant(False, True, EMPTY)]
    if isinstance(node, Alt):
        return [variant for option in node.options for variant in _variants(option)]
    parts = node.parts if isinstance(node, Seq) else ()
    if not parts or not _anchored(node):
        if _anchored(node):
            raise PatternNotEnforced("it repeats an anchor")
        return [_Variant(False, False, node)]
    if len(parts) == 1:
        return _variants(parts[0])
    first, last = _variants(parts[0]), _variants(parts[-1])
    if (
        any(_anchored(part) for part in parts[1:-1])
        or any(v.ends for v in first)
        or any(v.starts for v in last)
    ):
        raise PatternNotEnforced("it has an anchor in its middle")
    if len(first) * len(last) > MAX_VARIANTS:
        raise PatternNotEnforced("it has too many anchored alternatives")
    middle = seq(*parts[1:-1])
    return [_Variant(a.starts, z.ends, seq(a.body, middle, z.body)) for a, z in product(first, last)]


def _anchored(node: Node) -> bool:
    return any(refs(node))


class _Parser:
    """Parses a pattern into a node, with anchors as references. Each method reads one construct of the syntax."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.depth = 0

    def parse(self) -> Node:
        node = self._alternatives()
        if self.at < len(self.text):
            raise PatternNotEnforced("it has an unmatched ')'")
        return node

    def _peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def _take(self, text: str) -> bool:
        if self._peek(text):
            self.at += len(text)
            return True
        return False

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise PatternNotEnforced("it ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def _alternatives(self) -> Node:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise PatternNotEnforced(f"its groups are nested more than {MAX_NESTING} deep")
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        self.depth -= 1
        return alt(*options)

    def _sequence(self) -> Node:
        parts = []
        while self.at < len(self.text) and not self._peek("|") and not self._peek(")"):
            parts.append(self._quantified(self._atom()))
        return seq(*parts)

    def _quantified(self, atom: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return atom
        if atom in (_START, _END):
            raise PatternNotEnforced("it repeats an anchor")
        self._take("?")  # lazy or greedy: the same strings
        if self._peek("+") or self._peek("*"):
            raise PatternNotEnforced("it repeats a repetition")
        return repeat(atom, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        end = self.text.find("}", self.at)
        if not self._peek("{") or end < 0:
            return None
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not low.isdecimal() or not low.isascii() or (high and not (high.isdecimal() and high.isascii())):
            return None
        self.at = end + 1
        maximum = int(high) if high else None if comma else int(low)
        if max(int(low), maximum or 0) > MAX_REPEAT:
            raise PatternNotEnforced(f"it repeats more than {MAX_REPEAT} times")
        return int(low), maximum

    def _atom(self) -> Node:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return _class(self._bracket())
        if char == "^":
            return _START
        if char == "$":
            return _END
        if char == ".":
            return _class(chars.complement(chars.LINE_ENDS))
        if char == "\\":
            return _class(self._escape())
        if char in "*+?":
            raise PatternNotEnforced("it repeats nothing")
        return _class(chars.of(char))

    def _group(self) -> Node:
        if self._take("?") and not self._take(":"):
            named = self._take("P<") or (not self._peek("<=") and not self._peek("<!") and self._take("<"))
            if not named:
                raise PatternNotEnforced("it looks around, refers back or sets flags")
            self.at = self.text.find(">", self.at) + 1
        body = self._alternatives()
        if not self._take(")"):
            raise PatternNotEnforced("it has an unmatched '('")
        return body

    def _bracket(self) -> Ranges:
        negated = self._take("^")
        members: Ranges = ()
        if self._peek("]"):
            raise PatternNotEnforced("dialects read its character class differently")
        while not self._take("]"):
            low = self._member(negated)
            if self._peek("-") and not self._peek("-]"):
                self.at += 1
                high = self._member(negated)
                if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or low[0][0] > high[0][0]:
                    raise PatternNotEnforced("it has a range without order")
                low = ((low[0][0], high[0][1]),)
            members = chars.union(members, low)
        return chars.complement(members) if negated else chars.intersection(members, chars.ALL)

    def _member(self, negated: bool) -> Ranges:
        char = self._next()
        if char == "[" or (char in "&-|~" and self._peek(char)):
            raise PatternNotEnforced("dialects read its character class differently")
        if char != "\\":
            return chars.of(char)
        if self._take("b"):
            return chars.of("\b")
        if negated and self._peek_set():
            # A negated class must exclude every character that any dialect excludes.
            return chars.complement(_SETS[self._next().swapcase()]())
        return self._escape()

    def _peek_set(self) -> bool:
        return self.text[self.at : self.at + 1] in _SETS

    def _escape(self) -> Ranges:
        char = self._next()
        if char in _SETS:
            return _SETS[char]()
        if char in _SIMPLE and not (char == "0" and self.text[self.at : self.at + 1].isdigit()):
            return chars.of(_SIMPLE[char])
        if char == "x":
            return self._code(2)
        if char == "u":
            if self._peek("{"):
                raise PatternNotEnforced("dialects read \\u{…} differently")
            return self._code(4)
        if char.isalnum():
            raise PatternNotEnforced(f"\\{char} is not regular, or dialects read it differently")
        return chars.of(char)

    def _code(self, digits: int) -> Ranges:
        text = self.text[self.at : self.at + digits]
        self.at += digits
        try:
            code = int(text, 16)
        except ValueError:
            raise PatternNotEnforced("it has a damaged escape") from None
        if len(text) < digits or 0xD800 <= code <= 0xDFFF:
            raise PatternNotEnforced("it has a damaged escape")
        return ((code, code),)


def _class(ranges: Ranges) -> Node:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return seq(chr(ranges[0][0]))
    return CharClass(ranges) if ranges else alt()
