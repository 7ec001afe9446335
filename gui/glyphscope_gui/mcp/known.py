"""A configured server, as the window knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glyphscope.tools.approval import ConsentQuestion, consent_question
from glyphscope_gui.servers.server_source import ServerSource


@dataclass
class Known:
    """A configured server. `entry` is as it was written; `source` is None where it cannot be used, for `problem`."""

    name: str
    entry: dict[str, Any]
    source: ServerSource | None
    problem: str = ""

    @property
    def enabled(self) -> bool:
        return self.source is None or not self.source.config.disabled

    @property
    def question(self) -> ConsentQuestion | None:
        """What must be asked before it may be started; None where it may."""
        if self.source is None or self.source.may_run:
            return None
        return consent_question(self.source.config)
