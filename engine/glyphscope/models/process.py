"""The parent's end of the model's process: starting it, sending requests, receiving replies, and ending it cleanly."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import TypeAlias

import msgspec

from glyphscope.base.errors import ModelDied
from glyphscope.models import wire
from glyphscope.models.interface import Cancelled, Output, PromptProgress, PromptReady
from glyphscope.processes import how_ended, module_command
from glyphscope.processes.pipe import SentError, start_child
from glyphscope.processes.stopping import wait_for

ENVIRONMENT = {"GOMP_SPINCOUNT": "600", "OPENBLAS_NUM_THREADS": "1", "GGML_NO_BACKTRACE": "1"}
"""GGML_NO_BACKTRACE: a crashing llama.cpp prints its reason without gdb's backtrace, which takes a second and hides it.

GOMP_SPINCOUNT: how long llama.cpp's threads spin, some thousand times per token, before they sleep. By default, they
spin forever and block other work on the same cores, such as a window that draws. Measured on 2 cores: the same 125
tokens/s alone, and 43 instead of 23 beside a busy process; fewer spins are slower alone. numpy needs no threads.
"""
_GRACE = 1.0
_STDERR_LINES = 30
_HINTS = {
    "SIGKILL": "The system may be out of memory: use a smaller model or context. The next run starts a new process.",
    "SIGILL": "llama.cpp was compiled for a newer processor than this one. Build it here: see docs/packaging.md.",
}


class Interrupt:
    """Put among a request's replies by `ModelProcess.interrupt`."""


Item: TypeAlias = wire.Reply | Interrupt | None
"""A reply; None when the process is dead."""


_early: list[ModelProcess] = []
"""The process that was started before a model was requested, until a model takes it."""


def start_early() -> None:
    """Start the process of the next model now: loading llama.cpp takes as long as loading a small model.

    Needs no model name, and never fails: opening a model raises the error.
    """
    if not _early:
        with contextlib.suppress(OSError):
            _early.append(ModelProcess())


def next_process() -> ModelProcess:
    """The process that was started early if it is alive, otherwise a new one. Raises OSError."""
    while _early:
        process = _early.pop()
        if process.alive:
            return process
        process.close()
    return ModelProcess()


@atexit.register
def close_early() -> None:
    """End the process that no model has taken."""
    while _early:
        _early.pop().close()


class ModelProcess:
    """A running process. Requests have numbers; each number's replies have a separate queue."""

    def __init__(self) -> None:
        command = module_command("glyphscope.models.child")
        self._process, self._pipe = start_child(command, wire.NumberedAnswer, ENVIRONMENT, subprocess.PIPE)
        self._numbers = itertools.count(1)
        self._replies: dict[int, queue.SimpleQueue[Item]] = {}
        self._lock = threading.Lock()
        self._dead = False
        self._closing = False
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._threads = [
            threading.Thread(target=target, name=f"model-{name}", daemon=True)
            for name, target in (("replies", self._read_replies), ("stderr", self._read_stderr))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process accepts requests."""
        return not self._dead and self._process.poll() is None

    @property
    def stderr(self) -> str:
        """The last lines that the process printed."""
        return "\n".join(self._stderr)

    @contextlib.contextmanager
    def request(self, body: wire.Request) -> Iterator[int]:
        """Sends a request; its number, to receive the replies. Raises ModelDied."""
        number = self.open()
        try:
            self.send(number, body)
            yield number
        finally:
            self.forget(number)

    def open(self) -> int:
        """The number of a new request, ready for replies. `forget` it when it is answered."""
        number = next(self._numbers)
        with self._lock:
            self._replies[number] = queue.SimpleQueue()
            if self._dead:
                self._replies[number].put(None)
        return number

    def forget(self, number: int) -> None:
        """Drops all further replies to that number."""
        with self._lock:
            self._replies.pop(number, None)

    def send(self, number: int, body: wire.Request) -> None:
        """Raises ModelDied."""
        try:
            self._pipe.write(wire.Envelope(number, body))
        except (OSError, ValueError) as error:
            raise self.death() from error

    def receive(self, number: int, seconds: float | None = None) -> wire.Reply | Interrupt:
        """The request's next reply. Raises ModelDied, and the error that a reply describes.

        With `seconds`, TimeoutError if there is none by then, and Stopped.
        """
        replies = self._replies[number]
        reply = replies.get() if seconds is None else _next(replies, seconds)
        if reply is None:
            raise self.death()
        if isinstance(reply, SentError):
            raise reply.arrived()
        return reply

    def outputs(self, number: int, request_step: Callable[[], object]) -> Generator[Output, None, None]:
        """Yield the prompt's replies of a generation, then a step each time the consumer requests one."""
        while True:
            match self.receive(number):
                case Interrupt():
                    yield Cancelled()
                    return
                case PromptProgress() as progress:
                    yield progress
                case PromptReady() as ready:
                    yield ready
                    request_step()
                case wire.Steps(steps=steps, ended=ended):
                    if steps:
                        yield steps
                    if ended:
                        return
                    request_step()

    def interrupt(self, number: int) -> None:
        """Cancels the generation of that number: `receive` returns at once, and the process stops computing."""
        with self._lock:
            replies = self._replies.get(number)
        if replies is not None:
            replies.put(Interrupt())
            self.cancel(number)

    def cancel(self, number: int) -> None:
        """Makes the process stop computing for that number, without further replies."""
        with contextlib.suppress(OSError, ValueError):
            self._pipe.write(wire.Envelope(number, wire.Cancel()))

    def death(self) -> ModelDied:
        """The error that describes how the process ended. The process must have ended, or be about to."""
        try:
            code = self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if threading.current_thread() not in self._threads:
            self._threads[1].join(_GRACE)
        name, how = how_ended(code)
        return ModelDied(
            f"The model's process {how}.", signal=name, stderr=self.stderr, hint=_HINTS.get(name, "")
        )

    def kill(self) -> None:
        """Ends the process at once; waiting callers get ModelDied. From any thread."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process, by force after a second, and its threads and pipes."""
        if self._closing:
            return
        self._closing = True
        process = self._process
        assert process.stdin and process.stdout and process.stderr, "all are pipes"
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for thread in self._threads:
            thread.join(_GRACE)
        process.stdout.close()
        process.stderr.close()

    def _read_replies(self) -> None:
        try:
            with contextlib.suppress(OSError, msgspec.DecodeError):
                while (answer := self._pipe.read()) is not None:
                    with self._lock:
                        replies = self._replies.get(answer.number)
                    if replies is not None:
                        replies.put(answer.body)
        finally:  # nothing readable follows an unreadable frame, so no caller may wait for more
            self._process.kill()
            with self._lock:
                self._dead = True
                for replies in self._replies.values():
                    replies.put(None)

    def _read_stderr(self) -> None:
        assert self._process.stderr, "it is a pipe"
        rest = b""
        with contextlib.suppress(OSError, ValueError):
            while part := os.read(self._process.stderr.fileno(), 1 << 16):
                *lines, rest = (rest + part).split(b"\n")
                rest = rest[-4096:]
                self._stderr.extend(line.decode("utf-8", errors="replace") for line in lines if line.strip())
        if rest.strip():
            self._stderr.append(rest.decode("utf-8", errors="replace"))


def _next(replies: queue.SimpleQueue[Item], seconds: float) -> Item:
    """The next one within that time. Raises TimeoutError and Stopped."""
    found: list[Item] = []

    def taken(wait: float) -> bool:
        with contextlib.suppress(queue.Empty):
            found.append(replies.get(timeout=wait))
        return bool(found)

    if not wait_for(taken, seconds):
        raise TimeoutError
    return found[0]
