"""`glyphscope lesson …`: lessons in the terminal, and what their authors need, joined here from a file a command."""

from __future__ import annotations

import typer

from glyphscope.cli.lesson import commands, run

app = typer.Typer(help="Lessons: text, recorded runs, questions and experiments.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Lessons: text, recorded runs, questions and experiments."""


app.command("list")(commands.list_lessons)
app.command("show")(commands.show)
app.command("run")(run.run)
app.command("check")(commands.check)
app.command("record")(commands.record)

__all__ = ["app"]
