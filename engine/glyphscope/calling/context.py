"""What every stage of a run is given, and what the run has cost so far."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from glyphscope.calling.dispatch.permissions import Permissions
from glyphscope.calling.emitter import Emitter
from glyphscope.calling.host import Host
from glyphscope.events import AnyEvent, EndReason, RunRequest
from glyphscope.models import Model
from glyphscope.registry import ToolRegistry


@dataclass
class Spent:
    """The price of all stages together. `prompt_ms` and `first_token_ms` are the first generation's.

    `waited` are the seconds in which a person was asked: no limit of time counts them.
    """

    tokens: int = 0
    forced: int = 0
    prompt_ms: float | None = None
    first_token_ms: float | None = None
    waited: float = 0.0


@dataclass(frozen=True)
class Context:
    """One run. Two things change: `Decoding` adds to `spent`, which the run's end tells, and a person's decisions that
    reach further than their call are in `permissions`.
    """

    request: RunRequest
    registry: ToolRegistry
    model: Model
    emitter: Emitter
    host: Host
    spent: Spent = field(default_factory=Spent)
    permissions: Permissions = field(default_factory=Permissions)


@dataclass(frozen=True)
class Ending:
    """What a strategy came to: the reason and the verdict of `RunFinished`."""

    reason: EndReason
    valid: bool


Strategy: TypeAlias = Callable[[Context], Generator[AnyEvent, None, Ending]]
"""Yields the events between `RunStarted` and the run's end. May raise GlyphscopeErrors: they end the run."""
