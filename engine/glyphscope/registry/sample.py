"""A short text that a regular expression matches, for examples: the common syntax is read, the result is verified."""

from __future__ import annotations

import re

from glyphscope.registry.patterns import found

_CLASSES = {"d": "0", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "n": "\n", "t": "\t", "r": "\r"}
_COUNT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_LONGEST = 200


class _UnreadableError(Exception):
    """Syntax that is not read here: look-around, back references, properties."""


def matching_text(pattern: str, least: int = 0) -> str | None:
    """A text of at least `least` characters that `pattern` finds a match in; None when none was found."""
    try:
        text, end = _branch(pattern, 0)
    except (_UnreadableError, IndexError, RecursionError):
        return None
    if end < len(pattern) or len(text) > _LONGEST:
        return None
    for filler in ("", "a", "0", "x.example"):
        grown = text + (filler * least)[: max(0, least - len(text))] if filler else text
        if len(grown) >= least and found(pattern, grown):
            return grown
    return None


def _branch(pattern: str, at: int) -> tuple[str, int]:
    """The first of the alternatives, written out; stops at the closing parenthesis or the end."""
    text, at = _sequence(pattern, at)
    while at < len(pattern) and pattern[at] == "|":
        _, at = _sequence(pattern, at + 1)
    return text, at


def _sequence(pattern: str, at: int) -> tuple[str, int]:
    text = ""
    while at < len(pattern) and pattern[at] not in "|)":
        atom, at = _atom(pattern, at)
        least, at = _quantifier(pattern, at)
        text += atom * min(least, _LONGEST)
        if len(text) > _LONGEST:
            raise _UnreadableError
    return text, at


def _atom(pattern: str, at: int) -> tuple[str, int]:
    char = pattern[at]
    if char in "^$":
        return "", at + 1
    if char == ".":
        return "a", at + 1
    if char == "[":
        return _set(pattern, at + 1)
    if char == "\\":
        return _escape(pattern[at + 1]), at + 2
    if char != "(":
        return char, at + 1
    if pattern.startswith("(?:", at):
        at += 2
    elif named := re.compile(r"\(\?P?<[A-Za-z]\w*>").match(pattern, at):
        at = named.end() - 1
    elif pattern.startswith("(?", at):
        raise _UnreadableError
    text, end = _branch(pattern, at + 1)
    if pattern[end] != ")":
        raise _UnreadableError
    return text, end + 1


def _escape(char: str) -> str:
    if char in _CLASSES:
        return _CLASSES[char]
    if char in "bBAzZ":
        return ""
    if char.isalnum():
        raise _UnreadableError
    return char


def _set(pattern: str, at: int) -> tuple[str, int]:
    """A character of a set: its first; for a set of what is excluded, a common one that it does not name."""
    negated = pattern[at] == "^"
    at += negated
    named = ""
    while pattern[at] != "]" or not named:
        if pattern[at] == "\\":
            named += _escape(pattern[at + 1]) or "\b"
            at += 2
        else:
            named += pattern[at]
            at += 1
    if not negated:
        return named[0], at + 1
    return next(c for c in "a0x-_ ~é" if c not in named), at + 1


def _quantifier(pattern: str, at: int) -> tuple[int, int]:
    """How often the atom before must stand at least."""
    least = 1
    if at < len(pattern) and pattern[at] in "*?+":
        least = 1 if pattern[at] == "+" else 0
        at += 1
    elif counted := _COUNT.match(pattern, at):
        least, at = int(counted[1]), counted.end()
    else:
        return least, at
    if at < len(pattern) and pattern[at] in "?+":  # lazy or possessive
        at += 1
    return least, at
