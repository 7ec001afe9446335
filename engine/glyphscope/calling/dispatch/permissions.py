"""What a person allowed or denied for longer than one call: it holds for the rest of the run, and no longer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from glyphscope.calling.host import Decision


@dataclass
class Permissions:
    """Standing decisions, the newest first. Each is bound to the source's command line or address."""

    _kept: list[tuple[Decision, str, str, str]] = field(default_factory=list)

    def keep(self, decision: Decision, tool: str, source: str, identity: str) -> None:
        """Remembers a decision that reaches further than its call; what was edited, does not."""
        if decision.scope != "once":
            self._kept.insert(0, (replace(decision, arguments=None), tool, source, identity))

    def find(self, tool: str, source: str, identity: str) -> Decision | None:
        """The decision that holds for this call too; None where somebody is to be asked."""
        for decision, of_tool, of_source, of_identity in self._kept:
            same_source = (of_source, of_identity) == (source, identity)
            if decision.scope == "run" or (same_source and (decision.scope == "source" or of_tool == tool)):
                return decision
        return None
