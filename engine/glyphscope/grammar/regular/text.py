"""Regular expressions in Rust's syntax, for llguidance."""

from __future__ import annotations

from glyphscope.grammar import tree
from glyphscope.grammar.tree import Node

_SPECIAL = frozenset("\\.+*?()|[]{}^$#&-~/\"'")


def regex_text(node: Node) -> str:
    """The regular expression of a node without references and intersections."""
    if isinstance(node, tree.Literal):
        return (
            node.text.translate(_ESCAPED) if node.text.isascii() else "".join(map(_char, map(ord, node.text)))
        )
    if isinstance(node, tree.CharClass):
        ranges = (_char(low) if low == high else f"{_char(low)}-{_char(high)}" for low, high in node.ranges)
        return f"[{'^' if node.negated else ''}{''.join(ranges)}]"
    if isinstance(node, tree.Seq):
        return "".join(regex_text(part) for part in node.parts)
    if isinstance(node, tree.Alt):
        return "(" + "|".join(regex_text(option) for option in node.options) + ")"
    assert isinstance(node, tree.Repeat), "a terminal refers to no rules"
    body = regex_text(node.body)
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
