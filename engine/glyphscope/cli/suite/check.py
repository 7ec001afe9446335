"""`glyphscope suite check`: every mistake of a suite file, each with line, column and JSON Pointer."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json, print_problems
from glyphscope.errors import SuiteError
from glyphscope.evals.suites.reading import load_suite
from glyphscope.visible import visible


def check(
    file: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A suite file, or a bundled suite.")],
    as_json: JsonOption = False,
) -> None:
    """List every error of a suite, with line, column and JSON Pointer. Exit code 1 if there is one."""
    try:
        suite = load_suite(file)
    except SuiteError as error:
        if not error.problems:
            raise  # no suite at all: no such file, or no JSON
        print_problems(error, as_json=as_json)
        raise typer.Exit(1) from None
    number = len(suite.scenarios)
    if as_json:
        print_json({"ok": True, "name": suite.name, "scenarios": number, "problems": []})
    else:
        console().print(Text(f"✓ {visible(suite.name)}: {number:,} scenarios, no errors", style="green"))
