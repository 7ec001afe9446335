"""The process that speaks with the Hub: `python -P -m glyphscope.models.hub.child`, a question and its answer in turn.

While a download runs it answers with progress, and waits each time until that was received: without a parent it ends.
"""

from __future__ import annotations

import time

from glyphscope.errors import StorageError
from glyphscope.models.hub.client import Hub
from glyphscope.models.hub.failures import failed
from glyphscope.models.hub.fetch import fetch
from glyphscope.models.hub.wire import Answer, Failure, Progress, Question
from glyphscope.processes.asked import limit_memory
from glyphscope.processes.pipe import Pipe, parent_pipe

_MEMORY = 2 << 30  # bytes of addresses: whatever a library makes of an answer, only this process ends
_REPORT_SECONDS = 0.05


def serve(pipe: Pipe[Question]) -> None:
    """Until the other end closes."""
    said, at = "", 0.0

    def notify(progress: Progress) -> None:
        nonlocal said, at
        words = f"{progress.phase} {progress.words}"
        if words == said and time.monotonic() - at < _REPORT_SECONDS:
            return
        pipe.write(Answer(progress=progress))
        if pipe.read() is None:
            raise SystemExit
        said, at = words, time.monotonic()

    pipe.write(Answer())
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
    """Serves until stdin closes."""
    pipe = parent_pipe(Question)
    limit_memory(_MEMORY)
    serve(pipe)


if __name__ == "__main__":
    main()
