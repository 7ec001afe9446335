"""Bounds of a string's length put into its pattern, where that is simple: then no intersection is needed.

An intersection costs both engines an automaton of pattern times length; `^[a-z-]+$` of at most 64 characters is just
`[a-z-]{1,64}`.
"""

from __future__ import annotations

from glyphscope.grammar import tree
from glyphscope.grammar.tree import NEVER, Node, alt, repeat, seq


def within(content: Node, low: int, high: int | None) -> Node | None:
    """The strings of the content of `low` to `high` characters; None where only an intersection has them."""
    if isinstance(content, tree.Alt):
        options = [within(option, low, high) for option in content.options]
        return None if None in options else alt(*(option for option in options if option is not None))
    least, most = _lengths(content)
    if (most is not None and most < low) or (high is not None and least > high):
        return NEVER
    if least >= low and (high is None or (most is not None and most <= high)):
        return content
    parts = content.parts if isinstance(content, tree.Seq) else (content,)
    loose = [i for i, part in enumerate(parts) if _lengths(part)[0] != _lengths(part)[1]]
    if len(loose) != 1:
        return None
    part = parts[loose[0]]
    if not isinstance(part, tree.Repeat) or _lengths(part.body) != (1, 1):
        return None
    fixed = sum(_lengths(other)[0] for i, other in enumerate(parts) if i != loose[0])
    fewest = max(part.minimum, low - fixed)
    mosts = [n for n in (part.maximum, None if high is None else high - fixed) if n is not None]
    return seq(
        *parts[: loose[0]], repeat(part.body, fewest, min(mosts, default=None)), *parts[loose[0] + 1 :]
    )


def _lengths(node: Node) -> tuple[int, int | None]:
    """The fewest and the most characters of its strings; None is any number."""
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
