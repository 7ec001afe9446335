"""Make a lesson's recordings: each run by a newly opened model, so that no state of another run affects it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from glyphscope.errors import LessonError
from glyphscope.events import AnyEvent, RunFailed, RunRequest, RunStarted
from glyphscope.lessons.lesson import Lesson
from glyphscope.lessons.library import RUNS
from glyphscope.models.interface import Model
from glyphscope.models.opening import EMBEDDED, open_model
from glyphscope.runs import NonInteractive
from glyphscope.sessions import RecordWriter
from glyphscope.sessions.files import own_file
from glyphscope.strategies import run
from glyphscope.tools.demo import DemoTools


def record_lesson(
    lesson: Lesson,
    folder: Path,
    names: frozenset[str] = frozenset(),
    open_: Callable[[], Model] | None = None,
) -> Iterator[tuple[str, Path]]:
    """Record the lesson's runs (or those of `names`) below `folder`, and report each with its file.

    The requests contain all settings, so the same model produces the same tokens. Raises LessonError for a run that
    fails, whose older recording is kept, and the errors of opening the model.
    """
    if unknown := names - lesson.runs.keys():
        raise LessonError(
            f'The lesson has no run "{min(unknown)}".', hint=f"It has {', '.join(lesson.runs) or 'none'}."
        )
    for name, request in lesson.runs.items():
        if not names or name in names:
            path = own_file(folder, f"{RUNS}/{name}.jsonl")
            _record(name, request, path, open_ or (lambda: open_model(EMBEDDED)))
            yield name, path


def _record(name: str, request: RunRequest, path: Path, open_: Callable[[], Model]) -> None:
    model, tools = open_(), DemoTools()
    try:
        events = [without_place(event) for event in run(request, model, NonInteractive({"demo": tools}))]
    finally:
        tools.close()
        model.close()
    if isinstance(failed := events[-1], RunFailed):
        raise LessonError(f"The run failed: {failed.code}: {failed.message}", where=name, hint=failed.hint)
    with RecordWriter(path) as writer:
        for event in events:
            writer.write(event)


def without_place(event: AnyEvent) -> AnyEvent:
    """The event without the model's folder, which a published recording must not contain."""
    if not isinstance(event, RunStarted):
        return event
    model = msgspec.structs.replace(event.model, path=Path(event.model.path).name)
    return msgspec.structs.replace(event, model=model)
