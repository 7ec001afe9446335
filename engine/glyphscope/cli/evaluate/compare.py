"""`glyphscope eval compare`: two results of the same scenarios, regressions first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, print_json
from glyphscope.evals.results.changes import Change, Changes, changes_between
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import REASON_WORDS, arm_labels, p_words
from glyphscope.text.figures import percent, pluralize
from glyphscope.visible import visible

_MARKS = {"regression": "✗ regression", "fix": "✓ fixed", "other": "· reason changed"}


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The folder of the first result.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The folder of the second result.")],
    fail: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit code 1 if there is a regression.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two results of the same scenarios: regressions, fixes and other changes."""
    folders = [ResultFolder.open(each) for each in (before, after)]
    one, other = ((folder.manifest, folder.samples()) for folder in folders)
    found = changes_between(one, other)
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        _show(found, arm_labels([*{arm.id: arm for arm in (*one[0].arms, *other[0].arms)}.values()]))
    raise typer.Exit(1 if fail and found.regressions else 0)


def _show(found: Changes, labels: dict[str, str]) -> None:
    out = console()
    table = Table(
        "arm",
        "pairs",
        "ok before",
        "ok after",
        "regressions",
        "fixed",
        "McNemar",
        box=None,
        header_style="bold",
    )
    for arm in found.arms:
        names = dict.fromkeys(labels.get(name, name) for name in (arm.before, arm.after))
        right = (percent(n / arm.pairs, 0) if arm.pairs else "–" for n in (arm.right_before, arm.right_after))
        table.add_row(
            Text(visible(" → ".join(names))),
            str(arm.pairs),
            *right,
            str(arm.regressions),
            str(arm.fixes),
            p_words(arm.p),
        )
    out.print(table)
    for change in found.changes:
        out.print(Text(visible(_line(change, labels))))
    for note in found.notes:
        out.print(Text(visible(note)))
    if not found.changes:
        out.print(f"No change in {pluralize(sum(arm.pairs for arm in found.arms), 'pair')}.")


def _line(change: Change, labels: dict[str, str]) -> str:
    after = change.after
    trial = f", trial {after.trial}" if after.trial > 1 else ""
    name = f"{after.suite} · {after.scenario} · {labels.get(after.arm, after.arm)}{trial}"
    was = f" (was: {_why(change.before)})" if change.kind == "other" else ""
    return f"{_MARKS[change.kind]}  {name}{': ' if not after.ok else ''}{_why(after)}{was}"


def _why(sample: Sample) -> str:
    if not sample.failures:
        return ""
    failure = sample.failures[0]
    return f"{REASON_WORDS[failure.reason]}{f': {failure.detail}' if failure.detail else ''}"
