"""The source of an export: the events of a run, with its request and its registry."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from glyphscope.errors import RecordError
from glyphscope.events import AnyEvent, PromptRendered, RunRequest, RunStarted
from glyphscope.registry import ToolRegistry
from glyphscope.runs.prepared import PreparedRequest, prepare


class RecordedRun:
    """The events of a run from its `RunStarted` on. Raises RecordError for a record that lacks it."""

    def __init__(self, events: Iterable[AnyEvent], where: str = "") -> None:
        self.events = tuple(events)
        first = self.events[0] if self.events else None
        if not isinstance(first, RunStarted):
            raise RecordError(
                "The record lacks the beginning of a run.", where=where, hint="Give the whole record."
            )
        self.started = first
        self.where = where

    @property
    def request(self) -> RunRequest:
        """As it was settled: with the native notation by its name."""
        return self.started.request

    @cached_property
    def prepared(self) -> PreparedRequest:
        """Raises RegistryError: a run whose registry could not be used is recorded too."""
        return prepare(self.request)

    @property
    def registry(self) -> ToolRegistry:
        """The tools as the run's prompt describes them. Raises RegistryError."""
        return self.enforced if self.request.strategy == "loop" else self.prepared.registry

    @property
    def enforced(self) -> ToolRegistry:
        """The registry that validated the calls: the tools without relaxed constraints. Raises like `prepared`."""
        return self.prepared.enforced

    @property
    def prompt(self) -> PromptRendered | None:
        """The first prompt as it was sent to the model; None where the run ended before it."""
        return next((event for event in self.events if isinstance(event, PromptRendered)), None)
