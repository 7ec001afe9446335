"""Token boundaries of a shown run, compared by the open model where that is the one that wrote it."""

from __future__ import annotations

from dataclasses import dataclass

from glyphscope.events import ModelInfo, TokenStep
from glyphscope.explain.retokenization import Boundaries, boundaries_of, same_model
from glyphscope.models import Model


@dataclass(frozen=True)
class Answered:
    """The answer of a stage of a run: the prompt that it follows, its tokens, and the model that wrote it."""

    run: str
    stage: str
    prompt: str
    steps: tuple[TokenStep, ...]
    model: ModelInfo


@dataclass(frozen=True)
class Cut:
    """What came of it."""

    answered: Answered
    boundaries: Boundaries


def cut_of(model: Model | None, answered: Answered) -> Cut:
    """In the model's thread, while nothing is generated. Never raises for what a model does not know."""
    own = model if model is not None and same_model(model.info, answered.model) else None
    if answered.model.kind != "llama.cpp":
        kind = answered.model.kind
        return Cut(answered, Boundaries(unknown=f"a {kind} model reports no tokens"))
    return Cut(answered, boundaries_of(answered.prompt, answered.steps, own))
