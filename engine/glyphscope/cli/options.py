"""The options that several commands share, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from glyphscope.events import ArgumentOrder, ConstrainFrom, Notation, Shape, Thinking


def model_option(help: str) -> Any:
    """The option that names a model."""
    return typer.Option("--model", "-m", metavar="M", help=help)


def out_option(help: str, **more: Any) -> Any:
    """The option for the file that a command writes."""
    return typer.Option("--out", "-o", metavar="FILE", help=help, **more)


FilesBelowOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--files-below",
        metavar="DIR",
        help="A folder whose files the suite may also name. Default: only files below the suite's own folder.",
    ),
]
RegistryOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--registry",
        "-r",
        metavar="FILE|NAME",
        help="Tools that may be called (JSON), or default, verbs, workspace, destiny. Default: the bundled seven.",
    ),
]
NotationOption: TypeAlias = Annotated[Notation, typer.Option(help="Notation of the call.")]
AnyNotation: TypeAlias = Literal["glyph", "json", "native"]
AnyNotationOption: TypeAlias = Annotated[
    AnyNotation, typer.Option(help="Notation of the call; native is that of the model's chat template.")
]
ShapeOption: TypeAlias = Annotated[
    Shape, typer.Option(help="Arrangement of the tool's name and its arguments.")
]
OrderOption: TypeAlias = Annotated[
    ArgumentOrder | None,
    typer.Option(
        help="Allowed order of arguments under the constraint. Default: any under a mask, otherwise the schema's."
    ),
]
ThinkingOption: TypeAlias = Annotated[
    Thinking,
    typer.Option(help="The switch for thinking in the model's chat template; auto is its own default."),
]
ToolChoiceOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="auto|required|none|NAME", help="Tool choice: required, auto, none, or the name of a tool."
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
    typer.Option(min=0, metavar="TOKENS", help="Maximum number of reasoning tokens under a mask."),
]


JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]
ModelOption: TypeAlias = Annotated[
    str,
    model_option(
        "A GGUF file, the URL of an endpoint (http://host:port/v1#name), or `embedded`, `scripted:TEXT`, "
        "`recorded:FILE`."
    ),
]


def notation_members(notation: AnyNotation) -> dict[str, Any]:
    """The members of a request for the notation of calls: a model's own form is JSON with the form's name."""
    is_native = notation == "native"
    return {"notation": "json" if is_native else notation, "native": "auto" if is_native else ""}
