"""Executing calls: who does it, what comes back, and what may run at all."""

from glyphscope.tools.source import CallOptions, Outcome, Progress, ToolSource

__all__ = ["CallOptions", "Outcome", "Progress", "ToolSource"]
