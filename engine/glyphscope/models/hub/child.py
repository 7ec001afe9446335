"""The process that connects to the Hub: `python -P -m glyphscope.models.hub.child`. One answer to each question.

During a download, each answer is progress and waits for an empty question: without a parent, the process ends.
"""

from __future__ import annotations

import time

from glyphscope.errors import StorageError
from glyphscope.models.hub.client import Hub
from glyphscope.models.hub.failures import failed
from glyphscope.models.hub.fetch import fetch
from glyphscope.models.hub.wire import Answer, Failure, Progress, Question
from glyphscope.processes.pipe import Pipe, parent_pipe
from glyphscope.processes.worker import limit_memory

_MEMORY = 2 << 30  # bytes of address space: if a library needs more for an answer, only this process ends
_REPORT_SECONDS = 0.05
"""Seconds between two reports of the same phase."""


def serve(pipe: Pipe[Question]) -> None:
    """Answer until the other end closes."""
    reported, at = ("", ""), 0.0

    def notify(progress: Progress) -> None:
        nonlocal reported, at
        now = (progress.phase, progress.words)
        if now == reported and time.monotonic() - at < _REPORT_SECONDS:
            return
        pipe.write(Answer(progress=progress))
        if pipe.read() is None:
            raise SystemExit
        reported, at = now, time.monotonic()

    pipe.write(Answer())  # ready
    while (question := pipe.read()) is not None:
        try:
            hub = Hub()
            if question.look:
                answer = Answer(listing=hub.look(question.look))
            elif question.find:
                answer = Answer(found=hub.find(*question.find))
            else:
                assert question.get
                answer = Answer(got=fetch(hub, *question.get, notify))
        except Exception as error:
            problem = failed(error).error
            disk = isinstance(problem, StorageError)
            answer = Answer(failure=Failure(problem.message, problem.where, problem.hint, disk))
        pipe.write(answer)


def main() -> None:
    """Serve until stdin closes."""
    pipe = parent_pipe(Question)
    limit_memory(_MEMORY)
    serve(pipe)


if __name__ == "__main__":
    main()
