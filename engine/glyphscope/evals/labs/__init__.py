"""Labs: a set of prompts, a way to answer them, and files that tell what came of it."""

from glyphscope.evals.labs.files import write_lab
from glyphscope.evals.labs.mask_driven import (
    Entry,
    LabRun,
    MaskDrivenLab,
    build_tool_call_schema,
)

__all__ = [
    "Entry",
    "LabRun",
    "MaskDrivenLab",
    "build_tool_call_schema",
    "write_lab",
]
