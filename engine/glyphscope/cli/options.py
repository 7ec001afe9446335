"""The options that several commands share, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from glyphscope.events import AnyNotation, ArgumentOrder, Notation, RunRequest, Shape, Thinking, settings_of

_REQUEST = settings_of(RunRequest)


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
McpOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--mcp",
        metavar="FILE",
        help="MCP servers that execute calls of their tools (the common mcpServers JSON).",
    ),
]
YesOption: TypeAlias = Annotated[
    bool, typer.Option("--yes", "-y", help="Start the servers' commands without confirmation.")
]
RegistryOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--registry",
        "-r",
        metavar="FILE|NAME",
        help="Tools that may be called (JSON), or default, verbs, workspace, destiny, custom, many. Default: default.",
    ),
]
LoopOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="One setting of the loop, such as max_turns=4."),
]
ExpectOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--expect",
        metavar="CALL",
        help="The right answer: a call in GLYPH or JSON in any shape, in OpenAI's wrapper, or as in a suite. A valid "
        "call that differs from it is not a success.",
    ),
]


def request_option(name: str) -> Any:
    """The option for a setting of `RunRequest`, in commands that take only some of them."""
    return typer.Option(help=_REQUEST[name].setting.about.replace("’", "'") + ".")


NotationOption: TypeAlias = Annotated[Notation, typer.Option(help="Notation of the call.")]
AnyNotationOption: TypeAlias = Annotated[AnyNotation, request_option("notation")]
ShapeOption: TypeAlias = Annotated[Shape, request_option("shape")]
OrderOption: TypeAlias = Annotated[
    ArgumentOrder | None,
    typer.Option(
        help="Allowed order of arguments under the constraint. Default: any under a mask, otherwise the schema's."
    ),
]
ThinkingOption: TypeAlias = Annotated[Thinking, request_option("thinking")]
TemplateVarOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--template-var",
        metavar="NAME=VALUE",
        help="A variable of the chat template: JSON or text. Repeatable.",
    ),
]
NamedTemplateOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--name",
        metavar="NAME",
        help="The chat template of that name in the model's file, if it has several.",
    ),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]
ModelOption: TypeAlias = Annotated[
    str,
    model_option(
        "A GGUF file, the URL of an endpoint (http://host:port/v1#name), or `embedded`, `scripted:TEXT`, "
        "`recorded:FILE`."
    ),
]
SystemOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--system",
        metavar="TEXT|FILE",
        help="The system prompt: plain text, sent before the instructions for calls; "
        "or the file of a Jinja template, in place of the preset's.",
    ),
]
MessagesOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--messages",
        metavar="FILE.json|-",
        help="A conversation as a list of messages in OpenAI's format. Its system messages are the system "
        "prompt; PROMPT is the next user message, optional if the list ends with one.",
    ),
]


def _continued(context: typer.Context, file: Path | None) -> Path | None:
    if file is not None and not context.resilient_parsing:
        from glyphscope.cli.conversation import continue_run  # here, as it imports the records of runs

        continue_run(context, file)
    return file


def _opened(context: typer.Context, file: Path | None) -> Path | None:
    if file is not None and not context.resilient_parsing:
        from glyphscope.cli.conversation import open_project

        open_project(context, file)
    return file


ContinueOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--continue",
        metavar="RUN.jsonl",
        help="Continue the conversation of a recorded run: its messages, its answer, then PROMPT. "
        "Its tools and settings are the defaults.",
        is_eager=True,
        callback=_continued,
    ),
]
ProjectOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--project",
        metavar="FILE",
        help="A project, a recorded run, or the JSON body of a request to Chat Completions, Responses or Messages: its "
        "tools, messages and settings are the defaults.",
        is_eager=True,
        callback=_opened,
    ),
]
ChatTemplateOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--chat-template",
        metavar="FILE|NAME",
        help="Replace the model's chat template with that of a file (.jinja, or another model's .gguf), or with the "
        "one of that name in the model's file.",
    ),
]
