"""The content of a lesson's blocks: a struct for each kind, from which all errors of form are reported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from glyphscope.lessons.lesson import CharacterQuestion, NextQuestion, Option, Part, View
from glyphscope.lessons.run_settings import RunSettings


class LessonHead(msgspec.Struct, frozen=True, kw_only=True):
    """The block `lesson`."""

    title: str
    about: str
    minutes: int
    order: int = 1000


class LessonRun(RunSettings, frozen=True, kw_only=True):
    """The block `run`: the settings of a new run, or only the name of an already defined one, and its playback."""

    name: str
    caption: str = ""
    stage: str = ""
    start: int = msgspec.field(default=0, name="from")
    stop: int | None = msgspec.field(default=None, name="to")
    token: int | None = None
    pace: float = 3.0
    show: tuple[View, ...] = ("alternatives",)


class ChoiceTable(msgspec.Struct, frozen=True, kw_only=True):
    """The block `question` of the kind choice."""

    kind: Literal["choice"]
    ask: str
    option: tuple[Option, ...]
    why: str = ""


class LessonExperiment(RunSettings, frozen=True, kw_only=True):
    """The block `experiment`."""

    name: str
    title: str
    of: str = ""
    about: str = ""
    vary: tuple[str, ...] = ()
    show: tuple[View, ...] = ("alternatives",)


def _table(part: type[Part]) -> type[msgspec.Struct]:
    """The block of a question: the members of its part, except for the line, which is not in the text."""
    members: Iterable[tuple[str, Any] | tuple[str, Any, Any]] = (
        (each.name, each.type) if each.required else (each.name, each.type, each.default)
        for each in msgspec.structs.fields(part)
        if each.name != "line"
    )
    return msgspec.defstruct(part.__name__, [("kind", str), *members], frozen=True, kw_only=True)


QUESTIONS: dict[str, type[msgspec.Struct]] = {
    "next": _table(NextQuestion),
    "character": _table(CharacterQuestion),
    "choice": ChoiceTable,
}
