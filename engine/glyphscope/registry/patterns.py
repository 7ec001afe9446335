"""Errors in regular expressions: those of schemas (`pattern_syntax`), and of suites, matched by the package `regex`."""

from __future__ import annotations

import re
from functools import lru_cache

from glyphscope.registry.pattern_syntax import PatternError, UnreadablePattern, parse

MAX_LENGTH = 10_000
"""The maximum length of a regular expression, in characters."""

MAX_SIZE = 200_000
"""The maximum number of atoms with counted repeats written out: `(((a{1000}){1000}){1000})` would take
12 s and gigabytes to compile."""

_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\]\\])+\]|\{(\d+)(?:,(\d*))?\}|.", re.DOTALL)


@lru_cache(maxsize=4096)
def bad_schema_pattern(pattern: str) -> str:
    """Why a schema with this pattern is invalid; empty if it is not, also if engines read the pattern differently."""
    if reason := _too_large(pattern):
        return reason
    try:
        parse(pattern)
    except UnreadablePattern:
        return ""
    except PatternError as error:
        return f"Invalid regular expression: {str(error)[:1].lower()}{str(error)[1:]}"
    return ""


@lru_cache(maxsize=4096)
def bad_pattern(pattern: str) -> str:
    """Why the package `regex` cannot use a pattern; empty if it can. Its matching may backtrack."""
    if reason := _too_large(pattern):
        return reason
    import regex  # only suites have such patterns, and its import takes longer than that of any other module here

    try:
        regex.compile(pattern)
    except RecursionError:
        return "The groups of this regular expression are nested too deep."
    except (regex.error, OverflowError, MemoryError) as error:
        return f"Invalid regular expression: {error}."
    return ""


def _too_large(pattern: str) -> str:
    if len(pattern) > MAX_LENGTH:
        return f"The regular expression has {len(pattern):,} characters; at most {MAX_LENGTH:,} are read."
    if _size(pattern) > MAX_SIZE:
        return f"The repeats of this regular expression multiply to more than {MAX_SIZE} atoms."
    return ""


def _size(pattern: str) -> int:
    """The number of atoms with required repeats written out: `{n,m}` counts n times, or once if n is 0."""
    groups = [0]
    last = 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token[1] is not None:
            times = max(int(token[1][:9]), 1)
            groups[-1] += last * (times - 1)
            last *= times
        elif text == "(":
            groups.append(0)
        elif text == ")" and len(groups) > 1:
            last = max(groups.pop(), 1)
            groups[-1] += last
        elif text not in "*+?|":
            last = 1
            groups[-1] += 1
    return sum(groups)
