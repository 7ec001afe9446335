"""`glyphscope lab …`: a file for each lab."""

import typer

from glyphscope.cli.lab.mask_driven import mask_driven

app = typer.Typer(help="Experiments with many prompts, and the files that tell what came of them.")


@app.callback()
def labs() -> None:
    """Experiments with many prompts, and the files that tell what came of them."""


app.command("mask-driven")(mask_driven)

__all__ = ["app"]
