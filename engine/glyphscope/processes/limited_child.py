"""The process of limited calls: `python -P -m glyphscope.processes.limited_child`. Answers frames from stdin on stdout.

A call that takes too long ends the process: the parent starts another one for the next call.
"""

from __future__ import annotations

import importlib
import pickle
import signal
import traceback

import msgspec

from glyphscope.errors import GlyphscopeError
from glyphscope.processes.limited import MEMORY, Answer, Call
from glyphscope.processes.pipe import parent_pipe
from glyphscope.processes.worker import limit_memory


def answer(call: Call) -> Answer:
    """The result or the error of a call."""
    try:
        module, name = call.function.split(":")
        function = getattr(importlib.import_module(module), name)
        return Answer(_encoded(function(*pickle.loads(call.arguments))))
    except GlyphscopeError as error:
        return Answer(error=type(error).__name__, message=error.message, where=error.where, hint=error.hint)
    except MemoryError:
        return Answer(out_of_memory=True)
    except Exception:
        return Answer(bug=traceback.format_exc())


def _encoded(result: object) -> bytes:
    try:
        return msgspec.msgpack.encode(result)
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot encode
        from glyphscope.events.encoding import encode_json

        return msgspec.msgpack.encode(msgspec.json.decode(encode_json(result)))


def main() -> None:
    """Serves until stdin closes."""
    pipe = parent_pipe(Call)
    limit_memory(MEMORY)
    pipe.write(Answer())
    while (call := pipe.read()) is not None:
        # SIGPROF ends the process, also within one operation, and after the end of its parent
        signal.setitimer(signal.ITIMER_PROF, call.seconds)
        reply = answer(call)
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.write(reply)


if __name__ == "__main__":
    main()
