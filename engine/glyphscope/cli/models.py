"""`glyphscope models` lists the GGUF files on this machine; `show` shows the facts and the memory of one, and `prompts`
the evaluated prompts on disk.

The other commands are in separate files: `get` and `search` query the Hub (`models_hub.py`), `inspect` reads chat
templates (`models_inspect.py`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from glyphscope.cli.load_options import Loading
from glyphscope.cli.models_hub import get, search
from glyphscope.cli.models_inspect import inspect
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import PlainTable, console, facts_table, print_json
from glyphscope.errors import ModelError
from glyphscope.inputs import home_path
from glyphscope.models.finding import find_models
from glyphscope.models.hub.part import find_unfinished
from glyphscope.models.memory import Memory, ModelFacts, memory_needed, read_facts
from glyphscope.models.opening import EMBEDDED, embedded_path, require_installed
from glyphscope.models.prompt_cache import clear_cache, stored_files
from glyphscope.sessions import places
from glyphscope.sessions.named_models import downloaded_file
from glyphscope.text.figures import byte_size, parameter_count

_NO_MODEL = "No model was found. Try --folder, or: glyphscope models get OWNER/NAME, or: pip install 'glyphscope[demo]'"

app = typer.Typer(
    help="Models on this machine, and downloads.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.command()(get)
app.command()(inspect)
app.command()(search)


@app.callback()
def models(
    context: typer.Context,
    folder: Annotated[
        list[Path] | None, typer.Option(metavar="FOLDER", help="Also search this folder; repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the models on this machine; `get` downloads one. Exit code 1 if there are none."""
    if context.invoked_subcommand is not None:
        return
    own = places().models
    files = find_models([own, *(folder or ())])
    if as_json:
        print_json({"models": files})
        raise typer.Exit(0 if files else 1)
    out = console()
    if files:
        numbers = ("parameters", "size", "context")
        table = PlainTable("name", "from", "quantisation", *numbers, "file", right=numbers, wrapped=("file",))
        for each in files:
            place = Text(each.path)
            if each.problem:
                place.append(f" ✗ {each.problem}", style="red")
            table.add_row(
                each.name, each.source, each.quantisation, parameter_count(each.parameters) if each.parameters else "",
                byte_size(each.bytes), f"{each.context:,}" if each.context else "", place,
            )  # fmt: skip
        out.print(table)
    else:
        out.print(_NO_MODEL)
    for part in find_unfinished(own):
        line = f"unfinished ({byte_size(part.bytes)}); resume with: glyphscope models get {part.repo}:{part.file}"
        out.print(line)
    raise typer.Exit(0 if files else 1)


@app.command()
@with_groups(only=("context", "kv_type"))
def show(
    *,
    model: Annotated[
        str, typer.Argument(metavar="FILE.gguf|OWNER/NAME|embedded", help="A model on this computer.")
    ],
    loading: Loading,
    as_json: JsonOption = False,
) -> None:
    """Show a model's facts and the memory it needs with these options. Exit code 1 when it does not fit."""
    options = loading.options(model)
    facts = read_facts(_file(model))
    memory = memory_needed(facts, options)
    if as_json:
        used = {**memory._asdict(), "total": memory.total, "fits": memory.fits}
        print_json({**msgspec.to_builtins(facts), "memory": used})
    else:
        _print_facts(facts, memory, min(options.context, facts.context or options.context), options.kv_type)
    raise typer.Exit(1 if memory.fits is False else 0)


@app.command()
def prompts(
    clear: Annotated[bool, typer.Option("--clear", help="Delete all of them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the size and location of the evaluated prompts on disk, or delete them."""
    folder = places().prompts
    freed = clear_cache(folder) if clear else 0
    files = stored_files(folder)
    size = sum(file.size for file in files)
    if as_json:
        print_json({"folder": str(folder), "files": len(files), "bytes": size, "freed": freed})
        return
    rows = [("folder", str(folder)), ("prompts", f"{len(files):,}"), ("size", byte_size(size))]
    console().print(facts_table([*rows, ("freed", byte_size(freed))] if clear else rows))


def _file(model: str) -> Path:
    if model == EMBEDDED:
        require_installed(model)
        if path := embedded_path():
            return path
    path = home_path(downloaded_file(model))
    if not os.path.isfile(path):
        raise ModelError(
            "There is no such file.", where=model, hint="`glyphscope models` lists the models found."
        )
    return path


def _print_facts(facts: ModelFacts, memory: Memory, context: int, kv_type: str) -> None:
    cache = "unknown" if memory.cache is None else byte_size(memory.cache)
    free = "unknown" if memory.free is None else byte_size(memory.free)
    verdict = {True: "fits", False: "does not fit", None: "free memory unknown"}[memory.fits]
    rows = (
        ("name", facts.name),
        ("file", facts.path),
        ("architecture", facts.architecture),
        ("parameters", parameter_count(facts.parameters)),
        ("layers", f"{facts.layers:,}"),
        ("quantisation", facts.quantisation or "unknown"),
        ("vocabulary", f"{facts.vocabulary:,} tokens"),
        ("trained context", f"{facts.context:,} tokens"),
        ("chat template", "yes" if facts.has_chat_template else "no"),
        ("weights", byte_size(memory.weights)),
        ("KV cache", f"{cache} for {context:,} tokens, {kv_type}"),
        ("memory", f"about {byte_size(memory.total)}; {free} free: {verdict}"),
    )
    console().print(facts_table(rows))
