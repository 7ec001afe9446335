"""What depends on a rule's text alone is found once: at a keystroke all rules but one are as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from glyphscope.grammar.gbnf.syntax import GbnfRule

Found = TypeVar("Found")

_MOST = 50_000
_LONGEST = 20_000
"""Rules longer than this (code points) are not remembered: the memory is for many short ones."""


class PerRule(Generic[Found]):
    """A function of a rule and its document's text that may look at nothing but the rule; places from its start."""

    def __init__(self, find: Callable[[GbnfRule, str], Found]) -> None:
        self._find = find
        self._found: dict[tuple[str, str], Found] = {}

    def __call__(self, rule: GbnfRule, text: str) -> Found:
        if rule.end - rule.start > _LONGEST:
            return self._find(rule, text)
        # the name too: a rule may have got one that is not in its text
        key = (rule.name, text[rule.start : rule.end])
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= _MOST:
                self._found.clear()
            found = self._found[key] = self._find(rule, text)
        return found
