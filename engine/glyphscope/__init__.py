"""Glyphscope's engine: tool calls of local language models, watched while they are written. It does not use Qt.

Its Python interface is `glyphscope.api`, which is imported when one of its names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glyphscope.api import *  # noqa: F403
    from glyphscope.api import __all__ as __all__

__version__ = "0.1.0"
_PUBLIC = frozenset({
    "Answer", "ApprovalRule", "Evaluation", "GlyphscopeError", "LoadOptions", "LoopSettings", "Message", "Model",
    "RepairSettings", "Run", "Sampling", "Tools", "Validator", "Verdict", "__all__", "assert_tool_call",
    "build_grammar", "check_call", "evaluate", "open_model", "read_run",
})  # fmt: skip
"""Listed here because `from glyphscope import …` first asks this module, even for a module of the engine."""


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from glyphscope import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
