"""Write the man page, made from the command line's help, to standard output; run in the environment that is frozen."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command

from glyphscope.cli.app import app


def man_page(version: str) -> str:
    """The page in the format of man(7)."""
    command = get_command(app)
    lines = [
        f'.TH GLYPHSCOPE 1 "" "glyphscope {version}" "User Commands"',
        ".SH NAME",
        "glyphscope \\- inspect tool calls of local language models token by token",
        ".SH SYNOPSIS",
        ".B glyphscope",
        "[\\fICOMMAND\\fR] [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION",
        _text(command.help or ""),
        ".B glyphscope COMMAND \\-\\-help",
        "tells the options of a command.",
        ".SH COMMANDS",
        *_commands(command, ()),
        ".SH EXIT STATUS",
        "0 ok, 1 the answer is no, 2 bad usage or input, 130 interrupted.",
        ".SH ENVIRONMENT",
        ".TP",
        ".B GLYPHSCOPE_HOME",
        "A folder for settings, history, logs and models, instead of the places of the desktop.",
        ".TP",
        ".B GLYPHSCOPE_LANGUAGE",
        "The language of the window, as de or pt_BR, instead of the system\\(cqs: where there is a translation.",
    ]
    return "\n".join(lines) + "\n"


def _commands(group: Any, before: tuple[str, ...]) -> Iterator[str]:
    context = typer.Context(group)
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from _commands(command, (*before, name))
        elif not command.hidden:
            yield from (
                ".TP",
                f".B {_text(' '.join((*before, name)))}",
                _text(command.get_short_help_str(200)),
            )


def _text(text: str) -> str:
    words = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{words}" if words.startswith((".", "'")) else words


if __name__ == "__main__":
    print(man_page(sys.argv[1]), end="")
