"""`glyphscope eval report`, `compare`, `export` and `profiles`: a result's figures, and two results side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from glyphscope.base.errors import RecordError
from glyphscope.base.figures import percent, plain_number, pluralize
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.cli.inputs import InputError
from glyphscope.cli.options import JsonOption, out_option
from glyphscope.cli.output import TextTable, console, print_json, print_line, print_note, print_text, to_json
from glyphscope.evals.matrix.profiles import profiles as all_profiles
from glyphscope.evals.results.changes import ArmChange, ResultChanges, SampleChange, changes_between
from glyphscope.evals.results.export import export_samples
from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import REPORT, publish
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import (
    ARM_TITLES,
    REASON_WORDS,
    arm_cells,
    arm_labels,
    comparison_words,
    p_words,
)
from glyphscope.evals.statistics import Spread
from glyphscope.store import atomic_write
from glyphscope.store.records import encode_record

LISTED_BELOW = 0.05
"""Comparisons by measures other than `ok` are printed if their corrected p is below this; the report has all."""


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a result.")],
    as_json: JsonOption = False,
) -> None:
    """Recompute a result's summaries and report from its samples."""
    show_result(folder, publish(folder), as_json=as_json)


def show_result(folder: Path, summary: Summary, *, as_json: bool) -> None:
    """Print the figures of all arms, their comparisons and the notes."""
    if as_json:
        print_json({"folder": str(folder), "summary": msgspec.to_builtins(summary)})
        return
    turns = any(arm.tools.model_turns is not None and arm.tools.model_turns.mean > 1 for arm in summary.arms)
    titles = ("tokens", *(("prompt tokens", "turns") if turns else ()), "ms p50")
    table = TextTable(*ARM_TITLES, *titles, pad_edge=True)
    arms = {arm.id: arm for arm in ResultFolder.open(folder).manifest.arms}
    labels = arm_labels(list(arms.values()))
    for arm in summary.arms:
        figures = arm.tools
        table.add_row(
            *arm_cells(arm, labels),
            _mean(figures.decoded),
            *((_mean(figures.prompt_tokens), _mean(figures.model_turns)) if turns else ()),
            "" if figures.total_ms is None else plain_number(figures.total_ms.p50),
        )
    console().print(table)
    for comparison in summary.comparisons:
        if comparison.measure == "ok" or comparison.p_holm < LISTED_BELOW:
            print_text(comparison_words(comparison, arms, labels))
    for note in summary.notes:
        print_text(note)
    print_text(f"Report: {folder / REPORT}")


def _mean(spread: Spread | None) -> str:
    return "" if spread is None else plain_number(spread.mean)


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a result.")],
    out: Annotated[
        Path, out_option("A file that ends with .csv or .parquet, or for Inspect with .eval or .json.")
    ],
) -> None:
    """Write all samples of a result as a table, one row each, or as logs of Inspect, one for each suite and arm.

    Parquet needs the extra `parquet`, Inspect's logs the extra `inspect`.
    """
    exported = export_samples(ResultFolder.open(folder), out)
    print_note(f"{pluralize(exported.samples, 'sample')} written to:")
    for path in exported.files:
        print_note(f"  {path}")


def record(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a result.")],
    sample: Annotated[
        str,
        typer.Argument(
            metavar="SAMPLE", help="The sample's id: ARM/SUITE/SCENARIO/TRIAL, as in samples.jsonl."
        ),
    ],
    out: Annotated[Path, out_option("The record's file, for `glyphscope replay`.")],
    turn: Annotated[int, typer.Option("--turn", min=1, help="The user's turn, from 1.")] = 1,
) -> None:
    """Write the record of one of a sample's runs to a separate file."""
    result = ResultFolder.open(folder)
    found = [each for each in result.lines(Sample) if each.id == sample]
    if not found or len(found[-1].runs) < turn:
        why = (
            f"It has {pluralize(len(found[-1].runs), 'recorded turn')}."
            if found
            else "There is no such sample."
        )
        raise RecordError(why, where=sample, hint="The ids are in samples.jsonl, and in the window.")
    atomic_write(out, encode_record(result.record(found[-1].runs[turn - 1]).events))
    print_note(f"Written to {out}")


def profiles(as_json: JsonOption = False) -> None:
    """List the sampling profiles and the recommended settings of models, with their sources."""
    if as_json:
        print_json([msgspec.to_builtins(profile) for profile in all_profiles()])
        return
    table = TextTable("profile", "for", "sampling", "about", pad_edge=True)
    for profile in all_profiles():
        table.add_row(profile.name, "", _members(profile.sampling), profile.about)
        for family in profile.for_models:
            table.add_row(
                "",
                " ".join((*family.models, *family.architectures)),
                _members(family.sampling),
                Text(family.source, "dim"),
            )
    console().print(table)


def _members(sampling: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sampling.items())


_MARKS = {"regression": "✗ regression", "fix": "✓ fixed", "other": "· reason changed"}


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The folder of the first result.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The folder of the second result.")],
    fail: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit code 1 if there is a regression.")
    ] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a summary in Markdown, short enough for a comment.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two results of the same scenarios: regressions, fixes and other changes."""
    if as_markdown and as_json:
        raise InputError("--markdown and --json exclude each other.", hint="Give one of them.")
    folders = [ResultFolder.open(each) for each in (before, after)]
    one, other = ((folder.manifest, folder.samples()) for folder in folders)
    changes = changes_between(one, other)
    labels = arm_labels([*{arm.id: arm for arm in (*one[0].arms, *other[0].arms)}.values()])
    if as_json:
        print_line(_json(changes))
    elif as_markdown:
        print_line(_markdown(changes, labels).encode())
    else:
        _show(changes, labels)
    raise typer.Exit(1 if fail and changes.regressions else 0)


def _json(changes: ResultChanges) -> Iterator[bytes]:
    """The changes in parts: there may be many."""
    yield b'{"arms":' + to_json(changes.arms) + b',"changes":['
    for number, change in enumerate(changes.changes):
        yield b"," * (number > 0) + to_json(change)
    yield b'],"notes":' + to_json(changes.notes) + b"}"


_TITLES = ("configuration", "pairs", "ok before", "ok after", "regressions", "fixed", "McNemar")


def _row(arm: ArmChange, labels: dict[str, str]) -> tuple[str, ...]:
    names = dict.fromkeys(labels.get(name, name) for name in (arm.before, arm.after))
    right = (percent(n / arm.pairs, 0) if arm.pairs else "–" for n in (arm.right_before, arm.right_after))
    return (" → ".join(names), str(arm.pairs), *right, str(arm.regressions), str(arm.fixes), p_words(arm.p))


def _no_change(changes: ResultChanges) -> str:
    return f"No change in {pluralize(sum(arm.pairs for arm in changes.arms), 'pair')}."


def _show(changes: ResultChanges, labels: dict[str, str]) -> None:
    table = TextTable(*_TITLES, pad_edge=True)
    for arm in changes.arms:
        table.add_row(*_row(arm, labels))
    console().print(table)
    for change in changes.changes:
        print_text(_line(change, labels))
    for note in changes.notes:
        print_text(note)
    if not changes.changes:
        print_text(_no_change(changes))


_IN_COMMENT = 30
"""The maximum number of arms, and of changes, in a summary."""
_COMMENT_LINE = 300


def _markdown(changes: ResultChanges, labels: dict[str, str]) -> str:
    """The summary, at most 30,000 characters. Texts of models are in a block of code, where they format nothing."""
    rows = [_row(arm, labels) for arm in changes.arms]
    count = pluralize(changes.regressions, "regression")
    lines = [f"**Glyphscope: {count}, {sum(arm.fixes for arm in changes.arms):,} fixed**", ""]
    lines += [f"| {' | '.join(_TITLES)} |", f"|{'---|' * len(_TITLES)}"]
    for name, *figures in rows[:_IN_COMMENT]:
        cell = shorten(visible(name), _COMMENT_LINE).replace("`", "'").replace("|", "\\|")
        lines.append(f"| `{cell}` | {' | '.join(figures)} |")
    listed = [shorten(visible(_line(each, labels)), _COMMENT_LINE) for each in changes.changes[:_IN_COMMENT]]
    listed += [shorten(visible(each), _COMMENT_LINE) for each in changes.notes]
    if len(changes.changes) > _IN_COMMENT:
        listed.append(f"… and {len(changes.changes) - _IN_COMMENT:,} more changes")
    fence = "`" * max(3, 1 + max((len(run) for line in listed for run in re.findall("`+", line)), default=0))
    lines += ["", *([fence, *listed, fence] if listed else [_no_change(changes)])]
    return "\n".join(lines)


def _line(change: SampleChange, labels: dict[str, str]) -> str:
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
