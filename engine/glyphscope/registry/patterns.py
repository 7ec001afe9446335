"""A schema's regular expressions: their errors, and matching in limited time, even for hostile ones."""

from __future__ import annotations

import re
from functools import lru_cache

import regex

MAX_LENGTH = 10_000
"""The maximum length of a regular expression, in characters."""

MAX_SIZE = 200_000
"""The maximum number of atoms with counted repeats written out: `(((a{1000}){1000}){1000})` would take
12 s and gigabytes to compile."""

_PATIENCE = 0.05
"""Seconds; common patterns take microseconds, but a backtracking one might never end."""

_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\]\\])+\]|\{(\d+)(?:,(\d*))?\}|.", re.DOTALL)


@lru_cache(maxsize=4096)
def bad_pattern(pattern: str) -> str:
    """Why a pattern cannot be used; empty if it can. Its matching may backtrack: `is_found` limits that."""
    if len(pattern) > MAX_LENGTH:
        return f"The regular expression has {len(pattern):,} characters; at most {MAX_LENGTH:,} are read."
    if _size(pattern) > MAX_SIZE:
        return f"The repeats of this regular expression multiply to more than {MAX_SIZE} atoms."
    try:
        regex.compile(pattern)
    except RecursionError:
        return "The groups of this regular expression are nested too deep."
    except (regex.error, OverflowError, MemoryError) as error:
        return f"Invalid regular expression: {error}."
    return ""


def is_found(pattern: str, text: str) -> bool:
    """Whether `pattern` is found in `text`; also False if that is not decided within 50 ms."""
    try:
        return regex.search(pattern, text, timeout=_PATIENCE) is not None
    except (regex.error, TimeoutError):
        return False


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
