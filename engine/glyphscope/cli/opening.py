"""Opening the model that a command names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn

from glyphscope.cli.output import diagnostics
from glyphscope.models import Model, RecordedModel, open_model
from glyphscope.sessions import read_record

RECORDED = "recorded:"
"""The prefix of a model that is a record: `recorded:RUN.jsonl`."""


@contextmanager
def opened(name: str, *, context: int | None = None, quiet: bool = False) -> Iterator[Model]:
    """The model of that name, closed at the end; loading is told on stderr. Raises ModelError and StorageError."""
    model = _open(name, context, quiet)
    try:
        yield model
    finally:
        model.close()


def _open(name: str, context: int | None, quiet: bool) -> Model:
    if name.startswith(RECORDED):
        return RecordedModel(read_record(Path(name.removeprefix(RECORDED))).events)
    out = diagnostics()
    bar = Progress(
        TextColumn("loading {task.description}"),
        BarColumn(),
        console=out,
        transient=True,
        disable=quiet or not out.is_terminal,
    )
    with bar:
        task = bar.add_task(Path(name).name, total=1.0)

        def progress(share: float) -> None:
            bar.update(task, completed=share)

        if context is None:
            return open_model(name, progress=progress)
        return open_model(name, context=context, progress=progress)
