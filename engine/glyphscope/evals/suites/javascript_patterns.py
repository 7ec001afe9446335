"""Regular expressions as `new RegExp(text)` reads them: what it rejects, or reads in another way than a suite does."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"(?P<escape>\\(?:k<[^>]*>|c[A-Za-z]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.))"
    r"|(?P<group>\((?:\?(?:<?[=!]|:|<[^\W\d][\w$]*>)|(?!\?)))"
    r"|(?P<quantifier>(?:[*+?]|\{\d+(?:,\d*)?\})\??)"
    r"|(?P<edge>[\^$|])|(?P<end>\))|(?P<brace>\{,\d*\}|\{\s|\{\d+\s*,\s+)|(?P<other>.)",
    re.DOTALL,
)
_CLASS = re.compile(r"\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL)
_SAME = frozenset("dDwWsSbBnrtfv0123456789")
"""Letters and digits after a backslash that mean the same in a suite's patterns; any other letter is itself here."""


def js_pattern_problem(pattern: str) -> str:
    """Why a suite cannot have this pattern of JavaScript; empty if it can."""
    place, repeatable = 0, False
    opened: list[bool] = []
    while place < len(pattern):
        if pattern[place] == "[":
            found = _CLASS.match(pattern, place)
            if found is None:
                return "JavaScript rejects this regular expression: a class is not closed."
            if problem := _class_problem(found[0]):
                return problem
            place, repeatable = found.end(), True
            continue
        token = _TOKEN.match(pattern, place)
        assert token is not None
        text, kind = token[0], token.lastgroup
        if kind == "escape" and (problem := _escape_problem(text, pattern)):
            return problem
        if kind == "quantifier" and not repeatable:
            return f"JavaScript rejects this regular expression: {text} has nothing to repeat."
        if kind == "brace":
            return f"JavaScript reads {text.strip()} as text, and others as a repeat."
        if kind == "other" and text == "(":
            return _group_problem(pattern[place:])
        if kind == "group":
            opened.append(not text.startswith("(?<") or text[3:4] not in ("=", "!"))
        if kind == "end" and opened:
            repeatable = opened.pop()
        else:
            edge = text in ("\\b", "\\B")
            repeatable = kind in ("escape", "other", "end") and not edge
        place = token.end()
    return ""


def _group_problem(rest: str) -> str:
    start = re.match(r"\(\?[^)]{0,10}", rest)
    shown = start[0] if start is not None else "("
    return f"JavaScript rejects this regular expression: it has no group like {shown}."


def _escape_problem(text: str, pattern: str) -> str:
    letter = text[1:2]
    if re.search(r"(?<!\\)(?:\\\\)*\\0\d", pattern):
        return "JavaScript reads digits after \\0 as an octal number, and others do not."
    if letter == "k" and len(text) > 2 and f"(?{text[2:]}" in pattern:
        return ""
    if not letter:
        return "JavaScript rejects this regular expression: it ends with a backslash."
    plain = len(text) == 2 and letter.isalnum() and letter not in _SAME
    if plain or (letter == "k" and len(text) > 2):
        return f"JavaScript reads {text} as the letter {letter}, and others do not."
    return ""


def _class_problem(text: str) -> str:
    inner = text[1:-1].removeprefix("^")
    if not inner:
        return f"The class {text} of JavaScript, which is empty or everything, is not expressible in a suite."
    for escape in re.findall(r"\\(?:c[A-Za-z]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", inner, re.DOTALL):
        if escape != "\\b" and (problem := _escape_problem(escape, "")):
            return problem
    if re.search(r"&&|--|~~|\|\||\[", inner):
        return f"The class {text} is not read alike everywhere: escape its signs."
    return ""
