"""Splits a grammar's text into words, a line at a time: for colours, completion, and finding a rule while typing.

It is only a lexer: it never fails, and is correct if the text is. Positions count characters of the given line or text
from 0. The window's editor, `glyphscope lsp` and the Pygments lexers use it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

_GBNF = {
    "comment": r"#.*",
    "literal": r'"(?:[^"\\\n]|\\.)*"?',
    "class": r"\[(?:[^\]\\\n]|\\.)*\]?",
    "token": r"!?<[^>\s]*>?",
    "definition": r"[A-Za-z0-9_-]+(?=[ \t]*::=)",
    "name": r"[A-Za-z0-9_-]+",
    "bounds": r"\{[^}\n]*\}?",
    "mark": r"::=|[|*+?.()]",
}
"""`token` before `name`, `comment` before all: if two could begin, the first wins, as in llama.cpp."""
_GBNF_ACROSS = {"literal": r'"(?:[^"\\]|\\[\s\S])*"?', "class": r"\[(?:[^\]\\]|\\[\s\S])*\]?"}
_LARK = {
    "comment": r"(?:#|//).*",
    "literal": r'"(?:[^"\\\n]|\\.)*(?:"i?)?',
    "class": r"/(?:[^/\\\n]|\\.)+(?:/[a-z]*)?",
    "token": r"%[a-z]*|<[^<>\s]*>?|@[\w-]+",
    "definition": r"\b[A-Za-z_][A-Za-z0-9_-]*(?=(?:::_)?[ \t]*(?:\[[^\]\n]*\])?[ \t]*:(?![:\"]))",
    "name": r"[A-Za-z_][A-Za-z0-9_-]*",
    "bounds": r"\{[ \d,]*\}|~[ ]*\d+(?:[ ]*\.\.[ ]*\d+)?",
    "mark": r"::|->|[:|*+?.()\[\]{}~&,=!]",
}

_NESTED = "%lark"
"""Before the braces of a grammar inside of a rule."""


class Word(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class LineLexer:
    """The words of a language by kind. `sign` follows the name of a rule that is defined; `names` match names."""

    kinds: Mapping[str, str]
    """Regular expressions that Python and Oniguruma (TextMate) read alike; the first that matches counts."""
    sign: str
    names: tuple[re.Pattern[str], ...]
    """The forms of names; in Lark, of rules and of terminals."""
    across: Mapping[str, str] = field(default_factory=dict)
    """The kinds that may contain line breaks, with their expressions in a whole text."""

    @cached_property
    def _word(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?P<{kind}>{words})" for kind, words in self.kinds.items()))

    @cached_property
    def _word_of_text(self) -> re.Pattern[str]:
        kinds = {**self.kinds, **self.across}
        return re.compile("|".join(f"(?P<{kind}>{words})" for kind, words in kinds.items()))

    def words(self, line: str) -> Iterator[Word]:
        """The words of a line, or of the lines of a text, each alone."""
        return _words(self._word, line)

    def words_of_text(self, text: str) -> Iterator[Word]:
        """The words of a text as the engine reads it; each line alone if a word with line breaks is not closed."""
        if self.across:
            closed = {"literal": '"', "class": "]"}
            found = list(_words(self._word_of_text, text))
            if all(len(word.text) > 1 and word.text.endswith(closed.get(word.kind, ""))
                   for word in found if word.kind in self.across):  # fmt: skip
                return iter(found)
        return self.words(text)

    def name_at(self, line: str, index: int) -> Word | None:
        """The rule name that contains the place or ends there."""
        return _name_at(self.words(line), index)

    def definition_in(self, line: str) -> Word | None:
        """The first rule that is defined on the line."""
        if self.sign not in line:
            return None
        return next((word for word in self.words(line) if word.kind == "definition"), None)

    def name_in(self, text: str, index: int) -> Word | None:
        """Like `name_at`, in a text of several lines."""
        return _name_at(self.words_of_text(text), index)

    def words_around(self, text: str, at: int = -1) -> Iterator[Word]:
        """The words of the grammar that contains the place, by default of the outermost one.

        A `%lark` block of a Lark grammar is a separate grammar: its rules are unknown around it, and inversely.
        """
        found = self.words_of_text(text)
        if _NESTED not in text:
            return found
        numbered: list[tuple[int, Word]] = []
        braces, newest, here, before = [0], 0, 0, ""  # of each open brace, the number of its grammar
        for word in found:
            if word.kind == "mark" and word.text == "{":
                newest += before == _NESTED
                braces.append(newest if before == _NESTED else braces[-1])
            numbered.append((braces[-1], word))
            here = braces[-1] if word.start <= at else here
            if word.kind == "mark" and word.text == "}" and len(braces) > 1:
                braces.pop()
            before = before if word.kind == "comment" else word.text
        return (word for number, word in numbered if number == here)

    def find_definition(self, text: str, name: str, at: int = -1) -> int | None:
        """The position at which the rule of that name is defined, in the grammar that contains the place `at`."""
        if name not in text:
            return None
        words = self.words_around(text, at)
        return next((word.start for word in words if word.kind == "definition" and word.text == name), None)

    def occurrences(self, text: str, name: str, at: int = -1) -> list[int]:
        """Return the positions at which the rule is defined and used, except in literals, classes and comments.

        They are in the grammar that contains the place `at`.
        """
        if name not in text:
            return []
        named = (word for word in self.words_around(text, at) if word.kind in ("name", "definition"))
        return [word.start for word in named if word.text == name]

    def is_name(self, text: str, of: str = "") -> bool:
        """Whether the engine accepts the text as the name of a rule, in place of the name `of` of the same kind."""
        forms = [form for form in self.names if form.fullmatch(of)] or self.names
        return any(form.fullmatch(text) for form in forms)

    def takes_name(self, before: str) -> bool:
        """Whether a rule may be used after this beginning of a line: not inside literals, classes and comments, and not
        at the name of a new rule.
        """
        last = next(iter(deque(self.words(before), maxlen=1)), None)
        if last is not None and last.end == len(before):
            if last.kind == "comment":
                return False
            if last.kind == "literal" and (len(last.text) == 1 or not last.text.endswith('"')):
                return False
            if last.kind == "class" and (len(last.text) == 1 or last.text[-1] not in "]/"):
                return False
        return self.definition_in(before) is not None or before[:1] in (" ", "\t", "|", "(")


def _words(word: re.Pattern[str], text: str) -> Iterator[Word]:
    for match in word.finditer(text):
        yield Word(match.lastgroup or "mark", match.group(), match.start(), match.end())


def _name_at(words: Iterator[Word], index: int) -> Word | None:
    for word in words:
        if word.start > index:
            return None
        if word.end >= index and word.kind in ("name", "definition"):
            return word
    return None


def prefix_of(before: str) -> str:
    """The beginning of a name with which this beginning of a line ends."""
    return _PREFIX.search(before)[0]  # type: ignore[index]


def offered(names: Iterable[str], prefix: str) -> list[str]:
    """The names that contain the typed characters, those that begin with them first."""
    typed = prefix.lower()
    return [
        name
        for _, name in sorted(
            (not name.lower().startswith(typed), name) for name in names if typed in name.lower()
        )
    ][:MAX_OFFERED]


_PREFIX = re.compile(r"[\w-]*$")
MAX_OFFERED = 200
"""Names in a list of completions."""


LEXERS = {
    "GBNF": LineLexer(_GBNF, "::=", (re.compile(r"[A-Za-z0-9-]+"),), _GBNF_ACROSS),
    "Lark": LineLexer(_LARK, ":", (re.compile(r"_?[a-z][_a-z0-9-]*"), re.compile(r"_?[A-Z][_A-Z0-9-]*"))),
}
"""By the name of the language."""
