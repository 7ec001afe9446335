"""`glyphscope lesson run`: a lesson taken in the terminal, step by step. Runs are shown from their recordings."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from glyphscope.cli.inputs import InputError
from glyphscope.cli.lesson.commands import LessonArgument
from glyphscope.cli.output import console
from glyphscope.cli.run_printer import RunView
from glyphscope.evals.align import align
from glyphscope.evals.align_words import difference_words
from glyphscope.lessons import (
    Experiment,
    Lesson,
    LessonPlace,
    LessonProgress,
    Note,
    Progress,
    Prose,
    Question,
    Sheet,
    Watch,
    find_lesson,
    judge,
    sheet,
)
from glyphscope.runs import run_state
from glyphscope.sessions import places
from glyphscope.visible import visible


def run(
    lesson: LessonArgument,
    step: Annotated[int, typer.Option(min=1, help="The first step to show.")] = 1,
    notes: Annotated[bool, typer.Option("--notes", help="With the presenter's notes.")] = False,
    answers: Annotated[
        bool, typer.Option("--answers", help="Do not ask or wait; print the answers.")
    ] = False,
) -> None:
    """Take a lesson: Enter continues, questions are answered by their numbers. Runs and experiments are recordings."""
    place = find_lesson(lesson)
    found = place.read()
    if step > len(found.steps):
        raise InputError(f"The lesson has {len(found.steps)} steps.", where="--step")
    taking = _Taking(place, found, ask=not answers, notes=notes)
    for number in range(step - 1, len(found.steps)):
        taking.step(number)


class _Taking:
    """One lesson being taken."""

    def __init__(self, place: LessonPlace, lesson: Lesson, *, ask: bool, notes: bool) -> None:
        self._place, self._lesson = place, lesson
        self._ask, self._notes = ask, notes
        self._out: Console = console()
        self._progress = Progress(places().lesson_progress)
        self._questions = {id(question): number for number, question in enumerate(lesson.questions)}

    def step(self, number: int) -> None:
        step, out = self._lesson.steps[number], self._out
        out.print()
        out.print(Text(f"{number + 1} of {len(self._lesson.steps)}  {visible(step.title)}", style="bold"))
        for part in step.parts:
            match part:
                case Prose():
                    out.print(Markdown(visible(part.text, lines=True), hyperlinks=False))
                case Note():
                    if self._notes:
                        out.print(Text(f"Note: {visible(part.text, lines=True)}", style="dim"))
                case Watch():
                    self._run(part.run, part.caption)
                case Experiment():
                    self._experiment(part)
                case _:
                    self._question(part)
        key = self._place.key
        self._keep(self._progress.of(key).at(number, len(self._lesson.steps)))
        if self._ask and number + 1 < len(self._lesson.steps):
            self._read("Enter continues. ")

    def _run(self, name: str, caption: str) -> None:
        self._out.print()
        if caption:
            self._out.print(Text(visible(caption), style="italic"))
        self._out.print(Text(f"recorded: {visible(self._lesson.runs[name].prompt)}", style="dim"))
        self._out.print(RunView(run_state(self._place.events(name))))

    def _experiment(self, part: Experiment) -> None:
        self._out.print()
        self._out.print(Text(f"Experiment: {visible(part.title)}", style="bold"))
        if part.about:
            self._out.print(Markdown(visible(part.about, lines=True), hyperlinks=False))
        for name, value in part.given.items():
            self._out.print(Text(f"  {name}: {visible(str(value))}"))
        self._run(part.run, "")
        states = [run_state(self._place.events(name)) for name in (part.of, part.run)]
        words = difference_words(align(states), ["before", "now"])
        if words:
            self._out.print(Text(visible(words)))

    def _question(self, part: Question) -> None:
        asked = sheet(part, self._lesson.runs, self._place.events)
        out = self._out
        out.print()
        out.print(Text(f"Question: {visible(asked.ask)}", style="bold"))
        if asked.before:
            out.print(Text(f"  written so far: {visible(asked.before)}"))
        if asked.kind == "character":
            out.print(Text(f"  {visible(asked.text)}"))
        for number, choice in enumerate(asked.choices, 1):
            out.print(Text(f"  {number}  {visible(choice.text)}"))
        if self._ask:
            by_place = asked.kind == "character"
            how = "character, counted from 0" if by_place else "numbers, with spaces between"
            judged = judge(asked, self._chosen(asked, self._read(f"Your answer ({how}): ")))
            out.print(Text(visible(judged.words), style="green" if judged.right else "yellow"))
            number = self._questions[id(part)]
            self._keep(self._progress.of(self._place.key).answered(number, judged.right))
        self._reveal(asked)

    def _reveal(self, asked: Sheet) -> None:
        out = self._out
        if asked.kind == "character":
            shown = Text(f"  {visible(asked.text)}")
            shown.stylize("bold reverse", 2 + asked.at, 3 + asked.at)
            out.print(shown)
            out.print(Text(f"  {' ' * asked.at}^ character {asked.at}"))
        for number, choice in enumerate(asked.choices, 1):
            mark, style = ("✓", "green") if choice.right else ("✗", "red")
            out.print(Text(f"  {mark} {number}  {visible(choice.text)}  {visible(choice.why)}", style=style))
        if asked.why:
            out.print(Text(f"  {visible(asked.why, lines=True)}"))

    def _chosen(self, asked: Sheet, line: str) -> frozenset[int]:
        words = line.replace(",", " ").split()
        less = 0 if asked.kind == "character" else 1
        most = len(asked.text) if asked.kind == "character" else len(asked.choices)
        numbers = {int(word) - less for word in words if word.isascii() and word.isdigit() and len(word) < 6}
        known = frozenset(number for number in numbers if 0 <= number < most)
        return known if asked.kind != "character" else frozenset(sorted(known)[:1])

    def _read(self, words: str) -> str:
        """A line of the terminal or of what is piped in; empty at its end."""
        self._out.print(Text(words, style="dim"), end="")
        return sys.stdin.readline() if sys.stdin is not None else ""

    def _keep(self, progress: LessonProgress) -> None:
        self._progress.put(self._place.key, progress)
        self._progress.save()
