"""The Python interface: models, runs, checks, evaluations and records, for notebooks, scripts and tests.

The names in `__all__` and their documented behaviour follow semantic versioning; all other modules are internal.
"""

from glyphscope.api.checking import Validator, Verdict, assert_tool_call, build_grammar, check_call
from glyphscope.api.evaluation import Evaluation, evaluate
from glyphscope.api.runs import Model, Run, open_model, read_run
from glyphscope.api.tools import Tools
from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import (
    Answer,
    ApprovalRule,
    LoadOptions,
    LoopSettings,
    Message,
    RepairSettings,
    Sampling,
)

__all__ = [
    "Answer", "ApprovalRule", "Evaluation", "GlyphscopeError", "LoadOptions", "LoopSettings", "Message",
    "Model", "RepairSettings", "Run", "Sampling", "Tools", "Validator", "Verdict", "assert_tool_call",
    "build_grammar", "check_call", "evaluate", "open_model", "read_run",
]  # fmt: skip
