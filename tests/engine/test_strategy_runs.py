"""Runs of every strategy with scripted models: the turns that a model says, and the run that follows from them.

`strategy_runs.txt` has a block for each row, as `stories.py` shows a run; `GLYPHSCOPE_UPDATE=1` writes what is found.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from expected_texts import as_in_file
from glyphscope.events import (
    CallReady,
    FinalAnswer,
    PromptRendered,
    RepairSettings,
    RouterSettings,
    RunFailed,
    RunFinished,
    Sampling,
    StageFinished,
    ToolResult,
)
from glyphscope.registry import default_registry
from glyphscope.runs import Decision, NonInteractive, run_state
from glyphscope.tools import Outcome
from stories import story
from talks import BAD, BROWSE, NONE, SEARCH, Answering, Talker, box, chosen, numbered, question, talk
from toolbox import Box, Person, of

TOOLS = [tool.name for tool in default_registry()]
FAILS = Outcome(fault="tool", message="no")
JSON_CALL = '{"action":"search","query":"AI news","max_results":10}'
TOO_MANY = '{"action":"search","query":"AI news","max_results":500}'
WRONG = '{"action":"search","query":7}'


def answers(*outcomes: Any) -> NonInteractive:
    """A host whose tool `search` has these outcomes in order, and the last one for ever."""
    left = list(outcomes)
    return NonInteractive({"demo": box(search=lambda **_: left.pop(0) if len(left) > 1 else left[0])})


def direct(**changes: Any) -> dict[str, Any]:
    return {"strategy": "direct", "notation": "json", "system": "{{ notation }}", **changes}


def routed(**changes: Any) -> dict[str, Any]:
    return {"strategy": "route-execute", **changes}


ONCE = {"repair": RepairSettings(attempts=1)}
TWICE = {"repair": RepairSettings(attempts=2)}
TAGGED = 'I will.\n<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>'
INVALID_IN_TAGS = '<tool_call>{"name": "search", "arguments": {"query": 5}}</tool_call>'
ENFORCED = {"tool_use": "enforced"}
ROWS: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    # the tool loop: its course
    ("a call is executed and its result precedes the next turn", (SEARCH, "It is x."), {}),
    ("text before a call stays in the history and text after it does not", (f"I search. {SEARCH} Result: 42!", "Done."),
     {}),
    ("relaxed accepts an answer without a call", ("Hello.",), {}),
    ("disabled shows no tools and accepts any text", (f"So one writes {SEARCH}.",),
     {"tool_use": "disabled", "constraint": "mask"}),
    ("enforced requires a call first and then accepts text", ("Hello.", SEARCH, "Done."), ENFORCED),
    ("enforced without any call fails", ("Hello.",), ENFORCED),
    ("a masked tool is hidden and its call is invalid", (SEARCH, BROWSE, "Done."), {"deny": ("search",)}),
    ("a tool that is not on the allow list is hidden too", (SEARCH, BROWSE, "Done."), {"allow": ("browse",)}),
    ("with every tool masked a relaxed run is text only", ("Hello.",), {"allow": (), "constraint": "mask"}),
    ("a tool that its source lost is reported as unknown", (SEARCH, "Done."),
     {"interaction": NonInteractive({"demo": Box()})}),
    ("without approval the model sees that nothing ran", (SEARCH, "Done."), {"approvals": ()}),
    ("an edit of a call is reported to the model", (SEARCH, "Done."),
     {"approvals": (), "interaction": Person(box(), Decision(action="allow", arguments={"query": "y"}))}),
    ("a decision for the run is requested once", (*numbered(2), BROWSE, "Done."),
     {"approvals": (), "interaction": Person(box(), Decision(action="allow", scope="run"))}),
    # failures of tools
    ("relaxed accepts failed calls", (SEARCH, "Sorry."), {"interaction": answers(FAILS)}),
    ("fatal: a failed call fails an enforced run", (SEARCH, "Done."), {"interaction": answers(FAILS), **ENFORCED}),
    ("fatal: also after a call that worked", (SEARCH, SEARCH, "Done."),
     {"interaction": answers("ok", FAILS), **ENFORCED}),
    ("fatal: not if the model corrected itself", (SEARCH, SEARCH, "Done."),
     {"interaction": answers(FAILS, "ok"), **ENFORCED}),
    ("fatal: for every tool by itself", (SEARCH, BROWSE, "Done."), {"interaction": answers(FAILS), **ENFORCED}),
    ("tolerated: one call that worked is enough", (SEARCH, SEARCH, "Done."),
     {"interaction": answers("ok", FAILS), "failure_policy": "tolerated", **ENFORCED}),
    ("tolerated: no call that worked", (SEARCH, "Done."),
     {"interaction": answers(FAILS), "failure_policy": "tolerated", **ENFORCED}),
    ("arguments that are too large are reported and a shorter call is accepted",
     (f'{{action="search" query="{"x" * 40}"}}', SEARCH, "Done."), {"max_tool_args_bytes": 50, **ENFORCED}),
    ("an output that is too large never reaches the prompt", (SEARCH, "Done."),
     {"interaction": answers("y" * 500), "max_tool_output_bytes": 100, **ENFORCED}),
    # several calls in one turn
    ("by default only the first of three calls runs and the others are counted",
     (f"{SEARCH}\n{BROWSE}\n{BAD}", "Done."), {}),
    ("several calls run where it is allowed", (f"{SEARCH} {BROWSE} {SEARCH}", "Done."), {"parallel_tool_calls": True}),
    ("and at most so many", (f"{SEARCH} {BROWSE} {SEARCH}", "Done."), {"max_tool_calls_per_turn": 2}),
    ("an invalid call after a valid one is reported and the valid one runs", (SEARCH + BAD, BROWSE, "Done."),
     {"parallel_tool_calls": True}),
    # empty answers
    ("an empty answer is requested once more without tools", (SEARCH, " \n", "It is x."), {"constraint": "mask"}),
    ("an empty answer may be requested with tools", (SEARCH, "", BROWSE, "It is x."),
     {"fix_empty_final_disable_tools": False}),
    ("an answer that stays empty fails the run", (SEARCH, "", ""), {}),
    ("a model that always answers empty ends the run", ("",), {}),
    ("without the recovery an empty answer fails at once", (SEARCH, "", "x"), {"fix_empty_final": False}),
    ("a call in place of the last answer is not an answer", (SEARCH, "", SEARCH), {}),
    ("the recovery may follow the last turn", (SEARCH, "", "x"), {"max_turns": 2}),
    # turns without a call or an answer
    ("an invalid turn is not in the prompt of later turns", (BAD, SEARCH, "Done."), {}),
    ("turns without progress end the run", (BAD,), {"max_invalid_turns": 2}),
    ("a valid turn resets the count", (BAD, SEARCH, BAD, BROWSE, BAD, "Done."), {"max_invalid_turns": 2}),
    ("a call in JSON is accepted in GLYPH too", ('{"action": "search", "query": "x"}', "Done."), {}),
    # limits
    ("a model that loops for ever ends at the limit of turns", tuple(numbered(9)),
     {"max_turns": 3, "max_identical_calls": 1}),
    ("repeated identical calls end the run", (SEARCH,), {"max_identical_calls": 2}),
    ("identical calls are recognized in any order of arguments",
     ('{action="search" query="x" max_results=5}', '{action="search" max_results=5 query="x"}'),
     {"max_identical_calls": 1}),
    ("the tokens of all turns are limited and the last turn gets the rest", tuple(numbered(9)),
     {"max_total_tokens": 25, "max_tokens": 100}),
    ("a text cut by the token limit is not an answer", ("word " * 50,), {"max_total_tokens": 10}),
    ("an answer at the token limit of a turn is marked as cut", ("word " * 50,), {"max_tokens": 10}),
    # transforms
    ("a call in tags is text without its transform", (TAGGED, "Done."), {}),
    ("a call in tags counts with its transform", (TAGGED, "Done."), {"transforms": ("content-tags",)}),
    ("a call that is invalid after its transform is not executed", (INVALID_IN_TAGS, "Done."),
     {"transforms": ("content-tags",)}),
    ("a transform without an effect is not reported", (SEARCH, "Done."),
     {"transforms": ("content-tags", "alternate-roles", "blank-values", "snake-case-names")}),
    ("results can be plain and in the user's role", (SEARCH, "Done."),
     {"transforms": ("plain-results", "tool-results-as-user")}),
    # repair
    ("the model gets the error in the words of the template", (TOO_MANY, JSON_CALL), direct(**TWICE)),
    ("an attempt sees only the last invalid text", (WRONG, TOO_MANY, JSON_CALL), direct(stop_on="never", **TWICE)),
    ("an aborted run is repaired with the error that stopped it", (TOO_MANY + " and more", JSON_CALL), direct(**TWICE)),
    ("no more repairs are attempted than allowed", (WRONG, TOO_MANY, '{"action":"fly"}', JSON_CALL), direct(**TWICE)),
    ("at temperature 0 the same prompt is not sent twice", (WRONG, WRONG, WRONG, JSON_CALL), direct(**TWICE)),
    ("at another temperature it is", (WRONG, WRONG, JSON_CALL), direct(sampling=Sampling(temperature=0.7), **TWICE)),
    ("without attempts and extraction nothing is repaired", (WRONG,), direct(repair=RepairSettings(extract=False))),
    ("a valid call has no repair", (JSON_CALL,), direct(**TWICE)),
    ("a call in a fence is extracted and counts", (f"Here you are:\n```json\n{JSON_CALL[:-1]},}}\n```",),
     direct(stop_on="never")),
    ("an extracted call that is invalid is repaired for its own error", (f"Sure: {TOO_MANY}", f"Now: {JSON_CALL}"),
     direct(stop_on="never", **ONCE)),
    ("without extraction the whole text is the failure", (f"Sure: {JSON_CALL}", JSON_CALL),
     direct(stop_on="never", repair=RepairSettings(attempts=1, extract=False))),
    ("an empty answer is repaired without an empty turn", ("", JSON_CALL), direct(**ONCE)),
    ("the template of a repair can be the user's own", (WRONG, JSON_CALL),
     direct(repair=RepairSettings(attempts=1, template="Wrong ({{ error }}). Again, in {{ notation }}:"))),
    ("a template that cannot be rendered fails", (WRONG, JSON_CALL),
     direct(repair=RepairSettings(attempts=1, template="{{ eror }}"))),
    # route-execute
    ("a chosen tool is called in its own stage", (chosen("search"), SEARCH), routed()),
    ("the route is JSON and the call in the request's notation and shape",
     (chosen("search"), '{"tool":"search","args":{"query":"x"}}'), routed(notation="json", shape="tool-args")),
    ("none is a valid choice", (NONE,), routed()),
    ("an invented tool is a failure that names it", (chosen("searsh_web"), SEARCH), routed()),
    ("a question reaches the user and the answer the next stages", (question("What about?"), chosen("search"), SEARCH),
     routed(interaction=Answering("about rockets"))),
    ("prepared answers come before the user's", (question("1?"), question("2?"), NONE),
     routed(interaction=Answering("two"), router=RouterSettings(answers=("one",), max_questions=2))),
    ("a question without an answer ends the run", (question("What about?"),), routed(interaction=Answering("  \n"))),
    ("a router's prompt that cannot be rendered is reported", (NONE,), routed(router=RouterSettings(router="nothing"))),
    ("a route in a fence is extracted", (f"```json\n{NONE}\n```",), routed(stop_on="never")),
    ("an invalid route is repaired", (chosen("fly"), chosen("search"), SEARCH), routed(**ONCE)),
    ("the executor's repair concerns its tool", (chosen("search"), '{action="calculate"}', SEARCH), routed(**ONCE)),
]  # fmt: skip


def test_the_runs_of_scripted_models_are_those_of_the_file() -> None:
    blocks = []
    for name, turns, settings in ROWS:
        model = Talker(*turns)
        events = talk(model=model, **settings)
        blocks.append(f"# {name}\n{story(events, model.requests, TOOLS)}")
    as_in_file(Path(__file__).with_name("strategy_runs.txt"), blocks)


# what a story does not show


def test_a_run_has_ids_for_its_calls_parts_of_its_prompts_and_a_sum_of_its_tokens() -> None:
    events = talk(SEARCH, BROWSE, "It is x.")
    assert (
        [e.call for e in of(CallReady, events)]
        == ["call-1", "call-2"]
        == [e.call for e in of(ToolResult, events)]
    )
    parts = {part.name for part in of(PromptRendered, events)[1].parts}
    assert parts >= {"system", "tools", "examples", "user", "said", "result"}
    turns = [e for e in of(StageFinished, events) if e.stage.startswith("turn")]
    assert of(RunFinished, events)[0].tokens == sum(turn.tokens for turn in turns) > 0
    assert [turn.valid for turn in turns] == [True, True, True]
    state = run_state(events)
    assert state.answer is not None and state.answer.text == "It is x." and state.outcome == "valid"


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
def test_an_invalid_call_is_not_an_answer(text: str) -> None:
    events = talk(text, "Done.")
    assert [event.text for event in of(FinalAnswer, events)] == ["Done."] and not of(CallReady, events)


def test_a_custom_system_prompt_replaces_the_loops_and_an_unknown_preset_is_rejected() -> None:
    model = Talker("Hello.")
    talk(model=model, system="Be brief. {{ tools | length }}")
    assert model.prompts[0].startswith("System: Be brief. 7")
    (failed,) = of(RunFailed, talk("x", prompt="nonsense"))
    assert failed.code == "PROMPT_FAILED" and "loop" in failed.hint
