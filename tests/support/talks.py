"""Conversations for tests: a scripted model that records its requests, and a run with it."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from glyphscope.events import (
    AnyEvent,
    ApprovalRule,
    LimitReached,
    LoopSettings,
    Message,
    RunFinished,
    RunRequest,
    decode_event,
    encode_event,
)
from glyphscope.models.interface import GenerateRequest, Output, RenderedPrompt
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import Interaction, NonInteractive
from glyphscope.runs.strategies import run
from toolbox import Box, of

SEARCH = '{action="search" query="x"}'
BROWSE = '{action="browse" url="https://a.b"}'
BAD = '{action="search" query="x" max_results=500}'
EVERYTHING = (ApprovalRule(action="allow"),)


class Talker(ScriptedModel):
    """Says its turns one after the other; records every request, its prompt and the messages that were rendered."""

    def __init__(self, *turns: Any, **changes: Any) -> None:
        super().__init__(turns=turns, **changes)
        self.requests: list[GenerateRequest] = []
        self.asked: list[Sequence[Message]] = []

    @property
    def prompts(self) -> list[str]:
        return [request.prompt for request in self.requests]

    @property
    def said(self) -> int:
        """The number of generations so far."""
        return len(self.requests)

    def render_chat(self, messages: Sequence[Message], *more: Any) -> RenderedPrompt:
        self.asked.append(tuple(messages))
        return super().render_chat(messages, *more)

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        self.requests.append(request)
        return super().generate(request)


def box(**functions) -> Box:
    return Box(**{"search": lambda **_: "found", "browse": lambda **_: "a page", **functions})


def request_of(registry: Any = None, **settings) -> RunRequest:
    """Return a loop's request without a constraint; settings of the loop and of the request by their names."""
    loop = {name: settings.pop(name) for name in list(settings) if name in LoopSettings.__struct_fields__}
    return RunRequest(
        **{
            "prompt": "Find x.",
            "registry": (registry or default_registry()).to_document(),
            "strategy": "loop",
            "constraint": "off",
            "approvals": EVERYTHING,
            "loop": LoopSettings(**loop),
            **settings,
        }
    )


def talk(
    *turns: Any,
    interaction: Interaction | None = None,
    model: Talker | None = None,
    clock: Clock | None = None,
    **settings: Any,
) -> list[AnyEvent]:
    """Return the events of a conversation in which the model says `turns`; each of them survives being recorded."""
    model = model or Talker(*turns)
    events = list(
        run(
            request_of(**settings),
            model,
            interaction or NonInteractive({"demo": box()}),
            clock=clock or time.perf_counter,
        )
    )
    assert [type(decode_event(encode_event(event))) for event in events] == [type(event) for event in events]
    return events


def ended(events: Iterable[AnyEvent]) -> tuple[str, bool]:
    """Return the run's ending, and whether it is valid."""
    (finished,) = of(RunFinished, events)
    return finished.reason, finished.valid


def limits(events: Iterable[AnyEvent]) -> list[tuple[str, float, float]]:
    """Return the reached limits, each with its maximum and the used amount."""
    return [(event.limit, event.allowed, event.used) for event in of(LimitReached, events)]


def numbered(count: int) -> list[str]:
    """Return as many calls, all different."""
    return [f'{{action="search" query="{number}"}}' for number in range(count)]


class Clock:
    """A replacement of the run's clock: every reading of it takes `step` seconds."""

    seconds = step = 0.0

    def __call__(self) -> float:
        self.seconds += self.step
        return self.seconds


def chosen(tool: str) -> str:
    """The text of a router that chooses a tool."""
    return json.dumps({"choice": "call_tool", "tool": tool, "question": None})


def question(text: str) -> str:
    return json.dumps({"choice": "clarify", "tool": None, "question": text})


NONE = json.dumps({"choice": "none", "tool": None, "question": None})


class Answering(NonInteractive):
    """A host with a user who knows all the answers."""

    def __init__(self, *answers: str | None) -> None:
        super().__init__()
        object.__setattr__(self, "left", list(answers))
        object.__setattr__(self, "questions", [])

    def answer(self, question: str) -> str | None:
        self.questions.append(question)
        return self.left.pop(0)
