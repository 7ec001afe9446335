"""The sources of tokens: llama.cpp in a separate process, a script, or a record.

A module of this package is imported when one of these names is first used: the child processes below it need few of
them, and all together take half a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyphscope.models.finding import FoundModel, find_models
    from glyphscope.models.interface import (
        Cancelled,
        GenerateRequest,
        Model,
        Opening,
        Output,
        PromptProgress,
        PromptReady,
        RenderedPrompt,
        Usage,
        Vocabulary,
    )
    from glyphscope.models.opening import EMBEDDED, embedded_path, open_model, require_installed
    from glyphscope.models.recorded import RecordedModel
    from glyphscope.models.scripted import ScriptedModel
else:
    _MODULES = {
        "finding": ("FoundModel", "find_models"),
        "opening": ("EMBEDDED", "embedded_path", "open_model", "require_installed"),
        "recorded": ("RecordedModel",),
        "scripted": ("ScriptedModel",),
    }

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = next((module for module, names in _MODULES.items() if name in names), "interface")
        return getattr(import_module(f"{__name__}.{module}"), name)


__all__ = [
    "EMBEDDED",
    "Cancelled",
    "FoundModel",
    "GenerateRequest",
    "Model",
    "Opening",
    "Output",
    "PromptProgress",
    "PromptReady",
    "RecordedModel",
    "RenderedPrompt",
    "ScriptedModel",
    "Usage",
    "Vocabulary",
    "embedded_path",
    "find_models",
    "open_model",
    "require_installed",
]
