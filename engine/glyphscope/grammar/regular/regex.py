r"""JSON Schema patterns as nodes, and as texts for engines; `registry.pattern_syntax` has their one reading.

`pattern_node` has the strings in which a pattern is found, as far as it is regular: grammars and automata
are made of these nodes. Look-around, back references and word boundaries raise `PatternNotEnforced`; `search_text` has
them for the engine that searches.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product, takewhile
from typing import NamedTuple

from glyphscope.base.errors import GrammarError
from glyphscope.grammar import chars
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.regular.strings import ANYTHING
from glyphscope.grammar.tree import (
    EMPTY,
    Alt,
    CharClass,
    Node,
    Repeat,
    RuleRef,
    Seq,
    all_but,
    alt,
    intersect,
    joined,
    refs,
    repeat,
    seq,
    walk,
)
from glyphscope.registry import pattern_syntax as syntax
from glyphscope.registry.pattern_syntax import PatternError, Tree, UnreadablePattern, parse

MAX_REPEAT = 10_000  # the largest bound of a repetition
MAX_RANGES = 100
"""The largest class in a grammar: with the 600 ranges of all letters, llama.cpp takes 0.6 s for a token."""
MAX_VARIANTS = 64  # combinations of alternatives with anchors

_START, _END = RuleRef("^"), RuleRef("$")  # the anchors, until `_variants` removes them
_AT_START = syntax.Edge(at_start=True)
_ASCII: Ranges = ((0, 0x7F),)
_LAST_CASED = 0x1E943
"""The last character with an upper or lower case."""
_LINE_ENDS = "\\n\\r\\u2028\\u2029"


class PatternNotEnforced(Exception):
    """A pattern that is not regular, or that engines read differently; the message is the reason.

    `checked`: it has a meaning, so that the validator checks it.
    """

    def __init__(self, reason: str, *, checked: bool = True) -> None:
        super().__init__(reason)
        self.checked = checked


class _Variant(NamedTuple):
    """One alternative without its anchors; `starts` and `ends`: it was anchored at that end of the string."""

    starts: bool
    ends: bool
    body: Node


@lru_cache(maxsize=512)
def pattern_node(pattern: str) -> Node:
    """The strings in which the pattern is found (searched for, not anchored). Raises PatternNotEnforced."""
    node = found_node(pattern)
    if any(isinstance(each, CharClass) and len(each.ranges) > MAX_RANGES for each in walk(node)):
        raise PatternNotEnforced(f"it has a class of more than {MAX_RANGES} ranges of characters")
    return node


@lru_cache(maxsize=512)
def text_node(pattern: str) -> Node:
    """`pattern_node`, also for a pattern that looks ahead at its beginning: an intersection, for a string's content."""
    try:
        return pattern_node(pattern)
    except PatternNotEnforced:
        looks, rest = _leading_looks(_tree(pattern))
        if not looks:
            raise
    required = [_canonical(_found_by(rest))]
    excluded: list[Node] = []
    for look in looks:
        (excluded if look.negated else required).append(
            _found_by(syntax.Concatenation((_AT_START, look.body)))
        )
    return all_but(intersect(required), *excluded)


def _leading_looks(tree: Tree) -> tuple[list[syntax.Look], Tree]:
    """The look-aheads at the beginning of the text, and the pattern without them."""
    parts = tree.parts if isinstance(tree, syntax.Concatenation) else ()
    if parts[:1] != (_AT_START,):
        return [], tree
    ahead = takewhile(lambda part: isinstance(part, syntax.Look) and not part.behind, parts[1:])
    looks = [part for part in ahead if isinstance(part, syntax.Look)]
    return looks, syntax.Concatenation((_AT_START, *parts[1 + len(looks) :]))


def _canonical(node: Node) -> Node:
    """The same texts without a class of all characters, of which a string has every escape, not only one of each."""
    if node == CharClass(chars.ALL):
        return alt(CharClass(_ASCII), CharClass(chars.subtract(chars.ALL, _ASCII)))
    return joined(node, map(_canonical, node.inner)) if isinstance(node, Seq | Alt | Repeat) else node


@lru_cache(maxsize=512)
def found_node(pattern: str) -> Node:
    """As `pattern_node`, with classes of any size. Raises PatternNotEnforced."""
    return _found_by(_tree(pattern))


@lru_cache(maxsize=64)
def whole_node(pattern: str, where: str = "regex") -> Node:
    """The texts that the pattern matches as a whole. Raises GrammarError for one that is not regular."""
    try:
        return alt(*(variant.body for variant in _variants(_node(_tree(pattern)))))
    except PatternNotEnforced as reason:
        raise GrammarError(
            f"The regular expression cannot be a grammar: {str(reason).rstrip('.')}.",
            where=where,
            hint="Write it without look-around, back references and word boundaries.",
        ) from None


def _found_by(tree: Tree) -> Node:
    options = []
    for starts, ends, body in _variants(_node(tree)):
        options.append(seq(EMPTY if starts else ANYTHING, body, EMPTY if ends else ANYTHING))
    return alt(*options)


@lru_cache(maxsize=2048)
def unreadable(pattern: str) -> str:
    """Why a pattern has no meaning on which engines agree, so that nothing checks it; empty if it has one."""
    try:
        _tree(pattern)
    except PatternNotEnforced as reason:
        return str(reason)
    return ""


@lru_cache(maxsize=512)
def search_text(pattern: str) -> str:
    """The pattern for the package `regex`, to be searched for. Raises PatternNotEnforced."""
    return _search_text(_tree(pattern))


def _variants(node: Node) -> list[_Variant]:
    """The node's alternatives without the anchors at their ends. Raises PatternNotEnforced for anchors elsewhere."""
    if node == _START:
        return [_Variant(True, False, EMPTY)]
    if node == _END:
        return [_Variant(False, True, EMPTY)]
    if isinstance(node, Alt):
        return [variant for option in node.options for variant in _variants(option)]
    parts = node.parts if isinstance(node, Seq) else ()
    while parts[:2] == (_START, _START):
        parts = parts[1:]
    while parts[-2:] == (_END, _END):
        parts = parts[:-1]
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


@lru_cache(maxsize=512)
def _tree(pattern: str) -> Tree:
    """The pattern's tree, of which all classes are known. Raises PatternNotEnforced."""
    try:
        tree = parse(pattern)
        for each in syntax.parts_of(tree):
            if isinstance(each, syntax.Chars):
                class_ranges(each)
    except PatternError as error:
        raise PatternNotEnforced(str(error), checked=False) from None
    return tree


def _node(tree: Tree) -> Node:
    """The texts of a tree, with anchors as references."""
    match tree:
        case syntax.Chars():
            ranges = class_ranges(tree)
            if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
                return seq(chr(ranges[0][0]))
            return CharClass(ranges) if ranges else alt()
        case syntax.Edge(at_start, lines):
            if lines:
                raise PatternNotEnforced("it looks around for the ends of lines")
            return _START if at_start else _END
        case syntax.Group(body):
            return _node(body)
        case syntax.Quantified(body, low, high):
            if max(low, high or 0) > MAX_REPEAT:
                raise PatternNotEnforced(f"it repeats more than {MAX_REPEAT:,} times")
            node = _node(body)
            if _anchored(node):
                raise PatternNotEnforced("it repeats an anchor")
            return repeat(node, low, high)
        case syntax.Concatenation(parts):
            return seq(*map(_node, parts))
        case syntax.Alternation(options):
            return alt(*map(_node, options))
        case syntax.Look():
            raise PatternNotEnforced("it looks around")
        case syntax.WordEdge():
            raise PatternNotEnforced("it looks around for word boundaries")
        case syntax.Backreference():
            raise PatternNotEnforced("it refers back to a group")


def _search_text(tree: Tree) -> str:
    match tree:
        case syntax.Chars():
            return _class_text(class_ranges(tree))
        case syntax.Edge(at_start, lines):
            edge = "\\A" if at_start else "\\Z"
            return f"(?:{edge}|(?{'<' if at_start else ''}=[{_LINE_ENDS}]))" if lines else edge
        case syntax.WordEdge(negated, any_case):
            word = _search_text(syntax.Chars((syntax.Named("w"),), any_case=any_case))
            same, other = ("=", "!") if negated else ("!", "=")
            return f"(?:(?<={word})(?{same}{word})|(?<!{word})(?{other}{word}))"
        case syntax.Look(body, behind, negated):
            return f"(?{'<' if behind else ''}{'!' if negated else '='}{_search_text(body)})"
        case syntax.Group(body):
            return f"({_search_text(body)})"
        case syntax.Backreference(groups):  # a group without a text has an empty one
            return "".join(f"(?({group})(?:\\{group})|)" for group in groups)
        case syntax.Quantified(body, low, high, lazy):
            bounds = f"{{{low},{'' if high is None else high}}}"
            return f"(?:{_search_text(body)}){bounds}{'?' if lazy else ''}"
        case syntax.Concatenation(parts):
            return "".join(map(_search_text, parts))
        case syntax.Alternation(options):
            return f"(?:{'|'.join(map(_search_text, options))})"


def _class_text(ranges: Ranges) -> str:
    if not ranges:
        return "(?!)"
    spans = (f"\\U{low:08x}" if low == high else f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
    return f"[{''.join(spans)}]"


@lru_cache(maxsize=2048)
def class_ranges(tree: syntax.Chars) -> Ranges:
    """The characters of a class. Raises UnreadablePattern for an unknown property."""
    members = chars.union(*(_member_ranges(member, any_case=tree.any_case) for member in tree.members))
    if tree.any_case:
        members = folded(members)
    return chars.complement(members) if tree.negated else chars.intersection(members, chars.ALL)


def _member_ranges(member: syntax.CharSpan | syntax.Named, *, any_case: bool) -> Ranges:
    if isinstance(member, syntax.CharSpan):
        return ((member.low, member.high),)
    known = {"d": chars.DIGITS, "w": chars.WORD, "s": chars.SPACE, ".": chars.complement(chars.LINE_ENDS)}
    ranges = known.get(member.name) or property_ranges(member.name)
    if any_case and member.name == "w":
        ranges = folded(ranges)
    return chars.complement(ranges) if member.negated else ranges


@lru_cache(maxsize=64)
def property_ranges(name: str) -> Ranges:
    """The characters with a Unicode property."""
    import regex  # few patterns have one, and its import takes longer than that of any other module here

    try:
        found = regex.compile(rf"\p{{{name}}}+")
    except regex.error:
        raise UnreadablePattern(f"there is no Unicode property {name}") from None
    spans = (match.span() for match in found.finditer("".join(map(chr, range(0xD800)))))
    after = "".join(map(chr, range(0xE000, 0x110000)))
    beyond = ((low + 0xE000, high + 0xE000) for low, high in (each.span() for each in found.finditer(after)))
    return chars.union((low, high - 1) for low, high in (*spans, *beyond))


def folded(ranges: Ranges) -> Ranges:
    """The characters that differ only in case from one of these."""
    if ranges == chars.ALL:
        return ranges
    alike = _cases()
    cased = (others for code, others in alike.items() if any(low <= code <= high for low, high in ranges))
    return chars.union(ranges, ((other, other) for others in cased for other in others))


@lru_cache(maxsize=1)
def _cases() -> dict[int, tuple[int, ...]]:
    """The characters that differ only in case, by each of them (Unicode's simple case folding)."""
    alike: dict[str, list[int]] = {}
    for code in (*range(0xD800), *range(0xF900, _LAST_CASED + 1)):
        char = chr(code)
        if char.lower() != char or char.upper() != char or char.casefold() != char:
            folded = char.casefold()
            alike.setdefault(folded if len(folded) == 1 else char.lower(), []).append(code)
    return {code: tuple(codes) for codes in alike.values() for code in codes if len(codes) > 1}
