"""The options for loading a GGUF file, shared by all commands that load one, and the opened model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glyphscope.cli.inputs import InputError
from glyphscope.cli.option_groups import Given
from glyphscope.cli.output import diagnostics, print_note
from glyphscope.events import DEFAULT_LOAD, LoadOptions
from glyphscope.events.load_options import adapter_problem
from glyphscope.models.remote import is_address

if TYPE_CHECKING:  # a command's help needs only its options
    from glyphscope.models.interface import Model
    from glyphscope.models.prompt_cache import PromptCache, PromptCaches


@dataclass(frozen=True, kw_only=True)
class StoredPromptsOption:
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
        from glyphscope.store.settings import users_prompt_cache

        return users_prompt_cache(self.prompt_cache_mb)


@dataclass(frozen=True, kw_only=True)
class LoadingOption:
    """The load options given on the command line."""

    given: Given[LoadOptions] = field(default_factory=Given)

    def options(self, name: str, usual: LoadOptions | None = None) -> LoadOptions:
        """The load options for the model of that name: `usual` with the given ones.

        Raises InputError for a model without such options, and for options that exclude each other.
        """
        chosen = Given[LoadOptions](self.given)
        if is_address(name):
            self.refuse("An endpoint loads its own model", "Set it at the server.")
        if "kv_type" in chosen:
            chosen.setdefault("flash_attention", "auto")
        options = chosen.over(usual or DEFAULT_LOAD)
        if options.problem:
            hint = "Use --flash-attention on, or --kv-type f16."
            raise InputError(options.problem, hint="" if adapter_problem(options.lora) else hint)
        return options

    def refuse(self, why: str, hint: str) -> None:
        """For a command that does not load a model this time: raises InputError if options are given."""
        if self.given:
            raise InputError(f"{why}: {', '.join(self.given.flags)} cannot be used.", hint=hint)


@contextmanager
def opened(
    name: str,
    *,
    options: LoadOptions = DEFAULT_LOAD,
    prompts: PromptCaches = lambda: None,
    quiet: bool = False,
) -> Iterator[Model]:
    """The model of that name, closed at the end; loading is shown on stderr. Raises ModelError, StorageError."""
    model = _open(name, options, prompts, quiet)
    own = model.info.context
    if own < options.context != DEFAULT_LOAD.context and model.info.kind == "llama.cpp" and not quiet:
        print_note(f"The model has a context of {own:,} tokens, and not of {options.context:,}.")
    try:
        yield model
    finally:
        model.close()


def _open(name: str, options: LoadOptions, prompts: PromptCaches, quiet: bool) -> Model:
    from rich.progress import BarColumn, Progress, TextColumn

    from glyphscope.store.named_models import open_named

    out = diagnostics()
    bar = Progress(
        TextColumn("loading {task.description}", markup=False),
        BarColumn(),
        console=out,
        transient=True,
        disable=quiet or not out.is_terminal,
    )
    with bar:
        task = bar.add_task(Path(name).name, total=1.0)

        def progress(share: float) -> None:
            bar.update(task, completed=share)

        return open_named(name, options=options, progress=progress, prompts=prompts)
