"""`glyphscope grammar …`: the commands, joined here."""

from __future__ import annotations

import typer

from glyphscope.cli.grammar.build import build, check
from glyphscope.cli.grammar.texts import diff, match, sample

grammar = typer.Typer(help="Grammars of tool calls.", no_args_is_help=True)


for command in (build, check, match, sample, diff):
    grammar.command()(command)
