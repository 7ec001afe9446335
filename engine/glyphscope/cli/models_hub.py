"""The commands that query the Hugging Face Hub: `glyphscope models get` downloads a model by its name, `search` lists
repositories with models in GGUF, and which of their files fits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

from glyphscope.base.figures import byte_size
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import TextTable, console, diagnostics, print_json, print_note, print_text
from glyphscope.cli.signals import INTERRUPTED, closing_when_ended
from glyphscope.models.files import available_memory
from glyphscope.models.hub.choosing import Pick, pick
from glyphscope.models.hub.files import DownloadProgress, FileChoice, FileListing
from glyphscope.models.hub.jobs import MAX_HITS, Download, DownloadResult, HubHit, Lookup, Search
from glyphscope.models.hub.names import read_request
from glyphscope.store import places

_HOW = {
    "downloaded": "Saved as",
    "kept": "Already downloaded, unchanged:",
    "cached": "Already in the Hugging Face cache, and used from there:",
}
_FITS = {True: "fits", False: "too large", None: "unknown"}


def get(
    name: Annotated[
        str,
        typer.Argument(
            metavar="OWNER/NAME[:FILE|QUANTISATION]",
            help="A repository on the Hugging Face Hub; downloads the named GGUF file, or a suitable one.",
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FOLDER", help="Download to this folder instead of the model folder."),
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="List the models of the repository without a download.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Download a model by its name. Ctrl-C stops; the same command resumes.

    HF_ENDPOINT, HF_TOKEN, HF_HOME and HF_HUB_OFFLINE are used. The file has its name only when it is complete.
    """
    request = read_request(name)
    out = diagnostics()
    try:
        with closing_when_ended():
            listing = Lookup(request).listing()
            picked = (
                None if only_list and not request.which else pick(listing, request.which, available_memory())
            )
            if only_list:
                _print_choices(listing, picked, as_json)
                return
            assert picked is not None
            if not as_json:
                _print_listing(listing, picked.choice, out)
            print_note(f"{picked.choice.name}: {picked.why}")
            got = _download(listing, picked.choice, to or places().models, out)
    except KeyboardInterrupt:
        words = "Stopped. The same command resumes the download."
        out.print("Stopped." if only_list else words)
        raise typer.Exit(INTERRUPTED) from None
    _print_result(listing, picked, got, as_json)


def _download(listing: FileListing, choice: FileChoice, folder: Path, out: Console) -> DownloadResult:
    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )
    with bar:
        task = bar.add_task("looking", total=choice.bytes or None)
        printed = ""

        def show_progress(progress: DownloadProgress) -> None:
            nonlocal printed
            if progress.words and progress.words != printed:  # report the reason for waiting once
                out.print(progress.words)
            printed = progress.words
            bar.update(task, description=progress.phase, completed=progress.done)

        return Download(listing, choice, folder, report=show_progress).run_to_end()


def _print_choices(listing: FileListing, picked: Pick | None, as_json: bool) -> None:
    choices = (picked.choice,) if picked else listing.choices
    if as_json:
        found = [_facts(choice) for choice in choices]
        print_json({"repository": listing.repo, "commit": listing.commit, "models": found})
    else:
        _print_listing(listing, picked.choice if picked else None, console())
    raise typer.Exit(0 if choices else 1)


def _print_listing(listing: FileListing, chosen: FileChoice | None, out: Console) -> None:
    out.print(Text(f"{listing.repo} at {listing.endpoint}, commit {listing.commit[:7]}"))
    table = TextTable("", "file", "quantisation", "size", right=("size",), wrapped=("file",))
    for choice in listing.choices:
        parts = f" and {len(choice.files) - 1} more parts" if len(choice.files) > 1 else ""
        lacking = f" ✗ {choice.missing} parts are missing" if choice.missing else ""
        table.add_row(
            "→" if choice is chosen else " ",
            f"{choice.name}{parts}{lacking}",
            choice.quantisation,
            byte_size(choice.bytes) if choice.bytes else "unknown",
        )
    out.print(table if listing.choices else Text("The repository has no GGUF model."))


def _print_result(listing: FileListing, picked: Pick, got: DownloadResult, as_json: bool) -> None:
    if as_json:
        facts = {**_facts(picked.choice), "why": picked.why, "path": str(got.path), "how": got.how}
        print_json({"repository": listing.repo, "commit": listing.commit, **facts, "hashed": got.hashed})
        return
    print_text(f"{_HOW[got.how]} {got.path}")
    if not got.hashed:
        print_text("The server sent no hash, so the file was not verified.")
    print_text(f"Use it with: glyphscope run --model '{got.path}' PROMPT")


def _facts(choice: FileChoice) -> dict[str, Any]:
    return {
        "file": choice.name,
        "files": [file.path for file in choice.files],
        "bytes": choice.bytes,
        "quantisation": choice.quantisation,
        "sha256": [file.sha256 for file in choice.files],
        "missing": choice.missing,
    }


def search(
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS", help="Words of a model's name, as in: qwen3 0.6b")
    ],
    limit: Annotated[int, typer.Option(min=1, max=MAX_HITS, help="Maximum number of repositories.")] = 10,
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
        print_json({"free": memory, "repositories": [_hit_facts(hit) for hit in hits]})
    elif hits:
        _print_hits(hits, memory)
    else:
        print_text("No repository with GGUF models was found. Use fewer words.")
    raise typer.Exit(0 if hits else 1)


def _print_hits(hits: list[HubHit], memory: int | None) -> None:
    titles = ("repository", "downloads", "files", "suggested", "size", "memory")
    table = TextTable(*titles, right=("downloads", "files", "size"), wrapped=("repository", "memory"))
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


def _hit_facts(hit: HubHit) -> dict[str, Any]:
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
