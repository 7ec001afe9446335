"""The tools of a run, from its request: parsed once, whoever asks."""

from __future__ import annotations

from typing import Any

from glyphscope.errors import GlyphscopeError
from glyphscope.events import RunRequest
from glyphscope.registry import ToolRegistry, parse_document

_last: tuple[dict[str, Any], ToolRegistry] | None = None


def remember(document: dict[str, Any], registry: ToolRegistry) -> None:
    """The registry that a request's document was made from: it need not be checked again."""
    global _last  # noqa: PLW0603 - one run is shown at a time, and reading its tools again would hold the window up
    _last = (document, registry)


def registry_of(request: RunRequest) -> ToolRegistry | None:
    """The run's tools; None when the request's are not valid: the run itself will fail of it, and tell."""
    if _last is not None and (_last[0] is request.registry or _last[0] == request.registry):
        return _last[1]
    try:
        registry = parse_document(request.registry)
    except GlyphscopeError:
        return None
    remember(request.registry, registry)
    return registry
