"""`glyphscope eval export`: the samples of a result as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glyphscope.cli.evaluate.report import tell
from glyphscope.evals.results.export import export_samples
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.text.figures import counted


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a result.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="A file that ends with .csv or .parquet."),
    ],
) -> None:
    """Write all samples of a result as a table, one row each. Parquet needs the extra `parquet`."""
    written = export_samples(ResultFolder.open(folder), out)
    tell(f"{counted(written, 'sample')} written to {out}.")
