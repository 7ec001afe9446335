"""`glyphscope lesson check`: every mistake of a lesson, and whether each part of it works with its recordings."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json, print_problems
from glyphscope.errors import LessonError
from glyphscope.lessons import check_lesson, find_lesson
from glyphscope.visible import visible


def check(
    file: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A lesson file, or a lesson of the list.")],
    as_json: JsonOption = False,
) -> None:
    """List every error of a lesson, with line and column. Exit code 1 if there is one."""
    try:
        lesson = check_lesson(find_lesson(file))
    except LessonError as error:
        if not error.problems:
            raise  # no lesson at all: no such file, or no text
        print_problems(error, as_json=as_json)
        raise typer.Exit(1) from None
    counts = {
        "steps": len(lesson.steps),
        "runs": len(lesson.runs),
        "questions": len(lesson.questions),
        "experiments": len(lesson.experiments),
    }
    if as_json:
        print_json({"ok": True, "name": lesson.name, **counts, "problems": []})
        return
    words = ", ".join(f"{number} {name if number != 1 else name[:-1]}" for name, number in counts.items())
    console().print(Text(f"✓ {visible(lesson.title)}: {words}, no errors", style="green"))
