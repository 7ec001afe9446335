"""`glyphscope suite …`: the suites of prompts for models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from glyphscope.base.errors import SuiteError
from glyphscope.base.figures import pluralize
from glyphscope.base.inputs import files_below
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.cli.inputs import InputError
from glyphscope.cli.options import FilesBelowOption, JsonOption, out_option
from glyphscope.cli.output import TextTable, console, print_json, print_note, print_problems, print_text
from glyphscope.cli.plugin_commands import open_group
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.suites.from_runs import suite_of_runs, with_recorded_answers
from glyphscope.evals.suites.imported import ImportedSuite
from glyphscope.evals.suites.reading import bundled_suites, check_suite, encode_suite, load_suite, parse_suite
from glyphscope.evals.suites.suite import Suite, expected_words
from glyphscope.store.files import atomic_write


def list_suites(as_json: JsonOption = False) -> None:
    """List the bundled suites."""
    suites = [load_suite(name) for name in bundled_suites()]
    if as_json:
        print_json([_overview(suite) for suite in suites])
        return
    table = TextTable("suite", "scenarios", "strategy", "about", right=("scenarios",))
    table.columns[0].no_wrap = table.columns[2].no_wrap = True
    for suite in suites:
        table.add_row(suite.name, str(len(suite.scenarios)), suite.strategy, suite.about)
    console().print(table)


def _overview(suite: Suite) -> dict[str, Any]:
    return {
        "name": suite.name,
        "about": suite.about,
        "scenarios": len(suite.scenarios),
        "controls": sum(each.control for each in suite.scenarios),
        "checks": len(suite.checks),
        "sizes": len(suite.sizes),
        "strategy": suite.strategy,
        "groups": Counter(each.group for each in suite.scenarios),
    }


SuiteArgument = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A bundled suite, or a suite file.")]

_MAX_LENGTH = 90
"""The maximum characters of a prompt, or of its expected calls, in the table."""


def show(suite: SuiteArgument, below: FilesBelowOption = None, as_json: JsonOption = False) -> None:
    """Show the scenarios of a suite and the expected calls; with --json, the suite itself with its registries."""
    with files_below(*(below or ())):
        loaded = load_suite(suite)
    if as_json:
        print_json(loaded)
        return
    out = console()
    print_text(f"{loaded.name}: {loaded.about}", "bold")
    groups = Counter(each.group or "without a group" for each in loaded.scenarios)
    print_text(
        f"{pluralize(len(loaded.scenarios), 'scenario')} ({', '.join(f'{name} {n}' for name, n in groups.items())}), "
        f"{pluralize(len(loaded.checks), 'check')}, {pluralize(len(loaded.sizes), 'size')}"
    )
    table = TextTable("scenario", "level", "prompt", "right")
    for scenario in loaded.scenarios:
        table.add_row(
            scenario.id,
            scenario.level,
            shorten(visible(scenario.prompt), _MAX_LENGTH),
            shorten(visible(expected_words(scenario)), _MAX_LENGTH),
        )
    out.print(table)
    for note in loaded.notes:
        print_text(f"· {note}")


def check(
    file: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A suite file, or a bundled suite.")],
    below: FilesBelowOption = None,
    as_json: JsonOption = False,
) -> None:
    """List every error of a suite, with line, column and JSON Pointer. Exit code 1 if there is one."""
    try:
        with files_below(*(below or ())):
            suite = load_suite(file)
    except SuiteError as error:
        print_problems(error, as_json=as_json)
        raise typer.Exit(1) from None
    number = len(suite.scenarios)
    if as_json:
        print_json({"ok": True, "name": suite.name, "scenarios": number, "problems": []})
    else:
        print_text(f"✓ {suite.name}: {pluralize(number, 'scenario')}, no errors", "green")


OutOption = Annotated[Path, out_option("The suite file to write.")]

_LISTED = 20
"""The maximum number of skipped entries that are listed in the terminal."""


def keep_imported(imported: ImportedSuite, out: Path, *, as_json: bool) -> None:
    """Write the suite, and list what was not imported."""
    atomic_write(out, encode_suite(imported.suite))
    number = len(imported.suite.scenarios)
    if as_json:
        skipped = [{"id": each.id, "reason": each.reason} for each in imported.left_out]
        print_json({"file": str(out), "name": imported.suite.name, "scenarios": number, "left_out": skipped})
        return
    print_text(f"{out}: {pluralize(number, 'scenario')}, {len(imported.left_out):,} entries skipped")
    for each in imported.left_out[:_LISTED]:
        print_note(f"  {each.id}: {each.reason}")
    if len(imported.left_out) > _LISTED:
        print_note(f"  … and {len(imported.left_out) - _LISTED} more; --json lists them all")


def from_runs(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Records or bundles of runs.")],
    out: OutOption,
    name: Annotated[str | None, typer.Option(help="The suite's name. Default: the file's.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a suite from recorded runs: the same prompts and tools, with the recorded calls as the expected ones."""
    suite = suite_of_runs(runs, name or out.stem)
    if problems := check_suite(suite):
        raise SuiteError(
            f"No suite can be created from these runs: {problems[0].pointer} {problems[0].message}",
            where=", ".join(map(str, runs[:3])),
        )
    atomic_write(out, encode_suite(suite))
    if as_json:
        print_json({"file": str(out), "name": suite.name, "scenarios": len(suite.scenarios)})
    else:
        print_text(f"{out}: {pluralize(len(suite.scenarios), 'scenario')}. Check the expected calls.")


def from_result(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="The folder of an evaluation.")],
    out: OutOption,
    suite: Annotated[str | None, typer.Option(help="The suite, if the result has several.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a copy of an evaluation's suite that replays its tools' recorded answers, without their MCP servers.

    A call that no run of the evaluation made gets an error of the tool.
    """
    folder = ResultFolder.open(result)
    names = [each.name for each in folder.manifest.suites]
    if suite is None and len(names) > 1:
        raise InputError(
            "The result has several suites.", where=str(result), hint=f"Give --suite: {', '.join(names)}."
        )
    name = suite or names[0]
    if name not in names:
        raise InputError(
            f"The result has no suite {name}.", where=str(result), hint=f"It has {', '.join(names)}."
        )
    saved = parse_suite(folder.suite(name), where=name)
    runs = (
        (sample.scenario, folder.record(run).events)
        for sample in folder.samples()
        if sample.suite == name
        for run in sample.runs
    )
    made = with_recorded_answers(saved, runs)
    atomic_write(out, encode_suite(made))
    number = sum(
        len(after.script) - len(before.script) for before, after in zip(saved.scenarios, made.scenarios)
    )
    if as_json:
        print_json({"file": str(out), "name": name, "scenarios": len(made.scenarios), "answers": number})
    else:
        print_text(
            f"{out}: {pluralize(len(made.scenarios), 'scenario')}, {pluralize(number, 'recorded answer')}"
        )


app = typer.Typer(help="Suites: prompts with expected calls, for `glyphscope eval`.", no_args_is_help=True)
imports = typer.Typer(
    cls=open_group("suite.import."), help="Create suites from files of other programs.", no_args_is_help=True
)

app.command("list")(list_suites)
app.command("show")(show)
app.command("check")(check)
app.command("from-runs")(from_runs)
app.command("from-result")(from_result)


@imports.callback()
def _imports() -> None:
    """A group whose commands are all plug-ins."""


app.add_typer(imports, name="import")
