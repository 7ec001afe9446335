"""Route-execute and repair over the embedded model, and their records without it."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from glyphscope.events import (
    AnyEvent,
    CallReady,
    CandidatesFound,
    Extracted,
    PromptRendered,
    RepairSettings,
    RepairTried,
    Routed,
    RunFinished,
    RunRequest,
)
from glyphscope.models import RecordedModel
from glyphscope.models.interface import Model
from glyphscope.registry import bundled_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.routing.candidates import router_preset
from glyphscope.store import first_difference
from toolbox import of

pytestmark = [pytest.mark.model, pytest.mark.slow]


request = partial(
    RunRequest,
    prompt="Search for AI news, 10 results",
    registry=bundled_registry("default").to_document(),
    strategy="route-execute",
    evidence="chosen",
)


def replayed(asked: RunRequest, events: list[AnyEvent]) -> str:
    """Return the difference to the record without a model, which has no vocabulary to price parts with."""

    def without_prices(stream: list[AnyEvent]) -> list[AnyEvent]:
        return [
            msgspec.structs.replace(event, parts=()) if isinstance(event, PromptRendered) else event
            for event in stream[1:]
        ]

    again = list(run(asked, RecordedModel(events)))
    return first_difference(without_prices(events), without_prices(again))


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
@pytest.mark.parametrize("prompt", ["Search for AI news, 10 results", "What is 17*23?"])
def test_under_a_constraint_a_prompt_ends_in_a_valid_call_or_in_no_tool(
    model: Model, prompt: str, constraint: str
) -> None:
    asked = request(prompt=prompt, constraint=constraint)
    events = list(run(asked, model))
    (routed,) = of(Routed, events)
    finished = of(RunFinished, events)[0]
    assert finished.valid
    if routed.choice == "none":
        assert finished.reason == "no-tool"
    else:
        assert of(CallReady, events)[0].tool == routed.tool
        assert [stage.kind for stage in run_state(events).stages] == ["router", "executor"]
    assert replayed(asked, events) == ""


def test_the_router_repeats_its_choice_with_any_sampling(model: Model) -> None:
    chosen = []
    for seed in (1, 2):
        drawn = msgspec.structs.replace(request().sampling, temperature=1.5, seed=seed)
        events = list(run(request(sampling=drawn), model))
        chosen.append([(one.choice, one.tool) for one in of(Routed, events)])
    assert chosen[0] == chosen[1]


def test_a_misspelt_name_is_recognized_and_its_tool_called(model: Model) -> None:
    asked = request(
        prompt="what can gjalahorn roll?",
        registry=bundled_registry("destiny").to_document(),
        router=router_preset("destiny"),
        notation="json",
        shape="tool-args",
    )
    events = list(run(asked, model))
    assert of(CandidatesFound, events)[0].candidates[0].name == "Gjallarhorn"
    assert of(RunFinished, events)[0].valid
    assert replayed(asked, events) == ""


def test_without_a_constraint_failures_are_repaired_or_reported_and_the_record_replays(model: Model) -> None:
    asked = request(
        strategy="direct",
        notation="glyph",
        constraint="off",
        repair=RepairSettings(attempts=2),
        stop_on="never",
        max_tokens=64,
    )
    events = list(run(asked, model))
    finished = of(RunFinished, events)[0]
    assert finished.valid == bool(of(CallReady, events))
    assert finished.valid or of(RepairTried, events)
    assert all(extracted.changes for extracted in of(Extracted, events))
    assert replayed(asked, events) == ""
