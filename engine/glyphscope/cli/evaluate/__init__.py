"""`glyphscope eval SUITE…`, and the commands on its results."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from glyphscope.cli.evaluate.report import compare, export, profiles, record, report
from glyphscope.cli.evaluate.run import run
from glyphscope.cli.option_groups import ManyValues

_HELP = (
    "Run suites of prompts with models, and report success rates with confidence "
    "intervals. `glyphscope eval SUITE…` is `glyphscope eval run SUITE…`."
)


class _SuitesFirst(TyperGroup):
    """`glyphscope eval tool-calls …` is `glyphscope eval run tool-calls …`: words other than commands are suites."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_SuitesFirst, help=_HELP, no_args_is_help=True)
app.command("run", cls=ManyValues)(run)
app.command("report")(report)
app.command("compare")(compare)
app.command("export")(export)
app.command("record")(record)
app.command("profiles")(profiles)
