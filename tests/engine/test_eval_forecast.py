"""The forecast of an evaluation: near the truth after five samples, whatever the arms and prompts are."""

from __future__ import annotations

import msgspec
import pytest

from glyphscope.evals.matrix.plan import Matrix, Planned, plan_of
from glyphscope.evals.running import Forecast

READING = 1.3
"""Seconds for a prompt that is not in the cache."""


def took(planned: Planned, *, reads: bool) -> float:
    """Return the seconds, as measured with the embedded model: a text without a constraint is soon stopped."""
    number = sum(map(ord, planned.scenario.id))
    writing = 0.1 + number % 3 / 10 if planned.arm.constraint == "off" else 0.6 + number % 7 / 5
    return writing + (READING if reads else 0.1)


@pytest.mark.parametrize(
    "matrix",
    [
        Matrix(suites=("starter",), models=("m",), constraints=("off", "mask"), orders=(None,)),
        Matrix(suites=("tool-calls",), models=("m",), constraints=("off", "mask"), trials=2),
        Matrix(suites=("tool-calls",), models=("m",), notations=("glyph", "json"), constraints=("mask",)),
    ],
    ids=["starter", "trials", "notations"],
)
def test_the_forecast_is_right_within_half_after_five_samples(matrix):
    samples = list(plan_of(matrix).samples())
    forecast = Forecast(samples)
    assert forecast.left == 0
    before, seconds = None, []
    for each in samples:
        prompt = (each.arm.notation, each.scenario.tools)
        seconds.append(took(each, reads=prompt != before))
        before = prompt
    seconds[0] += 1.5  # the first sample starts cold
    for number, each in enumerate(samples[:40], 1):
        forecast.add(each, seconds[number - 1])
        real = sum(seconds[number:])
        if number >= 5 and number + 5 <= len(samples):
            assert real / 1.5 < forecast.left < real * 1.5, number
    for each, length in list(zip(samples, seconds))[40:]:
        forecast.add(each, length)
    assert forecast.left == 0


def test_abandoned_arms_take_no_more_time():
    plan = plan_of(Matrix(suites=("starter",), models=("good", "broken"), constraints=("mask",)))
    forecast = Forecast(plan.samples())
    first = plan.samples()[0]
    forecast.add(first, 2.0)
    both = forecast.left
    forecast.cancel_arms(arm.id for arm in plan.arms if arm.model == "broken")
    assert 0 < forecast.left < both
    assert msgspec.structs.asdict(first.arm)["model"] == "good"


def test_one_text_that_reaches_its_limit_does_not_dominate_the_forecast():
    plan = plan_of(Matrix(suites=("tool-calls",), models=("m",), constraints=("off", "mask"), first=12))
    samples = list(plan.samples())
    forecast = Forecast(samples)
    for number, each in enumerate(samples[:8]):
        forecast.add(each, 8.6 if number == 5 else 0.3 if each.arm.constraint == "off" else 0.8)
    usual = 8 * 0.3 + 8 * 0.8
    assert usual < forecast.left < 2 * usual
