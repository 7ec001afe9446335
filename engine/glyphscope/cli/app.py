"""The command line: one file per command, joined here, and one place where errors become exit codes.

Exit codes: 0 success, 1 a negative result, 2 bad usage or input, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections import UserDict
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from glyphscope.base.errors import GlyphscopeError, meant
from glyphscope.cli.plugin_commands import OpenGroup, made_command
from glyphscope.cli.signals import INTERRUPTED

BAD_INPUT = 2
_UsageError: Any = typer.BadParameter.__base__
"""The base of errors of options, which typer does not export."""

COMMANDS = {
    "check": "check.check",
    "lint": "lint.lint",
    "lsp": "lsp.lsp",
    "sizes": "sizes.sizes",
    "run": "run.run",
    "replay": "bundle.replay",
    "branch": "branch.branch",
    "explain": "explain.app",
    "prompt": "prompt.prompt",
    "ab": "ab.ab",
    "bundle": "bundle.bundle",
    "export": "bundle.export",
    "capture": "capture.capture",
    "history": "history.app",
    "doctor": "doctor.doctor",
    "bench": "bench.bench",
    "gui": "gui.gui",
    "grammar": "grammar.grammar",
    "models": "models.app",
    "template": "template.app",
    "tools": "tools.app",
    "mcp": "mcp.app",
    "keys": "keys.app",
    "suite": "suite.app",
    "eval": "evaluate.app",
    "lesson": "lesson.app",
}
"""The module of each command in this package. It is imported when needed: importing all takes longer than many commands
take to answer."""


class _LazyCommands(UserDict[str, Any]):
    """The commands by name, each imported when it is looked up; listing them needs only the names."""

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = _command(name)
        return self.data[name]


class _Commands(OpenGroup):
    """Errors that the user can fix end a command with their message; Ctrl-C ends it silently."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = _LazyCommands(dict.fromkeys(COMMANDS))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if os.path.isfile(args[0]) and self.get_command(ctx, args[0]) is None:
            ctx.fail(
                f"{args[0]} is a file, not a command. To open it in the window: glyphscope gui {args[0]}"
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except GlyphscopeError as error:
            _print_error(error)
            raise typer.Exit(BAD_INPUT) from None
        except (KeyboardInterrupt, typer.Abort):  # the second one during a prompt
            raise typer.Exit(INTERRUPTED) from None
        except typer.BadParameter as error:  # typer shows pydantic's message, which is for programmers
            error.message = error.message.removeprefix("Value error, ").partition(", unable to parse")[0]
            raise
        except _UsageError as error:
            known = {each.name for each in error.ctx.command.params if each.name} if error.ctx else set()
            option = getattr(error, "option_name", "").lstrip("-").replace("-", "_")
            if option and not getattr(error, "possibilities", None) and (question := meant(option, known)):
                error.message += f". {question}".replace("_", "-").replace('"', "--", 1).replace('"', "")
            raise

    def main(self, *args: Any, **more: Any) -> Any:
        try:
            return super().main(*args, **more)
        except OSError as error:  # for example, stdout on a full disk; typer handles closed pipes
            from glyphscope.base.inputs import storage_error

            _discard_output()
            _print_error(storage_error(error, Path(error.filename or "the output"), "written"))
            sys.exit(BAD_INPUT)


app = typer.Typer(
    cls=_Commands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version  # which takes a tenth of a short command's time

        typer.echo(f"glyphscope {version('glyphscope')}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Inspect tool calls of local language models, token by token. Without a command, the window opens."""
    if context.invoked_subcommand is None:
        from glyphscope.cli.gui import gui

        gui()


def _command(name: str) -> Any:
    """The command with that name: a group of commands, or a function."""
    module, _, member = COMMANDS[name].rpartition(".")
    return made_command(name, getattr(import_module(f"glyphscope.cli.{module}"), member))


def _print_error(error: GlyphscopeError) -> None:
    from glyphscope.cli.output import print_error  # imports Rich, which --version and --help do not need

    print_error(error)


def main() -> None:
    """The entry point of `glyphscope`."""
    _prepare_streams()
    app(prog_name="glyphscope")


def _prepare_streams() -> None:
    """Discard output to streams that the caller closed, and keep their file descriptors in use. Typed or piped input
    may contain bytes that are not text.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor, which is this one
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the program
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _discard_output() -> None:
    """Discard unwritten output, so that it is not written again when the program ends."""
    # an output that is not a system file has no descriptor
    with suppress(OSError), open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), sys.stdout.fileno())
