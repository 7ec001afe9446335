"""Terminals in llguidance's Lark: regular expressions in Rust's syntax, combined with `&` and `~`.

Excluded keys are written in the form `/"[a-z]*"/ & ~/"(from|to)"/`, with the `&` outermost (`_conditions`): only then
does llguidance detect that nearly every token of a vocabulary fits (measured: 9 µs for the mask of a token, but 320 µs
if the same keys are spelled letter by letter).
"""

from __future__ import annotations

import json
from functools import lru_cache

from glyphscope.base.errors import GrammarError
from glyphscope.base.visible import escaped
from glyphscope.grammar import tree
from glyphscope.grammar.regular.automaton import MAX_SEARCH, Automaton
from glyphscope.grammar.regular.strings import words_left_out
from glyphscope.grammar.time_limit import limited
from glyphscope.grammar.tree import Node, alt, repeat, seq, walk

_SECONDS = 0.5  # of CPU time, for whether a terminal matches any text
_SPECIAL = frozenset("\\.+*?()|[]{}^$#&-~/\"'")


def quoted(text: str) -> str:
    """A literal with Lark's quoting."""
    return escaped(json.dumps(text, ensure_ascii=False))  # Lark requires an escape for U+007F


def lexeme(node: Node) -> str:
    """The Lark expression of a terminal's body."""
    conditions = _conditions(node)
    if len(conditions) > 1:
        expressions = (f"{'' if required else '~'}{lexeme(part)}" for required, part in conditions)
        return f"({' & '.join(expressions)})"
    if not _has_intersection(node):
        return f"/{_regex(node) or '()'}/"  # two slashes alone begin a comment
    if isinstance(node, tree.Seq):
        return " ".join(lexeme(part) for part in node.parts)
    if isinstance(node, tree.Alt):
        return "(" + " | ".join(lexeme(option) for option in node.options) + ")"
    assert isinstance(node, tree.Repeat), "the only other node that can contain an intersection"
    return f"({lexeme(node.body)}){node.sign}"


def _regex(node: Node) -> str:
    """The regular expression of a node without references and intersections."""
    if isinstance(node, tree.Literal):
        return (
            node.text.translate(_ESCAPED) if node.text.isascii() else "".join(map(_char, map(ord, node.text)))
        )
    if isinstance(node, tree.CharClass):
        ranges = (_char(low) if low == high else f"{_char(low)}-{_char(high)}" for low, high in node.ranges)
        return f"[{'^' if node.negated else ''}{''.join(ranges)}]"
    if isinstance(node, tree.Seq):
        return "".join(_regex(part) for part in node.parts)
    if isinstance(node, tree.Alt):
        return "(" + "|".join(_regex(option) for option in node.options) + ")"
    assert isinstance(node, tree.Repeat), "a terminal refers to no rules"
    body = _regex(node.body)
    single = isinstance(node.body, tree.CharClass | tree.Alt) or (
        isinstance(node.body, tree.Literal) and len(node.body.text) == 1
    )
    return (body if single else f"({body})") + node.sign


def _char(code: int) -> str:
    char = chr(code)
    if char in _SPECIAL:
        return "\\" + char
    return char if 0x20 <= code < 0x7F else f"\\x{{{code:x}}}"


_ESCAPED = {code: _char(code) for code in range(128)}


def _conditions(node: Node) -> list[tuple[bool, Node]]:
    """The languages that contain the node's texts (True, at least one), then languages that contain none of them."""
    if isinstance(node, tree.Intersect):
        conditions = [condition for part in node.parts for condition in _conditions(part)]
        return sorted(conditions, key=lambda condition: not condition[0])
    if isinstance(node, tree.Except):
        return [(False, node.body)]
    left_out = words_left_out(node)
    if left_out is not None:
        words, first, following = left_out
        if first == following:  # llguidance detects the form only for a single repetition
            return [(True, repeat(tree.CharClass(first))), (False, alt(*sorted(words)))]
        some = seq(tree.CharClass(first), repeat(tree.CharClass(following)))
        return [(True, some if "" in words else alt("", some)), (False, alt(*sorted(words - {""})))]
    # The conditions of a node between two literals become those of the whole.
    match node:
        case tree.Seq(
            (tree.Literal() as before, tree.Alt() | tree.Intersect() as inner, tree.Literal() as after)
        ):
            return [(required, seq(before, part, after)) for required, part in _conditions(inner)]
    return [(True, node)]


@lru_cache(maxsize=512)
def is_possible(body: Node, search: int | None = None) -> bool | None:
    """Whether a terminal matches any text (only intersections may not); None if that is not decided in time or, with
    `search`, within so many states, on whichever machine.
    """
    if not _has_intersection(body):
        return True
    try:
        with limited(seconds=None if search else _SECONDS):
            return bool(Automaton.of(body, search or MAX_SEARCH).start.terms)
    except GrammarError:
        return None


def _has_intersection(node: Node) -> bool:
    return any(isinstance(inner, tree.Intersect) for inner in walk(node))
