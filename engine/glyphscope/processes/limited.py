"""Calls of this program's functions on untrusted input, in processes whose time and memory are limited.

Templates are programs of somebody else. Python cannot interrupt one operation (`'x' * n`, a power, a regular
expression, the compilation of an expression), and each of them blocks all threads. A separate process has real limits,
can be ended at any moment, and blocks nothing.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from glyphscope.base.figures import byte_size, duration
from glyphscope.processes import calls
from glyphscope.processes.calls import CallFailed, Child, ProcessDied

SECONDS = 10.0
"""The processor time of a call, so that a busy machine rejects nothing that an idle one accepts."""
MEMORY = 10**9
"""Bytes of addresses of a process."""
_PROCESSES = 3

P = ParamSpec("P")
T = TypeVar("T")


class ProcessLimitReached(Exception):
    """Work that was ended, by its process or within it; `message` is a clause: "it takes longer than 10 s"."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


_PYTHON = Child("Python", "", memory=MEMORY, size=_PROCESSES, processor_time=True)


def start() -> None:
    """Start a process now: it takes about as long as loading a small model, and may do so at the same time."""
    _PYTHON.start()


@atexit.register
def close() -> None:
    """End the processes. A later call starts one again."""
    _PYTHON.close()


def limited(seconds: float | None, function: Callable[P, T], *arguments: P.args, **none: P.kwargs) -> T:
    """The result of a function of a module, called with these arguments in another process.

    `seconds` is the limit of processor time, None for `SECONDS`. Raises LimitReached, the function's own
    GlyphscopeErrors, and Stopped.
    """
    seconds = SECONDS if seconds is None else seconds
    try:
        return _PYTHON.call(seconds, function, *arguments, **none)
    except ProcessDied as died:
        raise ProcessLimitReached(_reason(died, seconds)) from None
    except CallFailed as failed:
        if failed.kind == "MemoryError":
            raise ProcessLimitReached(NO_MEMORY) from None
        raise RuntimeError(failed.traceback) from None


NO_MEMORY = f"it needs more than {byte_size(MEMORY)} of memory"


def _reason(died: ProcessDied, seconds: float) -> str:
    match died.signal:
        case "SIGPROF" | calls.TIMEOUT:
            return f"it takes longer than {duration(seconds)}"
        case "SIGKILL":
            return NO_MEMORY
        case _:
            return f"it crashes Python ({died.signal})"
