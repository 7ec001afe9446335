"""Every bundled scenario is possible: a model with the right answers is judged right, by the runner's own code."""

import json
import threading
from functools import cache
from pathlib import Path

import pytest

from expected_texts import blocks_of
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import LoadedSuite, Planned
from glyphscope.evals.running import run_sample
from glyphscope.evals.suites.reading import encode_suite, load_suite
from glyphscope.events import LimitReached, ToolResult
from glyphscope.models.scripted import ScriptedModel
from glyphscope.notation import write_call
from gold_calls import golds

DONE = "It is done."
SPARE = {
    "search": ("max_results", 7),
    "calculate": ("precision", 3),
    "browse": ("timeout", 33),
    "execute": ("timeout", 33),
    "read_file": ("encoding", "base64"),
    "write_file": ("mode", "append"),
    "send_email": ("cc", ["z@example.com"]),
}


@cache
def loaded(name):
    suite = load_suite(name)
    return LoadedSuite(suite, encode_suite(suite))


def sample_of(name, scenario, turns, notation="json"):
    arm = Arm(model="scripted", notation=notation, constraint="off")
    planned = Planned(arm, loaded(name), scenario, 0, 1)
    return run_sample(planned, ScriptedModel(turns=turns), threading.Event())


def call(tool, **arguments):
    return write_call(tool, arguments, style="json")


def wrongly(name, turns_of, *, ok, notation="json"):
    """Return the scenarios whose verdict is not `ok`, each with the reason; `turns_of` None leaves one out."""
    found = {}
    for scenario in loaded(name).suite.scenarios:
        if (turns := turns_of(scenario)) is not None:
            sample, _ = sample_of(name, scenario, turns, notation)
            if sample.ok != ok:
                found[scenario.id] = sample.failures
    return found


@pytest.mark.slow
@pytest.mark.parametrize("notation", ["glyph", "json"])
def test_a_model_that_makes_the_expected_calls_is_judged_right(notation):
    def said(scenario):
        if scenario.control:
            return ["OK."]
        (expected,) = scenario.expect.calls
        return [write_call(expected.tools[0], next(golds(expected)), style=notation)]

    assert wrongly("tool-calls", said, ok=True, notation=notation) == {}


@pytest.mark.slow
def test_an_extra_argument_is_judged_wrong():
    def said(scenario):
        if scenario.control:
            return None
        (expected,) = scenario.expect.calls
        name, value = SPARE[expected.tools[0]]
        gold = next(golds(expected))
        if gold.get(name) == value:
            value = {"encoding": "binary", "mode": "overwrite"}[name]
        return [call(expected.tools[0], **{**gold, name: value})]

    assert wrongly("tool-calls", said, ok=False) == {}


def test_a_call_where_none_is_expected_is_judged_wrong():
    def said(scenario):
        return [call("search", query="weather"), "OK."] if scenario.control else None

    assert wrongly("tool-calls", said, ok=False) == {}


@pytest.mark.slow
def test_the_labs_prompts_are_judged_right_in_two_stages():
    def said(scenario):
        (expected,) = scenario.expect.calls
        return [f'"{expected.tools[0]}",', json.dumps(expected.arguments) + "}"]

    assert wrongly("mask-driven", said, ok=True) == {}


def routed(choice, tool=None, question=None):
    return json.dumps({"choice": choice, "tool": tool, "question": question})


@pytest.mark.slow
def test_a_router_that_chooses_as_expected_is_judged_right():
    def said(scenario):
        turns = []
        if scenario.expect.choice == "clarify":
            turns.append(routed("clarify", question="Which one?"))
        if scenario.expect.choice == "none":
            turns.append(routed("none"))
        for expected in scenario.expect.calls:
            turns += [
                routed("call_tool", expected.tools[0]),
                call(expected.tools[0], **next(golds(expected))),
            ]
        return turns

    assert wrongly("routing", said, ok=True) == {}


@pytest.mark.slow
def test_a_router_that_confuses_the_classes_is_judged_wrong():
    other = {"item": "perk_lookup", "perk": "item_lookup", "activity": "item_lookup"}

    def said(scenario):
        wrong = other.get(scenario.group, "perk_lookup")
        return [routed("call_tool", wrong), call(wrong, name="Outlaw")]

    assert wrongly("routing", said, ok=False) == {}
    assert wrongly("routing", lambda s: [routed("none")] if s.group != "none" else None, ok=False) == {}


def patch(*operations, workspace_id="trip-1"):
    ops = [dict(zip(("op", "path", "value"), each)) for each in operations]
    return call("state_patch", workspace_id=workspace_id, ops=ops)


def get(path, workspace_id="trip-1"):
    return call("state_get", workspace_id=workspace_id, path=path)


CONVERSATIONS = {
    title.removeprefix("# "): turns
    for title, *turns in (
        block.split("\n") for block in blocks_of(Path(__file__).with_name("suites_reliability.txt"))
    )
}
"""Of each scenario, what a model says that recovers from its errors."""
FAULTS = {
    "happy_path": "",
    "missing_workspace_id": "TOOL_ERROR",
    "type_error_recovery": "TOOL_ERROR",
    "long_arguments_guard": "ARGUMENTS_TOO_LARGE",
    "chat_only": "",
}


@pytest.mark.parametrize("group", FAULTS)
def test_a_model_that_recovers_is_judged_right(group):
    for scenario in (each for each in loaded("reliability").suite.scenarios if each.group == group):
        sample, runs = sample_of("reliability", scenario, CONVERSATIONS[scenario.id])
        assert sample.ok, (scenario.id, sample.failures)
        codes = [event.code for events in runs for event in events if isinstance(event, ToolResult)]
        limits = [event.limit for events in runs for event in events if isinstance(event, LimitReached)]
        if code := FAULTS[group]:
            assert codes[0] == code and codes[-1] is None
        assert ("max_tool_args_bytes" in limits) == (group == "long_arguments_guard")


@pytest.mark.slow
def test_a_model_that_does_nothing_or_stops_too_early_is_judged_wrong():
    def stopped(scenario):
        turns = CONVERSATIONS[scenario.id]
        return None if len(turns) < 3 else [*turns[:-2], DONE]

    assert wrongly("reliability", lambda s: None if s.control else [DONE], ok=False) == {}
    assert wrongly("reliability", stopped, ok=False) == {}


def test_the_right_type_at_once_is_judged_right_where_no_error_is_required():
    by_id = {each.id: each for each in loaded("reliability").suite.scenarios}
    right = [patch(("set", "/budget/limit", 1200)), DONE]
    assert sample_of("reliability", by_id["type_error_recovery-typical"], right)[0].ok


@pytest.mark.parametrize("answer", ["Done", "done.", "Done. ✓", "", 'Done.\n{"action": "state_get"}'])
def test_the_strict_control_accepts_only_its_answer(answer):
    by_id = {each.id: each for each in loaded("reliability").suite.scenarios}
    assert not sample_of("reliability", by_id["chat_only-simple"], [answer])[0].ok


def test_the_reliability_scenarios_are_those_of_the_report_at_all_levels():
    found = {(each.group, each.level) for each in loaded("reliability").suite.scenarios}
    assert found == {(group, level) for group in FAULTS for level in ("simple", "typical", "extreme")}
