"""A lesson: steps, each a sequence of parts in the order of the file. Runs are referred to by name.

A lesson that was read is complete: every run has its request, every question its place. It does not contain the
answers: `questions.py` computes them from the recorded runs and from grammars.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import ClassVar, Literal, TypeAlias

import msgspec

from glyphscope.base.shorten import shorten
from glyphscope.base.translate import Translate, english
from glyphscope.events import RunRequest

View: TypeAlias = Literal["alternatives", "fields", "tokens"]


class LessonPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a step; `block` is the name of its block in the file, `line` its first line there, from 1."""

    block: ClassVar[str] = "prose"

    line: int = 0


class Prose(LessonPart, frozen=True, kw_only=True):
    """Markdown for readers."""

    text: str


class PresenterNote(LessonPart, frozen=True, kw_only=True):
    """Markdown for the presenter of the lesson; readers see it only on request."""

    block: ClassVar[str] = "note"

    text: str


class WatchPart(LessonPart, frozen=True, kw_only=True):
    """A recorded run to watch: tokens `start` to `stop` (exclusive; None: to the end) of a stage, `pace` per second.

    `stage` is empty for all stages in sequence. `token` is the token whose alternatives are shown first.
    """

    block: ClassVar[str] = "run"

    run: str
    caption: str = ""
    stage: str = ""
    start: int = 0
    stop: int | None = None
    token: int | None = None
    pace: float = 3.0
    show: tuple[View, ...] = ("alternatives",)


class NextQuestion(LessonPart, frozen=True, kw_only=True):
    """Which of these tokens may be next? Asked before `token` of a run's stage; `tokens` are offered in place of the
    recorded alternatives, and then the grammar determines the possible ones.
    """

    block: ClassVar[str] = "question"

    run: str = ""
    token: int
    stage: str = ""
    ask: str = ""
    why: str = ""
    most: int = 6
    tokens: tuple[str, ...] = ()


class CharacterQuestion(LessonPart, frozen=True, kw_only=True):
    """Which character decides? In a run's text, or in a `text` judged by the tools and notation of that run."""

    block: ClassVar[str] = "question"

    run: str = ""
    stage: str = ""
    text: str = ""
    ask: str = ""
    why: str = ""


class Option(msgspec.Struct, frozen=True):
    """A possible answer, whether it is right, and why."""

    text: str
    right: bool = False
    why: str = ""


class ChoiceQuestion(LessonPart, frozen=True, kw_only=True):
    """A question with answers written by the author, each with its reason."""

    block: ClassVar[str] = "question"

    ask: str
    options: tuple[Option, ...]
    why: str = ""


Question: TypeAlias = NextQuestion | CharacterQuestion | ChoiceQuestion


class Experiment(LessonPart, frozen=True, kw_only=True):
    """A variation of another run, live with a model, otherwise from its recording.

    `given` are the changed settings, as in the file; `vary` lists the settings that the reader may change.
    """

    block: ClassVar[str] = "experiment"

    run: str
    of: str
    title: str
    about: str = ""
    given: dict[str, object] = msgspec.field(default_factory=dict)
    vary: tuple[str, ...] = ()
    show: tuple[View, ...] = ("alternatives",)

    def change_words(self, tr: Translate = english) -> Iterator[str]:
        """The changes that the lesson makes; its text describes the long ones."""
        for name, value in self.given.items():
            if name == "change" and isinstance(value, dict):
                found = [f"{place} = {_json(each)}" for place, each in value.items()]
            elif name == "remove" and isinstance(value, list | tuple):
                found = [tr("without {place}", place=place) for place in value]
            elif name == "answer" and "\n" in str(value):
                continue  # a grammar, which the text shows
            else:
                found = [f"{name} = {_json(value)}"]
            yield from (shorten(each, 120) for each in found)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


AnyPart: TypeAlias = (
    Prose | PresenterNote | WatchPart | NextQuestion | CharacterQuestion | ChoiceQuestion | Experiment
)


class LessonStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a lesson; its parts are shown together."""

    title: str
    parts: tuple[AnyPart, ...]
    line: int = 0

    @property
    def shown(self) -> tuple[AnyPart, ...]:
        """All parts except the presenter's notes."""
        return tuple(part for part in self.parts if not isinstance(part, PresenterNote))

    @property
    def notes(self) -> str:
        """The presenter's notes as Markdown; empty if there are none."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, PresenterNote))


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is the file's name without number and suffix. `runs` are the requests of the recorded runs, by name."""

    name: str
    title: str
    order: int
    minutes: int
    about: str
    steps: tuple[LessonStep, ...]
    runs: dict[str, RunRequest]
    asked: dict[str, dict[str, object]] = {}
    """The settings of each run in the file, on which the user's experiments are based."""

    def parts(self) -> Iterator[AnyPart]:
        """All parts of all steps."""
        for step in self.steps:
            yield from step.parts

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(part for part in self.parts() if isinstance(part, Question))

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        return tuple(part for part in self.parts() if isinstance(part, Experiment))
