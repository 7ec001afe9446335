"""Repair of an invalid call: extracted from the written text, or requested again."""

from __future__ import annotations

from typing import Any

import pytest

from glyphscope.events import (
    Aborted,
    CallReady,
    Extracted,
    LimitReached,
    PromptRendered,
    RepairSettings,
    RepairTried,
    RunFailed,
    RunFinished,
    RunRequest,
    Sampling,
    StageStarted,
)
from glyphscope.models import RecordedModel, ScriptedModel
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


def test_the_model_gets_the_error_in_the_words_of_the_template() -> None:
    model = Talker(TOO_MANY, GOOD)
    events = list(run(repairing(), model))
    first, again = model.asked
    assert again[: len(first)] == first
    attempt, words = again[len(first) :]
    assert (attempt.role, words.role) == ("assistant", "user")
    assert TOO_MANY.startswith(attempt.content)
    assert words.content.startswith(
        "output only JSON matching the schema. no prose. your last output failed because: CONSTRAINT_MAX at "
        "/max_results, character "
    )
    assert words.content.endswith("fix it.")
    assert "1 to 100" in words.content
    assert (of(CallReady, events)[0].text, of(RunFinished, events)[0].valid) == (GOOD, True)


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


def test_an_attempt_sees_only_the_last_invalid_text() -> None:
    model = Talker(WRONG, TOO_MANY, GOOD)
    list(run(repairing(stop_on="never"), model))
    last = "".join(message.content for message in model.asked[2])
    assert WRONG not in last
    assert TOO_MANY in last
    assert len(model.asked[2]) == len(model.asked[1])


def test_an_aborted_run_is_repaired_with_the_error_that_stopped_it() -> None:
    model = Talker(TOO_MANY + " and more", GOOD)
    events = list(run(repairing(), model))
    (aborted,) = of(Aborted, events)
    (tried,) = of(RepairTried, events)
    assert (tried.code, tried.char, tried.now) == (aborted.code, aborted.char, None)
    assert "and more" not in tried.before
    assert (of(RunFinished, events)[0].reason, of(RunFinished, events)[0].valid) == ("complete", True)


def test_no_more_repairs_are_attempted_than_allowed() -> None:
    model = Talker(WRONG, TOO_MANY, '{"action":"fly"}', GOOD)
    events = list(run(repairing(2), model))
    assert model.said == 3
    assert not of(CallReady, events)
    assert (of(RunFinished, events)[0].reason, of(RunFinished, events)[0].valid) == ("aborted", False)


def test_at_temperature_0_the_same_prompt_is_not_sent_twice() -> None:
    model = Talker(WRONG, WRONG, WRONG, GOOD)
    events = list(run(repairing(3), model))
    assert model.said == 2
    (limit,) = of(LimitReached, events)
    assert (limit.limit, limit.allowed, limit.used) == ("attempts", 3, 1)
    drawn = repairing(3, sampling=Sampling(temperature=0.7))
    events = list(run(drawn, Talker(WRONG, WRONG, WRONG, GOOD)))
    assert of(RunFinished, events)[0].valid


@pytest.mark.parametrize("text", [GOOD, WRONG, "Sure!"])
def test_without_attempts_and_extraction_nothing_is_repaired(text: str) -> None:
    off = request(repair=RepairSettings(extract=False))
    model = Talker(text)
    events = list(run(off, model))
    assert model.said == 1
    assert not of(Extracted, events) + of(RepairTried, events)


def test_a_valid_call_has_no_repair() -> None:
    events = list(run(repairing(3), ScriptedModel(GOOD)))
    assert [event.stage for event in of(StageStarted, events)] == ["call"]
    assert not of(Extracted, events) + of(RepairTried, events)


def test_a_call_in_a_fence_is_extracted_and_counts() -> None:
    text = f"Here you are:\n```json\n{GOOD[:-1]},}}\n```"
    events = list(run(request(stop_on="never"), ScriptedModel(text)))
    (extracted,) = of(Extracted, events)
    assert (extracted.before, extracted.after, extracted.valid) == (text, GOOD, True)
    assert [text[change.char] for change in extracted.changes] == ["H", ",", "\n"]
    (ready,) = of(CallReady, events)
    assert (ready.text, ready.arguments["max_results"]) == (GOOD, 10)
    assert (of(RunFinished, events)[0].reason, of(RunFinished, events)[0].valid) == ("complete", True)


def test_an_extracted_call_that_is_invalid_is_repaired_for_its_own_error() -> None:
    model = Talker(f"Sure: {TOO_MANY}", f"Now: {GOOD}")
    events = list(run(repairing(stop_on="never"), model))
    first, second = of(Extracted, events)
    assert (first.valid, second.valid) == (False, True)
    (tried,) = of(RepairTried, events)
    assert (tried.code, tried.before, tried.after, tried.now) == ("CONSTRAINT_MAX", TOO_MANY, GOOD, None)
    assert of(CallReady, events)[0].text == GOOD


def test_without_extraction_the_whole_text_is_the_failure() -> None:
    model = Talker(f"Sure: {GOOD}", GOOD)
    settings = RepairSettings(attempts=1, extract=False)
    events = list(run(request(repair=settings, stop_on="never"), model))
    (tried,) = of(RepairTried, events)
    assert (tried.code, tried.char, tried.before) == ("LEADING_TEXT", 0, f"Sure: {GOOD}")


def test_a_text_cut_off_by_the_limit_is_not_closed() -> None:
    text = '{"action":"search","query":"AI news"'
    assert of(Extracted, list(run(request(), ScriptedModel(text))))
    tokens = ScriptedModel(text).count_tokens(text)
    cut = list(run(request(max_tokens=tokens), ScriptedModel(text)))
    assert not of(Extracted, cut)
    assert of(RunFinished, cut)[0].reason == "length"


def test_an_empty_answer_is_repaired_without_an_empty_turn() -> None:
    model = Talker("", GOOD)
    events = list(run(repairing(), model))
    first, again = model.asked
    assert [message.role for message in again] == [message.role for message in first]
    assert again[-1].content.startswith(first[-1].content + "\n\noutput only JSON")
    assert of(RunFinished, events)[0].valid


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


def test_the_template_of_a_repair_can_be_the_users_own() -> None:
    own = RepairSettings(attempts=1, template="Wrong ({{ error }}). Again, in {{ notation }}:")
    model = Talker(WRONG, GOOD)
    list(run(request(repair=own), model))
    assert model.asked[1][-1].content.startswith("Wrong (TYPE_MISMATCH at /query")
    broken = RepairSettings(attempts=1, template="{{ eror }}")
    (failed,) = of(RunFailed, list(run(request(repair=broken), Talker(WRONG, GOOD))))
    assert (failed.code, "Its variables are notation, error and attempt." in failed.hint) == (
        "PROMPT_FAILED",
        True,
    )


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
