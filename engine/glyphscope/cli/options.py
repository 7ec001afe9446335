"""The options that several commands share, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from glyphscope.events import Notation, Shape

RegistryOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--registry",
        "-r",
        metavar="FILE|NAME",
        help="Tools that may be called (JSON), or default, verbs, workspace, destiny. Default: the bundled seven.",
    ),
]
NotationOption: TypeAlias = Annotated[Notation, typer.Option(help="How a call is written.")]
ShapeOption: TypeAlias = Annotated[
    Shape, typer.Option(help="Where the tool's name and its arguments stand in a call.")
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON on stdout, and nothing else.")
]
ModelOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="M",
        help="A GGUF file, the address of an endpoint (http://host:port/v1#name), or `embedded`, `scripted:TEXT`, "
        "`recorded:FILE`.",
    ),
]
