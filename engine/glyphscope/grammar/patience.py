"""The limit of eight seconds of CPU time for a grammar: for making its rules, and then writing them for an engine.

A schema of a kilobyte can multiply its alternatives to millions of rules. The time of the thread is counted, so that a
busy machine rejects no more than an idle one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import thread_time
from weakref import ReferenceType, ref

from glyphscope.errors import GrammarError
from glyphscope.grammar.tree import Grammar
from glyphscope.text.figures import duration

SECONDS = 8.0
"""A step begun before may take a second or two more."""


class _Work(threading.local):
    """The thread's: when its present work must end, and the grammar that it made last, with the seconds that took."""

    end = inf
    last: tuple[ReferenceType[Grammar], float] | None = None


_WORK = _Work()


@contextmanager
def limited(of: Grammar | None = None) -> Iterator[None]:
    """Limit the work on one grammar. The time of making `of` counts too if it was the last one made by this thread."""
    before, start = _WORK.end, thread_time()
    known = _WORK.last
    spent = known[1] if of is not None and known is not None and known[0]() is of else 0.0
    _WORK.end = min(before, start + SECONDS - spent)
    try:
        yield
    finally:
        _WORK.end = before


def note_made(grammar: Grammar) -> Grammar:
    """The work ends with this grammar, which is returned."""
    _WORK.last = ref(grammar), SECONDS - seconds_left()
    return grammar


def seconds_left() -> float:
    """Of the present work; never below zero."""
    return max(0.0, min(SECONDS, _WORK.end - thread_time()))


def check_time() -> None:
    """Raises GrammarError where the work has used up its time."""
    if thread_time() > _WORK.end:
        raise GrammarError(
            f"Building the grammar takes more than {duration(SECONDS)}.",
            where="grammar",
            hint="Make the schema smaller: fewer alternatives in each other, smaller bounds of lengths.",
        )
