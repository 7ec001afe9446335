"""A transform: a name, the surface it acts on, a description, and a function without side effects.

`@transform` makes one of a function, under the function's name with dashes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from glyphscope.events import Message, Notation, Shape
from glyphscope.registry import ToolRegistry

Surface: TypeAlias = Literal["message", "response", "tool", "call", "result"]
SURFACES: tuple[Surface, ...] = get_args(Surface)


@dataclass(frozen=True)
class Form:
    """How a call of this run is written, and for which tools."""

    notation: Notation
    shape: Shape
    registry: ToolRegistry


Messages: TypeAlias = tuple[Message, ...]
Changed: TypeAlias = tuple[Any, str]
"""The result, and a description of the change; empty if nothing changed."""
Act: TypeAlias = Callable[[Any, Form], Changed]


@dataclass(frozen=True)
class Transform:
    """`act` gets the value of its surface, and a Form:

    `message`: the messages of a prompt. `response`: the text of a turn. `call`: the text too, of which it changes
    calls only. `tool`: the registry as the model is shown it; tools stay in their places. `result`: the message about a
    result, which is the envelope's JSON or what an earlier transform made of it.
    """

    name: str
    surface: Surface
    about: str
    act: Act


REGISTERED: list[Transform] = []
"""The transforms of all imported modules, in their order."""


def transform(surface: Surface, about: str) -> Callable[[Act], Act]:
    """The decorator that registers a function."""

    def register(act: Act) -> Act:
        REGISTERED.append(Transform(act.__name__.replace("_", "-"), surface, about, act))
        return act

    return register
