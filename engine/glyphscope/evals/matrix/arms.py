"""An arm: everything that is varied between two ways of asking the same. Its id is its name in every file."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from glyphscope.events import ConstraintKind, Shape, Strategy

ArmNotation: TypeAlias = Literal["glyph", "json", "native"]
Workarounds: TypeAlias = Literal["production", "baseline"]
"""`production` applies what the catalogue recommends for a model; `baseline` applies nothing of it."""


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """One column of the matrix. `strategy` None is each suite's own; `repair` is how often a bad text is sent back.

    `preset` names the prompt; `model` is what the user named, as in `--model`.
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

    @property
    def id(self) -> str:
        """Short, and of characters that every file system takes; the same for the same arm."""
        parts = [_slug(self.model), self.notation, self.shape, self.constraint, self.asked, self.profile]
        if self.workarounds != "production":
            parts.append(self.workarounds)
        if self.preset != "default":
            parts.append(_slug(self.preset))
        return ".".join(parts)

    @property
    def asked(self) -> str:
        """The strategy with its repairs, as the id has it: `suite` for each suite's own, `+repair2` for two."""
        return (self.strategy or "suite") + (f"+repair{self.repair}" if self.repair else "")


def _slug(text: str) -> str:
    """The last part of a path or an address."""
    name = re.split(r"[/\\]", text.rstrip("/\\"))[-1].removesuffix(".gguf")
    return re.sub(r"[^A-Za-z0-9+_-]+", "-", name).strip("-")[:48] or "model"
