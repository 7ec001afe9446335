"""The tools of a run, from its request: parsed once, whoever asks."""

from __future__ import annotations

from typing import Any

from glyphscope.calling.relaxing import held_registry
from glyphscope.errors import GlyphscopeError
from glyphscope.events import Relaxed, RunRequest
from glyphscope.registry import ToolRegistry, parse_document

_last: tuple[dict[str, Any], ToolRegistry] | None = None
_held: tuple[ToolRegistry, tuple[Relaxed, ...], ToolRegistry] | None = None


def remember(document: dict[str, Any], registry: ToolRegistry) -> None:
    """The registry that a request's document was made from: it need not be checked again."""
    global _last  # noqa: PLW0603 - one run is shown at a time, and reading its tools again would hold the window up
    _last = (document, registry)


def registry_of(request: RunRequest) -> ToolRegistry | None:
    """What holds and judges the run's calls: its tools, without what is relaxed in it.

    None when the request's are not valid: the run itself will fail of it, and tell.
    """
    global _held  # noqa: PLW0603 - as above
    try:
        registry = whole_registry_of(request)
        if not request.relaxed:
            return registry
        if _held is None or _held[0] is not registry or _held[1] != request.relaxed:
            _held = (registry, request.relaxed, held_registry(request, registry))
    except GlyphscopeError:
        return None
    return _held[2]


def whole_registry_of(request: RunRequest) -> ToolRegistry:
    """The run's tools as its prompt tells them. Raises RegistryError."""
    if _last is not None and (_last[0] is request.registry or _last[0] == request.registry):
        return _last[1]
    registry = parse_document(request.registry)
    remember(request.registry, registry)
    return registry
