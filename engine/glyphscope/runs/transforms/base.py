"""A transform: a name, the surface it acts on, a description, and a function without side effects.

`@transform` makes a function into a transform, under the function's name with dashes.
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
    """`act` receives the value of its surface, and a Form:

    `message`: the messages of a prompt. `response`: the text of a turn. `call`: also the text, in which it changes only
    calls. `tool`: the registry as shown to the model; the order of tools stays the same. `result`: the message about a
    result: the envelope's JSON, or the output of an earlier transform.
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
