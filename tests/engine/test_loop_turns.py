"""The tool loop from the first turn to the answer: modes, policies, several calls, empty answers, bad turns."""

import json

import pytest

from glyphscope.events import (
    CallReady,
    FinalAnswer,
    LimitReached,
    PromptRendered,
    RunFailed,
    RunFinished,
    StageFinished,
    StageStarted,
    ToolResult,
    Violation,
)
from glyphscope.runs import NonInteractive, run_state
from glyphscope.tools import Outcome
from talks import BAD, BROWSE, SEARCH, Talker, box, ended, limits, talk
from toolbox import Box, of


def answer(events):
    return [(event.text, event.recovered) for event in of(FinalAnswer, events)]


FAILS = Outcome(fault="tool", message="no")


def interaction(*outcomes):
    """Answers `search` by the outcomes in order."""
    left = list(outcomes)
    return NonInteractive({"demo": box(search=lambda **_: left.pop(0) if len(left) > 1 else left[0])})


# the course of a conversation


def test_a_call_is_executed_and_its_result_precedes_the_next_turn():
    model = Talker(SEARCH, "It is x.")
    events = talk(model=model)
    assert ended(events) == ("answered", True) and answer(events) == [("It is x.", False)]
    stages = [(e.stage, e.kind, e.turn, e.title) for e in of(StageStarted, events)]
    assert stages == [
        ("turn", "turn", 1, "Turn 1: a call or an answer"),
        ("tool", "tool", 1, "search"),
        ("turn-2", "turn", 2, "Turn 2: a call or an answer"),
    ]
    assert [e.call for e in of(CallReady, events)] == ["call-1"] == [e.call for e in of(ToolResult, events)]
    first, second = model.prompts
    assert "search(" in first and "User: Find x." in first
    sent = of(ToolResult, events)[0].sent
    assert f"Assistant: {SEARCH}\n\nTool: {sent}\n\nAssistant:" in second and second.startswith(first[:-10])
    assert json.loads(sent) == {"ok": True, "result": "found"}
    state = run_state(events)
    assert state.answer.text == "It is x." and state.outcome == "valid"
    parts = [part.name for part in of(PromptRendered, events)[1].parts]
    assert {"system", "tools", "examples", "user", "said", "result"} <= set(parts)


def test_text_before_a_call_stays_in_the_history_and_text_after_it_does_not():
    model = Talker(f"I search. {SEARCH} Result: 42!", "Done.")
    talk(model=model)
    assert f"Assistant: I search. {SEARCH}\n\nTool:" in model.prompts[1] and "42" not in model.prompts[1]


def test_the_tokens_of_all_turns_are_summed():
    events = talk(SEARCH, BROWSE, "Done.")
    stages = [e for e in of(StageFinished, events) if e.stage.startswith("turn")]
    assert of(RunFinished, events)[0].tokens == sum(stage.tokens for stage in stages) > 0
    assert [stage.valid for stage in stages] == [True, True, True]


# modes and policies


def test_relaxed_accepts_an_answer_without_a_call():
    assert ended(talk("Hello.")) == ("answered", True)


def test_relaxed_accepts_failed_calls():
    assert ended(talk(SEARCH, "Sorry.", interaction=interaction(FAILS))) == ("answered", True)


def test_disabled_shows_no_tools_and_accepts_any_text():
    model = Talker(f"So one writes {SEARCH}.")
    events = talk(model=model, tool_use="disabled", constraint="mask")
    assert ended(events) == ("answered", True) and not of(CallReady, events)
    assert "search" not in model.prompts[0] and model.requests[0].constraint == "off"
    assert of(StageStarted, events)[0].title == "Turn 1: words only, without the constraint"


def test_enforced_requires_a_call_first_and_then_accepts_text():
    model = Talker("Hello.", SEARCH, "Done.")
    events = talk(model=model, tool_use="enforced")
    assert [v.code for v in of(Violation, events)] == ["NO_TOOL_CALL"]
    assert ended(events) == ("answered", True)
    titles = [e.title for e in of(StageStarted, events) if e.kind == "turn"]
    assert titles == ["Turn 1: a call", "Turn 2: a call", "Turn 3: a call or an answer"]
    assert "Hello." not in model.prompts[1] and "not a valid call" in model.prompts[1]


def test_enforced_without_any_call_fails():
    events = talk("Hello.", tool_use="enforced")
    assert ended(events) == ("refused", False) and not answer(events)
    assert limits(events) == [("max_invalid_turns", 3, 3)]


@pytest.mark.parametrize(
    ("policy", "outcomes", "expected"),
    [
        ("fatal", ["ok"], ("answered", True)),
        ("fatal", [FAILS], ("refused", False)),
        ("fatal", ["ok", FAILS], ("refused", False)),
        ("fatal", [FAILS, "ok"], ("answered", True)),  # the model corrected itself after the error
        ("tolerated", [FAILS], ("refused", False)),
        ("tolerated", ["ok", FAILS], ("answered", True)),
        ("tolerated", [FAILS, "ok"], ("answered", True)),
    ],
)
def test_the_failure_policy_decides_the_outcome_of_an_enforced_run(policy, outcomes, expected):
    turns = [SEARCH] * len(outcomes)
    events = talk(
        *turns, "Done.", interaction=interaction(*outcomes), tool_use="enforced", failure_policy=policy
    )
    assert ended(events) == expected and answer(events) == [("Done.", False)]
    assert [limit for limit, *_ in limits(events)] == ([] if expected[1] else ["failure_policy"])


def test_the_fatal_policy_includes_every_tool():
    events = talk(SEARCH, BROWSE, "Done.", interaction=interaction(FAILS), tool_use="enforced")
    assert ended(events) == ("refused", False) and "search" in of(LimitReached, events)[0].message


# sizes


def test_arguments_that_are_too_large_are_reported_and_a_shorter_call_is_accepted():
    long = f'{{action="search" query="{"x" * 100}"}}'
    model = Talker(long, SEARCH, "Done.")
    events = talk(model=model, tool_use="enforced", max_tool_args_bytes=50)
    assert [r.code for r in of(ToolResult, events)] == ["ARGUMENTS_TOO_LARGE", None]
    assert "ARGUMENTS_TOO_LARGE" in model.prompts[1] and ended(events) == ("answered", True)
    assert limits(events) == [("max_tool_args_bytes", 50, 112)]


def test_an_output_that_is_too_large_never_reaches_the_prompt():
    model = Talker(SEARCH, "Done.")
    events = talk(
        model=model, interaction=interaction("y" * 500), max_tool_output_bytes=100, tool_use="enforced"
    )
    assert "TOOL_OUTPUT_TOO_LARGE" in model.prompts[1] and "yyy" not in model.prompts[1]
    assert ended(events) == ("refused", False)


# several calls in one turn


def test_by_default_only_the_first_of_three_calls_runs_and_the_others_are_counted():
    model = Talker(f"{SEARCH}\n{BROWSE}\n{BAD}", "Done.")
    events = talk(model=model)
    assert [c.tool for c in of(CallReady, events)] == ["search"]
    assert limits(events) == [("max_tool_calls_per_turn", 1, 3)]
    assert not of(Violation, events) and ended(events) == ("answered", True)
    assert "browse" not in model.prompts[1].split("Find x.")[1]


@pytest.mark.parametrize(
    ("settings", "ran", "reported"),
    [
        ({"parallel_tool_calls": True}, 3, []),
        ({"parallel_tool_calls": True, "max_tool_calls_per_turn": 2}, 2, [("max_tool_calls_per_turn", 2, 3)]),
        ({"max_tool_calls_per_turn": 2}, 2, [("max_tool_calls_per_turn", 2, 3)]),
    ],
)
def test_several_calls_run_where_that_is_allowed(settings, ran, reported):
    model = Talker(f"{SEARCH} {BROWSE} {SEARCH}", "Done.")
    events = talk(model=model, **settings)
    assert len(of(ToolResult, events)) == ran and limits(events) == reported
    assert model.prompts[1].count("Tool: ") == ran
    assert [c.call for c in of(CallReady, events)] == [r.call for r in of(ToolResult, events)]


def test_an_invalid_call_after_a_valid_one_is_reported_and_the_valid_one_runs():
    model = Talker(SEARCH + BAD, BROWSE, "Done.")
    events = talk(model=model, parallel_tool_calls=True)
    assert [r.tool for r in of(ToolResult, events)] == ["search", "browse"]
    assert "not a valid call: max_results" in model.prompts[1] and "max_results=500" not in model.prompts[1]
    assert "no valid call" not in model.prompts[2] and ended(events) == ("answered", True)


# empty answers


def test_an_empty_answer_is_requested_once_more_without_tools():
    model = Talker(SEARCH, " \n", "It is x.")
    events = talk(model=model, constraint="mask")
    assert answer(events) == [("It is x.", True)] and ended(events) == ("answered", True)
    last = of(StageStarted, events)[-1]
    assert (
        last.kind == "final"
        and last.title == "Turn 3, asked for an answer once more: words only, without the constraint"
    )
    assert "search(" not in model.prompts[2] and "was empty" in model.prompts[2]
    assert '{"ok":true' in model.prompts[2] and model.requests[2].constraint == "off"


def test_an_empty_answer_may_be_requested_with_tools():
    model = Talker(SEARCH, "", BROWSE, "It is x.")
    events = talk(model=model, fix_empty_final_disable_tools=False)
    assert "search(" in model.prompts[2] and len(of(ToolResult, events)) == 2
    assert answer(events) == [("It is x.", False)] and ended(events) == ("answered", True)


def test_an_answer_that_stays_empty_fails_the_run():
    events = talk(SEARCH, "", "")
    assert ended(events) == ("refused", False) and not answer(events)
    assert limits(events) == [("fix_empty_final", 1, 1)]


def test_a_model_that_always_answers_empty_ends_the_run():
    events = talk("")
    assert ended(events) == ("refused", False) and len(of(StageStarted, events)) == 2


def test_without_the_recovery_an_empty_answer_fails_at_once():
    events = talk(SEARCH, "", "x", fix_empty_final=False)
    assert ended(events) == ("refused", False) and limits(events) == [("fix_empty_final", 0, 0)]


def test_a_call_in_place_of_the_last_answer_is_not_an_answer():
    events = talk(SEARCH, "", SEARCH)
    assert ended(events) == ("refused", False) and not answer(events) and len(of(ToolResult, events)) == 1


def test_the_recovery_may_follow_the_last_turn():
    events = talk(SEARCH, "", "x", max_turns=2)
    assert ended(events) == ("answered", True)


# turns without a call or an answer


def test_an_invalid_turn_is_not_in_the_prompt_of_later_turns():
    model = Talker(BAD, SEARCH, "Done.")
    events = talk(model=model)
    assert ended(events) == ("answered", True)
    assert "max_results=500" not in model.prompts[1] and "not a valid call" in model.prompts[1]
    assert "no valid call" not in model.prompts[2] and "500" not in model.prompts[2].split("Find x.")[1]


def test_turns_without_progress_end_the_run():
    events = talk(BAD, max_invalid_turns=2)
    assert ended(events) == ("limit", False) and limits(events) == [("max_invalid_turns", 2, 2)]


def test_a_valid_turn_resets_the_count():
    events = talk(BAD, SEARCH, BAD, BROWSE, BAD, "Done.", max_invalid_turns=2)
    assert ended(events) == ("answered", True)


@pytest.mark.parametrize(
    "text",
    [
        '{action="delete_everything" now=t}',
        '{"action": "search", "query": 5}',
        '{action="search" quer',
        '{action="search"}',
        '{action="search" query="x" invented=1}',
    ],
)
def test_an_invalid_call_is_not_an_answer(text):
    events = talk(text, "Done.")
    assert answer(events) == [("Done.", False)] and not of(CallReady, events)


def test_a_call_in_json_is_accepted_in_glyph_too():
    events = talk('{"action": "search", "query": "x"}', "Done.")
    assert of(CallReady, events)[0].arguments == {"query": "x"} and ended(events) == ("answered", True)


# masks


@pytest.mark.parametrize("mask", [{"deny": ("search",)}, {"allow": ("browse",)}])
def test_a_masked_tool_is_hidden_and_its_call_is_invalid(mask):
    model = Talker(SEARCH, BROWSE, "Done.")
    events = talk(model=model, **mask)
    assert "search" not in model.prompts[0] and "browse(" in model.prompts[0]
    assert [r.tool for r in of(ToolResult, events)] == ["browse"]
    assert [v.code for v in of(Violation, events)] == ["UNKNOWN_TOOL"]


def test_a_tool_that_its_source_lost_is_reported_as_unknown():
    model = Talker(SEARCH, "Done.")
    events = talk(model=model, interaction=NonInteractive({"demo": Box()}))
    assert of(ToolResult, events)[0].code == "UNKNOWN_TOOL" and "There is no tool" in model.prompts[1]
    assert ended(events) == ("answered", True)


def test_with_every_tool_masked_a_relaxed_run_is_text_only():
    model = Talker("Hello.")
    events = talk(model=model, allow=(), constraint="mask")
    assert ended(events) == ("answered", True) and model.requests[0].constraint == "off"


# texts for the model, and approval


def test_without_approval_the_model_sees_that_nothing_ran():
    tools = box()
    model = Talker(SEARCH, "Done.")
    events = talk(model=model, approvals=(), interaction=NonInteractive({"demo": tools}))
    assert not tools.calls and "DENIED" in model.prompts[1] and ended(events) == ("answered", True)


def test_a_custom_system_prompt_replaces_the_loops():
    model = Talker("Hello.")
    talk(model=model, system="Be brief. {{ tools | length }}")
    assert model.prompts[0].startswith("System: Be brief. 7")


def test_an_unknown_prompt_preset_is_rejected():
    (failed,) = of(RunFailed, talk("x", prompt="nonsense"))
    assert failed.code == "PROMPT_FAILED" and "loop" in failed.hint
