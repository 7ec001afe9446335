"""The command line: one file for each command, joined here, and one place where errors become exit codes.

Exit codes: 0 ok, 1 the answer is no, 2 bad usage or input, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from glyphscope.cli import (
    ab,
    bench,
    branch,
    bundle,
    check,
    doctor,
    evaluate,
    explain,
    export,
    grammar,
    gui,
    keys,
    lab,
    lesson,
    mcp,
    models,
    prompt,
    replay,
    run,
    sizes,
    suite,
)
from glyphscope.cli.ending import INTERRUPTED
from glyphscope.cli.output import print_error
from glyphscope.errors import GlyphscopeError
from glyphscope.sessions.files import storage_error

BAD_INPUT = 2


class _Commands(TyperGroup):
    """Errors that the user can mend end a command with their message, and Ctrl-C with nothing."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except GlyphscopeError as error:
            print_error(error)
            raise typer.Exit(BAD_INPUT) from None
        except (KeyboardInterrupt, typer.Abort):  # the second while something is asked for
            raise typer.Exit(INTERRUPTED) from None

    def main(self, *args: Any, **more: Any) -> Any:
        try:
            return super().main(*args, **more)
        except OSError as error:  # a full disk behind stdout, for example; typer has dealt with a closed pipe
            _discard_output()
            print_error(storage_error(error, Path(error.filename or "the output"), "written"))
            sys.exit(BAD_INPUT)


app = typer.Typer(
    cls=_Commands,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"glyphscope {version('glyphscope')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """See a tool call being born, token by token. Without a command, the window opens."""
    if context.invoked_subcommand is None:
        gui.gui()


for command in (
    check.check,
    sizes.sizes,
    run.run,
    replay.replay,
    branch.branch,
    explain.explain,
    prompt.prompt,
    ab.ab,
    bundle.bundle,
    export.export,
    doctor.doctor,
    bench.bench,
    gui.gui,
):
    app.command()(command)
app.add_typer(grammar.grammar, name="grammar")
app.add_typer(models.app, name="models")
app.add_typer(mcp.app, name="mcp")
app.add_typer(keys.app, name="keys")
app.add_typer(lab.app, name="lab")
app.add_typer(suite.app, name="suite")
app.add_typer(evaluate.app, name="eval")
app.add_typer(lesson.app, name="lesson")


def main() -> None:
    """The entry point of `glyphscope`."""
    _fill_closed_streams()
    app(prog_name="glyphscope")


def _fill_closed_streams() -> None:
    """Answers and errors for which the caller closed the stream go nowhere, and no file of ours takes its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the program
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _discard_output() -> None:
    """What could not be written is not tried again when the program ends."""
    with (
        suppress(OSError),
        open(os.devnull, "wb") as null,
    ):  # an output that is no file of the system's has no number
        os.dup2(null.fileno(), sys.stdout.fileno())
