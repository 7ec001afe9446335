"""What may be called: tools, the registry, its import and export."""

from glyphscope.registry.tool import Tool, ToolRegistry

__all__ = ["Tool", "ToolRegistry"]
