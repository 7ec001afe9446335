"""Texts of the page of lessons on a run, a token and a lesson, in words and figures."""

from __future__ import annotations

from glyphscope.base.figures import UNKNOWN, count, percent
from glyphscope.events import ModelInfo, RunRequest, Token
from glyphscope.lessons.lesson import Lesson
from glyphscope.lessons.progress import LessonProgress
from glyphscope.lessons.questions import Sheet
from glyphscope_gui.shared.language import tr
from glyphscope_gui.shared.run_words import ModelName, opened_name, sampling_words, step_text


def token_words(token: Token, request: RunRequest) -> str:
    """Describe how a token was chosen, with raw and final probability."""
    step = token.step
    own = percent(step.raw)
    if step.origin != "model":
        return tr("Written before the model began. Raw probability: {own}.", own=own)
    if step.forced:
        return tr("Forced: the only allowed token. Raw probability: {own}.", own=own)
    if request.constraint == "off":
        return tr(
            "No constraint: all {allowed} tokens allowed. Final probability: {probability}.",
            allowed=count(step.allowed),
            probability=percent(step.probability),
        )
    return tr(
        "The mask allowed %n token(s) with {feasible} of the probability mass. Final probability: {probability}.",
        "",
        step.allowed,
        feasible=percent(step.feasible),
        probability=percent(step.probability),
    )


def token_title(token: Token) -> str:
    return tr("Token {index}  {token}", index=token.step.index, token=step_text(token.step))


def place_words(index: int, first: int, last: int) -> str:
    """The shown part of a run; `first` tokens precede it."""
    if last <= first:
        return tr("no tokens")
    return (
        tr("{place} of {all} tokens", place=index, all=last)
        if not first
        else tr("{place} of {all} tokens, from token {first} on", place=index, all=last, first=first)
    )


def source_words(request: RunRequest, info: ModelInfo | None, *, live: bool) -> str:
    """The source of the shown run: its model and its sampling."""
    named = ModelName(UNKNOWN) if info is None or not info.name else opened_name(info)
    model = ", ".join(filter(None, named))
    sampled = sampling_words(request.sampling)
    if live:
        return tr("Live: {model}, {sampling}", model=model, sampling=sampled)
    return tr("Recorded: {model}, {sampling}", model=model, sampling=sampled)


def right_words(sheet: Sheet) -> str:
    """The correct answers to a question in a line."""
    if sheet.kind == "character":
        return tr("character {place}, {char!r}", place=sheet.at, char=sheet.text[sheet.at])
    return ", ".join(f"{number + 1} {sheet.choices[number].text}" for number in sorted(sheet.right))


def lesson_facts(lesson: Lesson, progress: LessonProgress) -> str:
    """The second line of a lesson in the list."""
    steps = len(lesson.steps)
    seen = len([number for number in progress.seen if number < steps])
    words = [tr("{minutes} min", minutes=lesson.minutes)]
    questions = len(lesson.questions)
    answers = [right for number, right in progress.answers.items() if number < questions]
    if progress.is_done(steps, questions):
        words.append(tr("✓ completed"))
    elif seen:
        words.append(tr("{seen} of {steps} steps seen", seen=seen, steps=steps))
    else:
        words.append(tr("%n step(s)", "", steps))
    if seen and len(answers) < questions:
        words.append(
            tr("{answered} of {questions} questions answered", answered=len(answers), questions=questions)
        )
    elif answers:
        words.append(tr("{right} of {answers} answers correct", right=sum(answers), answers=len(answers)))
    return " · ".join(words)
