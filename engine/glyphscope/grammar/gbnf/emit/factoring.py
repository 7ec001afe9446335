"""Alternatives with common prefixes factored out, letter by letter."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from glyphscope.grammar.time_limit import check_time
from glyphscope.grammar.tree import EMPTY, Alt, Literal, Node, RuleRef, Seq, alt, seq
from glyphscope.text.lines import common_length

MAX_BESIDE = 8  # alternatives that are not factored
_MAX_DEPTH = 16  # prefixes in each other in one rule


class _Option(NamedTuple):
    """An alternative that begins with a literal, its number among all of them, and what follows the literal."""

    text: str
    number: int
    rest: tuple[Node, ...]


class _Group(NamedTuple):
    """The options from `low` to `high` (exclusive), which have their first `at` letters in common."""

    low: int
    high: int
    at: int


class Factoring:
    """The alternatives as `whole`; `rules` must be read once, which makes the rest of the rules it refers to.

    `new_rule(hint, body)` makes a rule.
    """

    def __init__(self, options: Sequence[Node], new_rule: Callable[[str, Node], RuleRef]) -> None:
        self._new_rule = new_rule
        self._waiting: list[tuple[str, _Group]] = []
        others: list[tuple[int, Node]] = []
        begun: list[_Option] = []
        for index, option in enumerate(options):
            first, *rest = option.parts if isinstance(option, Seq) and option.parts else (option,)
            if isinstance(first, Literal) and first.text:
                begun.append(_Option(first.text, index, tuple(rest)))
            else:
                others.append((index, option))
        self._options = sorted(begun, key=itemgetter(0))
        self.whole = self._factored(_Group(0, len(begun), 0), others, 0)

    def rules(self) -> Iterator[tuple[str, Node]]:
        """The bodies of the rules that were made without one."""
        while self._waiting:
            check_time()
            name, group = self._waiting.pop()
            yield name, self._factored(group, [], 0)

    def _factored(self, group: _Group, others: Sequence[tuple[int, Node]], depth: int) -> Node:
        low, high, at = group
        options = self._options
        if high - low + len(others) <= MAX_BESIDE:
            return _in_order([*others, *((o.number, _from(o, at)) for o in options[low:high])])
        if depth >= _MAX_DEPTH:
            rule = self._new_rule(str(at), EMPTY)
            self._waiting.append((rule.name, group))
            return rule
        parts = [*others]
        while low < high and len(options[low].text) == at:
            parts.append((options[low].number, _from(options[low], at)))
            low += 1
        while low < high:
            first = options[low].text
            end = bisect_right(options, first[at], low, high, key=lambda option: option.text[at])
            node = _from(options[low], at)
            if end - low > 1:
                common = at + common_length(first[at:], options[end - 1].text[at:])
                rest = self._factored(_Group(low, end, common), (), depth + 1)
                if isinstance(rest, Alt) and len(rest.options) > MAX_BESIDE:
                    rest = self._new_rule(str(common - at), rest)
                node = seq(first[at:common], rest)
            parts.append((min(map(itemgetter(1), options[low:end])), node))
            low = end
        return _in_order(parts)


def _from(option: _Option, at: int) -> Node:
    """The option from a letter of its literal on."""
    return seq(option.text[at:], *option.rest)


def _in_order(parts: Sequence[tuple[int, Node]]) -> Node:
    return alt(*(node for _, node in sorted(parts, key=itemgetter(0))))
