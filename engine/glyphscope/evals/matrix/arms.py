"""An arm: one combination of all settings that an evaluation varies. Its id is its name in every file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from glyphscope.events import (
    ArgumentOrder,
    ConstrainFrom,
    ConstraintKind,
    Shape,
    Strategy,
    Thinking,
    default_order,
)
from glyphscope.models.remote import is_address, replicas_of

ArmNotation: TypeAlias = Literal["glyph", "json", "native"]
Workarounds: TypeAlias = Literal["production", "baseline"]
"""`production` applies the catalogue's recommendations for a model; `baseline` applies none."""


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """One column of the matrix. `strategy` None is each suite's own; `repair` is the number of repair attempts.

    `preset` names the prompt; `model` is the name that the user gave, as in `--model`. `order` is the schema's if a
    result does not contain it: early results have no other.
    """

    model: str
    notation: ArmNotation = "glyph"
    shape: Shape = "flat"
    constraint: ConstraintKind = "mask"
    strategy: Strategy | None = None
    repair: int = 0
    profile: str = "default"
    workarounds: Workarounds = "production"
    preset: str = "default"
    thinking: Thinking = "auto"
    constrain_from: ConstrainFrom = "reasoning"
    order: ArgumentOrder = "schema"

    @property
    def id(self) -> str:
        """A short id in characters that every file system accepts; the same for the same arm."""
        parts = [
            _slug(self.model),
            self.notation,
            self.shape,
            self.constraint,
            self.strategy_id,
            self.profile,
        ]
        if self.workarounds != "production":
            parts.append(self.workarounds)
        if self.preset != "default":
            parts.append(_slug(self.preset))
        if self.thinking != "auto":
            parts.append(f"thinking-{self.thinking}")
        if self.constrain_from != "reasoning":
            parts.append(f"from-{self.constrain_from}")
        if self.order != "schema":
            parts.append(f"{self.order}-order")
        return ".".join(parts)

    @property
    def strategy_id(self) -> str:
        """The strategy with its repairs, as in the id: `suite` for each suite's own, `+repair2` for two repairs."""
        return (self.strategy or "suite") + (f"+repair{self.repair}" if self.repair else "")


def varied(arms: Sequence[Arm]) -> list[str]:
    """The settings in which the arms differ, without an order of arguments that the constraint alone decides."""
    names = [name for name in Arm.__struct_fields__ if len({getattr(arm, name) for arm in arms}) > 1]
    usual = "constraint" in names and all(arm.order == default_order(arm.constraint) for arm in arms)
    return [name for name in names if not (usual and name == "order")]


@lru_cache(maxsize=1024)
def _slug(text: str) -> str:
    """The last part of a path or an address, of several addresses of the first."""
    text = replicas_of(text)[0] if is_address(text) else text
    name = re.split(r"[/\\]", text.rstrip("/\\"))[-1].removesuffix(".gguf")
    return re.sub(r"[^A-Za-z0-9+_-]+", "-", name).strip("-")[:48] or "model"
