"""Common errors of newcomers to GBNF, with helpful messages: quotes, comments, signs and names of other notations.

`misplaced` explains a character that does not begin a token; to explain another error, add a case there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from glyphscope.base.visible import character_words
from glyphscope.grammar.gbnf.diagnostics import Diagnostic, fix, report
from glyphscope.grammar.gbnf.parse.syntax import RuleSyntax
from glyphscope.grammar.rules import RuleNames

_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9-]+")

HEAD_ALIKE = re.compile(r"(<)?((?:[\w-]++)(?:[ \t]++[\w-]++)*?)(?(1)>)[ \t]*+(::=|:=|::|=>|->|[=:→])(?![=:])")
"""The beginning of a rule in other notations. Groups: 1 `<`, 2 the name, 3 the sign."""
SPLIT_HEAD = re.compile(r"(<)?([\w-]++)(?(1)>)[ \t]*+(?:\r\n|\n|\r)\s*+(::=)")
"""A name and its `::=` with a line end between them; the same groups."""
NEXT_HEAD = re.compile(r"^[ \t]*+[\w-]++[ \t]*+::=", re.MULTILINE)
_SEARCHED = 2_000
"""The number of code points searched for the end of a foreign quote or comment."""
_SINGLE_QUOTED = re.compile(r"'((?:[^'\\\r\n]++|\\[^\r\n])*+)'")
_CURLY_QUOTED = re.compile(r"[“”„]([^“”„\"\\\r\n]*+)[“”„]")
_LINE = re.compile(r"[^\r\n]*+")
_BLOCK_COMMENT = re.compile(r"/\*[^\r\n]*?\*/")
_BRACES = re.compile(r"\{[^{}()\[\]\"|\r\n]{0,40}+\}?")
_UP_TO = re.compile(r"\{[ \t]*,[ \t]*([0-9]+)[ \t]*\}")
_TOKEN_ID = re.compile(r"<\[[ \t]*([0-9]+)[ \t]*\]?[ \t]*>")
_WORD = re.compile(r"<[^\s<>|()\"]*>?")
SPACES = "\u00a0\u2002\u2003\u2009\u200b\u3000\ufeff\x0b\x0c\x85\u2028\u2029"
"""Characters that look like white space but are not for llama.cpp."""


class Misplaced(NamedTuple):
    """A problem, the place where reading continues, and the content of the quotes if a quoted text was meant."""

    problem: Diagnostic
    end: int
    quoted: str | None = None


def misplaced(text: str, start: int, limit: int) -> Misplaced:
    """The problem of the character at `start`, which does not begin a token; the text is read up to `limit`."""
    sign = text[start]
    if sign == "'" and (match := _SINGLE_QUOTED.match(text, start, min(limit, start + _SEARCHED))):
        raw = match[1].replace("\\'", "'").replace('\\"', '"').replace('"', '\\"')
        message = "GBNF has texts in double quotes only. Write them instead of `'`."
        return _replaced(message, match, f'"{raw}"', "Write double quotes", raw)
    if sign in "“”„" and (match := _CURLY_QUOTED.match(text, start, min(limit, start + _SEARCHED))):
        message = "These are typographic quotes. Write straight ones."
        return _replaced(message, match, f'"{match[1]}"', "Write straight quotes", match[1])
    if text.startswith("//", start) and (match := _LINE.match(text, start, limit)):
        repair = fix("Write `#`", (start, start + 2, "#"))
        message = "A comment begins with `#` in GBNF."
        return Misplaced(report("unexpected-text", message, start, start + 2, repair), match.end())
    if match := _BLOCK_COMMENT.match(text, start, min(limit, start + _SEARCHED)):
        message = "GBNF has no comments in `/* */`. Write them behind `#`, to the end of the line."
        return _replaced(message, match, "", "Delete it")
    if sign == "{":
        return _bad_braces(text, start, limit)
    if sign in "<!":
        return _bad_token(text, start, limit)
    end = start + 1
    repair = fix("Delete it", (start, end, ""))
    if sign in ";,":
        message = f"GBNF has no `{sign}`: items follow each other, and a rule ends with its line. Delete it."
    elif sign in "]}":
        message = (
            f"A `{sign}` without a `{'[' if sign == ']' else '{'}` before it. Delete it, or put it in quotes."
        )
    elif sign in SPACES:
        message = f"An invisible character (U+{ord(sign):04X}) that llama.cpp does not read as a space. Write a space."
        repair = fix("Write a space", (start, end, " "))
    elif sign == "\\":
        message = "A backslash means something only in quotes and brackets. Delete it."
    else:
        shown = character_words(sign)
        message = f"`{shown}` means nothing here. Put it in quotes if the text shall have it, or delete it."
    return Misplaced(report("unexpected-text", message, start, end, repair), end)


def _replaced(
    message: str, match: re.Match[str], new: str, title: str, quoted: str | None = None
) -> Misplaced:
    """The problem of the matched text, with the replacement `new` as its fix."""
    start, end = match.span()
    repair = fix(title, (start, end, new))
    return Misplaced(report("unexpected-text", message, start, end, repair), end, quoted)


def _bad_braces(text: str, start: int, limit: int) -> Misplaced:
    match = _BRACES.match(text, start, limit)
    end = match.end() if match else start + 1
    message = "Braces give the number of repetitions: `{3}`, `{3,}` for 3 or more, `{3,5}` for 3 to 5."
    repair = None
    if up_to := _UP_TO.match(text, start, limit):
        message = "The least number is missing. Write 0 for “up to”."
        repair = fix("Write 0", (start, end, "{0," + up_to[1] + "}"))
    return Misplaced(report("bad-repetition", message, start, end, repair), end)


def _bad_token(text: str, start: int, limit: int) -> Misplaced:
    if text[start] == "!" and not text.startswith("!<", start):
        message = (
            "`!` is allowed only before a token: `!<[5]>`. For other characters write a class, as in `[^a]`."
        )
        repair = fix("Delete it", (start, start + 1, ""))
        return Misplaced(report("unexpected-text", message, start, start + 1, repair), start + 1)
    begin = start + (text[start] == "!")
    if match := _TOKEN_ID.match(text, begin, limit):
        message = "A token by its id is `<[123]>`, without spaces."
        repair = fix("Write it so", (begin, match.end(), f"<[{match[1]}]>"))
        return Misplaced(report("unclosed-token", message, start, match.end(), repair), match.end())
    word = _WORD.match(text, begin, limit)
    end = word.end() if word else begin + 1
    if text.startswith("<[", begin):
        message = "`<[` begins a token's id: a number, as in `<[123]>`."
    elif text.startswith(">", end - 1, limit):
        message = "No model has such a token. Write its text, as in `<think>`, or its id, as in `<[123]>`."
    else:
        message = 'The `>` of this token is missing, as in `<think>`. For the sign itself write `"<"`.'
    return Misplaced(report("unclosed-token", message, start, end), end)


def bad_names(
    places: Mapping[str, Sequence[tuple[int, int]]], rules: Sequence[RuleSyntax]
) -> list[Diagnostic]:
    """A problem for each place of a bad name, given the places of each name; every fix renames all of them."""
    names = RuleNames(
        {name for rule in rules for name in (rule.name, *(r.name for r in rule.references))} - places.keys()
    )
    problems = []
    for name, spans in places.items():
        new = names.fresh(_NOT_OF_A_NAME.sub("-", name).strip("-") or "rule")
        repair = fix(f"Rename it to {new} everywhere", *((start, end, new) for start, end in spans))
        what = "`_`" if name.isascii() else "these letters"
        message = f"A rule's name has only letters a-z, A-Z, digits and `-`: llama.cpp stops at {what}. Write {new}."
        problems += [report("bad-name", message, start, end, repair) for start, end in spans]
    return problems
