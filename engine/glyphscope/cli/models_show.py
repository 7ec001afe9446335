"""`glyphscope models show`: what a model's file says of it, and whether it fits in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from glyphscope.cli.load_options import Loading
from glyphscope.cli.model_loading import downloaded_file
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption
from glyphscope.cli.output import console, facts_table, print_json
from glyphscope.errors import ModelError
from glyphscope.models.memory import Memory, ModelFacts, memory_needed, read_facts
from glyphscope.models.opening import EMBEDDED, embedded_path, require_installed
from glyphscope.text.figures import byte_size, parameter_count


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
        _print(facts, memory, min(options.context, facts.context or options.context), options.kv_type)
    raise typer.Exit(1 if memory.fits is False else 0)


def _file(model: str) -> Path:
    if model == EMBEDDED:
        require_installed(model)
        if path := embedded_path():
            return path
    path = Path(downloaded_file(model)).expanduser()
    if not path.is_file():
        raise ModelError(
            "There is no such file.", where=model, hint="`glyphscope models` lists the models found."
        )
    return path


def _print(facts: ModelFacts, memory: Memory, context: int, kv_type: str) -> None:
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
