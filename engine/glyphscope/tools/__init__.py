"""Carrying out calls: who does it, what comes back, and what may run at all."""

from glyphscope.tools.source import Outcome, Progress, ToolSource

__all__ = ["Outcome", "Progress", "ToolSource"]
