"""The context of every stage of a run, and the costs of the run so far."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from glyphscope.events import AnyEvent, CallReady, EndReason, RunRequest
from glyphscope.models.interface import Model
from glyphscope.registry import ToolRegistry
from glyphscope.runs.emitter import Emitter
from glyphscope.runs.interaction import Decision, Interaction
from glyphscope.runs.prepared import PreparedRequest


@dataclass
class Spent:
    """The costs of all stages together. `prompt_ms` and `first_token_ms` are the first generation's.

    `waited` is the time in seconds spent waiting for a person, which no time limit counts.
    """

    tokens: int = 0
    forced: int = 0
    prompt_ms: float | None = None
    first_token_ms: float | None = None
    waited: float = 0.0


class _Permission(NamedTuple):
    """A decision, and the call for which it was made."""

    decision: Decision
    tool: str
    source: str
    identity: str


@dataclass
class Permissions:
    """A person's decisions for the rest of the run, newest first, bound to the source's command line or address."""

    _decisions: list[_Permission] = field(default_factory=list)

    def keep(self, decision: Decision, tool: str, source: str, identity: str) -> None:
        """Store a decision that applies to further calls, without edited arguments."""
        if decision.scope != "once":
            unedited = replace(decision, arguments=None)
            self._decisions.insert(0, _Permission(unedited, tool, source, identity))

    def find(self, tool: str, source: str, identity: str) -> Decision | None:
        """The decision that also applies to this call; None if a person must decide."""
        for each in self._decisions:
            same_source = (each.source, each.identity) == (source, identity)
            scope = each.decision.scope
            if scope == "run" or (same_source and (scope == "source" or each.tool == tool)):
                return each.decision
        return None


@dataclass(frozen=True)
class Context:
    """One run. Two members change: `Decoding` adds to `spent`, which the run's end reports, and `permissions` has the
    decisions that apply to further calls.
    """

    prepared: PreparedRequest
    model: Model
    emitter: Emitter
    interaction: Interaction
    spent: Spent = field(default_factory=Spent)
    permissions: Permissions = field(default_factory=Permissions)

    @property
    def request(self) -> RunRequest:
        return self.prepared.request

    @property
    def registry(self) -> ToolRegistry:
        """The tools that the prompt offers; `prepared.enforced` has them as they are enforced."""
        return self.prepared.offered


@dataclass(frozen=True)
class Ending:
    """The result of a strategy: the reason and the verdict for `RunFinished`, and the calls still to execute."""

    reason: EndReason
    valid: bool
    calls: tuple[CallReady, ...] = ()


Strategy: TypeAlias = Callable[[Context], Generator[AnyEvent, None, Ending]]
"""Yields the events between `RunStarted` and the run's end. May raise GlyphscopeErrors: they end the run."""
