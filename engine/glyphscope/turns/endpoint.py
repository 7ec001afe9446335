"""How the answer of an endpoint is written down, which sends reasoning, text and calls apart: a form of ours."""

from __future__ import annotations

from glyphscope.turns.form import STATES, ReasoningForm, TurnForm

ENDPOINT_FORM = TurnForm(
    reasoning=ReasoningForm("<think>\n", "\n</think>\n\n", prompt=dict.fromkeys(STATES, "leaves"), again=True)
)
"""Reasoning, text and calls in the order in which they came: reasoning between these markers, a line for each call:
`{"name": …, "arguments": …}`."""
