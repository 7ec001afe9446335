"""A child process that answers one question at a time within a time limit, and may crash on any of them.

For untrusted input: a grammar, a schema, a pattern or a template may overflow its reader's stack, exhaust its memory or
run endlessly. That becomes an error with a reason, and the next question starts a new process.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any, Generic, TypeVar
from weakref import WeakSet

import msgspec

from glyphscope.processes import how_ended
from glyphscope.processes.pipe import start_child
from glyphscope.processes.stopping import acquire, wait_for
from glyphscope.text.figures import duration
from glyphscope.text.shorten import shorten

TIMEOUT = "timeout"
_START_SECONDS = 60.0
_GRACE = 1.0

A = TypeVar("A", bound=msgspec.Struct)


class ProcessDied(Exception):
    """The process ended during a question. `signal` names the cause (`SIGSEGV`, `exit 1`), or is `timeout`."""

    def __init__(self, message: str, *, signal: str, stderr: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.signal = signal
        self.stderr = stderr


class WorkerProcess(Generic[A]):
    """Started by the first question, and again by the next one after it died. From any thread.

    The child's module writes one answer when it is ready, and then one for each frame that it reads.
    """

    def __init__(
        self,
        command: Sequence[str],
        answers: type[A],
        *,
        name: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`name` is the answering library, for messages. `environment` is added to this process's environment."""
        self._command, self._answers, self._name = tuple(command), answers, name
        self._environment = environment or {}
        self._lock = threading.Lock()
        self._process: _Process[A] | None = None
        self.starts = 0
        _ALL.add(self)

    @property
    def pid(self) -> int | None:
        """None while no process runs."""
        process = self._process
        return None if process is None else process.pid

    def start(self) -> None:
        """Starts the process now, without waiting until it is ready."""
        with self._lock:
            self._started()

    def ask(self, question: msgspec.Struct, seconds: float) -> A:
        """The answer. Raises ProcessDied, also if the answer takes longer than `seconds`, and Stopped."""
        acquire(self._lock)
        try:
            return self._started().ask(question, seconds)
        except BaseException:  # a late answer would be taken for the next question's
            self._drop()
            raise
        finally:
            self._lock.release()

    def kill(self) -> None:
        """Ends the process, even in the middle of a question, which then raises ProcessDied. From any thread."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Ends the process. A later question starts it again."""
        with self._lock:
            self._drop()

    def _started(self) -> _Process[A]:
        if self._process is None:
            self._process = _Process(self._command, self._answers, self._name, self._environment)
            self.starts += 1
        return self._process

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _forget(self) -> None:
        """In a fork of this process: the worker belongs to the parent, which may be using it."""
        self._lock = threading.Lock()
        process, self._process = self._process, None
        if process is not None:
            process.detach()


class _Process(Generic[A]):
    """The child. Its stderr is a file: a library's last output there is the reason for its end."""

    def __init__(
        self, command: Sequence[str], answers: type[A], name: str, environment: Mapping[str, str]
    ) -> None:
        self._name = name
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._child, self._pipe = start_child(command, answers, environment, self._stderr)
        assert self._child.stdout, "it is a pipe"
        self._poll = select.poll()
        self._poll.register(self._child.stdout, select.POLLIN)
        self._ready = False

    @property
    def pid(self) -> int:
        return self._child.pid

    def ask(self, question: msgspec.Struct, seconds: float) -> A:
        """The answer. Raises ProcessDied if the process ended, or took too long and must be ended; and Stopped."""
        if not self._ready:
            self._read(_START_SECONDS)
            self._ready = True
        try:
            self._pipe.write(question)
        except (OSError, ValueError) as error:
            raise self._death() from error
        return self._read(seconds)

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

    def _read(self, seconds: float) -> A:
        if not wait_for(self._has_answer, seconds):
            raise ProcessDied(f"{self._name} did not finish within {duration(seconds)}.", signal=TIMEOUT)
        try:
            answer = self._pipe.read()
        except (OSError, msgspec.DecodeError):
            answer = None
        if answer is None:
            raise self._death()
        return answer

    def _has_answer(self, seconds: float) -> bool:
        return bool(self._poll.poll(seconds * 1000))

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


def limit_memory(limit: int, largest_file: int | None = None) -> None:
    """Limit a worker's address space to `limit` bytes, and disable core dumps, as crashes are expected.

    `largest_file`: the most bytes in a file that it writes.
    """
    try:
        import resource
    except ImportError:  # a system that has no such limits
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))


class WorkerPool(Generic[A]):
    """Processes for the same questions, started when all others are busy, at most `size`. From any thread."""

    def __init__(self, command: Sequence[str], answers: type[A], *, name: str, size: int) -> None:
        self._workers = [WorkerProcess(command, answers, name=name) for _ in range(size)]
        self._free()
        _ALL.add(self)

    @property
    def pids(self) -> set[int | None]:
        """Those of the running processes, and None."""
        return {worker.pid for worker in self._workers}

    def start(self) -> None:
        """Starts the first process now, without waiting until it is ready."""
        self._workers[0].start()

    def ask(self, question: msgspec.Struct, seconds: float) -> A:
        """As `WorkerProcess.ask`, once one of the processes is free."""
        some = self._some
        acquire(some)
        worker = self._idle.pop()  # the one that was used last, whose caches are full
        try:
            return worker.ask(question, seconds)
        finally:
            self._idle.append(worker)
            some.release()

    def close(self) -> None:
        """Ends the processes, also in the middle of a question. A later question starts one again."""
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.close()

    def _free(self) -> None:
        self._idle = self._workers[::-1]
        self._some = threading.Semaphore(len(self._workers))

    def _forget(self) -> None:
        """In a fork of this process: no thread of it has a worker."""
        self._free()


_ALL: WeakSet[WorkerProcess[Any] | WorkerPool[Any]] = WeakSet()


def _after_fork() -> None:
    for worker in list(_ALL):
        worker._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
