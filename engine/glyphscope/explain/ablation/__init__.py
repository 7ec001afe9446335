"""The influence of a prompt's parts: each is left out in turn, and what was written is scored again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.explain.ablation.choice import written_choice
    from glyphscope.explain.ablation.pairs import tool_pairs
    from glyphscope.explain.ablation.parts import sentences, whole_cut
    from glyphscope.explain.ablation.scoring import ablate_prompt
    from glyphscope.explain.ablation.types import OMISSION_KINDS
else:
    __getattr__ = interface(__name__)
