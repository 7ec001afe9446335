"""Explanations of a run: what the mask changed and why, what a relaxed constraint costs, and token boundaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.explain.constraint_attribution import Attribution, Attributor, is_control_token
    from glyphscope.explain.grammar_origins import constraint_words, rule_origin, rules_by_argument
    from glyphscope.explain.impact import (
        AROUND,
        FieldImpact,
        attribution_words,
        field_name,
        head,
        loss_words,
        mask_impact,
        worst_words,
    )
    from glyphscope.explain.in_prompt import prompt_places
    from glyphscope.explain.masked import (
        CONTROL_TOKEN,
        INSIDE_CHARACTER,
        NOT_ALLOWED,
        ORDER,
        AlternativeReasons,
        masked_reasons,
        special_names,
        state_after,
        token_reasons,
    )
    from glyphscope.explain.relaxing import Freedom, cost_words, relaxation_cost
    from glyphscope.explain.retokenization import (
        BoundaryDiff,
        TokenBoundaries,
        boundaries_of,
        boundary_diff_words,
        boundary_words,
        compare_tokens,
    )
    from glyphscope.explain.segments import earlier_call, part_costs, part_of, reasoning_tokens
else:
    __getattr__ = interface(__name__)
