"""The interaction of a run with its user: answers to its questions, approvals of its calls, and the calls' sources.

Strategies call it from the run's thread and wait. The window, the command line and a record each have one; in a run
without it no call is executed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from glyphscope.events import ApprovalNeeded
from glyphscope.tools import ToolSource


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A decision on one call: `arguments` replace the call's, unless None. `scope` says which calls it applies to.

    `by` is `nobody` if no person could decide. The model receives the `reason` of a denied call.
    """

    action: Literal["allow", "deny"]
    arguments: dict[str, Any] | None = None
    scope: Literal["once", "run", "tool", "source"] = "once"
    by: Literal["person", "nobody"] = "person"
    reason: str = ""


DENIED = Decision(action="deny", by="nobody", reason="no one could approve it")


class Interaction(Protocol):
    """Every method is called from the run's thread, and may wait until `cancelled` is set, from any thread."""

    @property
    def cancelled(self) -> threading.Event:
        """Set once to end the run: tools, questions and approvals then return at once."""

    def source(self, name: str) -> ToolSource | None:
        """The source of tools of that name; None if there is none."""

    def decide(self, needed: ApprovalNeeded) -> Decision:
        """Whether the call may run. Called only if no rule of the request decides it."""

    def answer(self, question: str) -> str | None:
        """The user's answer to a question of the model; None if there is none."""


@dataclass(frozen=True)
class NonInteractive:
    """Sources without a person: calls that no rule allows are denied, and questions stay unanswered."""

    sources: Mapping[str, ToolSource] = field(default_factory=dict)
    cancelled: threading.Event = field(default_factory=threading.Event)

    def source(self, name: str) -> ToolSource | None:
        return self.sources.get(name)

    def decide(self, needed: ApprovalNeeded) -> Decision:
        return DENIED

    def answer(self, question: str) -> str | None:
        return None
