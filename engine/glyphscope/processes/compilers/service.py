"""Requests to the compilers' processes, each with a time limit. Expensive answers are cached.

There are two of these processes: patterns with look-around are needed while a text is validated, also in the window's
thread, and must not wait for a grammar that takes ten seconds.
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from glyphscope.base.bounded_cache import BoundedCache
from glyphscope.base.errors import GrammarError
from glyphscope.processes.calls import TIMEOUT, CallFailed, Child, ProcessDied
from glyphscope.processes.compilers import child

SECONDS = 10.0
"""The limit for compiling one grammar, or for reading a batch of texts with it."""
PATTERN_SECONDS = 2.0
"""The limit for searching a text for one pattern."""
HINT = "Make the schema or grammar smaller: fewer tools or alternatives, smaller bounds of lengths, less nesting."

_MEMORY = 2 << 30  # bytes of addresses
_GRAMMARS = Child("llguidance", "glyphscope.processes.compilers.masks", memory=_MEMORY)
_PATTERNS = Child("regex", "regex", memory=_MEMORY)

P = ParamSpec("P")
T = TypeVar("T")


class CompilerDied(GrammarError):
    """The compilers' process crashed on a question, or took too long (`timed_out`) and was ended."""

    timed_out = False


class _Refused(Exception):
    """A compiler's rejection, with its reason."""


_refusals = BoundedCache[bytes, str](2048)
"""The last answers by digests of the requests, as a grammar may have megabytes."""


@atexit.register
def close() -> None:
    """Ends the processes. A later question starts them again."""
    for process in (_GRAMMARS, _PATTERNS):
        process.close()


def refusal(grammar: str, *, is_schema: bool = False, seconds: float = SECONDS) -> str:
    """The reason why llguidance rejects a grammar or crashes on it; empty for an accepted one."""
    key = hashlib.sha256(bytes([is_schema]) + grammar.encode("utf-8", "surrogatepass")).digest()
    known = _refusals.get(key)
    if known is None:
        known = ""
        try:
            _ask(_GRAMMARS, seconds, child.compile_grammar, grammar, is_schema)
        except _Refused as refused:
            known = str(refused)
        except CompilerDied as error:
            if error.timed_out:  # it may finish when the machine is less busy
                return error.message
            known = error.message
        _refusals.put(key, known)
    return known


def read_texts(grammar: str, texts: Sequence[str], *, is_schema: bool = False) -> list[bool | str]:
    """For each text, whether llguidance accepts it, or the reason why it stopped.

    Raises GrammarError for a grammar that it rejects, CompilerDied if it crashes or takes too long.
    """
    try:
        return _ask(_GRAMMARS, SECONDS, child.read_texts, grammar, is_schema, list(texts))
    except _Refused as refused:
        raise GrammarError(f"llguidance rejects the grammar: {refused}", where="grammar") from None


def searched(pattern: str, text: str, seconds: float) -> bool | None:
    """Whether a backtracking engine finds the pattern; None for an invalid pattern, or after a timeout."""
    try:
        return _ask(_PATTERNS, PATTERN_SECONDS, child.searched, pattern, text, seconds)
    except (_Refused, CompilerDied):
        return None


def _ask(process: Child, seconds: float, function: Callable[P, T], *arguments: P.args, **none: P.kwargs) -> T:
    try:
        return process.call(seconds, function, *arguments, **none)
    except CallFailed as failed:
        reason = failed.message.partition("<backtrace>")[0].strip()  # of a panic, and without symbol names
        raise _Refused(reason or failed.kind) from None
    except ProcessDied as error:
        message = f"{error.message.rstrip('.')}: the grammar is too large or nested too deeply for it."
        died = CompilerDied(message, where="grammar", hint=HINT)
        died.timed_out = error.signal == TIMEOUT
        raise died from None
