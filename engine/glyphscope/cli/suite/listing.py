"""`glyphscope suite list`: the suites that come with the program."""

from __future__ import annotations

from collections import Counter

import msgspec
from rich.table import Table

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json
from glyphscope.evals.suites.reading import bundled_suites, load_suite
from glyphscope.evals.suites.suite import Suite


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """A suite in a line; `groups` counts its scenarios by group, in the order of the file."""

    name: str
    about: str
    scenarios: int
    controls: int
    checks: int
    sizes: int
    strategy: str
    groups: dict[str, int]


def overview(suite: Suite) -> Overview:
    return Overview(
        name=suite.name,
        about=suite.about,
        scenarios=len(suite.scenarios),
        controls=sum(each.control for each in suite.scenarios),
        checks=len(suite.checks),
        sizes=len(suite.sizes),
        strategy=suite.strategy,
        groups=dict(Counter(each.group for each in suite.scenarios)),
    )


def list_suites(as_json: JsonOption = False) -> None:
    """List the bundled suites."""
    found = [overview(load_suite(name)) for name in bundled_suites()]
    if as_json:
        print_json(found)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("suite", no_wrap=True)
    table.add_column("scenarios", justify="right")
    table.add_column("strategy", no_wrap=True)
    table.add_column("about")
    for each in found:
        table.add_row(each.name, str(each.scenarios), each.strategy, each.about)
    console().print(table)
