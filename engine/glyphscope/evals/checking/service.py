"""Questions to the process of assertions. JSONPath has a permanent one; each Python function call has a new one."""

from __future__ import annotations

import atexit
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, ParamSpec, TypeVar

from glyphscope.base.figures import duration
from glyphscope.base.shorten import shorten
from glyphscope.evals.checking import child
from glyphscope.events.encoding import encode_json
from glyphscope.processes.calls import TIMEOUT, CallFailed, Child, ProcessDied

PATH_SECONDS = 2.0
FUNCTION_SECONDS = 10.0
_MEMORY = 1 << 30  # bytes of addresses
_FILES = 64 << 20  # bytes of a file, including printed output

P = ParamSpec("P")
T = TypeVar("T")


def _child(name: str) -> Child:
    return Child(name, child.__name__, memory=_MEMORY, largest_file=_FILES)


_PATHS = _child("JSONPath")


class CheckFailed(Exception):
    """An assertion that could not be evaluated, which says nothing about the model."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Selected(NamedTuple):
    """`nodes` are normalised paths with their values; `total` may be more, as only the first ones are reported."""

    nodes: list[tuple[str, Any]]
    total: int


@atexit.register
def close() -> None:
    """Ends the process. A later question starts it again."""
    _PATHS.close()


@lru_cache(maxsize=4096)
def bad_path(path: str) -> str:
    """The syntax error of a JSONPath, with the character (from 1); empty for a valid one."""
    try:
        message, at = _ask(_PATHS, PATH_SECONDS, child.path_error, path)
    except CheckFailed as failed:
        message, at = failed.message, -1
    place = f" at character {at + 1}" if at >= 0 else ""
    return f"Invalid JSONPath{place}: {message.rstrip('.')}." if message else ""


def select(path: str, document: Any) -> Selected:
    """The selected values. Raises CheckFailed, also if it takes too long or too much memory."""
    found = _ask(_PATHS, PATH_SECONDS, child.select, path, encode_json(document))
    return Selected([(place, value) for place, value in json.loads(found.first)], found.total)


@lru_cache(maxsize=64)
def functions_of(source: str) -> tuple[str, ...]:
    """The functions of a Python source, without running it. Raises CheckFailed for a syntax error."""
    return _ask(_PATHS, PATH_SECONDS, child.functions_of, source)


def call_function(source: str, file: str, name: str, document: Any) -> child.CheckVerdict:
    """Run the source in a separate process. Only with the user's consent: it has the user's rights.

    Raises CheckFailed if the function raises an error (except AssertionError, which is a verdict), returns anything
    but a verdict, takes longer than `FUNCTION_SECONDS`, exhausts its memory or ends the process; and Stopped.
    """
    process, data = _child(f"{file}:{name}"), encode_json(document)
    try:
        return _ask(process, FUNCTION_SECONDS, child.call_function, source, file, name, data)
    finally:
        process.close()


def _ask(process: Child, seconds: float, function: Callable[P, T], *arguments: P.args, **none: P.kwargs) -> T:
    try:
        return process.call(seconds, function, *arguments, **none)
    except CallFailed as failed:
        kind = "" if failed.kind == child.NoVerdict.__name__ else f"{failed.kind}: "
        raise CheckFailed(shorten(kind + failed.message, child.MAX_WORDS)) from None
    except ProcessDied as died:
        if died.signal == TIMEOUT:
            raise CheckFailed(f"took longer than {duration(seconds)}") from None
        raise CheckFailed(died.message.rstrip(".")) from None
