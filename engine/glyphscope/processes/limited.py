"""Calls of this program's functions on untrusted input, in processes whose time and memory are limited.

Templates are programs of somebody else. Python cannot interrupt one operation (`'x' * n`, a power, a regular
expression, the compilation of an expression), and each of them blocks all threads. A separate process has real limits,
can be ended at any moment, and blocks nothing.
"""

from __future__ import annotations

import atexit
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from glyphscope import errors
from glyphscope.errors import GlyphscopeError
from glyphscope.processes import module_command, worker
from glyphscope.processes.worker import ProcessDied, WorkerPool
from glyphscope.structs import ready
from glyphscope.text.figures import byte_size, duration

SECONDS = 10.0
"""The processor time of a call, so that a busy machine rejects nothing that an idle one accepts."""
MEMORY = 10**9
"""Bytes of addresses of a process."""
_PROCESSES = 3
_PATIENCE = 4
"""How many times the processor time a call may take on a busy machine."""

T = TypeVar("T")


class Call(msgspec.Struct, frozen=True, array_like=True):
    """`function` is `module:name`. `arguments` is a pickled tuple: both ends are this program."""

    function: str
    arguments: bytes
    seconds: float


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """The result in msgpack, or the error: a `GlyphscopeError` with its class, no memory, or a traceback (`bug`)."""

    result: bytes = b""
    error: str = ""
    message: str = ""
    where: str = ""
    hint: str = ""
    out_of_memory: bool = False
    bug: str = ""


class LimitReached(Exception):
    """Work that was ended, by its process or within it; `message` is a clause: "it takes longer than 10 s"."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


_POOL: WorkerPool[Answer] = WorkerPool(
    module_command("glyphscope.processes.limited_child"), Answer, name="Python", size=_PROCESSES
)


def start() -> None:
    """Start a process now: it takes about as long as loading a small model, and may do so at the same time."""
    _POOL.start()


@atexit.register
def close() -> None:
    """End the processes. A later call starts one again."""
    _POOL.close()


def limited(
    function: Callable[..., object], *arguments: object, returns: type[T], seconds: float | None = None
) -> T:
    """The result of a function of a module, called with these arguments in another process.

    `returns` is the type of the result in msgspec's sense, `seconds` the limit of processor time, by default `SECONDS`.
    Raises LimitReached, the function's own GlyphscopeErrors, and Stopped.
    """
    seconds = SECONDS if seconds is None else seconds
    call = Call(f"{function.__module__}:{function.__qualname__}", pickle.dumps(arguments), seconds)
    try:
        answer = _POOL.ask(call, _PATIENCE * seconds)
    except ProcessDied as died:
        raise LimitReached(_reason(died, seconds)) from None
    if answer.error:
        kind: type[GlyphscopeError] = getattr(errors, answer.error)
        raise kind(answer.message, where=answer.where, hint=answer.hint)
    if answer.out_of_memory:
        raise LimitReached(NO_MEMORY)
    if answer.bug:
        raise RuntimeError(answer.bug)
    result: Any = msgspec.msgpack.decode(answer.result, type=ready(returns))
    return result  # type: ignore[no-any-return]


NO_MEMORY = f"it needs more than {byte_size(MEMORY)} of memory"


def _reason(died: ProcessDied, seconds: float) -> str:
    match died.signal:
        case "SIGPROF" | worker.TIMEOUT:
            return f"it takes longer than {duration(seconds)}"
        case "SIGKILL":
            return NO_MEMORY
        case _:
            return f"it crashes Python ({died.signal})"
