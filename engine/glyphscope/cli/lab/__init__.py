"""`glyphscope lab …`: a file for each lab."""

import typer

from glyphscope.cli.lab.mask_driven import mask_driven

app = typer.Typer(help="Experiments with many prompts, and files with their results.")


@app.callback()
def labs() -> None:
    """Experiments with many prompts, and files with their results."""


app.command("mask-driven")(mask_driven)

__all__ = ["app"]
