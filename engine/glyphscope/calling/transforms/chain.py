"""The transforms of a run, applied to each surface in the request's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from glyphscope.calling.transforms.kinds import Form, Messages, Surface, Transform
from glyphscope.calling.transforms.known import transforms
from glyphscope.events import RunRequest, TransformActed
from glyphscope.registry import ToolRegistry

T = TypeVar("T")


@dataclass(frozen=True)
class Shown:
    """The registry as the model is shown it, and the names of tools in the run's own registry by those shown."""

    registry: ToolRegistry
    own_names: dict[str, str]
    acted: tuple[TransformActed, ...]


class Chain:
    """What the request's `transforms` do. Nothing is stamped here: who runs it tells what acted."""

    def __init__(self, chosen: Sequence[Transform], form: Form) -> None:
        self._chosen = tuple(chosen)
        self._form = form

    @property
    def reads(self) -> bool:
        """Whether any of them can make a call of a text that was none."""
        return any(transform.surface in ("response", "call") for transform in self._chosen)

    def messages(self, messages: Messages) -> tuple[Messages, tuple[TransformActed, ...]]:
        """The messages of a prompt, as they are sent."""
        return self._apply(messages, "message")

    def response(self, text: str) -> tuple[str, tuple[TransformActed, ...]]:
        """A turn's text as it is read: responses first, then the calls in them."""
        text, acted = self._apply(text, "response")
        text, more = self._apply(text, "call")
        return text, (*acted, *more)

    def result(self, told: str) -> tuple[str, tuple[TransformActed, ...]]:
        """What the model is told of a result."""
        return self._apply(told, "result")

    def _apply(self, value: T, surface: Surface) -> tuple[T, tuple[TransformActed, ...]]:
        acted = []
        for transform in self._chosen:
            if transform.surface == surface:
                changed, what = transform.act(value, self._form)
                if what:
                    value = cast(T, changed)
                    acted.append(TransformActed(name=transform.name, surface=surface, what=what))
        return value, tuple(acted)


def chain_of(request: RunRequest, registry: ToolRegistry) -> tuple[Chain, Shown]:
    """The chain of a request, and its tools as they are shown. Raises GlyphscopeError for an unknown name."""
    chosen = transforms(request.loop.transforms)
    form = Form(request.notation, request.shape, registry)
    changed, acted = Chain(chosen, form)._apply(registry, "tool")
    own = {new.name: old.name for old, new in zip(registry, changed, strict=True)}
    return Chain(chosen, Form(request.notation, request.shape, changed)), Shown(changed, own, acted)
