"""The known transforms by name, in the order of their surfaces, and those of a run, applied in the request's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from glyphscope.errors import find_named
from glyphscope.events import RunRequest, TransformActed
from glyphscope.registry import ToolRegistry
from glyphscope.runs.transforms import inputs, json_calls
from glyphscope.runs.transforms.base import REGISTERED, SURFACES, Form, Messages, Surface, Transform

_MODULES = (inputs, json_calls)  # which register their transforms

TRANSFORMS: dict[str, Transform] = {
    each.name: each for each in sorted(REGISTERED, key=lambda each: SURFACES.index(each.surface))
}


def transforms(names: Sequence[str]) -> tuple[Transform, ...]:
    """The transforms of those names, in that order. Raises GlyphscopeError for a name that there is not."""
    return tuple(find_named(TRANSFORMS, name, f'transform "{name}"', where="transforms") for name in names)


T = TypeVar("T")


@dataclass(frozen=True)
class Shown:
    """The registry as the model is shown it, and the names of tools in the run's own registry by those shown."""

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
        """The messages of a prompt, as they are sent."""
        return self._apply(messages, "message")

    def response(self, text: str) -> tuple[str, tuple[TransformActed, ...]]:
        """A turn's text as it is read: responses first, then the calls in them."""
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
    """The chain of a request, and its tools as they are shown. Raises GlyphscopeError for an unknown name."""
    chosen = transforms(request.loop.transforms)
    form = Form(request.notation, request.shape, registry)
    changed, acted = Chain(chosen, form)._apply(registry, "tool")
    own = {new.name: old.name for old, new in zip(registry, changed, strict=True)}
    return Chain(chosen, Form(request.notation, request.shape, changed)), Shown(changed, own, acted)
