"""Parts of a prompt left out, on the embedded model: scores beside the whole prompt are those of separate prompts."""

import pytest

from glyphscope.events import PrefixPart, PromptEvaluated, RunRequest, Token
from glyphscope.explain.ablation import ablate_prompt, written_choice
from glyphscope.explain.ablation.words import omission_name
from glyphscope.models.interface import GenerateRequest
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from toolbox import default_tools, of

pytestmark = [pytest.mark.model, pytest.mark.slow]

REQUEST = RunRequest(
    prompt="Search for llama farms",
    registry=default_tools("search", "browse").to_document(),
    max_tokens=40,
)
NEAR = 0.3
"""The most that a log-probability varies with the batches of an evaluation."""


@pytest.fixture(scope="module")
def answered(model):
    events = tuple(run(REQUEST, model))
    return events, run_state(events)


def test_the_score_with_the_whole_prompt_is_that_of_the_run(model, answered):
    events, state = answered
    found = ablate_prompt(state, model, written_choice(state, "answer"), kinds=())
    steps = [token.step for token in of(Token, events) if not token.step.end]
    for score, step in zip(found.base.tokens, steps, strict=True):
        assert score.raw == pytest.approx(step.logprob, abs=NEAR)
        assert score.masked <= 0 and (not step.forced or score.masked == 0)
    assert found.base.masked >= found.base.raw and found.prompt == state.stages[0].prompt.text


def test_a_score_without_a_part_is_that_of_the_prompt_without_it_and_leaves_the_whole_one_in_memory(
    model, answered
):
    events, state = answered
    choice = written_choice(state, "field", path="/query")
    found = ablate_prompt(state, model, choice, kinds=("example", "sentence"), budget=3)
    effects = {omission_name(effect.omission): effect for effect in found.effects}
    assert found.change(effects["example of search"]) < -1  # which the small model copies
    again = tuple(run(REQUEST, model))
    last = of(PromptEvaluated, again)[-1]
    first = next(event for event in of(PromptEvaluated, again))
    assert first.done == last.total - 1  # only the last token is evaluated again
    without = effects["sentence “4. No commas between fields”"]
    text = found.prompt.replace("4. No commas between fields\n", "")
    assert text != found.prompt
    written = tuple(
        PrefixPart(token.step.data, token.step.id, kept=True)
        for token in of(Token, events)[: found.choice.last]
    )
    request = GenerateRequest(prompt=text, written=written, max_tokens=0)
    steps = next(output for output in model.generate(request) if isinstance(output, tuple))
    raw = sum(step.logprob for step in steps[found.choice.first :])
    assert without.score.raw == pytest.approx(raw, abs=NEAR * len(without.score.tokens))


def test_a_budget_bounds_the_tokens_and_every_part_has_an_estimate(model, answered):
    _, state = answered
    found = ablate_prompt(state, model, written_choice(state), budget=2.5)
    assert found.evaluated <= 2.5 * found.tokens and not found.complete
    estimated = [effect for effect in found.effects if effect.estimate is not None]
    assert len(estimated) > len(found.effects) / 2
    assert any(effect.estimate.raw != found.base.raw for effect in estimated)
    assert sum(effect.known is not None for effect in found.effects) > len(found.effects) * 0.8


def test_a_prompt_that_does_not_fit_is_an_error_and_one_without_room_beside_it_is_evaluated_in_its_place(
    answered,
):
    from glyphscope.base.errors import ContextOverflow
    from glyphscope.events import LoadOptions
    from glyphscope.models import EMBEDDED, open_model

    _, state = answered
    size = state.stages[0].prompt.tokens
    small = open_model(EMBEDDED, options=LoadOptions(context=size + 16))
    try:
        found = ablate_prompt(state, small, written_choice(state), kinds=("example",))
        assert found.complete and not any(effect.estimate for effect in found.effects)
    finally:
        small.close()
    less = open_model(EMBEDDED, options=LoadOptions(context=size - 16))
    try:
        with pytest.raises(ContextOverflow, match="the model's context holds"):
            ablate_prompt(state, less, written_choice(state))
    finally:
        less.close()
