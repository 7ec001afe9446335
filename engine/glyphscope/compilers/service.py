"""Requests to the compilers' processes, each with a time limit. Expensive answers are cached.

There are two of these processes: patterns are needed while a text is validated, also in the window's thread, and must
not wait for a grammar that takes ten seconds.
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeAlias, TypeVar

import msgspec

from glyphscope.bounded_cache import BoundedCache
from glyphscope.compilers import wire
from glyphscope.errors import GrammarError
from glyphscope.processes import module_command
from glyphscope.processes.worker import TIMEOUT, ProcessDied, WorkerProcess

SECONDS = 10.0
"""The limit for compiling one grammar, or for reading a batch of texts with it."""
PATTERN_SECONDS = 2.0
"""The limit for one pattern, or for matching a piece of text with it."""
_MAX_CACHED = 2048
HINT = "Make the schema or grammar smaller: fewer alternatives, smaller bounds of lengths, less nesting."

_COMMAND = module_command("glyphscope.compilers.child")
_GRAMMARS: WorkerProcess[wire.Answer] = WorkerProcess(_COMMAND, wire.Answer, name="llguidance")
_PATTERNS: WorkerProcess[wire.Answer] = WorkerProcess(_COMMAND, wire.Answer, name="llguidance")

T = TypeVar("T")
State: TypeAlias = wire.Answer
"""The state of matching at a place in a string."""


class CompilerDied(GrammarError):
    """The compilers' process crashed on a question, or took too long (`timed_out`) and was ended."""

    timed_out = False


class _Cached(Generic[T]):
    """The last answers by digests of the requests, as a text may have megabytes."""

    def __init__(self) -> None:
        self._answers = BoundedCache[Hashable, tuple[T]](_MAX_CACHED)

    def get(self, question: bytes, ask: Callable[[], T]) -> T:
        key = hashlib.sha256(question).digest()
        known = self._answers.get(key)
        if known is None:
            known = (ask(),)
            self._answers.put(key, known)
        return known[0]


_refusals: _Cached[str] = _Cached()
_possible: _Cached[bool | None] = _Cached()
_beginnings: _Cached[State | None] = _Cached()


def start() -> None:
    """Start the process of patterns, which takes a tenth of a second, before it is needed."""
    _PATTERNS.start()


@atexit.register
def close() -> None:
    """Ends the processes. A later question starts them again."""
    for process in (_GRAMMARS, _PATTERNS):
        process.close()


def refusal(grammar: str, *, is_schema: bool = False, seconds: float = SECONDS) -> str:
    """The reason why llguidance rejects a grammar or crashes on it; empty for an accepted one."""
    data = encoded(grammar)

    def ask() -> str:
        try:
            return _ask(_GRAMMARS, wire.Compile(data, is_schema), seconds).refused
        except CompilerDied as error:
            if error.timed_out:  # it may finish when the machine is less busy
                raise
            return error.message

    try:
        return _refusals.get(bytes([is_schema]) + data, ask)
    except CompilerDied as error:
        return error.message


def read_texts(grammar: str, texts: Sequence[str], *, is_schema: bool = False) -> list[bool | str]:
    """For each text, whether llguidance accepts it, or the reason why it stopped.

    Raises GrammarError for a grammar that it rejects, CompilerDied if it crashes or takes too long.
    """
    question = wire.ReadTexts(encoded(grammar), is_schema, [encoded(text) for text in texts])
    answer = _ask(_GRAMMARS, question, SECONDS)
    if answer.refused:
        raise GrammarError(f"llguidance rejects the grammar: {answer.refused}", where="grammar")
    return answer.read


def has_text(lark: str) -> bool | None:
    """Whether the grammar has any text; None if that is too expensive to decide."""
    data = encoded(lark)

    return _possible.get(data, lambda: _ask_patterns(wire.FindText(data)).found)


def begin(language: bytes) -> State | None:
    """The state at the beginning of a string; None if the linear-time engine does not support the language."""

    def ask() -> State | None:
        answer = _ask_patterns(wire.Begin(language))
        return None if answer.refused else answer

    return _beginnings.get(language, ask)


def feed(
    language: bytes, number: int, before: Sequence[str], text: str, *, ends: bool = False
) -> State | None:
    """The state after `text` in the string with that number; None if the engine exceeded its limits.

    `before` are the pieces of the string so far. With `ends`, the state reports whether the string matches so far.
    """
    asked = wire.Feed(language, number, encoded(text), None if before else b"", ends)
    answer = _ask_patterns(asked)
    if answer.fed < 0:  # another process, or one that has forgotten the string
        answer = _ask_patterns(msgspec.structs.replace(asked, before=encoded("".join(before))))
    return None if answer.refused or answer.fed < 0 else answer


def searched(pattern: str, text: str, seconds: float) -> bool | None:
    """Whether a backtracking engine finds the pattern; None for an invalid pattern, or after a timeout."""
    return _ask_patterns(wire.Search(encoded(pattern), encoded(text), seconds)).found


def encoded(text: str) -> bytes:
    """The text in the encoding of `wire`."""
    return text.encode("utf-8", "surrogatepass")


def _ask_patterns(question: wire.Question) -> wire.Answer:
    """The answer of the process of patterns; if it crashed or took too long, a rejection with that reason."""
    try:
        return _ask(_PATTERNS, question, PATTERN_SECONDS)
    except CompilerDied as error:
        return wire.Answer(refused=error.message)


def _ask(process: WorkerProcess[wire.Answer], question: wire.Question, seconds: float) -> wire.Answer:
    try:
        return process.ask(wire.Envelope(question), seconds)
    except ProcessDied as error:
        message = f"{error.message.rstrip('.')}: the grammar is too large or nested too deeply for it."
        died = CompilerDied(message, where="grammar", hint=HINT)
        died.timed_out = error.signal == TIMEOUT
        raise died from None
