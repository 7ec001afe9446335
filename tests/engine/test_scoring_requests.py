"""Scripted tools, the request of an arm's scenario, and the start of a conversation's next turn."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from demo_calls import NEVER, call
from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.matrix import Arm
from glyphscope.evals.running import ScriptedTools, request_for
from glyphscope.evals.suites import ScenarioTurn, ScriptedResult, Suite
from glyphscope.events import ApprovalRule, Message, RunRequest, Sampling
from glyphscope.prompting import render_messages
from glyphscope.registry import default_registry
from glyphscope.runs import history_after, run_state
from glyphscope.tools import ToolSource
from glyphscope.tools.demo import DemoTools
from judged import asked, call_of, expectation, made, sample_of, verdict
from talks import Talker

REGISTRY = default_registry()
SEARCH = '{action="search" query="x"}'
CALCULATE = '{action="calculate" expression="1"}'


def scripted(*script: ScriptedResult, demo: DemoTools | None = None) -> ToolSource:
    return ScriptedTools(script, REGISTRY, demo)


# scripted tools


def test_the_first_unused_script_entry_answers():
    tools = scripted(
        ScriptedResult(tool="search", text="busy", fault="tool"),
        ScriptedResult(tool="search", text="of x", times=2, arguments={"query": "x", "max_results": 5}),
        ScriptedResult(tool="search", structured={"hits": [1]}, text="one", times=0),
    )
    first = call(tools, "search", query="y")
    assert (first.fault, first.message) == ("tool", "busy")
    for _ in range(2):
        assert call(tools, "search", query="x", max_results=5.0, lang="en").content[0].text == "of x"
    for _ in range(3):
        last = call(tools, "search", query="x", max_results=5)
        assert last.ok and last.structured == {"hits": [1]} and last.content[0].text == "one"


def test_scripted_faults_are_those_of_tool_server_and_time():
    tools = scripted(
        ScriptedResult(tool="search", fault="timeout"),
        ScriptedResult(tool="search", fault="protocol", text="no JSON"),
        ScriptedResult(tool="search", fault="tool"),
        ScriptedResult(tool="search"),
    )
    late = tools.call("search", {}, seconds=3600, cancel=NEVER)
    assert (late.fault, late.message) == ("timeout", "The tool did not answer within 60 min.")
    assert (call(tools, "search").fault, call(tools, "search").fault) == ("protocol", "tool")
    empty = call(tools, "search")
    assert empty.ok and empty.content[0].text == ""


def test_a_call_without_a_script_goes_to_the_demo_tools_or_fails():
    demo = DemoTools()
    try:
        tools = scripted(ScriptedResult(tool="calculate", text="5"), demo=demo)
        assert call(tools, "calculate", expression="1+1").content[0].text == "5"
        assert call(tools, "calculate", expression="1+1").structured["result"] == 2
    finally:
        demo.close()
    tools = scripted(ScriptedResult(tool="search", text="of x", arguments={"query": "x"}))
    none = call(tools, "search", query="y")
    assert none.fault == "tool" and "nothing for this call" in none.message
    assert call(tools, "search", query="x").ok and call(tools, "search", query="x").fault == "tool"
    assert call(tools, "nosuch" * 100).fault == "unknown" and len(call(tools, "nosuch" * 100).message) < 120


def test_a_cancelled_call_uses_no_script_entry():
    tools = scripted(ScriptedResult(tool="search", text="once"))
    cancelled = threading.Event()
    cancelled.set()
    assert tools.call("search", {}, seconds=5, cancel=cancelled).fault == "cancelled"
    assert call(tools, "search").ok


def test_an_entry_answers_its_number_of_times_from_any_thread():
    tools = scripted(ScriptedResult(tool="search", text="here", times=50))
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: call(tools, "search", query="x").ok, range(400)))
    assert sum(outcomes) == 50


def test_the_source_is_the_registrys_allowed_tools():
    document = REGISTRY.to_document()
    document["tools"][0]["enabled"] = False
    tools = ScriptedTools((), document)
    assert document["tools"][0]["name"] not in [tool.name for tool in tools.tools()]
    assert (tools.name, tools.identity, tools.claims("search")) == ("scripted", "scripted", {})
    tools.close()


# requests


def asked_of(arm: dict[str, Any], suite: dict[str, Any], scenario: dict[str, Any], **more: Any) -> RunRequest:
    made_for = Suite(**{"glyphscope_suite": 1, "name": "s", "about": "", **suite})
    return request_for(
        Arm(**{"model": "m.gguf", **arm}),
        made_for,
        asked(expectation(), **scenario),
        REGISTRY,
        Sampling(seed=7),
        **more,
    )


def test_the_members_of_an_arm_are_those_of_the_request():
    request = asked_of(
        {"notation": "json", "shape": "tool-args", "constraint": "off", "preset": "short", "repair": 2},
        {},
        {},
    )
    assert (request.model, request.prompt, request.preset) == ("m.gguf", "Find x.", "short")
    assert (request.notation, request.shape, request.constraint, request.native) == (
        "json",
        "tool-args",
        "off",
        "",
    )
    assert (request.strategy, request.stop_on, request.sampling.seed) == ("direct", "error", 7)
    assert (request.repair.attempts, request.repair.extract) == (2, True)
    assert request.registry == REGISTRY.to_document() and request.history == ()
    assert (asked_of({}, {}, {}).repair.attempts, asked_of({}, {}, {}).repair.extract) == (0, False)


def test_the_models_own_notation_is_requested_from_its_template():
    request = asked_of({"notation": "native"}, {}, {})
    assert (request.native, request.notation) == ("auto", "json")


def test_the_scenario_wins_over_the_suite_and_the_suite_over_the_arm():
    suite = {"strategy": "loop", "request": {"max_tokens": 9, "loop": {"max_turns": 2, "max_seconds": 5}}}
    scenario = {"request": {"max_tokens": 7, "loop": {"max_turns": 3}, "repair": {"extract": True}}}
    request = asked_of({"repair": 1}, suite, scenario)
    assert (request.strategy, request.max_tokens) == ("loop", 7)
    assert (request.loop.max_turns, request.loop.max_seconds, request.loop.max_tool_seconds) == (3, 5, 60)
    assert (request.repair.attempts, request.repair.extract) == (1, True)
    assert asked_of({"strategy": "two-stage"}, suite, scenario).strategy == "two-stage"
    own = {"request": {"strategy": "route-execute", "stop_on": "never"}}
    request = asked_of({"strategy": "two-stage"}, suite, own)
    assert (request.strategy, request.stop_on) == ("route-execute", "never")


def test_presets_precede_named_settings():
    suite = {"strategy": "loop", "request": {"loop": {"presets": ["small-context"], "max_turns": 6}}}
    loop = asked_of({}, suite, {}, presets=("content-tag-fallback",)).loop
    assert loop.presets == ("content-tag-fallback", "small-context")
    assert loop.transforms[:1] == ("content-tags",) and "short-descriptions" in loop.transforms
    assert (loop.max_turns, loop.max_total_tokens) == (6, 2048)
    assert (
        asked_of({}, {}, {}, presets=("content-tag-fallback",)).loop.transforms == ()
    )  # without a loop: no limits
    with pytest.raises(GlyphscopeError):
        asked_of({}, {"strategy": "loop"}, {}, presets=("nosuch",))


def test_calls_are_answered_by_the_script_without_approval():
    request = asked_of({}, {"strategy": "loop"}, {})
    assert set(request.sources.values()) == {"scripted"} and set(request.sources) == {
        tool.name for tool in REGISTRY.allowed
    }
    assert request.approvals == (ApprovalRule(source="scripted", action="allow"),)
    assert asked_of({}, {}, {"request": {"dispatch": True}}).sources == request.sources
    assert asked_of({}, {}, {}).sources == {} and asked_of({}, {}, {}).approvals == ()
    dispatched = asked(expectation(call_of("search", query="x")), request={"dispatch": True})
    assert [call.ok for call in verdict(dispatched, SEARCH).calls] == [False]  # no scripted outcomes


def test_answers_are_passed_to_the_router():
    request = asked_of({}, {}, {"answers": ("x",), "request": {"router": {"max_questions": 2}}})
    assert (request.router.answers, request.router.max_questions) == (("x",), 2)


def test_invalid_members_are_reported_with_their_scenario():
    with pytest.raises(GlyphscopeError, match="s/one"):
        asked_of({}, {}, {"request": {"max_tokens": "many"}})


# history


SCRIPT = (ScriptedResult(tool="search", text="found", times=0),)
TWO = ScenarioTurn(prompt="And y?", expect=expectation())


def after(*said: str, **arm: Any) -> list[tuple[str, str]]:
    members = {"script": SCRIPT, **arm.pop("members", {})}
    scenario = asked(expectation(), **members)
    _, (events,) = sample_of(scenario, *said, **arm)
    messages = history_after(run_state(events), events[0].request)
    assert messages[0] == Message("user", "Find x.")
    return [(message.role, message.content) for message in messages[1:]]


CHOSEN = json.dumps({"choice": "call_tool", "tool": "search", "question": None})
ASKED = json.dumps({"choice": "clarify", "tool": None, "question": "Which?"})
NONE = json.dumps({"choice": "none", "tool": None, "question": None})
RESULT = '{"ok":true,"result":"found"}'


@pytest.mark.slow
def test_the_next_turn_starts_from_the_result_of_this_one():
    assert after(SEARCH) == [("assistant", SEARCH)]
    assert after("") == []
    assert after(SEARCH, members={"request": {"dispatch": True}}) == [("assistant", SEARCH), ("tool", RESULT)]
    assert after("words", SEARCH, repair=1) == [("assistant", SEARCH)]
    assert after('"search"', '{query="x"}', strategy="two-stage") == [("assistant", SEARCH)]
    assert after(CHOSEN, SEARCH, strategy="route-execute") == [("assistant", SEARCH)]
    assert after(NONE, strategy="route-execute") == [("assistant", NONE)]
    assert after(ASKED, strategy="route-execute") == [("assistant", "Which?")]
    assert after(ASKED, CHOSEN, SEARCH, strategy="route-execute", members={"answers": ("x",)}) == [
        ("assistant", "Which?"),
        ("user", "x"),
        ("assistant", SEARCH),
    ]


def test_the_next_turn_of_a_conversation_starts_from_its_messages():
    wrong = '{action="search" query=}'
    assert after(f"I look: {SEARCH}", wrong, "It is x.", strategy="loop") == [
        ("assistant", f"I look: {SEARCH}"),
        ("tool", RESULT),
        ("assistant", "It is x."),
    ]


HERMES = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    '{% if tools %}{{ tools }}<tool_call>\n{"name": 1, "arguments": 2}</tool_call>{% endif %}[assistant]'
)


def test_a_call_in_the_models_own_notation_is_repeated_in_it():
    written = '{"name": "search", "arguments": {"query": "x"}}'
    whole = f"<tool_call>\n{written}\n</tool_call>"
    for said, constraint in ((written, "mask"), (whole, "off"), (f"<tool_call>\n{written}", "off")):
        model = Talker(said, template=HERMES)
        _, (events,) = sample_of(asked(expectation()), model=model, notation="native", constraint=constraint)
        state = run_state(events)
        assert state.call is not None and state.failed is None
        assert history_after(state, events[0].request)[1:] == (Message("assistant", whole),)


@pytest.mark.parametrize("strategy", ["direct", "two-stage", "route-execute", "loop"])
def test_every_strategy_shows_the_model_the_history(strategy):
    said = {
        "direct": (SEARCH,),
        "two-stage": ('"search"', '{query="x"}'),
        "route-execute": (CHOSEN, SEARCH),
        "loop": (SEARCH, "It is x."),
    }[strategy]
    model = Talker(*said, *said)
    states = made(asked(expectation(), turns=(TWO,), script=SCRIPT), model=model, strategy=strategy)
    first, second = (state.stages[0].prompt for state in states)
    assert first is not None and second is not None
    parts = [part.name for part in second.parts]
    assert "history" not in [part.name for part in first.parts]
    assert parts.index("history") < parts.index("user")
    texts = [second.text[part.start : part.end] for part in second.parts if part.name == "history"]
    assert texts[0] == "Find x." and any('"search"' in text for text in texts[1:])
    assert sum(part.tokens for part in second.parts) == second.tokens
    user = next(part for part in second.parts if part.name == "user")
    assert second.text[user.start : user.end] == "And y?"
    assert all("Find x." in prompt for prompt in model.prompts)


def test_the_executor_sees_the_conversation_as_the_router_does():
    model = Talker(CHOSEN, SEARCH, CHOSEN, SEARCH)
    made(asked(expectation(), turns=(TWO,)), model=model, strategy="route-execute")
    router, executor = model.prompts[2:]
    for prompt in (router, executor):
        assert prompt.index("Find x.") < prompt.index(SEARCH) < prompt.index("And y?")


def test_history_is_between_the_system_message_and_the_prompt():
    history = (Message("user", "one"), Message("assistant", "two"), Message("tool", "three"))
    request = RunRequest(prompt="four", registry=REGISTRY.to_document(), history=history)
    rendered = render_messages(request, REGISTRY)
    assert [message.role for message in rendered.messages] == ["system", "user", "assistant", "tool", "user"]
    assert rendered.messages[1:] == (*history, Message("user", "four"))
    assert [part.name for part in rendered.parts[-4:]] == ["history", "history", "history", "user"]


def test_a_record_without_a_history_is_read():
    document = msgspec.to_builtins(RunRequest(prompt="x", registry={}))
    del document["history"]
    assert msgspec.convert(document, RunRequest).history == ()
