"""What the page of lessons says of a run, a token, a lesson, in words and figures."""

from __future__ import annotations

import math

from glyphscope.calling import RunState
from glyphscope.events import ModelInfo, RunRequest, Token
from glyphscope.lessons import Lesson, LessonProgress, Sheet
from glyphscope_gui.models.token_words import UNKNOWN, count, percent, step_text


def token_words(token: Token, request: RunRequest) -> str:
    """How a token came, with raw and final told apart."""
    step = token.step
    own = percent(None if step.logprob is None else math.exp(step.logprob))
    if step.origin != "model":
        return f"Written before the model began; the model itself gave it {own} (raw)."
    if step.forced:
        return f"Forced: the only token that was left. The model itself gave it {own} (raw)."
    if request.constraint == "off":
        free = f"No constraint: any of {count(step.allowed)} tokens could come."
        return f"{free} Drawn at {percent(step.probability)} (final)."
    return (
        f"The mask left {count(step.allowed)} tokens, {percent(step.feasible)} of what the model wanted. "
        f"Drawn at {percent(step.probability)} (final)."
    )


def token_title(token: Token) -> str:
    return f"Token {token.step.index}  {step_text(token.step)}"


def place_words(place: int, first: int, last: int) -> str:
    """How far a run is shown; `first` tokens were there before."""
    if last <= first:
        return "no tokens"
    return f"{place} of {last} tokens" if not first else f"{place} of {last} tokens, from {first} on"


def source_words(request: RunRequest, info: ModelInfo | None, *, live: bool) -> str:
    """Whose run is shown: its model, and how it was drawn."""
    name = info.name if info is not None and info.name else UNKNOWN
    size = f", {info.quantisation}" if info is not None and info.quantisation else ""
    sampling = request.sampling
    drawn = (
        "temperature 0"
        if sampling.temperature == 0
        else f"temperature {sampling.temperature:g}, seed {sampling.seed}"
    )
    return f"{'Live' if live else 'Recorded'}: {name}{size}, {drawn}"


def info_of(state: RunState) -> ModelInfo | None:
    return state.started.model if state.started is not None else None


def right_words(sheet: Sheet) -> str:
    """The right answers of a question in a line."""
    if sheet.kind == "character":
        return f"character {sheet.at}, {sheet.text[sheet.at]!r}"
    return ", ".join(f"{number + 1} {sheet.choices[number].text}" for number in sorted(sheet.right))


def lesson_facts(lesson: Lesson, progress: LessonProgress) -> str:
    """The second line of a lesson in the list."""
    steps = len(lesson.steps)
    seen = len([number for number in progress.seen if number < steps])
    words = [f"{lesson.minutes} min"]
    if seen >= steps:
        words.append("✓ all steps seen")
    elif seen:
        words.append(f"{seen} of {steps} steps seen")
    else:
        words.append(f"{steps} steps")
    right = sum(progress.answers.values())
    if progress.answers:
        words.append(f"{right} of {len(progress.answers)} answers right at first")
    return " · ".join(words)
