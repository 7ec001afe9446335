"""The sources of tokens: llama.cpp in a separate process, a script, or a record.

A module of this package is imported when one of these names is first used: the child processes below it need few of
them, and all together take half a second.
"""

from typing import TYPE_CHECKING

from glyphscope.lazy_names import lazy_names

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
    from glyphscope.models.opening import (
        EMBEDDED,
        embedded_path,
        open_model,
        prepare_model,
        require_installed,
    )
    from glyphscope.models.recorded import RecordedModel
    from glyphscope.models.scripted import ScriptedModel
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "finding": ("FoundModel", "find_models"),
            "interface": (
                "Cancelled",
                "GenerateRequest",
                "Model",
                "Opening",
                "Output",
                "PromptProgress",
                "PromptReady",
                "RenderedPrompt",
                "Usage",
                "Vocabulary",
            ),
            "opening": ("EMBEDDED", "embedded_path", "open_model", "prepare_model", "require_installed"),
            "recorded": ("RecordedModel",),
            "scripted": ("ScriptedModel",),
        },
    )


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
    "prepare_model",
    "require_installed",
]
