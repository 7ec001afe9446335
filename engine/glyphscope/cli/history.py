"""`glyphscope history`: the runs of the window, found by words, tags and score; described and saved as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glyphscope.cli.options import JsonOption, out_option
from glyphscope.cli.output import TextTable, console, print_json, print_text
from glyphscope.store import History, HistoryRow, places
from glyphscope.store.bundle import write_run
from glyphscope.store.history_search import MAX_SCORE

Run = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run, or its beginning.")]

app = typer.Typer(help="The runs of the window.", rich_markup_mode=None, no_args_is_help=True)


@app.command("list")
def list_runs(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Only runs that match all of them: words, #tag, score:4, score>=3."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of runs to list.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List runs: pinned ones first, then the newest. Exit code 1 when none matches."""
    rows = _history().rows(" ".join(words or ()), limit)
    if as_json:
        print_json({"runs": [row._asdict() for row in rows]})
    elif rows:
        titles = ("run", "time", "name or prompt", "outcome", "sampling", "model", "score", "tags")
        table = TextTable(*titles, wrapped=titles)
        for row in rows:
            table.add_row(*_cells(row))
        console().print(table)
    else:
        print_text("No run matches.")
    raise typer.Exit(0 if rows else 1)


@app.command()
def describe(
    run: Run,
    name: Annotated[str | None, typer.Option(help="Its name; an empty text removes it.")] = None,
    note: Annotated[str | None, typer.Option(help="A note; an empty text removes it.")] = None,
    tags: Annotated[
        str | None,
        typer.Option(help="All its tags, separated by spaces; an empty text removes them."),
    ] = None,
    score: Annotated[
        int | None, typer.Option(min=0, max=MAX_SCORE, help="1 (bad) to 5 (good); 0 removes it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Give a run a name, a note, tags or a score; print what it has now."""
    history = _history()
    found = history.find(run)
    history.describe(found.id, name=name, note=note, tags=None if tags is None else [tags], score=score)
    row = history.find(found.id)
    if as_json:
        print_json(row._asdict())
    else:
        said = (row.name, f"score {row.score}" if row.score else "", _hashed(row), row.note)
        print_text(" · ".join((row.id, *(each for each in said if each))))


@app.command()
def save(
    run: Run,
    out: Annotated[Path, out_option("A bundle (.glyphrun) or a record (.jsonl).")],
) -> None:
    """Save a run as a file, for replay, branch, explain, export and others."""
    history = _history()
    write_run(out, history.events(history.find(run).id))


def _history() -> History:
    return History(places().history)


def _cells(row: HistoryRow) -> tuple[str, ...]:
    score = str(row.score) if row.score else ""
    title = row.name or row.title
    return (row.id, row.time[:16], title, row.outcome, _sampled(row), row.model, score, _hashed(row))


def _sampled(row: HistoryRow) -> str:
    """The difference between runs of one prompt; at temperature 0, the seed has no effect."""
    sampling = row.sampling
    if sampling is None:
        return ""
    seed = f", seed {sampling.seed}" if sampling.temperature > 0 else ""
    return f"temperature {sampling.temperature:g}{seed}"


def _hashed(row: HistoryRow) -> str:
    return " ".join(f"#{tag}" for tag in row.tags)
