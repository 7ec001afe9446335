"""`glyphscope grammar …`: one file per command, joined here."""

from __future__ import annotations

import typer

from glyphscope.cli.grammar import build, check, diff, match, sample

grammar = typer.Typer(help="Grammars of tool calls.", no_args_is_help=True)


for command in (build.build, check.check, match.match, sample.sample, diff.diff):
    grammar.command()(command)
