"""`glyphscope export`: a recorded run in another program's form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glyphscope.cli.output import print_line
from glyphscope.sessions.bundle import export_file
from glyphscope.sessions.exports import ExportForm
from glyphscope.sessions.files import atomic_write


def export(
    file: Annotated[Path, typer.Argument(metavar="RUN", help="A bundle (.glyphrun) or a record (.jsonl).")],
    to: Annotated[
        ExportForm,
        typer.Option(
            help="gbnf is llama.cpp's grammar, lark llguidance's; pytest contains the verdicts as tests, "
            "curl sends the same request to llama-server, openai-messages is the conversation with the answer; "
            "openai-tool-calls, calls, results (of tools, complete), answer and prompt are parts of it."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The file to write.", show_default="standard output"
        ),
    ] = None,
) -> None:
    """Print the constraint or the request of a run in the format of another program."""
    text = export_file(file, to)
    if out is not None:
        atomic_write(out, text)
    else:
        print_line(text.removesuffix("\n").encode())
