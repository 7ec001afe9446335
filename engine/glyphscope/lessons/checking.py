"""Check a whole lesson with its recordings: they exist, match the current requests, every part works; and make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from glyphscope.base.errors import GlyphscopeError, LessonError, PlacedProblem, StorageError
from glyphscope.events import AnyEvent, RunFailed, RunFinished, RunRequest, RunStarted
from glyphscope.lessons.lesson import AnyPart, Experiment, Lesson, Question, WatchPart
from glyphscope.lessons.library import RUNS, LessonPlace
from glyphscope.lessons.questions import sheet, stage_of
from glyphscope.lessons.reading import lesson_error
from glyphscope.models.interface import Model
from glyphscope.models.opening import EMBEDDED, open_model
from glyphscope.runs import NonInteractive, run_state
from glyphscope.runs.strategies import run
from glyphscope.store import RecordWriter
from glyphscope.store.files import own_file
from glyphscope.tools.demo import DemoTools


def check_lesson(place: LessonPlace) -> Lesson:
    """The lesson, after checking every part of it. Raises LessonError with every error, and StorageError."""
    lesson = place.read()
    problems = [*_recording_problems(lesson, place)]
    missing = {problem.pointer for problem in problems}
    for part in lesson.parts():
        if f"run {getattr(part, 'run', '')}" in missing:
            continue
        try:
            _try(part, lesson, place)
        except GlyphscopeError as error:
            problems.append(PlacedProblem(part.block, error.words, part.line, 1))
    if problems:
        problems.sort(key=lambda each: (each.line, each.column))
        raise lesson_error(problems, place.where)
    return lesson


def is_of(events: Iterable[AnyEvent], request: RunRequest) -> bool:
    """Whether a recording is of that request: everything that determines its tokens, except the model, is the same."""
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    return started is not None and _deciding(started.request) == _deciding(request)


def _deciding(request: RunRequest) -> RunRequest:
    """The request without the members that a run sets from its model: the form of turns, the native form and shape."""
    request = msgspec.structs.replace(request, model="", form={})
    if not request.native:
        return request
    return msgspec.structs.replace(request, native="auto", notation="json", shape="name-arguments")


def _recording_problems(lesson: Lesson, place: LessonPlace) -> Iterable[PlacedProblem]:
    lines = {run: part.line for part in reversed([*lesson.parts()]) if (run := getattr(part, "run", ""))}
    for name, request in lesson.runs.items():
        line, message = lines.get(name, 1), ""
        try:
            events = place.events(name)
        except StorageError as error:
            message = error.words
        else:
            last = events[-1]
            if not is_of(events, request):
                message = "The recording is of another request. Make it again: glyphscope lesson record FILE."
            elif isinstance(last, RunFailed):
                message = f"The recorded run failed: {last.code}: {last.message}"
            elif not isinstance(last, RunFinished):
                message = "The recording was cut off. Make it again: glyphscope lesson record FILE."
        if message:
            yield PlacedProblem(f"run {name}", message, line, 1)


def _try(part: AnyPart, lesson: Lesson, place: LessonPlace) -> None:
    match part:
        case WatchPart():
            _watch(part, place)
        case Experiment():
            stage_of(run_state(place.events(part.run)), "")
        case _ if isinstance(part, Question):
            sheet(part, lesson.runs, place.events)


def _watch(part: WatchPart, place: LessonPlace) -> None:
    state = run_state(place.events(part.run))
    stage = stage_of(state, part.stage)
    count = len(stage.tokens) if part.stage else sum(len(each.tokens) for each in state.stages)
    for name, token in (("from", part.start), ("to", (part.stop or 1) - 1), ("token", part.token or 0)):
        if token >= count:
            raise LessonError(
                f"{name}: the recorded run has {count:,} tokens, with the numbers 0 to {count - 1}."
            )


def record_lesson(
    lesson: Lesson,
    folder: Path,
    names: frozenset[str] = frozenset(),
    open_: Callable[[], Model] | None = None,
) -> Iterator[tuple[str, Path]]:
    """Record the lesson's runs (or those of `names`) below `folder`, and report each with its file.

    Each is run by a newly opened model, so that no state of another run affects it. The requests contain all settings,
    so the same model produces the same tokens. Raises LessonError for a run that fails, whose older recording is kept,
    and the errors of opening the model.
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
