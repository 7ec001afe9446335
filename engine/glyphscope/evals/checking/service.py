"""Questions to the process of assertions. JSONPath has a permanent one; each Python function call has a new one."""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from glyphscope.evals.checking import wire
from glyphscope.events.encoding import encode_json
from glyphscope.processes import module_command
from glyphscope.processes.worker import TIMEOUT, ProcessDied, WorkerProcess
from glyphscope.text.figures import duration

PATH_SECONDS = 2.0
FUNCTION_SECONDS = 10.0
_LOOK_SECONDS = 0.05

_COMMAND = module_command("glyphscope.evals.checking.child")
_PATHS: WorkerProcess[wire.Answer] = WorkerProcess(_COMMAND, wire.Answer, name="JSONPath")


class CheckFailed(Exception):
    """An assertion that could not be evaluated, which says nothing about the model; `at` is a character of a path."""

    def __init__(self, message: str, at: int = -1) -> None:
        super().__init__(message)
        self.message, self.at = message, at


class Selected(NamedTuple):
    """`nodes` are normalised paths with their values; `total` may be more, as only the first ones are reported."""

    nodes: list[tuple[str, Any]]
    total: int


class FunctionVerdict(NamedTuple):
    """The result of a Python function; `reason` may be empty."""

    passed: bool
    reason: str


@atexit.register
def close() -> None:
    """Ends the process. A later question starts it again."""
    _PATHS.close()


@lru_cache(maxsize=4096)
def bad_path(path: str) -> str:
    """The syntax error of a JSONPath, with the character (from 1); empty for a valid one."""
    try:
        _ask(wire.ReadPath(path))
    except CheckFailed as failed:
        place = f" at character {failed.at + 1}" if failed.at >= 0 else ""
        return f"Invalid JSONPath{place}: {failed.message.rstrip('.')}."
    return ""


def select(path: str, document: Any) -> Selected:
    """The selected values. Raises CheckFailed, also if it takes too long or too much memory."""
    found = _ask(wire.Select(path, encode_json(document)))
    return Selected([(place, value) for place, value in json.loads(found.nodes)], found.count)


@lru_cache(maxsize=64)
def functions_of(source: str) -> tuple[str, ...]:
    """The functions of a Python source, without running it. Raises CheckFailed for a syntax error."""
    return _ask(wire.ReadFunctions(source)).functions


def call_function(
    source: str, file: str, name: str, document: Any, cancelled: threading.Event
) -> FunctionVerdict:
    """Run the source in a separate process. Only with the user's consent: it has the user's rights.

    Raises CheckFailed if the function raises an error (except AssertionError, which is a verdict), returns anything
    but a verdict, takes longer than `FUNCTION_SECONDS`, exhausts its memory or ends the process.
    """
    process: WorkerProcess[wire.Answer] = WorkerProcess(_COMMAND, wire.Answer, name=f"{file}:{name}")
    question = wire.CallFunction(source, file, name, encode_json(document))
    try:
        with _ended_when(cancelled, process):
            found = _answer(process, question, FUNCTION_SECONDS)
    finally:
        process.close()
    return FunctionVerdict(found.passed, found.reason)


def _ask(question: wire.Question) -> wire.Answer:
    return _answer(_PATHS, question, PATH_SECONDS)


def _answer(process: WorkerProcess[wire.Answer], question: wire.Question, seconds: float) -> wire.Answer:
    try:
        found = process.ask(wire.Envelope(question), seconds)
    except ProcessDied as died:
        if died.signal == TIMEOUT:
            raise CheckFailed(f"took longer than {duration(seconds)}") from None
        raise CheckFailed(died.message.rstrip(".")) from None
    if found.error:
        raise CheckFailed(found.error, found.at)
    return found


@contextmanager
def _ended_when(cancelled: threading.Event, process: WorkerProcess[wire.Answer]) -> Iterator[None]:
    """Ends the process during a question if the evaluation is stopped."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_SECONDS):
            if cancelled.is_set():  # repeatedly: it may not have started yet
                process.kill()

    watcher = threading.Thread(target=watch, name="ends a Python function")
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
