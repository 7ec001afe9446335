"""The known transforms by name, in the order of their surfaces, and a run's transforms, in the request's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from glyphscope.errors import find_named
from glyphscope.events import RunRequest, TransformActed
from glyphscope.registry import ToolRegistry
from glyphscope.runs.transforms import inputs, json_calls
from glyphscope.runs.transforms.base import REGISTERED, SURFACES, Form, Messages, Surface, Transform

_MODULES = (inputs, json_calls)  # importing them registers their transforms

TRANSFORMS: dict[str, Transform] = {
    each.name: each for each in sorted(REGISTERED, key=lambda each: SURFACES.index(each.surface))
}


def transforms(names: Sequence[str]) -> tuple[Transform, ...]:
    """The transforms with those names, in that order. Raises GlyphscopeError for an unknown name."""
    return tuple(find_named(TRANSFORMS, name, f'transform "{name}"', where="transforms") for name in names)


T = TypeVar("T")


@dataclass(frozen=True)
class Shown:
    """The registry as shown to the model, and the tools' names in the run's own registry by their shown names."""

    registry: ToolRegistry
    own_names: dict[str, str]
    acted: tuple[TransformActed, ...]


class Chain:
    """The request's `transforms`. No events are made here: the caller reports the transforms that acted."""

    def __init__(self, chosen: Sequence[Transform], form: Form) -> None:
        self._chosen = tuple(chosen)
        self._form = form

    @property
    def reads(self) -> bool:
        """Whether any of them can extract a call from other text."""
        return any(transform.surface in ("response", "call") for transform in self._chosen)

    def messages(self, messages: Messages) -> tuple[Messages, tuple[TransformActed, ...]]:
        """The messages of a prompt as they are sent."""
        return self._apply(messages, "message")

    def response(self, text: str) -> tuple[str, tuple[TransformActed, ...]]:
        """A turn's text as it is parsed: transforms of responses first, then transforms of calls."""
        text, acted = self._apply(text, "response")
        text, more = self._apply(text, "call")
        return text, (*acted, *more)

    def result(self, text: str) -> tuple[str, tuple[TransformActed, ...]]:
        """The message to the model about a result."""
        return self._apply(text, "result")

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
    """The chain of a request, and its tools as shown to the model. Raises GlyphscopeError for an unknown name."""
    chosen = transforms(request.loop.transforms)
    form = Form(request.notation, request.shape, registry)
    changed, acted = Chain(chosen, form)._apply(registry, "tool")
    own = {new.name: old.name for old, new in zip(registry, changed, strict=True)}
    return Chain(chosen, Form(request.notation, request.shape, changed)), Shown(changed, own, acted)
