"""The variables: arms, sampling profiles, seeds, and recommended settings of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.evals.matrix.arms import Arm
    from glyphscope.evals.matrix.plan import LoadedSuite, Matrix, Plan, Planned, plan_of, sample_id, seed_of
    from glyphscope.evals.matrix.profiles import catalogue, profile, recommended_presets
    from glyphscope.evals.matrix.seeds import RequestPlan, distinct_seeds, run_key, seeded, seeds_of
else:
    __getattr__ = interface(__name__)
