"""The tools that a run may use: the same rules for showing them to the model and for executing them."""

from __future__ import annotations

from dataclasses import replace

from glyphscope.events import LoopSettings
from glyphscope.registry import ToolRegistry


def why_denied(settings: LoopSettings, tool: str) -> str:
    """The reason why the tool may not be used, in words; empty if it may."""
    if tool in settings.deny:
        return f"'{tool}' is on the deny list of this run"
    if settings.allow is not None and tool not in settings.allow:
        return f"'{tool}' is not on the allow list of this run"
    return ""


def why_unavailable(settings: LoopSettings, registry: ToolRegistry, tool: str) -> str:
    """The same, also for a tool that is unknown to the registry or disabled in it. Empty if it may run."""
    known = registry.get(tool)
    if known is None:
        return f"there is no tool '{tool}'"
    if not known.enabled:
        return f"'{tool}' is disabled"
    return why_denied(settings, tool)


def visible_registry(settings: LoopSettings, registry: ToolRegistry) -> ToolRegistry:
    """The registry as shown to the model: tools that may not be used are disabled."""
    off = settings.tool_use == "disabled"
    tools = tuple(
        replace(tool, enabled=False) if tool.enabled and (off or why_denied(settings, tool.name)) else tool
        for tool in registry
    )
    return registry if tools == registry.tools else replace(registry, tools=tools)


def without_tools(registry: ToolRegistry) -> ToolRegistry:
    """The registry with nothing allowed."""
    return replace(registry, tools=tuple(replace(tool, enabled=False) for tool in registry))
