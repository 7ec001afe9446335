"""A server of the list, usable or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glyphscope.tools.approval import ConsentQuestion, consent_question
from glyphscope_gui.mcp.server_source import ServerSource


@dataclass
class KnownServer:
    """A configured server. `entry` is its configuration as written; `source` is None if `problem` prevents its use."""

    name: str
    entry: dict[str, Any]
    source: ServerSource | None
    problem: str = ""

    @property
    def enabled(self) -> bool:
        return self.source is None or not self.source.config.disabled

    @property
    def question(self) -> ConsentQuestion | None:
        """The consent to request before it may be started; None if it may be."""
        if self.source is None or self.source.may_run:
            return None
        return consent_question(self.source.config)
