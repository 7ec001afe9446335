"""Open the model that a command names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn

from glyphscope.cli.output import diagnostics
from glyphscope.events import DEFAULT_LOAD, LoadOptions
from glyphscope.models.interface import Model
from glyphscope.models.prompt_cache import PromptCaches
from glyphscope.sessions.named_models import open_named


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
    try:
        yield model
    finally:
        model.close()


def _open(name: str, options: LoadOptions, prompts: PromptCaches, quiet: bool) -> Model:
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
