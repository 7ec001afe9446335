"""An MCP server's request for sampling, which the user has approved, answered by the open model."""

from __future__ import annotations

import threading
from pathlib import PurePath

from glyphscope.base.errors import ModelError
from glyphscope.events import Message, Sampling
from glyphscope.models.interface import GenerateRequest, Model
from glyphscope.runs.strategies.stop_strings import StopStrings
from glyphscope.tools.mcp.questions import Answer, SamplingRequest

MAX_TOKENS = 2_048
"""Tokens of an answer, whatever the server requests."""


def answer_sampling(model: Model | None, request: SamplingRequest, cancel: threading.Event) -> Answer:
    """The model's answer, without a constraint. Raises ModelError, PromptError and ContextOverflow."""
    if model is None:
        raise ModelError("No model is loaded.", hint="Run once to load it, or write the answer yourself.")
    if not request.is_text:
        raise ModelError("The request has images or sound.", hint="Write the answer yourself.")
    messages = [Message(role="system", content=request.system)] if request.system else []
    messages += [
        Message(role=each.role, content="\n".join(piece.text for piece in each.content))
        for each in request.messages
    ]
    name = PurePath(model.info.path).stem or model.info.name  # the name in a file's metadata is often missing
    rendered = model.render_chat(messages)
    most = min(request.max_tokens, MAX_TOKENS) if request.max_tokens > 0 else MAX_TOKENS
    sampling = (
        Sampling() if request.temperature is None else Sampling(temperature=max(request.temperature, 0.0))
    )
    stops, text, ended = StopStrings(request.stop), "", False
    steps = model.generate(
        GenerateRequest(
            prompt=rendered.text, messages=tuple(messages), sampling=sampling,
            max_tokens=most, stop=request.stop, alternatives=0, evidence="none",
        )
    )  # fmt: skip
    try:
        for output in steps:
            if cancel.is_set():
                raise ModelError("The generation was stopped.")
            if not isinstance(output, tuple):
                continue
            for step in output:
                ended = ended or step.end
                text += "".join(piece for piece, _ in stops.feed("" if step.end else step.text, 0))
                if stops.found:
                    return Answer(action="accept", text=text, model=name, stop_reason="stopSequence")
    finally:
        steps.close()
    text += "".join(piece for piece, _ in stops.rest())
    reason = "endTurn" if ended else "maxTokens"
    return Answer(action="accept", text=text, model=name, stop_reason=reason)
