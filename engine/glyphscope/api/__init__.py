"""The Python interface: models, runs, checks, grammars and records, for notebooks, scripts and tests.

The names in `glyphscope.__all__`, with what they document, follow semantic versioning; all other modules are internal.
"""

from glyphscope.api.checking import build_grammar, check_call
from glyphscope.api.models import Model, open_model
from glyphscope.api.runs import Run, read_run
from glyphscope.api.tools import Tools
from glyphscope.errors import GlyphscopeError
from glyphscope.events import ApprovalRule, LoadOptions, LoopSettings, Message, RepairSettings, Sampling

__all__ = [
    "ApprovalRule", "GlyphscopeError", "LoadOptions", "LoopSettings", "Message", "Model", "RepairSettings", "Run",
    "Sampling", "Tools", "build_grammar", "check_call", "open_model", "read_run",
]  # fmt: skip
