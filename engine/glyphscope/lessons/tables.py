"""The content of a lesson's blocks: a struct for each kind, by which every error of form is reported."""

from __future__ import annotations

from typing import Literal

import msgspec

from glyphscope.lessons.asking import Asking
from glyphscope.lessons.lesson import Option, View


class LessonHead(msgspec.Struct, frozen=True, kw_only=True):
    """The block `lesson`."""

    title: str
    about: str
    minutes: int
    order: int = 1000


class LessonRun(Asking, frozen=True, kw_only=True):
    """The block `run`: what is asked, where it is not the name of a run that was asked before, and what is watched."""

    name: str
    caption: str = ""
    stage: str = ""
    start: int = msgspec.field(default=0, name="from")
    stop: int | None = msgspec.field(default=None, name="to")
    token: int | None = None
    pace: float = 3.0
    show: tuple[View, ...] = ("alternatives",)


class NextTable(msgspec.Struct, frozen=True, kw_only=True):
    """The block `question` of the kind next."""

    kind: Literal["next"]
    token: int
    run: str = ""
    stage: str = ""
    ask: str = ""
    why: str = ""
    most: int = 6
    tokens: tuple[str, ...] = ()


class CharacterTable(msgspec.Struct, frozen=True, kw_only=True):
    """The block `question` of the kind character."""

    kind: Literal["character"]
    run: str = ""
    stage: str = ""
    text: str = ""
    ask: str = ""
    why: str = ""


class ChoiceTable(msgspec.Struct, frozen=True, kw_only=True):
    """The block `question` of the kind choice."""

    kind: Literal["choice"]
    ask: str
    option: tuple[Option, ...]
    why: str = ""


class LessonExperiment(Asking, frozen=True, kw_only=True):
    """The block `experiment`."""

    name: str
    title: str
    of: str = ""
    about: str = ""
    vary: tuple[str, ...] = ()
    show: tuple[View, ...] = ("alternatives",)


QUESTIONS: dict[str, type[msgspec.Struct]] = {
    "next": NextTable,
    "character": CharacterTable,
    "choice": ChoiceTable,
}
