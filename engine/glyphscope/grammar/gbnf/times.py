"""Repetitions within what llama.cpp takes.

Its parser (src/llama-grammar.cpp, MAX_REPETITION_THRESHOLD) makes a rule for each optional repetition, refuses
`{m,n}` where the rules made for the repeated group times n reach 2,000, and reads an n above 2,000 as unbounded.
"""

from __future__ import annotations

from collections.abc import Callable

from glyphscope.grammar.tree import Alt, CharClass, Literal, Node, Repeat, RuleRef, Seq, repeat, seq

LIMIT = 1999
BLOCK = 1000


def expansion(body: Node, minimum: int, maximum: int | None) -> int | None:
    """The rules llama.cpp makes for the repetition; None where it would refuse the body as it is."""
    made = _made(body, grouped=True)
    count = maximum or minimum or 1
    return None if made > 1 and made * min(count, LIMIT) > LIMIT // 2 else made * count


def _made(node: Node, *, grouped: bool = False) -> int:
    """How many rules the parser makes inside a node; a group is one of them."""
    if isinstance(node, Seq):
        return int(grouped) + sum(_made(part, grouped=isinstance(part, Alt)) for part in node.parts)
    if isinstance(node, Alt):
        return 1 + sum(_made(option) for option in node.options)
    if isinstance(node, Repeat):
        optional = 1 if node.maximum is None else node.maximum - node.minimum
        single = isinstance(node.body, CharClass | Literal | RuleRef)
        return int(grouped) + optional + (0 if single else _made(node.body, grouped=True))
    return int(not isinstance(node, CharClass | Literal | RuleRef))


def times(body: Node, minimum: int, maximum: int | None, block: Callable[[Node], Node]) -> Node:
    """`body` from `minimum` to `maximum` times, exactly; `block` gives the reference to a rule for a body."""
    if max(minimum, maximum or 0) <= LIMIT:
        return repeat(body, minimum, maximum)
    if not isinstance(body, CharClass | RuleRef):
        body = block(body)
    thousand = block(repeat(body, BLOCK, BLOCK))
    wanted = seq(
        times(thousand, minimum // BLOCK, minimum // BLOCK, block), repeat(body, *[minimum % BLOCK] * 2)
    )
    if maximum is None:
        return seq(wanted, repeat(body))
    if maximum == minimum:
        return wanted
    more = maximum - minimum
    if more <= LIMIT:
        return seq(wanted, repeat(body, 0, more))
    # Any number of blocks and then at least as many more as a block has: every number up to the end is reached.
    blocks = (more - (BLOCK - 1)) // BLOCK
    return seq(wanted, times(thousand, 0, blocks, block), repeat(body, 0, more - blocks * BLOCK))
