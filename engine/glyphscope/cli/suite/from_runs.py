"""`glyphscope suite from-runs`: recorded runs as scenarios, with the calls that they made as what is right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json
from glyphscope.cli.suite.bfcl import OutOption
from glyphscope.errors import SuiteError
from glyphscope.evals.suites.from_runs import suite_of_runs
from glyphscope.evals.suites.reading import check_suite, encode_suite
from glyphscope.sessions.files import atomic_write
from glyphscope.text.figures import counted


def from_runs(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Records or bundles of runs.")],
    out: OutOption,
    name: Annotated[
        str | None, typer.Option(help="The suite's name. Default: the file's.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a suite from recorded runs: the same prompts and tools, with the recorded calls as the expected ones."""
    suite = suite_of_runs(runs, name or out.stem)
    if problems := check_suite(suite):
        raise SuiteError(
            f"No suite can be created from these runs: {problems[0].pointer} {problems[0].message}",
            where=", ".join(map(str, runs[:3])),
        )
    atomic_write(out, encode_suite(suite))
    if as_json:
        print_json({"file": str(out), "name": suite.name, "scenarios": len(suite.scenarios)})
    else:
        console().print(
            Text(f"{out}: {counted(len(suite.scenarios), 'scenario')}. Check the expected calls.")
        )
