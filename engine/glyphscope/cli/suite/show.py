"""`glyphscope suite show`: what a suite asks, and what it takes as right."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json
from glyphscope.cli.suite.listing import overview
from glyphscope.evals.suites.reading import load_suite
from glyphscope.evals.suites.suite import Expectation, ExpectedCall, Scenario
from glyphscope.text.shorten import shorten
from glyphscope.visible import visible

SuiteArgument = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A bundled suite, or a suite file.")]

_LONGEST = 90


def show(suite: SuiteArgument, as_json: JsonOption = False) -> None:
    """Show the scenarios of a suite and the expected calls; with --json, the suite itself with its registries."""
    found = load_suite(suite)
    if as_json:
        print_json(found)
        return
    out = console()
    short = overview(found)
    out.print(Text(f"{found.name}: {visible(found.about)}", style="bold"))
    groups = ", ".join(f"{name or 'without a group'} {number}" for name, number in short.groups.items())
    out.print(
        Text(
            f"{short.scenarios:,} scenarios ({visible(groups)}), {short.checks:,} checks, {short.sizes:,} sizes"
        )
    )
    table = Table("scenario", "level", "prompt", "right", box=None, header_style="bold", pad_edge=False)
    for scenario in found.scenarios:
        table.add_row(
            Text(visible(scenario.id)),
            scenario.level,
            Text(shorten(visible(scenario.prompt), _LONGEST)),
            Text(shorten(visible(_right(scenario)), _LONGEST)),
        )
    out.print(table)
    for note in found.notes:
        out.print(Text(f"· {visible(note)}"))


def _right(scenario: Scenario) -> str:
    turns = [scenario.expect, *(turn.expect for turn in scenario.turns)]
    return " / ".join(_expected(each) for each in turns)


def _expected(expect: Expectation) -> str:
    parts: list[str] = [expect.choice] if expect.choice else []
    parts += [_call(call) for call in expect.calls] or (["no call"] if not expect.choice else [])
    if expect.final is not None and expect.final.equals is not None:
        parts.append(f'says "{expect.final.equals}"')
    if expect.workspace is not None:
        parts.append("the workspace at the end")
    parts += [check.path for check in expect.paths]
    parts += [check.function for check in expect.python]
    parts += [f'judge: "{check.rubric}"' for check in expect.judge]
    return ", ".join(parts)


def _call(call: ExpectedCall) -> str:
    given = {**(call.arguments or {}), **{name: values[0] for name, values in call.any_of.items()}}
    inside = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items())
    more = " …" if call.any_of or call.schema or call.match == "subset" else ""
    return f"{'|'.join(call.tools)}({inside}{more})"
