"""The parent's side of the baseline's process (`glyphscope_benchmarks.baseline`): send a task, get its answer."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from glyphscope.base.errors import ModelDied, ModelError
from glyphscope.base.figures import duration
from glyphscope.events import LoadOptions
from glyphscope.models.process import ENVIRONMENT
from glyphscope.processes import module_command
from glyphscope_benchmarks.timing import Stamped


class Answer(msgspec.Struct, frozen=True):
    """A partial or complete result of a task in the baseline process, or the reason why there is none."""

    start: float = 0.0
    stamps: list[float] = []
    ids: list[int] = []
    spent: list[float] = []
    built: float = 0.0
    text: str = ""
    error: str = ""

    @property
    def stamped(self) -> Stamped:
        return Stamped(self.start, tuple((at, 1) for at in self.stamps))


class Baseline:
    """A running baseline; `started` makes one."""

    def __init__(self, process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
        self._process, self._stderr = process, stderr

    def ask(self, **task: Any) -> Answer:
        """The answer to a task. Raises ModelError with the baseline's reason, ModelDied if it ended."""
        self._write(msgspec.json.encode(task))
        return self._answer(self._read())

    def ask_within(self, seconds: float, **task: Any) -> Answer:
        """`ask` for a baseline that may hang: it is killed after that time. Raises ModelError."""
        timer = threading.Timer(seconds, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            return self.ask(**task)
        except ModelDied as error:
            if timer.is_alive():
                raise
            raise ModelError(f"the baseline did not answer within {duration(seconds)}") from error
        finally:
            timer.cancel()

    def ask_bare(self, prompt: str, tokens: int) -> tuple[Stamped, Answer]:
        """The bare loop with one request per token: when each token arrived here, and the answer.

        Raises ModelError with the baseline's reason, ModelDied if it ended.
        """
        self._write(msgspec.json.encode({"task": "bare", "prompt": prompt, "tokens": tokens}))
        start = time.perf_counter()
        arrivals: list[tuple[float, int]] = []
        for _ in range(tokens):
            self._write(b"")
            line = self._read()
            if line.startswith(b"{"):  # it failed
                return Stamped(start, tuple(arrivals)), self._answer(line)
            arrivals.append((time.perf_counter(), 1))
        return Stamped(start, tuple(arrivals)), self._answer(self._read())

    def _write(self, line: bytes) -> None:
        stdin = self._process.stdin
        assert stdin, "it is a pipe"
        try:
            stdin.write(line + b"\n")
            stdin.flush()
        except (BrokenPipeError, ValueError):  # it has ended; the next read reports that
            with contextlib.suppress(BrokenPipeError):  # unread data would be written again
                stdin.close()

    def _read(self) -> bytes:
        stdout = self._process.stdout
        assert stdout, "it is a pipe"
        line = stdout.readline()
        if not line:
            self._stderr.seek(0)
            words = self._stderr.read().decode("utf-8", errors="replace")
            raise ModelDied(
                f"the baseline's process ended with exit code {self._process.wait()}", stderr=words[-2000:]
            )
        return line

    def _answer(self, line: bytes) -> Answer:
        answer = msgspec.json.decode(line, type=Answer)
        if answer.error:
            raise ModelError(f"the baseline failed: {answer.error}")
        return answer


def with_benchmarks(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process that runs one of these modules, which are never installed."""
    folders = [str(Path(__file__).parents[1]), environment.get("PYTHONPATH", "")]
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, folders))}


def last_line(printed: bytes) -> str:
    """The last line of a failed program's output."""
    lines = printed.decode("utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


@contextlib.contextmanager
def started(path: str, options: LoadOptions) -> Iterator[Baseline]:
    """A context with a baseline for that model file, with the environment and options of the model's process."""
    command = module_command("glyphscope_benchmarks.baseline", path, msgspec.json.encode(options).decode())
    with running(command, with_benchmarks(os.environ)) as baseline:
        yield baseline


@contextlib.contextmanager
def running(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Baseline]:
    """A context with a process that serves the protocol, in the environment of the model's process plus this one."""
    with (
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**ENVIRONMENT, **environment},
        ) as process,
    ):
        yield Baseline(process, stderr)
