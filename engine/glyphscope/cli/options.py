"""The options that several commands share, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from glyphscope.events import ArgumentOrder, ConstrainFrom, Notation, Shape, Thinking

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
AnyNotation: TypeAlias = Literal["glyph", "json", "native"]
AnyNotationOption: TypeAlias = Annotated[
    AnyNotation,
    typer.Option(help="How a call is written; native is the form of the model's own template."),
]
ShapeOption: TypeAlias = Annotated[
    Shape, typer.Option(help="Arrangement of the tool's name and its arguments.")
]
OrderOption: TypeAlias = Annotated[
    ArgumentOrder | None,
    typer.Option(
        help="In which order arguments may come under the constraint. Default: any under a mask, else the schema's.",
        show_default=False,
    ),
]
ThinkingOption: TypeAlias = Annotated[
    Thinking,
    typer.Option(help="The switch for thinking in the model's chat template; auto is its own default."),
]
ToolChoiceOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="auto|required|none|NAME",
        help="Whether the answer has to call a tool, may be text, or calls the tool of that name.",
    ),
]
CallsOption: TypeAlias = Annotated[
    int,
    typer.Option(min=0, help="Maximum number of calls in one answer; 0 means no limit.", show_default=True),
]
ConstrainFromOption: TypeAlias = Annotated[
    ConstrainFrom,
    typer.Option(
        help="Where the constraint begins: at the first token, after the reasoning, or where a call begins."
    ),
]
ReasoningBudgetOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="TOKENS", help="The most tokens of reasoning under a mask.", show_default=False
    ),
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


def notation_members(notation: AnyNotation) -> dict[str, Any]:
    """The members of a request that say how a call is written: a model's own form is JSON with its name."""
    is_native = notation == "native"
    return {"notation": "json" if is_native else notation, "native": "auto" if is_native else ""}
