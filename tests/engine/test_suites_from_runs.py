"""A recorded run as a scenario: repeated, the same answers are judged right."""

import threading

import msgspec
import pytest

from glyphscope.base.errors import RecordError, StorageError, SuiteError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import LoadedSuite, Planned
from glyphscope.evals.running import request_for, run_sample
from glyphscope.evals.suites import scenario_of_run, suite_of_runs
from glyphscope.evals.suites.reading import check_suite, encode_suite, parse_suite, suite_registry
from glyphscope.events import (
    Answer,
    ApprovalRule,
    LoopSettings,
    Message,
    Relaxed,
    RouterSettings,
    RunRequest,
    Sampling,
)
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import bundled_registry
from glyphscope.runs import NonInteractive
from glyphscope.runs.strategies import run
from glyphscope.store import RecordWriter
from glyphscope.store.bundle import write_bundle
from glyphscope.store.records import read_record
from glyphscope.tools.demo import DemoTools

SEARCH = '{"action": "search", "query": "harbour"}'
WRONG = '{"action": "browse", "url": "https://nowhere.invalid/"}'
NONE = '{"choice": "none", "tool": null, "question": null}'
ASK = '{"choice": "clarify", "tool": null, "question": "Which?"}'
PERK = '{"choice": "call_tool", "tool": "perk_lookup", "question": null}'


def events_of(*turns, registry="default", prompt="Find the harbour.", **more):
    request = RunRequest(
        prompt=prompt,
        registry=bundled_registry(registry).to_document(),
        notation="json",
        constraint="off",
        approvals=(ApprovalRule(action="allow"),),
        **more,
    )
    demo = DemoTools()
    try:
        return list(run(request, ScriptedModel(turns=turns), NonInteractive({"demo": demo})))
    finally:
        demo.close()


def recorded(path, events):
    with RecordWriter(path) as record:
        for event in events:
            record.write(event)
    return path


def asked_again(suite, *turns):
    arm = Arm(model="scripted", notation="json", constraint="off")
    planned = Planned(arm, LoadedSuite(suite, encode_suite(suite)), suite.scenarios[0], 0, 1)
    sample, _ = run_sample(planned, ScriptedModel(turns=turns), threading.Event())
    return sample


def suite_of(tmp_path, *turns, **more):
    suite = suite_of_runs([recorded(tmp_path / "my run.jsonl", events_of(*turns, **more))], "mine")
    assert check_suite(suite) == () and parse_suite(encode_suite(suite)) == suite
    return suite


def test_a_direct_run_becomes_its_prompt_and_its_call(tmp_path):
    suite = suite_of(tmp_path, SEARCH, max_tokens=99)
    (scenario,) = suite.scenarios
    assert (scenario.id, scenario.group, scenario.prompt) == ("my-run", "search", "Find the harbour.")
    assert scenario.expect.calls[0].arguments == {"query": "harbour"}
    assert scenario.request == {"max_tokens": 99} and suite.strategy == "direct"
    arm = Arm(model="m", strategy="two-stage")
    asked = request_for(arm, suite, scenario, suite_registry(suite, scenario), Sampling())
    assert asked.strategy == "two-stage", "an arm is named after a strategy that was not requested"
    assert asked_again(suite, SEARCH).ok
    assert not asked_again(suite, SEARCH.replace("harbour", "port")).ok


@pytest.mark.parametrize(
    ("answer", "text", "right", "wrong"),
    [
        (Answer("choice", "yes\nno"), "yes", "yes", "no"),
        (Answer("schema", '{"type": "object"}'), '{"city": "Bern"}', {"city": "Bern"}, '{"city": "Oslo"}'),
        (Answer("regex", "[0-9]+ ?"), "12 ", "12", "13"),
    ],
)
def test_a_run_whose_answer_is_not_a_call_becomes_a_scenario_with_that_answer(
    tmp_path, answer, text, right, wrong
):
    suite = suite_of(tmp_path, text, answer=answer)
    (scenario,) = suite.scenarios
    assert (scenario.answer, scenario.expect.final.equals) == (answer, right)
    assert asked_again(suite, text).ok and not asked_again(suite, wrong).ok


def test_a_run_with_a_relaxed_constraint_is_not_a_scenario():
    freed = events_of(SEARCH, relaxed=(Relaxed("search", "/properties/max_results/maximum"),))
    with pytest.raises(SuiteError, match="did not enforce all of its tools' constraints"):
        scenario_of_run(freed, "freed")


def test_a_bundle_makes_the_same_scenario_as_the_record_in_it(tmp_path):
    path = recorded(tmp_path / "my run.jsonl", events_of(SEARCH))
    write_bundle(tmp_path / "my run.glyphrun", read_record(path).events)
    of_record = suite_of_runs([path], "mine")
    assert suite_of_runs([tmp_path / "my run.glyphrun"], "mine") == of_record


def test_a_conversation_becomes_a_scenario_with_the_answers_of_its_tools(tmp_path):
    turns = (WRONG, SEARCH, "There it is.")
    suite = suite_of(tmp_path, *turns, strategy="loop", loop=LoopSettings(max_turns=5, presets=("strict",)))
    (scenario,) = suite.scenarios
    assert [call.tools for call in scenario.expect.calls] == [("search",)]  # the other call failed
    assert [(each.tool, each.fault) for each in scenario.script] == [("browse", "tool"), ("search", "")]
    assert scenario.request["loop"] == {"max_turns": 5} and scenario.expect.extra_calls
    assert asked_again(suite, *turns).ok and asked_again(suite, SEARCH, "There.").ok
    assert not asked_again(suite, "There it is.").ok


def test_a_routed_run_becomes_a_scenario_with_its_choice_and_answers(tmp_path):
    router = RouterSettings(answers=("Outlaw",))
    call = '{"action": "perk_lookup", "name": "Outlaw"}'
    turns = (ASK, PERK, call)
    suite = suite_of(
        tmp_path, *turns, registry="destiny", prompt="That perk?", strategy="route-execute", router=router
    )
    (scenario,) = suite.scenarios
    assert (scenario.expect.choice, scenario.answers) == ("clarify", ("Outlaw",))
    assert "answers" not in scenario.request.get("router", {})
    assert asked_again(suite, *turns).ok and not asked_again(suite, PERK, call).ok


def test_a_router_that_chose_none_is_a_scenario_without_a_call(tmp_path):
    suite = suite_of(tmp_path, NONE, registry="destiny", prompt="Hello!", strategy="route-execute")
    assert suite.scenarios[0].expect.calls == () and suite.scenarios[0].expect.choice == "none"
    assert asked_again(suite, NONE).ok


def test_runs_of_one_name_get_unique_names_and_share_their_tools(tmp_path):
    paths = []
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        paths.append(recorded(tmp_path / str(number) / "a.jsonl", events_of(SEARCH)))
    suite = suite_of_runs(paths, "mine")
    assert [each.id for each in suite.scenarios] == ["a", "a-2", "a-3"]
    assert all(each.registry is None for each in suite.scenarios) and isinstance(suite.registry, dict)
    assert check_suite(suite) == ()


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (lambda: events_of("I will not."), "no valid call and no answer"),
        (lambda: events_of(SEARCH)[:-1], "is incomplete"),
        (list, "is incomplete"),
        (lambda: events_of(SEARCH, prompt=" "), "without a user message"),
    ],
)
def test_a_run_without_a_right_answer_is_rejected(events, words):
    with pytest.raises(SuiteError) as caught:
        scenario_of_run(events(), "a", "a.jsonl")
    assert words in str(caught.value) and caught.value.where == "a.jsonl"


def test_the_scenario_of_a_later_turn_has_the_messages_before_it(tmp_path):
    before = (Message("user", "Hello."), Message("assistant", "Hello, what do you need?"))
    suite = suite_of(tmp_path, SEARCH, history=before)
    (scenario,) = suite.scenarios
    request = request_for(Arm(model="m"), suite, scenario, suite_registry(suite, scenario), Sampling())
    assert (request.history, request.prompt) == (before, "Find the harbour.")
    assert asked_again(suite, SEARCH).ok


@pytest.mark.parametrize("history", ["hello", [{"role": "user"}], [{"role": "narrator", "content": "x"}]])
def test_messages_of_a_suite_that_are_none_are_reported_at_their_place(tmp_path, history):
    suite = suite_of(tmp_path, SEARCH)
    wrong = msgspec.structs.replace(suite, request={"history": history})
    (problem, *_) = check_suite(wrong)
    assert problem.pointer.startswith("/request/history")


def test_a_file_that_is_not_a_record_is_rejected(tmp_path):
    (tmp_path / "a.jsonl").write_text("{}")
    with pytest.raises(RecordError):
        suite_of_runs([tmp_path / "a.jsonl"], "mine")
    with pytest.raises(StorageError):
        suite_of_runs([tmp_path / "b.jsonl"], "mine")
