"""The user of a run in a terminal: approvals and answers are requested on stderr."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import Literal

from rich.console import Console
from rich.prompt import Prompt
from rich.text import Text

from glyphscope.base.visible import unseen, visible
from glyphscope.cli.output import diagnostics
from glyphscope.events import ApprovalNeeded
from glyphscope.runs import Decision
from glyphscope.runs.interaction import DENIED
from glyphscope.tools import ToolSource

_CHOICES: dict[str, Literal["once", "run", "tool", "source"]] = {
    "y": "once",
    "r": "run",
    "t": "tool",
    "s": "source",
}
_DENIED_BY_USER = Decision(action="deny", reason="denied by the user")


class TerminalInteraction:
    """Asks on stderr and reads from the terminal; without a terminal on stdin, nothing is approved."""

    def __init__(
        self,
        sources: Mapping[str, ToolSource],
        *,
        cancelled: threading.Event | None = None,
    ) -> None:
        self._sources = dict(sources)
        self._asks = sys.stdin is not None and sys.stdin.isatty()
        self.cancelled = cancelled or threading.Event()

    def source(self, name: str) -> ToolSource | None:
        return self._sources.get(name)

    def decide(self, needed: ApprovalNeeded) -> Decision:
        """Show the call with every argument, and annotations marked as claims; then read one letter."""
        if not self._asks:
            return DENIED
        out = diagnostics()
        for line in approval_card(needed):
            out.print(line)
        chosen = self._ask(
            out, "Allow: y once, r for this run, t this tool, s this source, e edit; n deny", "yrtsen", "n"
        )
        if chosen == "e":
            return self._edited(out, needed)
        if chosen not in _CHOICES:
            return _DENIED_BY_USER
        return Decision(action="allow", scope=_CHOICES[chosen])

    def answer(self, question: str) -> str | None:
        if not self._asks:
            return None
        return self._ask(diagnostics(), visible(question)) or None

    def _edited(self, out: Console, needed: ApprovalNeeded) -> Decision:
        """Edited arguments, typed as JSON; they are validated before the call runs."""
        text = self._ask(out, "Arguments as JSON", default=json.dumps(needed.arguments))
        try:
            arguments = json.loads(text)
        except (ValueError, RecursionError) as error:
            out.print(Text(f"Invalid JSON: {error}. The call is denied.", style="red"))
            return _DENIED_BY_USER
        if not isinstance(arguments, dict):
            out.print(Text("Arguments must be an object. The call is denied.", style="red"))
            return _DENIED_BY_USER
        return Decision(action="allow", arguments=arguments)

    def _ask(self, out: Console, words: str, letters: Iterable[str] = (), default: str = "") -> str:
        """The answer; the default if the terminal is closed meanwhile."""
        try:
            return Prompt.ask(Text(words), console=out, choices=list(letters) or None, default=default)
        except EOFError:
            return default


def approval_card(needed: ApprovalNeeded) -> Iterable[Text]:
    yield Text(f"{visible(needed.tool, spaces=True)} wants to run", style="bold yellow")
    by = needed.source + (f": {needed.identity}" if needed.identity else "")
    yield Text(f"  by {visible(by, spaces=True)}")
    for name, value in needed.arguments.items():
        yield Text(f"  {visible(name)} = {visible(json.dumps(value, ensure_ascii=False))}")
        if found := unseen(
            name + (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        ):
            yield Text(f"  ! contains invisible characters: {found}", style="yellow")
    for claim, value in needed.claims.items():
        yield Text(f"  annotation (not verified): {visible(str(claim))} = {visible(str(value))}", style="dim")
