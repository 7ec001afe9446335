"""The prompt of the embedded model: its tokens laid along the text, the cache it lost, and two prompts on seeds."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from glyphscope.evals.ab import pair_of
from glyphscope.evals.matrix.seeds import seeded
from glyphscope.events import RunRequest, Sampling
from glyphscope.prompting.changes import cache_loss, prompt_changes
from glyphscope.prompting.costs import prompt_costs
from glyphscope.registry import ToolRegistry, default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.running import first_prompt

pytestmark = [pytest.mark.model, pytest.mark.slow]

TOOLS = default_registry().tools[:2]
NAMES = ("A", "B")


def request(tools=TOOLS, **changes) -> RunRequest:
    registry = ToolRegistry(tools).to_document()
    return RunRequest(**{"prompt": "Search for ☂ news", "registry": registry, "max_tokens": 40, **changes})


def ran(model, asked):
    return run_state(run(asked, model))


def test_the_parts_of_a_real_prompt_add_up_and_are_tokenized_as_in_the_run(model):
    reported = first_prompt(request(), model)
    assert sum(reported.lengths) == len(reported.text) and len(reported.lengths) == reported.tokens
    assert sum(cost.tokens for cost in prompt_costs(reported)) == reported.tokens
    state = ran(model, request())
    assert state.evaluated.total == reported.tokens and state.prompt.parts == reported.parts
    description = next(part for part in reported.parts if part.of == "/search/description")
    alone = model.count_tokens(reported.text[description.start : description.end])
    assert abs(description.tokens - alone) <= 1, "in its context, a token may cross the border"


def test_the_cache_ends_where_two_real_prompts_differ(model):
    before = ran(model, request())
    changed = (replace(TOOLS[0], description="Look it up."), TOOLS[1])
    after = ran(model, request(changed))
    loss = cache_loss(after.prompt, after.evaluated, before.prompt)
    assert loss.why == "changed" and loss.token == after.prompt.cached == loss.common > 0
    assert after.prompt.text[: loss.char].endswith(" -") and loss.after.startswith(" Look it up.")
    assert loss.unchanged > 0 and loss.ms > 0
    assert prompt_changes(before.prompt, after.prompt).tokens("same") < after.prompt.tokens
    again = ran(model, request(changed))
    assert cache_loss(again.prompt, again.evaluated, after.prompt).why == "kept"


def test_a_seed_samples_the_same_after_another_prompt(model):
    asked = request(sampling=Sampling(temperature=0.9))
    other = msgspec.structs.replace(asked, system="One call:\n{{ examples[0] }}")
    first = [ran(model, seeded(each, 2)) for each in (asked, other)]
    second = [ran(model, seeded(each, 2)) for each in (other, asked)][::-1]
    for one, another in zip(first, second):
        assert one.text == another.text and one.text
    pair = pair_of(2, (first[0], first[1]), NAMES)
    assert pair == pair_of(2, (second[0], second[1]), NAMES)
