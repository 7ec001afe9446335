"""`glyphscope suite import promptfoo`, `inspect` and `bfcl`: a suite from a file of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from glyphscope.base.inputs import files_below
from glyphscope.cli.options import FilesBelowOption, JsonOption
from glyphscope.cli.suite import OutOption, keep_imported
from glyphscope.registry import bundled_registries, load_registry
from glyphscope_plugins.bfcl.questions import import_bfcl
from glyphscope_plugins.inspect_ai.dataset import import_inspect
from glyphscope_plugins.promptfoo.configuration import import_promptfoo


def bfcl(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS", help="A file of questions, JSON Lines.")],
    out: OutOption,
    answers: Annotated[
        Path | None,
        typer.Argument(
            metavar="ANSWERS",
            help="The answers. Default: the file with the same name in possible_answer/ next to the questions.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a suite from a leaderboard file. Unsupported entries are skipped and listed with the reason.

    Functions of conversations are read from multi_turn_func_doc/ next to the questions.
    """
    keep_imported(import_bfcl(questions, answers), out, as_json=as_json)


ToolsOption = Annotated[
    str | None,
    typer.Option(
        "--registry", metavar="NAME|FILE", help="The tools: a bundled registry, or a file of tools."
    ),
]


def promptfoo(
    file: Annotated[Path, typer.Argument(metavar="CONFIG", help="A configuration, YAML or JSON.")],
    out: OutOption,
    registry: ToolsOption = None,
    below: FilesBelowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a suite from a configuration of promptfoo: its prompts, tests, assertions and the tools of its providers.

    Everything that is not imported is listed with its place and the reason.
    """
    with files_below(*(below or ())):
        imported = import_promptfoo(file, _tools(registry))
    keep_imported(imported, out, as_json=as_json)


def inspect(
    file: Annotated[Path, typer.Argument(metavar="DATASET", help="A dataset: JSON, JSON Lines or CSV.")],
    out: OutOption,
    registry: ToolsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a suite from a dataset of Inspect: samples with input, target, choices, id and metadata.

    Everything that is not imported is listed with its place and the reason. A dataset has no tools: name them.
    """
    keep_imported(import_inspect(file, _tools(registry)), out, as_json=as_json)


def _tools(name: str | None) -> str | dict[str, Any] | None:
    """The registry of an option: a bundled one's name, or the document of a file."""
    if name is None or name in bundled_registries():
        return name
    return load_registry(Path(name)).to_document()
