"""Open a model by the name that a user gives: a file, a record, or a downloaded model by its name on the Hub."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec
from msgspec import UNSET

from glyphscope.base.errors import ModelError
from glyphscope.base.inputs import home_path
from glyphscope.events import DEFAULT_LOAD, LoadOptions, ModelInfo
from glyphscope.models.batch_sizes import with_measured_batch
from glyphscope.models.cores import share_cores
from glyphscope.models.hub.choosing import pick
from glyphscope.models.hub.files import FileListing, HubFile, choices_of
from glyphscope.models.hub.names import read_request
from glyphscope.models.interface import Model
from glyphscope.models.opening import EMBEDDED, SCRIPTED, embedded_path, open_model
from glyphscope.models.prompt_cache import PromptCaches
from glyphscope.models.recorded import RecordedModel
from glyphscope.models.remote import is_address
from glyphscope.store.bundle import read_run
from glyphscope.store.folders import places
from glyphscope.store.settings import users_prompt_cache

RECORDED = "recorded:"
"""The prefix for a record as a model: `recorded:RUN.jsonl`."""
_BY_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+(?<!\.gguf)(?::.+)?", re.IGNORECASE)


def open_named(
    name: str,
    *,
    options: LoadOptions = DEFAULT_LOAD,
    progress: Callable[[float], None] | None = None,
    prompts: PromptCaches = lambda: None,
) -> Model:
    """`open_model`, also for the names of downloaded models and for `recorded:RUN.jsonl`.

    Raises ModelError and, for a record, StorageError and RecordError.
    """
    if name.startswith(RECORDED):
        return RecordedModel(read_run(Path(name.removeprefix(RECORDED))).events)
    return open_model(
        downloaded_file(name), options=options, progress=progress, prompts=prompts, batches=places().batches
    )


@dataclass(frozen=True)
class NamedModels:
    """Opens models with these load options, by name; one for all can also be sent to another process.

    `prompt_cache_mb` is the size of the folder of evaluated prompts, None for the user's setting.
    """

    options: Mapping[str, LoadOptions] = field(default_factory=dict)
    usual: LoadOptions = DEFAULT_LOAD
    prompt_cache_mb: int | None = None

    def open(self, name: str, models: int = 1, *, file: str = "", sequences: int = 1) -> Model:
        """One of so many models that compute on this machine at the same time, with so many sequences. `file` is its
        file, where that has another place here. Raises as `open_named` does.
        """
        options = share_cores(self.options.get(name, self.usual), models).with_sequences(sequences)
        return open_named(
            file or name, options=options, prompts=partial(users_prompt_cache, self.prompt_cache_mb)
        )


def fixed_batch(name: str, options: LoadOptions, before: ModelInfo | None = None) -> LoadOptions:
    """The options for an evaluation, all of whose samples are evaluated in batches of the same size: that of its result
    so far if there is one (`before`), that which was measured on this machine, or 64. Unchanged if they name a size.
    """
    if options.batch is not UNSET:
        return options
    if before is not None and before.load is not None:
        return msgspec.structs.replace(options, batch=before.load.batch_size)
    try:
        path = model_file(name)
    except ModelError:  # opening it raises the error
        path = None
    if path is None:
        return options
    measured = with_measured_batch(options, path, places().batches)
    return msgspec.structs.replace(measured, batch=measured.batch_size)


def model_file(name: str) -> Path | None:
    """The GGUF file that is opened by that name, whether it exists or not; None for other models. Raises ModelError."""
    name = downloaded_file(name)
    if name == EMBEDDED:
        return embedded_path()
    if name.startswith((SCRIPTED, RECORDED)) or is_address(name):
        return None
    return Path(home_path(name)).absolute()


def downloaded_file(name: str) -> str:
    """The file of a downloaded model by its name on the Hub (OWNER/NAME, OWNER/NAME:Q4_K_M); else the name itself.

    Raises ModelError if the name is ambiguous, or no model of such a name was downloaded.
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
    choice = pick(FileListing("", request.repo, "", choices_of(files)), request.which).choice
    return str(folder / choice.name)
