"""`glyphscope lesson …`: lessons in the terminal, and what their authors need, joined here from a file a command."""

from __future__ import annotations

import typer

from glyphscope.cli.lesson import check, listing, record, run, show

app = typer.Typer(help="Lessons: text, recorded runs, questions and experiments.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Lessons: text, recorded runs, questions and experiments."""


app.command("list")(listing.list_lessons)
app.command("show")(show.show)
app.command("run")(run.run)
app.command("check")(check.check)
app.command("record")(record.record)

__all__ = ["app"]
