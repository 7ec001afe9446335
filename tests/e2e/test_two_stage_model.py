"""A call in two stages by the embedded model: the part in its cache, and the cached masks."""

from functools import partial
from itertools import cycle

import pytest

from glyphscope.events import (
    NOTATIONS,
    SHAPES,
    CallReady,
    ConstraintReady,
    PromptRendered,
    RunFailed,
    RunRequest,
    StageFinished,
)
from glyphscope.models import RecordedModel
from glyphscope.registry import default_registry
from glyphscope.runs.strategies import run
from glyphscope.store.records import strip_times
from toolbox import of

pytestmark = [pytest.mark.model, pytest.mark.slow]

REGISTRY = default_registry().to_document()


request = partial(
    RunRequest,
    prompt="Search for AI news, 10 results",
    registry=REGISTRY,
    strategy="two-stage",
    max_tokens=60,
)


@pytest.mark.parametrize(("notation", "shape"), list(zip(cycle(reversed(NOTATIONS)), SHAPES)))
def test_the_second_stage_evaluates_only_its_new_tokens_and_ends_with_the_arguments(model, notation, shape):
    events = list(run(request(notation=notation, shape=shape), model))
    (call,) = of(CallReady, events)
    assert (call.tool, call.arguments) == ("search", {"query": "AI news", "max_results": 10})
    first, second = of(StageFinished, events)
    assert second.cached >= first.prompt_tokens - 3
    assert second.prompt_tokens - second.cached <= 8
    assert [prompt.tokens for prompt in of(PromptRendered, events)] == [
        first.prompt_tokens,
        second.prompt_tokens,
    ]
    # a mask that ended with the object made `}}` impossible: arguments continued to the limit of tokens
    assert events[-1].valid and events[-1].tokens < 40


def test_the_second_run_finds_both_masks_and_an_edit_of_another_tool_leaves_them(model):
    list(run(request(), model))
    again = of(ConstraintReady, list(run(request(), model)))
    assert [(ready.hit, ready.build_ms, ready.compile_ms) for ready in again] == [(True, 0.0, 0.0)] * 2
    tools = [
        {**tool, "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
        if tool["name"] == "calculate"
        else tool
        for tool in REGISTRY["tools"]
    ]
    edited = of(ConstraintReady, list(run(request(registry={**REGISTRY, "tools": tools}), model)))
    assert [ready.hit for ready in edited] == [True, True]
    assert [ready.key for ready in edited] == [ready.key for ready in again]
    other = of(ConstraintReady, list(run(request(notation="json"), model)))
    assert other[1].key != again[1].key


def test_llama_cpps_own_sampler_constrains_both_stages_and_compiles_each_time(model):
    for _ in range(2):
        events = list(run(request(constraint="gbnf", notation="json"), model))
        assert of(CallReady, events) and events[-1].valid
        assert [(ready.hit, ready.compile_ms > 0) for ready in of(ConstraintReady, events)] == [
            (False, True)
        ] * 2


def test_the_record_of_both_stages_replays_without_the_model(model):
    events = list(run(request(notation="json"), model))
    again = list(run(request(notation="json"), RecordedModel(events)))
    texts = [[e.text for e in of(PromptRendered, stream)] for stream in (events, again)]
    assert texts[0] == texts[1]
    assert list(map(strip_times, of(CallReady, events))) == list(map(strip_times, of(CallReady, again)))


def test_a_model_whose_template_has_no_tools_has_no_notation_of_its_own(model):
    assert model.info.tool_calls == ""
    for native in ("auto", "hermes"):
        failed = list(run(request(native=native), model))[-1]
        assert isinstance(failed, RunFailed) and "no place for tools" in failed.message and failed.hint
    assert list(run(request(), model))[-1].valid, "the next run has the model as before"
