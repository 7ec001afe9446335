"""`glyphscope grammar …`: the commands, joined here."""

from __future__ import annotations

import typer

from glyphscope.cli.grammar.build import build, check
from glyphscope.cli.grammar.texts import convert, diff, examples, match, sample

grammar = typer.Typer(help="Grammars of tool calls, and your own: GBNF, Lark.", no_args_is_help=True)


for command in (build, check, match, sample, diff, convert, examples):
    grammar.command()(command)
