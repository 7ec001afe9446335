"""What an export is made of: the events of a run, with its request and its registry at hand."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from glyphscope.calling.relaxing import held_registry
from glyphscope.errors import RecordError
from glyphscope.events import AnyEvent, PromptRendered, RunRequest, RunStarted
from glyphscope.registry import ToolRegistry, parse_document


class RecordedRun:
    """The events of a run from its `RunStarted` on. Raises RecordError for a record that does not hold it."""

    def __init__(self, events: Iterable[AnyEvent], where: str = "") -> None:
        self.events = tuple(events)
        first = self.events[0] if self.events else None
        if not isinstance(first, RunStarted):
            raise RecordError(
                "The record does not hold the beginning of a run.", where=where, hint="Give the whole record."
            )
        self.started = first

    @property
    def request(self) -> RunRequest:
        """As it was settled: with the native notation by its name."""
        return self.started.request

    @cached_property
    def registry(self) -> ToolRegistry:
        """Raises RegistryError: a run whose registry could not be used is recorded too."""
        return parse_document(self.request.registry)

    @cached_property
    def held(self) -> ToolRegistry:
        """What the run's calls were judged by: its registry without what was relaxed. Raises RegistryError."""
        return held_registry(self.request, self.registry)

    @property
    def prompt(self) -> PromptRendered | None:
        """The first prompt as it went to the model; None where the run did not come so far."""
        return next((event for event in self.events if isinstance(event, PromptRendered)), None)
