"""`glyphscope lesson record`: a lesson's recordings, made anew with the embedded model or another one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from glyphscope.cli.inputs import InputError
from glyphscope.cli.opening import kept
from glyphscope.cli.options import JsonOption, ModelOption
from glyphscope.cli.output import console, diagnostics, print_json
from glyphscope.lessons import find_lesson
from glyphscope.lessons.recording import record_lesson
from glyphscope.models import EMBEDDED, open_model


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
        record_lesson(lesson, file.absolute().parent, frozenset(only or ()), lambda: open_model(kept(model))),
        1,
    ):
        done.append({"run": name, "file": str(path)})
        diagnostics().print(Text(f"{number} of {count}: {name}"))
    if as_json:
        print_json(done)
    else:
        runs = "run" if len(done) == 1 else "runs"
        console().print(Text(f"{len(done)} {runs} recorded below {file.absolute().parent}"))
