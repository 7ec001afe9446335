"""A request with its registry, which is parsed once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from glyphscope.events import RunRequest
from glyphscope.grammar.builder.uncallable import Uncallable, uncallable, uncallable_note, without
from glyphscope.grammar.shapes import fitting_shape, shape_note
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.runs.relaxation import enforced_registry
from glyphscope.runs.tool_access import visible_registry
from glyphscope.runs.transforming import chain_of


@dataclass(frozen=True)
class PreparedRequest:
    """`registry` is `request.registry`, parsed. `shape_note` is why the calls are written in another shape."""

    request: RunRequest
    registry: ToolRegistry
    shape_note: str = ""

    @cached_property
    def enforced(self) -> ToolRegistry:
        """The registry that constrains and validates calls: in a loop its available tools, after its transforms.

        Raises RegistryError; GlyphscopeError for an unknown transform.
        """
        if self.request.strategy == "loop":
            return self._in_loop(self.registry)
        return enforced_registry(self.request, self.registry)

    @cached_property
    def uncallable(self) -> tuple[Uncallable, ...]:
        """The tools of which no call can be written, as the request enforces them. Raises RegistryError."""
        if not self.request.answer.is_call:
            return ()
        loop = self.request.strategy == "loop"
        return uncallable(self.registry if loop else enforced_registry(self.request, self.registry))

    @cached_property
    def offered(self) -> ToolRegistry:
        """The tools that the prompt offers: `registry` without those of which no call can be written; none for an
        answer other than a call.
        """
        if not self.request.answer.is_call:
            return replace(self.registry, tools=())
        return without(self.registry, self.uncallable)

    @property
    def described(self) -> ToolRegistry:
        """The offered tools as the prompt describes them: in a loop, the available ones after its transforms."""
        return self._in_loop(self.offered) if self.request.strategy == "loop" else self.offered

    @property
    def note(self) -> str:
        """The note on the tools for readers of the run; empty if there is none."""
        return " ".join(filter(None, (self.shape_note, uncallable_note(self.uncallable))))

    def _in_loop(self, registry: ToolRegistry) -> ToolRegistry:
        return chain_of(self.request, visible_registry(self.request.loop, registry))[1].registry

    def changed(self, **fields: Any) -> PreparedRequest:
        """The same with changed fields of the request. Raises RegistryError if a new `registry` is invalid."""
        request = msgspec.structs.replace(self.request, **fields)
        if request.registry is self.request.registry or request.registry == self.request.registry:
            return replace(self, request=request)
        return prepare(request)


_PARSED: deque[tuple[dict[str, Any], ToolRegistry]] = deque(maxlen=4)
"""The registries that were parsed last, with their documents, which do not change: a request is frozen. The worker
parses the thousands of tools of a record, and the window finds them here.
"""


def prepare(request: RunRequest | PreparedRequest) -> PreparedRequest:
    """The request with its registry parsed; a prepared one is returned unchanged. Raises RegistryError."""
    if isinstance(request, PreparedRequest):
        return request
    document = request.registry
    registry = next((known for parsed, known in tuple(_PARSED) if parsed is document), None)
    if registry is None:
        registry = parse_document(document)
        _PARSED.append((document, registry))
    return PreparedRequest(request, registry)


def in_fitting_shape(prepared: PreparedRequest) -> PreparedRequest:
    """The request in the shape that its registry allows, with a note if it is another one."""
    asked, registry = prepared.request, prepared.registry
    note = "" if asked.native or not asked.answer.is_call else shape_note(registry, asked.shape)
    if not note:
        return prepared
    return replace(prepared.changed(shape=fitting_shape(registry, asked.shape)), shape_note=note)


def request_of(request: RunRequest | PreparedRequest) -> RunRequest:
    """The request itself, whether or not it is prepared."""
    return request.request if isinstance(request, PreparedRequest) else request
