"""The small commands of `glyphscope lesson`: list, show, check and record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from glyphscope.cli.inputs import InputError
from glyphscope.cli.model_loading import downloaded_file
from glyphscope.cli.options import JsonOption, ModelOption
from glyphscope.cli.output import console, diagnostics, print_json, print_problems
from glyphscope.errors import LessonError
from glyphscope.lessons import (
    AnyPart,
    Experiment,
    Lesson,
    LessonPlace,
    LessonProgress,
    Note,
    Progress,
    Prose,
    Question,
    Watch,
    all_lessons,
    check_lesson,
    find_lesson,
)
from glyphscope.lessons.recording import record_lesson
from glyphscope.models import EMBEDDED, open_model
from glyphscope.sessions import places
from glyphscope.visible import visible


def list_lessons(as_json: JsonOption = False) -> None:
    """List the bundled lessons and your own."""
    progress = Progress(places().lesson_progress)
    rows: list[dict[str, Any]] = []
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("lesson", "minutes", "steps", "seen", "answered", "about"):
        table.add_column(
            title,
            justify="left" if title in ("lesson", "about") else "right",
            no_wrap=title == "lesson",
        )
    for place, found in all_lessons():
        kept = progress.of(place.key)
        if isinstance(found, Lesson):
            rows.append(_row(place, found, kept))
            seen, questions = len(kept.seen), len(found.questions)
            answered = f"{len(kept.answers)} of {questions}" if seen and questions else "–"
            words = Text(f"{visible(found.title)}. {visible(found.about)}")
            table.add_row(
                Text(visible(place.name)),
                str(found.minutes),
                str(len(found.steps)),
                str(seen or "–"),
                answered,
                words,
            )
        else:
            rows.append({"name": place.name, "file": str(place.path or place.file), "problem": found.message})
            table.add_row(
                Text(visible(place.name)), "", "", "", "", Text(f"✗ {visible(found.message)}", style="red")
            )
    if as_json:
        print_json(rows)
    else:
        console().print(table)
        diagnostics().print(Text(f"Your own lessons: {places().lessons}", style="dim"))


def _row(place: LessonPlace, lesson: Lesson, kept: LessonProgress) -> dict[str, Any]:
    return {
        "name": place.name,
        "file": str(place.path or place.file),
        "own": place.path is not None,
        "title": lesson.title,
        "about": lesson.about,
        "minutes": lesson.minutes,
        "steps": len(lesson.steps),
        "questions": len(lesson.questions),
        "seen": len(kept.seen),
        "answered": len(kept.answers),
    }


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


def record(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A lesson file; recordings are stored in runs/ next to it.")
    ],
    only: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="NAME", help="Only this run; repeatable.", show_default=False),
    ] = None,
    model: ModelOption = EMBEDDED,
    as_json: JsonOption = False,
) -> None:
    """Execute the runs of a lesson and store the recordings next to it.

    The lesson sets the seed and temperature of each run, so the same model gives the same result.
    """
    if not file.is_file():
        raise InputError("There is no such file.", where=str(file), hint="Give the path of a lesson's file.")
    place = find_lesson(file)
    lesson = place.read()
    count, done = len(set(only) if only else lesson.runs), []
    for number, (name, path) in enumerate(
        record_lesson(
            lesson, file.absolute().parent, frozenset(only or ()), lambda: open_model(downloaded_file(model))
        ),
        1,
    ):
        done.append({"run": name, "file": str(path)})
        diagnostics().print(Text(f"{number} of {count}: {name}"))
    if as_json:
        print_json(done)
    else:
        runs = "run" if len(done) == 1 else "runs"
        console().print(Text(f"{len(done)} {runs} recorded below {file.absolute().parent}"))
