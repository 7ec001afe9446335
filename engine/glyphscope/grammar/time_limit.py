"""The limit of eight seconds of CPU time per grammar, for making its rules and then writing them for an engine.

A schema of one kilobyte can multiply its alternatives to millions of rules. The thread's CPU time is measured, so that
a busy machine does not reject more grammars than an idle one. It is read once the clock says that it can be reached:
the clock takes a tenth of the time to read, and reading the CPU time at each step took 6 to 9% of the work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import perf_counter, thread_time
from weakref import ReferenceType, ref

from glyphscope.base.errors import GrammarError
from glyphscope.base.figures import duration
from glyphscope.grammar.tree import Grammar
from glyphscope.processes.stopping import LOOK, check_stopped

SECONDS = 8.0
"""The last step may exceed this by a second or two."""


class _Work(threading.local):
    """Per thread: the CPU time at which the current work must end, and the last grammar with the seconds it took.

    Until `unread`, a time of the clock, the CPU time cannot have reached `end`, or a stop is not looked for.
    """

    end = inf
    unread = inf
    last: tuple[ReferenceType[Grammar], float] | None = None


_WORK = _Work()


@contextmanager
def limited(of: Grammar | None = None, seconds: float | None = None) -> Iterator[None]:
    """Limit the work on one grammar, including the time spent on `of` if that is this thread's last grammar.

    Other work may have its own limit, `seconds`.
    """
    before, start = (_WORK.end, _WORK.unread), thread_time()
    known = _WORK.last
    spent = known[1] if of is not None and known is not None and known[0]() is of else 0.0
    _WORK.end = min(before[0], start + (SECONDS if seconds is None else seconds) - spent)
    _WORK.unread = perf_counter() + min(_WORK.end - start, LOOK)
    try:
        yield
    finally:
        _WORK.end, _WORK.unread = before


def note_made(grammar: Grammar) -> Grammar:
    """Record the time spent on this grammar, the result of the current work, and return the grammar."""
    _WORK.last = ref(grammar), SECONDS - seconds_left()
    return grammar


def seconds_left() -> float:
    """The CPU time left for the current work; never below zero."""
    return max(0.0, min(SECONDS, _WORK.end - thread_time()))


def check_time() -> None:
    """Raises GrammarError if the current work has exceeded its time, and Stopped if it was stopped (`stopped_by`)."""
    if (now := perf_counter()) < _WORK.unread:
        return
    check_stopped()
    left = _WORK.end - thread_time()
    _WORK.unread = now + min(left, LOOK)
    if left < 0:
        raise GrammarError(
            f"Building the grammar takes more than {duration(SECONDS)}.",
            where="grammar",
            hint="Make the schema smaller: fewer alternatives in each other, smaller bounds of lengths.",
        )
