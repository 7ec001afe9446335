"""Evaluations: many prompts with expected answers, the runs, and the figures over them, each with its n."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.evals.ab import AbPair, Trial, ab_report, pair_of, what_differs
    from glyphscope.evals.alignment import (
        MAX_LENGTH,
        TOOL,
        align,
        call_fields,
        difference_words,
        first_difference,
    )
    from glyphscope.evals.answers import distribution, divergence_words, option_words, seed_run
    from glyphscope.evals.costs import run_figures
    from glyphscope.evals.statistics import (
        Cluster,
        PairTable,
        effective_n,
        holm,
        mcnemar,
        newcombe,
        paired_interval,
        pass_hat,
        scenario_test,
        share,
        sign_flip,
        spread,
        sum_of,
        wilson,
    )
else:
    __getattr__ = interface(__name__)
