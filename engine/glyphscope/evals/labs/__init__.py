"""Labs: a set of prompts, a way to answer them, and files that tell what came of it."""

from glyphscope.evals.labs.files import write_lab
from glyphscope.evals.labs.mask_driven import (
    Entry,
    LabPrompt,
    LabRun,
    MaskDrivenLab,
    build_tool_call_schema,
    lab_prompts,
)

__all__ = [
    "Entry",
    "LabPrompt",
    "LabRun",
    "MaskDrivenLab",
    "build_tool_call_schema",
    "lab_prompts",
    "write_lab",
]
