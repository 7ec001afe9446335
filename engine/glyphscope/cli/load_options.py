"""The options for loading a GGUF file, shared by all commands that load one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import msgspec
import typer
from msgspec import UNSET

from glyphscope.cli.inputs import InputError
from glyphscope.events import DEFAULT_LOAD, FlashAttention, KvType, LoadOptions
from glyphscope.events.load_options import MAX_CONTEXT, MAX_LAYERS, MAX_THREADS
from glyphscope.models.prompt_cache import PromptCache
from glyphscope.models.remote import is_address
from glyphscope.sessions.settings import users_prompt_cache

BatchChoice: TypeAlias = Literal["auto", "16", "32", "64", "128", "256", "512"]


@dataclass(frozen=True, kw_only=True)
class StoredPrompts:
    """The size of the folder of evaluated prompts, for commands that generate."""

    prompt_cache_mb: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="MB on disk for evaluated prompts; 0 neither reads nor stores any. Default: the settings'.",
        ),
    ] = None

    def cache(self) -> PromptCache | None:
        """The cache of prompts; None if they are not stored."""
        return users_prompt_cache(self.prompt_cache_mb)


@dataclass(frozen=True, kw_only=True)
class Loading:
    """The load options given on the command line, None for the others."""

    context: Annotated[
        int | None,
        typer.Option(
            min=16,
            max=MAX_CONTEXT,
            help=f"Context size in tokens, at most the model's own. [{DEFAULT_LOAD.context}]",
        ),
    ] = None
    threads: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_THREADS, help="Number of threads; 0 is one for each physical core. [0]"),
    ] = None
    gpu_layers: Annotated[
        int | None,
        typer.Option(
            min=-1, max=MAX_LAYERS, help="Layers on the GPU; -1 is all, if llama.cpp was built for one. [-1]"
        ),
    ] = None
    kv_type: Annotated[
        KvType | None, typer.Option(help=f"Type of the KV cache. [{DEFAULT_LOAD.kv_type}]")
    ] = None
    flash_attention: Annotated[
        FlashAttention | None, typer.Option(help="Flash attention; a quantised KV cache needs it. [auto]")
    ] = None
    batch: Annotated[
        BatchChoice | None,
        typer.Option(help="Maximum number of prompt tokens evaluated at once. [auto]"),
    ] = None

    @property
    def given(self) -> dict[str, object]:
        chosen = {name: value for name, value in vars(self).items() if value is not None}
        if self.batch is not None:
            chosen["batch"] = UNSET if self.batch == "auto" else int(self.batch)
        return chosen

    def options(self, name: str, usual: LoadOptions | None = None) -> LoadOptions:
        """The load options for the model of that name: `usual` with the given ones.

        Raises InputError for a model without such options, and for options that exclude each other.
        """
        chosen = self.given
        if is_address(name):
            self.refuse("An endpoint loads its own model", "Set it at the server.")
        if "kv_type" in chosen:
            chosen.setdefault("flash_attention", "auto")
        options = msgspec.structs.replace(usual or DEFAULT_LOAD, **chosen)
        if options.problem:
            raise InputError(options.problem, hint="Use --flash-attention on, or --kv-type f16.")
        return options

    def refuse(self, why: str, hint: str) -> None:
        """For a command that does not load a model this time: raises InputError if options are given."""
        if self.given:
            names = ", ".join(f"--{option.replace('_', '-')}" for option in self.given)
            raise InputError(f"{why}: {names} cannot be used.", hint=hint)
