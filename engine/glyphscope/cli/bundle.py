"""`glyphscope bundle`: a recorded run as one file for others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, diagnostics, print_json
from glyphscope.cli.replay import told_if_torn
from glyphscope.sessions.bundle import MANIFEST, read_run, write_bundle
from glyphscope.text.figures import byte_size


def bundle(
    file: Annotated[Path, typer.Argument(metavar="RUN.jsonl", help="A record of `glyphscope run --record`.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The bundle to write (.glyphrun).")
    ],
    as_json: JsonOption = False,
) -> None:
    """Pack a recorded run into one file: record, registry, prompt, grammars, schema and tools.

    --json prints its manifest. Missing parts are listed with the reason.
    """
    record = read_run(file)
    told_if_torn(record, file)
    manifest = write_bundle(out, record, str(file))
    if as_json:
        print_json(manifest)
        return
    size = out.stat().st_size
    names = ", ".join(sorted({*manifest.files, MANIFEST}))
    console().print(Text(f"{out}: {byte_size(size)}, {manifest.events:,} events; {names}"))
    for name, reason in manifest.missing.items():
        diagnostics().print(Text(f"  without {name}: {reason}"))
    for note in manifest.notes:
        diagnostics().print(Text(f"  {note}"))
