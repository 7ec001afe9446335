"""A model that says one text after the other: a turn for each generation, with its requests."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from glyphscope.events import Message
from glyphscope.models import GenerateRequest, Output, RenderedPrompt, ScriptedModel


class Turns(ScriptedModel):
    """The n-th generation says the n-th of `texts`; `asked` and `requests` are recorded."""

    def __init__(self, *texts: str) -> None:
        super().__init__("")
        self._turns = [ScriptedModel(text) for text in texts]
        self.asked: list[Sequence[Message]] = []
        self.requests: list[GenerateRequest] = []

    @property
    def said(self) -> int:
        """The number of generations so far."""
        return len(self.requests)

    def render_chat(self, messages: Sequence[Message], *tools: Any) -> RenderedPrompt:
        self.asked.append(tuple(messages))
        return super().render_chat(messages, *tools)

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        self.requests.append(request)
        yield from self._turns[len(self.requests) - 1].generate(request)
