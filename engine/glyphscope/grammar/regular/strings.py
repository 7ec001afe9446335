"""Strings in source form: nodes over characters become nodes over their escaped text.

The escapes are those that both notations read alike, without those that GLYPH's reader rejects: `\\b \\f \\/` and
escaped surrogate pairs. Models have other styles: Python's quotation marks, or no escapes at all and a text that ends
the string.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

from glyphscope.base.errors import GrammarError
from glyphscope.base.shorten import json_excerpt
from glyphscope.events import Notation
from glyphscope.grammar import chars, tree
from glyphscope.grammar.chars import Ranges
from glyphscope.grammar.regular.automaton import Automaton
from glyphscope.grammar.regular.derivatives import DfaState

_QUOTE = '"'
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS: Ranges = ((0x00, 0x1F),)
RAW = chars.subtract(chars.ALL, chars.union(_CONTROLS, chars.of('"\\')))
_HEX = tree.CharClass(chars.of("0123456789abcdefABCDEF"))
CHARACTER = tree.CharClass(chars.ALL)
ANYTHING = tree.repeat(CHARACTER)


@dataclass(frozen=True)
class StringStyle:
    """How strings are written: their characters, escapes and delimiters.

    `raw` are the characters that are not escaped, `short` the escapes of single characters, `escape` any escaped
    character (NEVER if nothing is escaped). A string contains no text of `without`, nor one that begins in it and ends
    inside its `closing`; one that ends with the closing is allowed. No string begins with a text of `unlike`. `before`
    and `after` may be tokens of a vocabulary.
    """

    raw: Ranges
    short: tuple[tuple[str, str], ...] = ()
    escape: tree.Node = tree.NEVER
    opening: str = ""
    closing: str = ""
    before: tree.Node = tree.EMPTY
    after: tree.Node = tree.EMPTY
    without: tree.Node = tree.NEVER
    unlike: tree.Node = tree.NEVER

    @cached_property
    def _hashed(self) -> int:
        return hash(
            (self.raw, self.short, self.escape, self.opening, self.closing, self.before, self.without)
        )

    def __hash__(self) -> int:
        return self._hashed

    def written(self, body: tree.Node) -> tree.Node:
        """The string with the body as its content."""
        return tree.seq(
            self.before,
            tree.terminal(self.bounded(tree.seq(self.opening, body, self.closing), body)),
            self.after,
        )

    def bounded(self, text: tree.Node, inside: tree.Node) -> tree.Node:
        """The texts of a node, a string with the content `inside`, that `without` and `unlike` do not exclude."""
        own = alphabet(inside)
        without, unlike = (
            node != tree.NEVER and bool(chars.intersection(first_characters(node), own))
            for node in (self.without, self.unlike)
        )
        if without and self.closing and not (isinstance(inside, tree.Repeat) and inside.maximum is None):
            # If a part is too large for an engine and is dropped from the intersection, the string still has its end.
            text = tree.intersect((text, tree.seq(self.opening, ANYTHING, self.closing)))
        return tree.all_but(
            text,
            ended(self.without, self.closing) if without else tree.NEVER,
            tree.seq(self.unlike, ANYTHING) if unlike else tree.NEVER,
        )

    def constant(self, text: str) -> tree.Node:
        """One string in its canonical spelling; NEVER if it cannot be written."""
        inside = escaped(tree.Literal(text), self) if text else tree.EMPTY
        if inside == tree.NEVER or not isinstance(inside, tree.Literal | tree.Seq):
            return tree.NEVER
        spelled = inside.text if isinstance(inside, tree.Literal) else ""
        if self.without != tree.NEVER:
            whole = spelled + self.closing
            end = first_end(self.without, whole)
            if end is not None and end < len(whole):
                return tree.NEVER
        return tree.seq(self.before, self.opening + spelled + self.closing, self.after)

    def character(self, code: int) -> tree.Node:
        """One character, escaped if necessary; NEVER if that is not possible."""
        char = chr(code)
        known = dict(self.short).get(char)
        if known is not None:
            return tree.Literal(known)
        if chars.intersection(self.raw, chars.of(char)):
            return tree.Literal(char)
        return tree.NEVER if self.escape == tree.NEVER else tree.Literal(f"\\u{code:04x}")


def ended(without: tree.Node, closing: str = "") -> tree.Node:
    """Any text that contains one of `without` before the `closing` at its end is complete."""
    own = bool(closing) and first_end(without, closing) == len(closing)
    return tree.seq(ANYTHING, without, *((CHARACTER, ANYTHING) if own else (ANYTHING,)))


def first_end(without: tree.Node, text: str) -> int | None:
    """The index in `text` after the first occurrence of any text of `without`; None if there is none."""
    automaton = _searching(without)
    state: DfaState | None = automaton.start
    for at, char in enumerate(text):
        state = automaton.after(state, char) if state is not None else None
        if state is not None and state.final:
            return at + 1
    return None


@lru_cache(maxsize=256)
def _searching(without: tree.Node) -> Automaton:
    return Automaton.of(tree.seq(ANYTHING, without))


@lru_cache(maxsize=256)
def first_characters(node: tree.Node) -> Ranges:
    """The characters with which the texts of a regular node begin."""
    automaton = Automaton.of(node)
    return chars.union(*(ranges for ranges, _ in automaton.moves(automaton.start)))


@lru_cache(maxsize=1024)
def alphabet(node: tree.Node) -> Ranges:
    """All characters in the texts of a regular node."""
    if isinstance(node, tree.Literal):
        return chars.of(node.text)
    if isinstance(node, tree.CharClass):
        return chars.complement(node.ranges) if node.negated else node.ranges
    if isinstance(node, tree.Repeat | tree.Seq | tree.Alt):
        return chars.union(*map(alphabet, node.inner))
    if isinstance(node, tree.Intersect):
        return reduce(chars.intersection, map(alphabet, node.parts), chars.ALL)
    return chars.ALL


def style_of(notation: Notation | StringStyle) -> StringStyle:
    """A notation's style of strings, or the style itself."""
    return _style(notation) if isinstance(notation, str) else notation


@lru_cache(maxsize=2)
def _style(notation: Notation) -> StringStyle:
    short = tuple(_SHORT.items())
    return StringStyle(RAW, short, _escape(notation), _QUOTE, _QUOTE)


@lru_cache(maxsize=1024)
def string_node(
    notation: Notation | StringStyle, contents: tuple[tree.Node, ...] = (), min_length: int = 0,
    max_length: int | None = None,
) -> tree.Node:  # fmt: skip
    """A string whose content matches all of `contents`; lengths count characters, however they are escaped."""
    style = style_of(notation)
    if len(contents) == 1 and (min_length or max_length is not None):
        bounded = within_lengths(contents[0], min_length, max_length)
        if bounded is not None:
            return style.written(escaped(bounded, notation))
    parts = [escaped(content, notation) for content in contents]
    if min_length or max_length is not None or not parts:
        parts.append(tree.repeat(any_character(notation), min_length, max_length))
    return style.written(tree.intersect(parts))


def within_lengths(content: tree.Node, low: int, high: int | None) -> tree.Node | None:
    """The strings of `content` with `low` to `high` characters; None if that needs an intersection.

    An intersection costs both engines an automaton of the size pattern times length; `^[a-z-]+$` with at most 64
    characters is just `[a-z-]{1,64}`.
    """
    if isinstance(content, tree.Alt):
        options = [within_lengths(option, low, high) for option in content.options]
        return None if None in options else tree.alt(*(option for option in options if option is not None))
    least, most = _lengths(content)
    if (most is not None and most < low) or (high is not None and least > high):
        return tree.NEVER
    if least >= low and (high is None or (most is not None and most <= high)):
        return content
    parts = content.parts if isinstance(content, tree.Seq) else (content,)
    variable = [i for i, part in enumerate(parts) if _lengths(part)[0] != _lengths(part)[1]]
    if len(variable) != 1:
        return None
    part = parts[variable[0]]
    if not isinstance(part, tree.Repeat) or _lengths(part.body) != (1, 1):
        return None
    fixed = sum(_lengths(other)[0] for i, other in enumerate(parts) if i != variable[0])
    fewest = max(part.minimum, low - fixed)
    mosts = [n for n in (part.maximum, None if high is None else high - fixed) if n is not None]
    return tree.seq(
        *parts[: variable[0]],
        tree.repeat(part.body, fewest, min(mosts, default=None)),
        *parts[variable[0] + 1 :],
    )


def _lengths(node: tree.Node) -> tuple[int, int | None]:
    """The minimal and maximal length of the node's strings, in characters; None: unbounded."""
    if isinstance(node, tree.Literal):
        return len(node.text), len(node.text)
    if isinstance(node, tree.CharClass):
        return 1, 1
    if isinstance(node, tree.Repeat):
        least, most = _lengths(node.body)
        no_end = most is None or node.maximum is None
        return least * node.minimum, None if no_end and most != 0 else (most or 0) * (node.maximum or 0)
    if isinstance(node, tree.Seq | tree.Alt | tree.Intersect):
        inner = [_lengths(part) for part in node.inner]
        ends = [most for _, most in inner if most is not None]
        if isinstance(node, tree.Seq):
            return sum(least for least, _ in inner), sum(ends) if len(ends) == len(inner) else None
        if isinstance(node, tree.Alt):
            least = min((least for least, _ in inner), default=0)
            return least, max(ends, default=0) if len(ends) == len(inner) else None
        return max(least for least, _ in inner), min(ends, default=None)
    return 0, None


@lru_cache(maxsize=2048)
def escaped(node: tree.Node, notation: Notation | StringStyle) -> tree.Node:
    """The escaped texts of the strings of `node`."""
    style = style_of(notation)
    if isinstance(node, tree.Literal):
        return tree.seq(*(style.character(ord(char)) for char in node.text))
    if isinstance(node, tree.CharClass):
        if node.ranges == chars.ALL:
            return any_character(notation)
        return _escaped_class(node.ranges, style)
    if isinstance(node, tree.Terminal):
        return escaped(node.body, notation)
    if isinstance(node, tree.Intersect):
        excluded = [escaped(part.body, notation) for part in node.parts if isinstance(part, tree.Except)]
        others = (escaped(part, notation) for part in node.parts if not isinstance(part, tree.Except))
        return tree.all_but(tree.intersect(others), *excluded)
    assert isinstance(node, tree.Repeat | tree.Seq | tree.Alt), "a string's content is regular"
    return tree.joined(node, [escaped(part, notation) for part in node.inner])


def _escaped_class(ranges: Ranges, style: StringStyle) -> tree.Node:
    special = chars.intersection(ranges, chars.complement(style.raw))
    raw = chars.intersection(ranges, style.raw)
    escapes = (style.character(code) for low, high in special for code in range(low, high + 1))
    return tree.alt(*((tree.CharClass(raw),) if raw else ()), *escapes)


@lru_cache(maxsize=64)
def any_character(notation: Notation | StringStyle) -> tree.Node:
    """Any character of a string, escaped or not."""
    style = style_of(notation)
    return (
        tree.CharClass(style.raw)
        if style.escape == tree.NEVER
        else tree.alt(tree.CharClass(style.raw), style.escape)
    )


@lru_cache(maxsize=2)
def _escape(notation: Notation) -> tree.Node:
    short = tree.CharClass(chars.of('"\\/bfnrt' if notation == "json" else '"\\nrt'))
    first = tree.CharClass(chars.of("0123456789abcefABCEF"))
    low_d = tree.seq(tree.CharClass(chars.of("dD")), tree.CharClass(((0x30, 0x37),)), _HEX, _HEX)
    code = tree.seq("u", tree.alt(tree.seq(first, tree.repeat(_HEX, 3, 3)), low_d))
    escapes = [short, code]
    if notation == "json":
        pair = tree.seq(
            "u", tree.CharClass(chars.of("dD")), tree.CharClass(chars.of("89abAB")), tree.repeat(_HEX, 2, 2),
            "\\u", tree.CharClass(chars.of("dD")), tree.CharClass(chars.of("cdefCDEF")), tree.repeat(_HEX, 2, 2),
        )  # fmt: skip
        escapes.append(pair)
    return tree.seq("\\", tree.alt(*escapes))


def quoted_style(quote: str, *, lines: bool = False, without: tree.Node = tree.NEVER) -> StringStyle:
    """Strings in that quotation mark, with JSON's escapes and an escape for the mark.

    With `lines`, line ends and tabs need no escape.
    """
    json = _style("json")
    plain = chars.subtract(chars.union(json.raw, chars.of('"\n\t' if lines else '"')), chars.of(quote))
    others = (each for each in json.short if each[0] != _QUOTE)
    short = (*others, (quote, f"\\{quote}"))
    mark = () if quote == _QUOTE else (f"\\{quote}",)
    return StringStyle(plain, short, tree.alt(json.escape, *mark), quote, quote, without=without)


MAX_RESERVED = 100
"""Characters of a word that is excluded: each is a level of a tree."""


@lru_cache(maxsize=256)
def word_except(reserved: frozenset[str], first: Ranges, following: Ranges) -> tree.Node:
    """The words made of these characters, including the empty word, except for the reserved ones.

    Raises GrammarError if one of these is too long for a tree with a level for each character.
    """
    if too_long := sorted(word for word in reserved if len(word) > MAX_RESERVED):
        raise GrammarError(
            f"A key of more than {MAX_RESERVED} characters cannot be distinguished from other keys.",
            where=json_excerpt(too_long[0], 60),
            hint="Shorten it, or allow no others beside it: additionalProperties: false.",
        )
    spelled = frozenset(word for word in reserved if _is_word(word, first, following))
    if spelled != reserved:
        return word_except(spelled, first, following)

    def from_prefix(prefix: str) -> tree.Node:
        branches = {word[len(prefix)] for word in reserved if word.startswith(prefix) and word != prefix}
        allowed = following if prefix else first
        free = chars.subtract(allowed, chars.of("".join(branches)))
        options: list[tree.Node] = [tree.seq(tree.CharClass(free), tree.repeat(tree.CharClass(following)))]
        options += (
            tree.seq(char, from_prefix(prefix + char))
            for char in sorted(branches)
            if chars.intersection(allowed, chars.of(char))
        )
        return tree.alt(*options) if prefix in reserved else tree.alt("", *options)

    return from_prefix("")


def _is_word(word: str, first: Ranges, following: Ranges) -> bool:
    if not word:
        return True
    inside = (chars.intersection(following, chars.of(char)) for char in word[1:])
    return bool(chars.intersection(first, chars.of(word[0]))) and all(inside)


def words_left_out(node: tree.Node) -> tuple[frozenset[str], Ranges, Ranges] | None:
    """The arguments of the `word_except` call that made the node; None if it was not made so, or excludes no word."""
    if not isinstance(node, tree.Alt):
        return None
    reserved: set[str] = set()
    begins: list[Ranges] = []
    following: Ranges = ()
    waiting: list[tuple[str, tuple[tree.Node, ...]]] = [("", (node,))]
    while waiting:
        prefix, rest = waiting.pop()
        options = rest[0].options if isinstance(rest[0], tree.Alt) else (tree.Seq(rest),)
        if tree.EMPTY not in options:
            reserved.add(prefix)
        for option in options:
            match option:
                case tree.Seq(
                    (tree.CharClass(ranges, False), tree.Repeat(tree.CharClass(more, False), 0, None))
                ):
                    following = more
                    begins += () if prefix else (ranges,)
                case tree.Seq((tree.Literal(text), *inner)) if inner and len(text) == 1:
                    begins += () if prefix else (chars.of(text),)
                    waiting.append((prefix + text, tuple(inner)))
                case tree.Seq(()):
                    pass
                case _:
                    return None
    arguments = frozenset(reserved), chars.union(*begins), following
    return arguments if reserved and word_except(*arguments) == node else None
