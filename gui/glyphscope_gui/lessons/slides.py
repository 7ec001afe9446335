"""What of a step is shown at once: all of it to a reader, and to a room a part at a time."""

from __future__ import annotations

from typing import NamedTuple

from glyphscope.lessons import AnyPart, Lesson, Prose, Step


class Slide(NamedTuple):
    """Parts of the step with that number."""

    step: int
    parts: tuple[AnyPart, ...]


def reading_slides(lesson: Lesson) -> list[Slide]:
    """Each step whole."""
    return [Slide(number, step.shown) for number, step in enumerate(lesson.steps)]


def lecture_slides(lesson: Lesson) -> list[Slide]:
    """Words with the run, question or experiment behind them; words that end a step stay with what they are about."""
    slides: list[Slide] = []
    for number, step in enumerate(lesson.steps):
        slides += _of_step(number, step)
    return slides


def _of_step(number: int, step: Step) -> list[Slide]:
    slides: list[Slide] = []
    parts: list[AnyPart] = []
    for part in step.shown:
        parts.append(part)
        if not isinstance(part, Prose):
            slides.append(Slide(number, tuple(parts)))
            parts = []
    if not slides:
        slides.append(Slide(number, tuple(parts)))
    elif parts:
        slides[-1] = Slide(number, (*slides[-1].parts, *parts))
    return slides
