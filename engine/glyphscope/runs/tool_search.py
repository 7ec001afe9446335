"""Finds tools by words or by a regular expression, as a conversation searches for those that are not in its prompt."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Sequence

from glyphscope.base.figures import duration
from glyphscope.events import ToolSearch
from glyphscope.grammar.regular import pattern
from glyphscope.registry import Tool
from glyphscope.registry.patterns import bad_schema_pattern

MAX_QUERY = 200
"""Characters of a query."""
MAX_SECONDS = 2.0
"""Seconds in which a regular expression searches all tools."""
_SATURATION, _LENGTH = 1.2, 0.75
"""The usual parameters of BM25: how soon more of the same word counts no more, and how much a long text loses."""
_OF_NAME = 3
"""A word of a tool's name counts as so many words of its description."""
_MAX_TEXT = 2_000
"""Characters of a description that are searched."""
_WORD = re.compile(r"[^\W_]+")
_COMMON = frozenset(
    _WORD.findall(
        "a all am an and any are as at be been but by can could did do does for from had has have he her here his how "
        "if in into is it its like me my no not now of on or our out please right she should so some than that "
        "the their them then there these they this to up us was we were what when where which who why will with would "
        "you your"
    )
)
"""Words that sentences have, not tools: rare in descriptions, they would decide what is found."""
_INNER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class SearchError(Exception):
    """A query that cannot be searched for; the message is for the model."""


class ToolIndex:
    """The tools in which a conversation searches; "names" reads only their names, "bm25" and "regex" all of them."""

    def __init__(self, tools: Sequence[Tool], by: ToolSearch) -> None:
        self._tools, self._by = tuple(tools), by
        self._documents = [Counter(_words_of(tool, by)) for tool in self._tools]
        self._lengths = [document.total() for document in self._documents]
        self._mean = sum(self._lengths) / max(len(self._lengths), 1) or 1.0
        self._holders = Counter(word for document in self._documents for word in document)

    def ranked(self, query: str) -> list[str]:
        """The names of the tools that fit, the best first; equally good ones in their own order. Raises SearchError."""
        if self._by == "regex":
            return self._matched(query)
        asked = [word for word in dict.fromkeys(words(query)) if word in self._holders]
        scores = [sum(self._score(word, place) for word in asked) for place in range(len(self._tools))]
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        return [self._tools[place].name for place in order if scores[place] > 0]

    def _score(self, word: str, place: int) -> float:
        """The share of one word in the score of a document: BM25."""
        count = self._documents[place][word]
        if not count:
            return 0.0
        holders, total = self._holders[word], len(self._tools)
        rarity = math.log(1 + (total - holders + 0.5) / (holders + 0.5))
        length = 1 - _LENGTH + _LENGTH * self._lengths[place] / self._mean
        return rarity * count * (_SATURATION + 1) / (count + _SATURATION * length)

    def _matched(self, query: str) -> list[str]:
        """The tools in whose text the pattern is found, those with it in their names first."""
        problem = bad_schema_pattern(query)
        if not problem and not pattern.linear(query):
            problem = f"This regular expression cannot be searched for: {pattern.why_late(query)}."
        if problem:
            raise SearchError(problem)
        until = time.monotonic() + MAX_SECONDS
        in_name, elsewhere = [], []
        for tool in self._tools:
            if _found(query, tool.name):
                in_name.append(tool.name)
            elif any(_found(query, text) for text in _texts(tool)):
                elsewhere.append(tool.name)
            if time.monotonic() > until:
                raise SearchError(
                    f"The search took more than {duration(MAX_SECONDS)}. Use a simpler expression."
                )
        return [*in_name, *elsewhere]


def words(text: str) -> list[str]:
    """The words of a text or a name in lower case, without those of any sentence and the s of a plural: list and
    invoice of `listTheInvoices`.
    """
    found = _WORD.findall(_INNER.sub(" ", text).lower())
    return [_singular(word) for word in found if word not in _COMMON]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _words_of(tool: Tool, by: ToolSearch) -> list[str]:
    named = words(tool.name)
    if by == "names":
        return named
    return [*named * _OF_NAME, *(word for text in _texts(tool) for word in words(text))]


def _texts(tool: Tool) -> list[str]:
    """Its description, and the names and descriptions of its arguments."""
    properties = tool.parameters.get("properties", {})
    about = (str(one.get("description", "")) for one in properties.values() if isinstance(one, dict))
    return [text[:_MAX_TEXT] for text in (tool.description, *properties, *about) if text]


def _found(query: str, text: str) -> bool:
    """Whether the pattern matches anywhere in the text, as it is written or in lower case."""
    return bool(pattern.found(query, text) or pattern.found(query, text.lower()))
