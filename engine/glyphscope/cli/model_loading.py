"""Opening the model that a command names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn

from glyphscope.cli.output import diagnostics
from glyphscope.errors import ModelError
from glyphscope.events import DEFAULT_LOAD, LoadOptions
from glyphscope.inputs import home_path
from glyphscope.models.hub.choosing import pick
from glyphscope.models.hub.files import HubFile, Listing, choices_of
from glyphscope.models.hub.names import read_request
from glyphscope.models.interface import Model
from glyphscope.models.opening import open_model
from glyphscope.models.prompt_cache import PromptCaches
from glyphscope.models.recorded import RecordedModel
from glyphscope.sessions import places
from glyphscope.sessions.bundle import read_run

_BY_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+(?<!\.gguf)(?::.+)?", re.IGNORECASE)
RECORDED = "recorded:"
"""The prefix of a model that is a record: `recorded:RUN.jsonl`."""


@contextmanager
def opened(
    name: str,
    *,
    options: LoadOptions = DEFAULT_LOAD,
    prompts: PromptCaches = lambda: None,
    quiet: bool = False,
) -> Iterator[Model]:
    """The model of that name, closed at the end; loading is shown on stderr. Raises ModelError and StorageError."""
    model = _open(name, options, prompts, quiet)
    try:
        yield model
    finally:
        model.close()


def downloaded_file(name: str) -> str:
    """The file of a downloaded model by its name at the Hub (OWNER/NAME, OWNER/NAME:Q4_K_M); else the name itself.

    Raises ModelError where several are meant, or none was downloaded by such a name.
    """
    if not _BY_NAME.fullmatch(name) or os.path.exists(home_path(name)):
        return name
    try:
        request = read_request(name)
    except ModelError:
        return name
    folder = places().models / request.repo
    files = [
        HubFile(path.relative_to(folder).as_posix(), path.stat().st_size)
        for path in folder.rglob("*.gguf")
        if path.is_file()
    ]
    if not files:
        raise ModelError(
            "There is no such file, and no model of this name was downloaded.",
            where=name,
            hint=(
                "`glyphscope models` lists the models found. Download this one with: glyphscope "
                f"models get {name}"
            ),
        )
    choice = pick(Listing("", request.repo, "", choices_of(files)), request.which).choice
    return str(folder / choice.name)


def _open(name: str, options: LoadOptions, prompts: PromptCaches, quiet: bool) -> Model:
    if name.startswith(RECORDED):
        return RecordedModel(read_run(Path(name.removeprefix(RECORDED))).events)
    name = downloaded_file(name)
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

        return open_model(name, options=options, progress=progress, prompts=prompts)
