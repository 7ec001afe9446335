"""Where tokens come from: llama.cpp in a process of its own, a script, or a record."""

from glyphscope.models.finding import FoundModel, find_models
from glyphscope.models.interface import (
    Cancelled,
    ConstraintMade,
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
from glyphscope.models.llama import LlamaModel
from glyphscope.models.opening import EMBEDDED, embedded_path, open_model, require_installed
from glyphscope.models.recorded import RecordedModel
from glyphscope.models.scripted import ScriptedModel

__all__ = [
    "EMBEDDED",
    "Cancelled",
    "ConstraintMade",
    "FoundModel",
    "GenerateRequest",
    "LlamaModel",
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
