"""A model that passes everything on to another one: the base of models that change one thing."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from glyphscope.events import Message, ModelInfo, Thinking
from glyphscope.models.interface import GenerateRequest, Model, Output, RenderedPrompt, Vocabulary
from glyphscope.turns import TurnForm


class ForwardingModel:
    """`model` does the work. A generation that is closed closes its own."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    def tokenize(self, text: str) -> list[int]:
        return self._model.tokenize(text)

    def vocabulary(self) -> Vocabulary:
        return self._model.vocabulary()

    def render_chat(
        self, messages: Sequence[Message], tools: Sequence[dict[str, Any]] = (), thinking: Thinking = "auto"
    ) -> RenderedPrompt:
        if thinking == "auto":  # as `priced_prompt` asks: only who is asked for a state need know of it
            return self._model.render_chat(messages, tools)
        return self._model.render_chat(messages, tools, thinking)

    def turn_form(self) -> TurnForm | None:
        return self._model.turn_form()

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        return self._model.generate(request)

    def cancel(self) -> None:
        self._model.cancel()

    def close(self) -> None:
        self._model.close()
