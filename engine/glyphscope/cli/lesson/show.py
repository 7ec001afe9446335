"""`glyphscope lesson show`: what is in a lesson, without taking it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json
from glyphscope.lessons import AnyPart, Experiment, Note, Prose, Question, Watch, find_lesson
from glyphscope.visible import visible

LessonArgument = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A lesson of the list, or a file.")]


def show(
    lesson: LessonArgument,
    notes: Annotated[bool, typer.Option("--notes", help="With the presenter's notes.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print a lesson with its runs and questions, but without answers."""
    found = find_lesson(lesson).read()
    if as_json:
        print_json(found)
        return
    out = console()
    out.print(Text(visible(found.title), style="bold"))
    out.print(Text(f"{visible(found.about)} About {found.minutes} minutes, {len(found.steps)} steps."))
    for number, step in enumerate(found.steps, 1):
        out.print()
        out.print(Text(f"{number}. {visible(step.title)}", style="bold"))
        for part in step.parts:
            if isinstance(part, Prose):
                out.print(Markdown(visible(part.text, lines=True), hyperlinks=False))
            elif not isinstance(part, Note):
                out.print(Text(f"▸ {part_words(part)}", style="blue"))
            elif notes:
                out.print(Text(f"Note: {visible(part.text, lines=True)}", style="dim"))


def part_words(part: AnyPart) -> str:
    """A part of a step in a line."""
    match part:
        case Watch():
            return f"watch the run {part.run}" + (f": {visible(part.caption)}" if part.caption else "")
        case Experiment():
            return f"experiment: {visible(part.title)}"
        case _ if isinstance(part, Question):
            kind = {
                "NextQuestion": "Which tokens may come next?",
                "CharacterQuestion": "Which character decides?",
            }
            return f"question: {visible(part.ask) or kind.get(type(part).__name__, '')}"
    return ""
