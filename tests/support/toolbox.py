"""Tools and users for tests of strategies: a source of plain functions, and a host whose user is a function."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from glyphscope.events import AnyEvent, ToolContent
from glyphscope.registry import ToolRegistry, default_registry
from glyphscope.runs import Decision, NonInteractive
from glyphscope.tools import Outcome

ALLOW = Decision(action="allow")
DENY = Decision(action="deny", reason="not today")


def default_tools(*names: str) -> ToolRegistry:
    """Some of the default registry's: with two of its seven a prompt has less than half of the tokens."""
    return ToolRegistry(tuple(tool for tool in default_registry() if tool.name in names))


def text(answer: str) -> Outcome:
    return Outcome(content=(ToolContent(text=answer),))


class Box:
    """A source named `demo`. A tool is a function of its arguments that returns an Outcome or a structured answer."""

    def __init__(self, _name: str = "demo", _identity: str = "ours", **functions: Callable[..., Any]) -> None:
        self.name, self.identity = _name, _identity
        self.functions = functions
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.seconds: list[float] = []

    def tools(self):
        return ()

    def claims(self, tool):
        return {"readOnlyHint": True}

    def call(self, tool, arguments, *, seconds, cancel, progress=None):
        self.calls.append((tool, arguments))
        self.seconds.append(seconds)
        self.cancel, self.progress = cancel, progress
        if tool not in self.functions:
            return Outcome(fault="unknown", message=f"There is no tool '{tool}'.")
        answer = self.functions[tool](**arguments)
        return answer if isinstance(answer, Outcome) else Outcome(structured=answer)

    def close(self):
        pass


class Person(NonInteractive):
    """Answers each approval with the next decision, the last one for ever; records the requests."""

    def __init__(self, box: Box | Iterable[Box], *decisions: Decision) -> None:
        boxes = [box] if isinstance(box, Box) else list(box)
        super().__init__({b.name: b for b in boxes}, threading.Event())
        object.__setattr__(self, "decisions", list(decisions))
        object.__setattr__(self, "asked", [])

    def decide(self, needed):
        self.asked.append(needed)
        if not self.decisions:
            return super().decide(needed)
        return self.decisions.pop(0) if len(self.decisions) > 1 else self.decisions[0]


class Leaving(Person):
    """Stops the run during an approval, and then allows the call."""

    def decide(self, needed):
        self.cancelled.set()
        return ALLOW


def of(kind: type, events: Iterable[AnyEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]
