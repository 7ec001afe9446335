"""The command line in the test's own process."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from glyphscope.cli.app import app


def command(*arguments: str | Path, text: str | bytes | None = None) -> Result:
    """`glyphscope` with these arguments, and `text` on standard input."""
    return CliRunner().invoke(
        app, [str(argument) for argument in arguments], input=text, prog_name="glyphscope"
    )


def mcp_command(*arguments: str | Path, text: str | bytes | None = None) -> Result:
    """`glyphscope mcp` with these."""
    return command("mcp", *arguments, text=text)
