"""The tool loop over the embedded model and the demo tools, and its record without either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from glyphscope.cli.bundle import repeated
from glyphscope.events import (
    AnyEvent,
    ApprovalRule,
    CallReady,
    LimitReached,
    LoopSettings,
    PromptRendered,
    RunFinished,
    RunRequest,
    Sampling,
    StageFinished,
    StageStarted,
    ToolResult,
    ToolsDeferred,
    ToolsSearched,
    decode_event,
    encode_event,
)
from glyphscope.models.interface import Model
from glyphscope.registry import bundled_registry, default_registry
from glyphscope.runs import NonInteractive
from glyphscope.runs.strategies import run
from glyphscope.store import first_difference
from glyphscope.tools.demo import DemoTools
from glyphscope.validation.tools import tools_of
from toolbox import of

pytestmark = [pytest.mark.model, pytest.mark.slow]


@pytest.fixture
def tools() -> Iterator[DemoTools]:
    demo = DemoTools()
    yield demo
    demo.close()


def talk(model: Model, tools: DemoTools, constraint: str, **loop: Any) -> list[AnyEvent]:
    request = RunRequest(
        prompt="What is 15 * 230 / 100?",
        registry=default_registry().to_document(),
        strategy="loop",
        constraint=constraint,
        approvals=(ApprovalRule(action="allow"),),
        loop=LoopSettings(max_tool_output_bytes=4_000, allow=("calculate",), **loop),
        max_tokens=60,
        alternatives=0,
    )
    return list(run(request, model, NonInteractive({"demo": tools})))


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_a_required_call_is_executed_and_its_result_shown_to_the_model(model, tools, constraint):
    events = talk(model, tools, constraint, tool_use="enforced", max_turns=2)
    assert of(CallReady, events)[0].tool == "calculate"
    result = of(ToolResult, events)[0]
    assert result.sent.startswith('{"ok":')
    titles = [event.title for event in of(StageStarted, events) if event.kind == "turn"]
    assert titles[0] == "Turn 1: a call" and titles[1] == "Turn 2: a call or an answer"
    stages = [event for event in of(StageFinished, events) if event.stage.startswith("turn")]
    assert stages[1].cached > stages[0].prompt_tokens // 2, "the second turn evaluates new tokens only"
    (finished,) = of(RunFinished, events)
    ended = finished.reason in ("answered", "refused") or of(LimitReached, events)
    assert ended, finished
    record = [decode_event(encode_event(event)) for event in events]
    assert first_difference(*repeated(record)) == ""


def test_text_is_allowed_under_the_mask(model, tools):
    """A relaxed turn may answer at once; whatever it says, no call is hidden in it."""
    events = talk(model, tools, "mask", max_turns=1)
    (finished,) = of(RunFinished, events)
    assert finished.reason in ("answered", "limit")
    assert not [event for event in of(StageFinished, events) if not event.valid and event.reason == "aborted"]


def test_400_tools_on_a_context_of_4096_tokens_run_to_a_valid_call(model, tools):
    """The prompt with all tools would have six times as many tokens as the context."""
    registry = bundled_registry("many")
    request = RunRequest(
        prompt="How many pieces of the article SKU-5520 are in the warehouse north?",
        registry=registry.to_document(),
        strategy="loop",
        approvals=(ApprovalRule(action="allow"),),
        loop=LoopSettings(tool_use="enforced", max_turns=3),
        max_tokens=100,
        alternatives=0,
        sampling=Sampling(temperature=0),
    )
    events = list(run(request, model, NonInteractive({"demo": tools})))
    (deferred,) = of(ToolsDeferred, events)
    assert deferred.deferred == 400 and deferred.tokens > 5 * deferred.context and deferred.context == 4096
    assert "inventory_get_stock" in of(ToolsSearched, events)[0].loaded
    call = of(CallReady, events)[0]
    assert tools_of(registry).allowed[call.tool].fault(call.arguments) is None
    assert all(prompt.tokens < 1500 for prompt in of(PromptRendered, events))
    record = [decode_event(encode_event(event)) for event in events]
    assert first_difference(*repeated(record)) == ""
