"""The widgets of the parts of a step that are not text."""

from __future__ import annotations

from typing import TypeAlias

from PySide6.QtWidgets import QLabel, QWidget

from glyphscope.errors import GlyphscopeError
from glyphscope.lessons import AnyPart, Experiment, Question, Watch
from glyphscope.visible import visible
from glyphscope_gui.lessons.experiment import LessonExperiment
from glyphscope_gui.lessons.opened import Opened
from glyphscope_gui.lessons.player import first_of_stage
from glyphscope_gui.lessons.question import LessonQuestion
from glyphscope_gui.lessons.run import LessonRun
from glyphscope_gui.shared.labels import words_label

Active: TypeAlias = LessonRun | LessonQuestion | LessonExperiment


def make_part(part: AnyPart, opened: Opened, parent: QWidget) -> Active | QLabel:
    """A run, question or experiment; where its recording is missing, a label that says why."""
    try:
        if isinstance(part, Watch):
            return _run(part, opened, parent)
        if isinstance(part, Experiment):
            request = opened.lesson.runs[part.run]
            recorded, base = opened.events_of(part.run), opened.events_of(part.of)
            return LessonExperiment(part, request, recorded, base, parent)
        assert isinstance(part, Question)
        return LessonQuestion(opened.sheet_of(part), parent)
    except GlyphscopeError as error:
        return words_label(visible(f"{error.message} {error.hint}".rstrip(), spaces=True), "problem", parent)


def _run(part: Watch, opened: Opened, parent: QWidget) -> LessonRun:
    events = opened.events_of(part.run)
    begin, end = first_of_stage(events, part.stage) if part.stage else (0, None)
    last = end if part.stop is None else begin + part.stop
    if end is not None and last is not None:
        last = min(last, end)
    view = LessonRun(part.caption, part.show, parent)
    view.set_pace(part.pace)
    view.show_run(events, begin + part.start, last, None if part.token is None else begin + part.token)
    return view
