"""`glyphscope models search`: repositories of the Hub with models in GGUF, and which of their files fits."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import PlainTable, console, print_json, print_note, print_text
from glyphscope.cli.signals import INTERRUPTED, closing_when_ended
from glyphscope.models.files import available_memory
from glyphscope.models.hub.jobs import MOST_HITS, Hit, Search
from glyphscope.text.figures import byte_size

_FITS = {True: "fits", False: "too large", None: "unknown"}


def search(
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help="Words of a model's name, as in: qwen3 0.6b")
    ],
    limit: Annotated[int, typer.Option(min=1, max=MOST_HITS, help="Maximum number of repositories.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Search the Hugging Face Hub for models in GGUF. Exit code 1 when none is found.

    Shows the file that suits the free memory best, which `glyphscope models get` downloads.
    """
    memory = available_memory()
    try:
        with closing_when_ended():
            hits = Search(" ".join(words), memory, limit).hits()
    except KeyboardInterrupt:
        print_note("Stopped.")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json({"free": memory, "repositories": [_facts(hit) for hit in hits]})
    elif hits:
        _print(hits, memory)
    else:
        print_text("No repository with GGUF models was found. Use fewer words.")
    raise typer.Exit(0 if hits else 1)


def _print(hits: list[Hit], memory: int | None) -> None:
    titles = ("repository", "downloads", "files", "suggested", "size", "memory")
    table = PlainTable(*titles, right=("downloads", "files", "size"), wrapped=("repository", "memory"))
    for hit in hits:
        files = "" if hit.listing is None else f"{len(hit.listing.choices):,}"
        row = [hit.repo, f"{hit.downloads:,}", files]
        if hit.pick is None:
            row += ["", "", hit.problem.message if hit.problem else ""]
        else:
            choice = hit.pick.choice
            size = byte_size(choice.bytes) if choice.bytes else "unknown"
            row += [choice.quantisation or choice.name, size, _FITS[hit.fits]]
        table.add_row(*row)
    console().print(table)
    free = "" if memory is None else f"Free memory: {byte_size(memory)}. "
    print_text(f"{free}Download with: glyphscope models get OWNER/NAME")


def _facts(hit: Hit) -> dict[str, Any]:
    choices = [] if hit.listing is None else hit.listing.choices
    return {
        "repository": hit.repo,
        "downloads": hit.downloads,
        "files": [
            {"file": each.name, "quantisation": each.quantisation, "bytes": each.bytes} for each in choices
        ],
        "suggested": None if hit.pick is None else hit.pick.choice.name,
        "fits": hit.fits,
        "problem": "" if hit.problem is None else hit.problem.message,
    }
