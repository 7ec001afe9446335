"""Repair of an invalid call: extracted from the written text, or requested again."""

from __future__ import annotations

from typing import Any

import pytest

from glyphscope.events import (
    CallReady,
    Extracted,
    PromptRendered,
    RepairSettings,
    RepairTried,
    RunFinished,
    RunRequest,
)
from glyphscope.models import RecordedModel
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import run
from glyphscope.store import first_difference
from talks import Talker
from toolbox import of

HERMES = "{% for t in tools %}{{ t.function.name }} {% endfor %}<tool_call>" + (
    '{% for m in messages %}{{ m.content }}{% endfor %}"arguments"'
)
REGISTRY = default_registry().to_document()
GOOD = '{"action":"search","query":"AI news","max_results":10}'
TOO_MANY = '{"action":"search","query":"AI news","max_results":500}'
WRONG = '{"action":"search","query":7}'


def request(**changes: Any) -> RunRequest:
    settings = {"prompt": "Search for AI news", "registry": REGISTRY, "notation": "json", "constraint": "off"}
    return RunRequest(**{**settings, **changes})


def repairing(attempts: int = 2, **changes: Any) -> RunRequest:
    return request(repair=RepairSettings(attempts=attempts), **changes)


def test_a_repair_requests_the_notation_of_the_call() -> None:
    model = Talker('{action="serch"}', '{action="search" query="AI news"}')
    events = list(run(repairing(notation="glyph"), model))
    assert model.asked[1][-1].content.startswith("output only GLYPH matching the schema.")
    assert of(RunFinished, events)[0].valid


def test_a_repair_records_both_texts_its_cost_and_whether_the_error_moved() -> None:
    model = Talker(WRONG, TOO_MANY, GOOD)
    events = list(run(repairing(stop_on="never"), model))
    first, second = of(RepairTried, events)
    assert (first.attempt, first.attempts, first.code) == (1, 2, "TYPE_MISMATCH")
    assert (first.before, first.after) == (WRONG, TOO_MANY)
    assert first.now is not None and first.now > first.char
    assert (first.now_code, second.now, second.now_code) == ("CONSTRAINT_MAX", None, None)
    assert second.char == first.now
    stages = run_state(events).stages
    assert [stage.kind for stage in stages] == ["call", "repair", "repair"]
    assert [stage.name for stage in stages] == ["call", "repair", "repair-2"]
    assert [tried.tokens for tried in (first, second)] == [len(stage.tokens) for stage in stages[1:]]
    assert of(RunFinished, events)[0].tokens == sum(len(stage.tokens) for stage in stages)


def test_a_text_cut_off_by_the_limit_is_not_closed() -> None:
    text = '{"action":"search","query":"AI news"'
    assert of(Extracted, list(run(request(), ScriptedModel(text))))
    tokens = ScriptedModel(text).count_tokens(text)
    cut = list(run(request(max_tokens=tokens), ScriptedModel(text)))
    assert not of(Extracted, cut)
    assert of(RunFinished, cut)[0].reason == "length"


def test_a_cancelled_run_is_not_repaired() -> None:
    model = Talker(WRONG, GOOD)
    events = []
    for event in run(repairing(stop_on="never"), model):
        events.append(event)
        if len(of(PromptRendered, events)) == 1:
            model.cancel()
    assert of(RunFinished, events)[0].reason == "cancelled"
    assert model.said == 1


def test_a_long_attempt_is_shown_in_part() -> None:
    model = Talker('{"action":"search","query":"' + "x" * 50_000, GOOD)
    list(run(repairing(1, max_tokens=100_000), model))
    assert 3_000 < sum(len(message.content) for message in model.asked[1][2:]) < 6_000


@pytest.mark.parametrize("texts", [(WRONG, TOO_MANY, GOOD), (WRONG, WRONG), (f"Sure: {TOO_MANY}", GOOD)])
def test_a_record_of_repairs_replays_to_the_same_events(texts: tuple[str, ...]) -> None:
    asked = repairing(stop_on="never")
    events = list(run(asked, Talker(*texts)))
    assert first_difference(events[1:], list(run(asked, RecordedModel(events)))[1:]) == ""


# the other strategies


@pytest.mark.parametrize(
    ("shape", "name", "good"),
    [
        ("flat", '"action":', GOOD),
        ("tool-args", '"tool":', '{"tool":"search","args":{"query":"AI news","max_results":10}}'),
    ],
)
def test_a_failed_part_of_a_call_is_repaired_as_a_whole_call(shape: str, name: str, good: str) -> None:
    asked = repairing(strategy="two-stage", shape=shape)
    model = Talker('"search"', '{"query":"AI news","max_results":500}', good)
    events = list(run(asked, model))
    (tried,) = of(RepairTried, events)
    assert (tried.code, tried.after, tried.now) == ("CONSTRAINT_MAX", good, None)
    assert tried.before.startswith("{" + name + '"search",')
    assert tried.before[: tried.char + 1].endswith("500")
    assert of(CallReady, events)[0].arguments == {"query": "AI news", "max_results": 10}
    assert [stage.kind for stage in run_state(events).stages] == ["name", "arguments", "repair"]
    assert first_difference(events[1:], list(run(asked, RecordedModel(events)))[1:]) == ""


def test_an_invalid_name_is_repaired_with_its_call() -> None:
    model = Talker('"serch"', GOOD)
    events = list(run(repairing(strategy="two-stage"), model))
    (tried,) = of(RepairTried, events)
    assert (tried.code, tried.before) == ("UNKNOWN_TOOL", '{"action":"serch"'[: len(tried.before)])
    assert tried.before[tried.char] == "r"  # `se` may still become `search` or `send_email`
    assert of(RunFinished, events)[0].valid


def test_an_extracted_call_in_a_models_own_notation_is_validated_without_markers() -> None:
    call = '{"name":"search","arguments":{"query":"AI news"}}'
    text = f"```json\n{call}\n```"
    asked = request(native="hermes", stop_on="never")
    events = list(run(asked, ScriptedModel(text, template=HERMES)))
    (extracted,) = of(Extracted, events)
    assert (extracted.after, extracted.valid) == (call, True)
    assert of(CallReady, events)[0].arguments == {"query": "AI news"}
