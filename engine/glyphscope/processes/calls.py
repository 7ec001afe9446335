"""Calls of this program's functions in child processes with limits of time and memory.

For untrusted input: a grammar, a schema, a pattern or a template may overflow its reader's stack, exhaust its memory or
run endlessly. That becomes an error with a reason, and the next call starts a new process.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import IO, Any, ParamSpec, TypeVar, get_args, get_type_hints
from weakref import WeakSet

import msgspec

from glyphscope.base.figures import duration
from glyphscope.base.shorten import shorten
from glyphscope.base.structs import ready
from glyphscope.processes import how_ended, module_command
from glyphscope.processes.pipe import SentError, start_child
from glyphscope.processes.stopping import acquire, wait_for

TIMEOUT = "timeout"
_START_SECONDS = 60.0
_GRACE = 1.0
_PATIENCE = 4
"""How many times its processor time a call may take on a busy machine."""

P = ParamSpec("P")
T = TypeVar("T")


class ChildCall(msgspec.Struct, frozen=True, array_like=True):
    """`function` is `module:name`. `arguments` is a pickled tuple: both ends are this program.

    With `reports`, the function's last argument is one that sends what it is called with to the parent. `processor` are
    seconds of processor time, 0 without a limit.
    """

    function: str
    arguments: bytes
    reports: bool
    seconds: float
    processor: float


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """The result or a report in msgpack, or the error, with the traceback unless it is a GlyphscopeError.

    Never pickled: the process may have run somebody else's program.
    """

    result: bytes = b""
    report: bytes = b""
    error: SentError | None = None
    traceback: str = ""


class ProcessDied(Exception):
    """The process ended during a call. `signal` names the cause (`SIGSEGV`, `exit 1`), or is `timeout`."""

    def __init__(self, message: str, *, signal: str, stderr: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.signal = signal
        self.stderr = stderr


class CallFailed(Exception):
    """The function raised an exception other than a GlyphscopeError: its class, message and traceback."""

    def __init__(self, kind: str, message: str, traceback: str) -> None:
        super().__init__(traceback)
        self.kind, self.message, self.traceback = kind, message, traceback


class Child:
    """A process that calls functions, one at a time; up to `size` processes while others are busy. From any thread.

    Started by the first call, and again by the next one after it died.
    """

    def __init__(
        self,
        name: str,
        module: str,
        *,
        memory: int,
        largest_file: int = 0,
        size: int = 1,
        processor_time: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`name` is the called library, for messages; `module` is imported when the process starts, empty for none.

        `memory` is the limit of its addresses, `largest_file` of a file that it writes, in bytes; 0 for none. With
        `processor_time`, the seconds of calls are such. `environment` is added to this process's environment.
        """
        arguments = (module, str(memory), str(largest_file))
        self._command = module_command("glyphscope.processes.child", *arguments)
        self._name, self._size, self._processor_time = name, size, processor_time
        self._environment = environment or {}
        self.starts = 0
        self._forget()
        _ALL.add(self)

    def _forget(self) -> None:
        """Without processes, as at the beginning."""
        self._idle: list[_Process | None] = [None] * self._size
        self._processes: set[_Process] = set()
        # Python's semaphores are ten times slower than its locks, which shows in a call of 15 µs
        self._free = threading.Lock() if self._size == 1 else threading.Semaphore(self._size)
        self._closing = threading.Lock()

    @property
    def pids(self) -> set[int]:
        """Those of the running processes."""
        return {process.pid for process in self._processes}

    def start(self) -> None:
        """Starts a process now if none runs, without waiting until it is ready."""
        if self._free.acquire(blocking=False):
            try:
                process = self._idle.pop()
                self._idle.append(self._started() if process is None else process)
            finally:
                self._free.release()

    def call(self, seconds: float, function: Callable[P, T], *arguments: P.args, **none: P.kwargs) -> T:
        """The result of a function of a module, called with these positional arguments in the process.

        The function's annotations name the type of its result, and of what it gives to a function that is its last
        argument (`report`) and is called here meanwhile; each of them may take `seconds`. Raises ProcessDied, also if
        that takes longer, the function's own GlyphscopeErrors, CallFailed for its other exceptions, and Stopped.
        """
        assert not none, "arguments are positional"
        report: Any = arguments[-1] if arguments and callable(arguments[-1]) else None
        sent = arguments[:-1] if report else arguments
        wall, processor = (_PATIENCE * seconds, seconds) if self._processor_time else (seconds, 0.0)
        name = f"{function.__module__}:{function.__qualname__}"
        call = ChildCall(name, pickle.dumps(sent), report is not None, wall, processor)
        acquire(self._free)
        process = self._idle.pop()  # the one that was used last, whose caches are full
        try:
            process = process or self._started()
            reply = process.ask(call, wall)
            while reply.report:
                report(_report_of(function).decode(reply.report))
                reply = process.read(wall)
        except BaseException:  # a late reply would be taken for the next call's
            if process is not None:
                self._end(process)
                process = None
            raise
        finally:
            self._idle.insert(len(self._idle) if process else 0, process)
            self._free.release()
        if reply.error is not None:
            if reply.traceback:
                raise CallFailed(reply.error.kind, reply.error.message, reply.traceback)
            raise reply.error.arrived()
        result: T = _result_of(function).decode(reply.result)
        return result

    def kill(self) -> None:
        """Ends the processes, even in the middle of a call, which then raises ProcessDied. From any thread."""
        for process in list(self._processes):
            process.kill()

    def close(self) -> None:
        """Ends the processes, also in the middle of a call. A later call starts one again."""
        with self._closing:
            self.kill()
            for _ in range(self._size):
                self._free.acquire()
            for process in list(self._processes):
                self._end(process)
            self._idle = [None] * self._size
            for _ in range(self._size):
                self._free.release()

    def _started(self) -> _Process:
        process = _Process(self._command, self._name, self._environment)
        self.starts += 1
        self._processes.add(process)
        return process

    def _end(self, process: _Process) -> None:
        self._processes.discard(process)
        process.close()

    def _leave(self) -> None:
        """In a fork of this process: the processes belong to the parent, which may be using them."""
        for process in self._processes:
            process.detach()
        self._forget()


@lru_cache(maxsize=64)
def _result_of(function: Callable[..., object]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(ready(get_type_hints(function)["return"]))


@lru_cache(maxsize=8)
def _report_of(function: Callable[..., object]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(ready(get_args(get_type_hints(function)["report"])[0][0]))


class _Process:
    """One process. Its stderr is a file: a library's last output there is the reason for its end."""

    def __init__(self, command: list[str], name: str, environment: Mapping[str, str]) -> None:
        self._name = name
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._child, self._pipe = start_child(command, Reply, environment, self._stderr)
        assert self._child.stdout, "it is a pipe"
        self._poll = select.poll()
        self._poll.register(self._child.stdout, select.POLLIN)
        self._ready = False

    @property
    def pid(self) -> int:
        return self._child.pid

    def ask(self, call: ChildCall, seconds: float) -> Reply:
        """The first reply. Raises ProcessDied if the process ended, or took too long and must be ended; and Stopped."""
        if not self._ready:
            self.read(_START_SECONDS)
            self._ready = True
        try:
            self._pipe.write(call)
        except (OSError, ValueError) as error:
            raise self._death() from error
        return self.read(seconds)

    def read(self, seconds: float) -> Reply:
        """The next reply; raises as `ask`."""
        if not wait_for(lambda wait: self._pipe.has_frame or self._poll.poll(wait * 1000), seconds):
            raise ProcessDied(f"{self._name} did not finish within {duration(seconds)}.", signal=TIMEOUT)
        try:
            reply = self._pipe.read()
        except (OSError, msgspec.DecodeError):
            reply = None
        if reply is None:
            raise self._death()
        return reply

    def kill(self) -> None:
        self._child.kill()

    def close(self) -> None:
        """Kill the process, which has no state to save."""
        self._child.kill()
        self._child.wait()
        self._close_files()

    def detach(self) -> None:
        """Close this end of the pipes, and leave the process alone."""
        self._child.returncode = 0
        self._close_files()

    def _close_files(self) -> None:
        for pipe in (self._child.stdin, self._child.stdout, self._stderr):
            assert pipe, "all are pipes"
            with contextlib.suppress(OSError):
                pipe.close()

    def _death(self) -> ProcessDied:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_GRACE)
        code = self._child.returncode
        name, how = how_ended(code)
        self._stderr.seek(0)
        words = self._stderr.read(4096).decode("utf-8", errors="replace").strip()
        first = shorten(words.partition("\n")[0].rstrip("."), 200)
        # a process that ended by itself has crashed too: it never ends before it has answered
        return ProcessDied(
            f"{self._name}'s process {how}{f': {first}' if first else ''}.",
            signal=name or f"exit {code}",
            stderr=words,
        )


_ALL: WeakSet[Child] = WeakSet()


def _after_fork() -> None:
    for child in list(_ALL):
        child._leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
