"""The parent's end of the peer's process (`glyphscope.models.peer`): a task, its answer."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from glyphscope.cli.bench.timing import Stamped
from glyphscope.errors import ModelDied, ModelError
from glyphscope.models.process import ENVIRONMENT


class Answer(msgspec.Struct, frozen=True):
    """When it started and when each token came, in seconds; the token ids or the text; or why there is none."""

    start: float = 0.0
    stamps: list[float] = []
    ids: list[int] = []
    text: str = ""
    error: str = ""

    @property
    def stamped(self) -> Stamped:
        return Stamped(self.start, tuple((at, 1) for at in self.stamps))


class Peer:
    """A running peer; `started` makes one."""

    def __init__(self, process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
        self._process, self._stderr = process, stderr

    def ask(self, **task: Any) -> Answer:
        """Raises ModelError with the peer's reason, ModelDied when it ended."""
        process = self._process
        assert process.stdin and process.stdout, "both are pipes"
        try:
            process.stdin.write(msgspec.json.encode(task) + b"\n")
            process.stdin.flush()
        except BrokenPipeError:  # it ended: what was not read would be written again when the pipe is closed
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        line = process.stdout.readline()
        if not line:
            self._stderr.seek(0)
            words = self._stderr.read().decode("utf-8", errors="replace")
            raise ModelDied(f"the peer's process ended with exit code {process.wait()}", stderr=words[-2000:])
        answer = msgspec.json.decode(line, type=Answer)
        if answer.error:
            raise ModelError(f"the peer failed: {answer.error}")
        return answer


@contextlib.contextmanager
def started(path: str, context: int) -> Iterator[Peer]:
    """A peer for that model file, ended at the end. It has the environment of our own model's process.

    Raises ModelError where no such process can be started.
    """
    if getattr(sys, "frozen", False):
        raise ModelError("the peer is a Python module, which a bundled program cannot start")
    command = [sys.executable, "-P", "-m", "glyphscope.models.peer", path, str(context)]
    environment = {**ENVIRONMENT, **os.environ}
    with (
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environment
        ) as process,
    ):
        yield Peer(process, stderr)
