"""`glyphscope suite import bfcl`: a suite out of files of the Berkeley Function Calling Leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, diagnostics, print_json
from glyphscope.evals.suites.bfcl import import_bfcl
from glyphscope.evals.suites.reading import encode_suite
from glyphscope.sessions.files import atomic_write
from glyphscope.visible import visible

OutOption = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The suite file to write.")]

_TOLD = 20


def bfcl(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS", help="A file of questions, JSON Lines.")],
    out: OutOption,
    answers: Annotated[
        Path | None,
        typer.Argument(
            metavar="ANSWERS",
            help="The answers. Default: the file with the same name in possible_answer/ next to the questions.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a suite from a leaderboard file. Unsupported entries are skipped and listed with the reason.

    Functions of conversations are read from multi_turn_func_doc/ next to the questions.
    """
    found = import_bfcl(questions, answers)
    atomic_write(out, encode_suite(found.suite))
    number = len(found.suite.scenarios)
    if as_json:
        left = [{"id": each.id, "reason": each.reason} for each in found.left_out]
        print_json({"file": str(out), "name": found.suite.name, "scenarios": number, "left_out": left})
        return
    console().print(Text(f"{out}: {number:,} scenarios, {len(found.left_out):,} entries skipped"))
    for each in found.left_out[:_TOLD]:
        diagnostics().print(Text(f"  {visible(each.id)}: {visible(each.reason)}"))
    if len(found.left_out) > _TOLD:
        diagnostics().print(Text(f"  … and {len(found.left_out) - _TOLD} more; --json lists them all"))
