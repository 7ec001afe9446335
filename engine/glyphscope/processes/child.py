"""The process of `calls.Child`: `python -P -m glyphscope.processes.child MODULE MEMORY LARGEST_FILE`.

Answers frames from stdin on stdout until stdin closes. A call that takes too long ends the process, also after the end
of its parent: the parent starts another one for the next call.
"""

from __future__ import annotations

import importlib
import pickle
import signal
import sys
import traceback
from functools import cache
from typing import Any

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.processes.calls import ChildCall, Reply
from glyphscope.processes.pipe import Pipe, SentError, parent_pipe

_LATE = 5.0
"""Seconds after the parent's limit at which the process ends by itself, as the parent must have ended."""


def answer(call: ChildCall, pipe: Pipe[ChildCall]) -> Reply:
    """The result or the error of a call."""

    def report(value: Any) -> None:
        try:
            pipe.write(Reply(report=_encoded(value)))
        except OSError:  # without a parent, the result is not wanted
            raise SystemExit from None
        _limit_time(call)

    try:
        more = (report,) if call.reports else ()
        return Reply(_encoded(_function(call.function)(*pickle.loads(call.arguments), *more)))
    except GlyphscopeError as error:
        return Reply(error=SentError.of(error))
    except Exception as error:
        kind, message, trace = type(error).__name__, str(error), traceback.format_exc()
        if not (message + trace).isascii():
            from glyphscope.events.encoding import whole_text  # imported here, as it takes long

            message, trace = whole_text(message), whole_text(trace)
        return Reply(error=SentError(kind, message), traceback=trace)


@cache
def _function(name: str) -> Any:
    module, function = name.split(":")
    return getattr(importlib.import_module(module), function)


def _encoded(value: object) -> bytes:
    try:
        return msgspec.msgpack.encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot encode
        from glyphscope.events.encoding import encode_json

        return msgspec.msgpack.encode(msgspec.json.decode(encode_json(value)))


def _limit_time(call: ChildCall) -> None:
    # their signals end the process, also within one operation
    signal.setitimer(signal.ITIMER_PROF, call.processor)
    signal.setitimer(signal.ITIMER_REAL, call.seconds + _LATE)


def _limit_memory(limit: int, largest_file: int) -> None:
    """Limit the address space and files that are written, in bytes; no core dumps, as crashes are expected."""
    try:
        import resource
    except ImportError:  # a system that has no such limits
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if largest_file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))


def main() -> None:
    """Serves until stdin closes."""
    module, memory, largest_file = sys.argv[1:]
    pipe = parent_pipe(ChildCall)
    if module:
        importlib.import_module(module)
    _limit_memory(int(memory), int(largest_file))
    pipe.write(Reply())
    while (call := pipe.read()) is not None:
        _limit_time(call)
        reply = answer(call, pipe)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        pipe.write(reply)


if __name__ == "__main__":
    main()
