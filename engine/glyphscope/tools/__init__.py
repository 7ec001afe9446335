"""Executing calls: the sources of tools, their results, and permissions."""

from glyphscope.tools.source import CallOptions, Outcome, Progress, ToolSource
