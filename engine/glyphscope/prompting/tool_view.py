"""Tools as templates of prompts see them; in a module that a template's process imports quickly."""

from __future__ import annotations

from dataclasses import dataclass

from glyphscope.prompting.template import PartText


@dataclass(frozen=True)
class ToolView:
    """A tool as templates see it: `{{ tool.signature }}`, `{{ tool.description }}`, `{{ tool.example }}`."""

    name: PartText
    description: PartText
    signature: PartText
    example: PartText
    arguments: tuple[ArgumentView, ...]


@dataclass(frozen=True)
class ArgumentView:
    """An argument as templates see it; `type` with its constraints."""

    name: PartText
    type: PartText
    description: PartText
    required: bool
