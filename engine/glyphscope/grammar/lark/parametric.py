"""Entries in any order for llguidance: parametric rules whose parameter is the 64-bit set of the entries so far.

The required members have the first bits, then the other members, then the bits that count free entries: one bit per
entry, so that set bits can be counted over all entries, or a binary number, which takes fewer bits, if every member is
required. (https://github.com/guidance-ai/llguidance/blob/main/docs/parametric.md)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from glyphscope.grammar.tree import NEVER, Node, Unordered

BITS = 64
"""The size of llguidance's parameter."""


def bits_needed(node: Unordered) -> int:
    """The bits of the parameter that the entries take."""
    return len(node.members) + _free_bits(node)


class ParametricRules(NamedTuple):
    """The reference that replaces the entries, and the lines of the rules that it needs."""

    reference: str
    lines: list[str]


def parametric_rules(node: Unordered, name: str, spell: Callable[[Node], str]) -> ParametricRules:
    """The rules of the entries; their names begin with `name`, and no others may. `spell` writes a node in Lark."""
    rules = _Rules(node, f"{name}-more", spell)
    if node.leading:
        return ParametricRules(f"{rules.name}::0x0", rules.lines())
    return ParametricRules(name, [rules.beginning(name), *rules.lines()])


def _free_bits(node: Unordered) -> int:
    return node.counted.bit_length() if _as_number(node) else node.counted


def _as_number(node: Unordered) -> bool:
    """Whether free entries are counted as a binary number, because no other bits must be counted with them."""
    return node.required.bit_count() == len(node.members)


class _Rules:
    """The rules of one node. Entries are in the order of their bits: required members, then the others."""

    def __init__(self, node: Unordered, name: str, spell: Callable[[Node], str]) -> None:
        self._node, self.name = node, name
        places = range(len(node.members))
        required = [place for place in places if node.required >> place & 1]
        order = [*required, *(place for place in places if place not in required)]
        self._needed = len(required)  # the first bit after the required members
        self._named = len(node.members)  # the first bit after all members
        self._end = bits_needed(node)  # the first bit after the count of free entries
        self._separator = spell(node.separator)
        self._entries = [spell(node.members[place]) for place in order]
        self._free = "" if node.free == NEVER else spell(node.free)

    def beginning(self, name: str) -> str:
        """The rule of the first entry."""
        options = [f"{entry} {self.name}::{1 << bit:#x}" for bit, entry in enumerate(self._entries)]
        if self._free:
            first = f"{1 << self._named:#x}" if self._end > self._named else "0x0"
            options.append(f"{self._free} {self.name}::{first}")
        if self._node.may_end(0, 0):
            options.append('""')
        return f"{name}: {' | '.join(options)}"

    def lines(self) -> list[str]:
        """The rules of everything after an entry.

        Uncounted free entries are a separate loop, to which the next member returns: if each entry returned to the
        rule, the thousandth would cost llguidance a thousand steps.
        """
        options = [f'""{_when(self._complete())}']
        for bit, entry in enumerate(self._entries):
            when = [f"bit_clear({bit})", *([] if bit < self._needed else self._room())]
            options.append(f"{self._separator} {entry} {self.name}::set_bit({bit}){_when(when)}")
        free = f"{self._separator} {self._free}"
        if self._free and self._end == self._named:
            named = f"{self.name}-named"
            return [f"{self.name}::_: ({free})* {named}::_", f"{named}::_: {' | '.join(options)}"]
        if self._free:
            options += [f"{free} {self.name}::{change}{_when(when)}" for change, when in self._counting()]
        return [f"{self.name}::_: {' | '.join(options)}"]

    def _complete(self) -> list[str]:
        """The conditions under which the entries may end."""
        conditions = [f"is_ones([0:{self._needed}])"] if self._needed else []
        if self._node.low and _as_number(self._node):
            conditions.append(f"ge([{self._named}:{self._end}], {self._node.low - self._needed})")
        elif self._node.low:
            conditions.append(f"bit_count_ge([0:{self._end}], {self._node.low})")
        return conditions

    def _room(self) -> list[str]:
        """The conditions under which one more optional entry may come; required ones always may."""
        if self._node.high is None:
            return []
        most = self._node.high - self._needed
        if _as_number(self._node):
            return [f"lt([{self._named}:{self._end}], {most})"]
        return [f"bit_count_lt([{self._needed}:{self._end}], {most})"]

    def _counting(self) -> Iterator[tuple[str, list[str]]]:
        """The changes of the parameter by a free entry, each with its conditions; only one applies at a time."""
        if _as_number(self._node):
            yield f"incr([{self._named}:{self._end}])", self._room()
        else:
            for bit in range(self._named, self._end):
                before = [f"bit_set({bit - 1})"] if bit > self._named else []
                yield f"set_bit({bit})", [*before, f"bit_clear({bit})", *self._room()]
            if self._node.high is None:
                yield "_", [f"bit_set({self._end - 1})"]


def _when(conditions: list[str]) -> str:
    """The conditions after an alternative, all of which must be true."""
    if not conditions:
        return ""
    whole = conditions[-1]
    for condition in reversed(conditions[:-1]):
        whole = f"and({condition}, {whole})"
    return f" %if {whole}"
