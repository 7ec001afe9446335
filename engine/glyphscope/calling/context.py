"""What every stage of a run is given, and what the run has cost so far."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from glyphscope.calling.emitter import Emitter
from glyphscope.calling.host import Host
from glyphscope.events import AnyEvent, EndReason, RunRequest
from glyphscope.models import Model
from glyphscope.registry import ToolRegistry


@dataclass
class Spent:
    """The price of all stages together. `prompt_ms` and `first_token_ms` are the first generation's."""

    tokens: int = 0
    forced: int = 0
    prompt_ms: float | None = None
    first_token_ms: float | None = None


@dataclass(frozen=True)
class Context:
    """One run. Only `spent` changes: `Decoding` adds to it, and the run's end tells it."""

    request: RunRequest
    registry: ToolRegistry
    model: Model
    emitter: Emitter
    host: Host
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True)
class Ending:
    """What a strategy came to: the reason and the verdict of `RunFinished`."""

    reason: EndReason
    valid: bool


Strategy: TypeAlias = Callable[[Context], Generator[AnyEvent, None, Ending]]
"""Yields the events between `RunStarted` and the run's end. May raise GlyphscopeErrors: they end the run."""
