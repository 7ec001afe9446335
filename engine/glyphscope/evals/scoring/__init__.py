"""The verdict on the result of a scenario, with reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.evals.scoring.model_judge import ModelJudge, judge_prompt
else:
    __getattr__ = interface(__name__)
