"""The source of an export: the events of a run, with its request and its registry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from glyphscope.base.errors import RecordError
from glyphscope.events import AnyEvent, PromptRendered, RunRequest, RunStarted
from glyphscope.registry import ToolRegistry
from glyphscope.runs.prepared import PreparedRequest, prepare


class RecordedRun:
    """The events of a run from its `RunStarted` on. Raises RecordError if the record lacks it.

    `like` is a run whose parsed registry is used if this one has the same.
    """

    def __init__(self, events: Iterable[AnyEvent], where: str = "", like: RecordedRun | None = None) -> None:
        self.events = tuple(events)
        first = self.events[0] if self.events else None
        if not isinstance(first, RunStarted):
            raise RecordError(
                "The record lacks the beginning of a run.", where=where, hint="Give the whole record."
            )
        self.started = first
        self.where = where
        self._like = like if like is not None and like.request.registry == self.request.registry else None

    @property
    def request(self) -> RunRequest:
        """The request in its final form, with the native notation by name."""
        return self.started.request

    @cached_property
    def prepared(self) -> PreparedRequest:
        """The prepared request. Raises RegistryError, as runs with an unusable registry are also recorded."""
        if self._like is not None:
            return replace(self._like.prepared, request=self.request)
        return prepare(self.request)

    @property
    def registry(self) -> ToolRegistry:
        """The tools as described in the run's prompt. Raises RegistryError."""
        return self.prepared.described

    @property
    def enforced(self) -> ToolRegistry:
        """The registry that validated the calls: the tools without relaxed constraints. Raises like `prepared`."""
        return self.prepared.enforced

    @property
    def prompt(self) -> PromptRendered | None:
        """The first prompt as sent to the model; None if the run ended earlier."""
        return next((event for event in self.events if isinstance(event, PromptRendered)), None)
