"""The options of how a GGUF file is loaded."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from glyphscope.cli.inputs import InputError
from glyphscope.events import DEFAULT_LOAD, FlashAttention, KvType, LoadOptions
from glyphscope.events.load_options import MOST_CONTEXT, MOST_LAYERS, MOST_THREADS
from glyphscope.models.remote import is_address

ContextOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=16,
        max=MOST_CONTEXT,
        help=f"Context size in tokens, at most the model's own. [{DEFAULT_LOAD.context}]",
        show_default=False,
    ),
]
ThreadsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=MOST_THREADS,
        help="Number of threads; 0 is one for each physical core. [0]",
        show_default=False,
    ),
]
GpuLayersOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=-1,
        max=MOST_LAYERS,
        help="Layers on the GPU; -1 is all, if llama.cpp was built for one. [-1]",
        show_default=False,
    ),
]
KvTypeOption: TypeAlias = Annotated[
    KvType | None,
    typer.Option(help=f"Type of the KV cache. [{DEFAULT_LOAD.kv_type}]", show_default=False),
]
FlashAttentionOption: TypeAlias = Annotated[
    FlashAttention | None,
    typer.Option(help="Flash attention; a quantised KV cache needs it. [auto]", show_default=False),
]


def load_options_of(name: str, given: dict[str, Any], usual: LoadOptions | None = None) -> LoadOptions:
    """`usual` with the options `given`, None for those that are not.

    Raises InputError for a model that has no such options, and for options that exclude each other.
    """
    chosen = {option: value for option, value in given.items() if value is not None}
    if chosen and is_address(name):
        names = ", ".join(f"--{option.replace('_', '-')}" for option in chosen)
        raise InputError(
            f"An endpoint loads its own model: {names} cannot be used.", hint="Set it at the server."
        )
    if "kv_type" in chosen:
        chosen.setdefault("flash_attention", "auto")
    options = msgspec.structs.replace(usual or DEFAULT_LOAD, **chosen)
    if options.problem:
        raise InputError(options.problem, hint="Use --flash-attention on, or --kv-type f16.")
    return options
