"""Scripted tools, the request of an arm's scenario, and the start of a conversation's next turn."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from demo_calls import NEVER, call
from expected_texts import as_in_file, blocks_of
from glyphscope.base.errors import GlyphscopeError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.running import ScriptedTools, request_for
from glyphscope.evals.suites.suite import Scenario, ScenarioTurn, ScriptedResult, Suite
from glyphscope.events import LoopSettings, Message, RouterSettings, RunRequest, Sampling
from glyphscope.prompting.messages import render_messages
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
    return ScriptedTools(script, REGISTRY, *filter(None, (demo,)))


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

CASES = Path(__file__).with_name("scoring_requests.txt")
EMPTY: Any = MappingProxyType({})
PLAIN = msgspec.to_builtins(RunRequest(prompt="", registry={}, loop=LoopSettings(), router=RouterSettings()))


def request_lines(arm: Any = EMPTY, suite: Any = EMPTY, scenario: Any = EMPTY, **more: Any) -> Iterator[str]:
    """The members of a request that are not usual; its sources, if any, are those of all allowed tools."""
    made_for = msgspec.convert({"glyphscope_suite": 1, "name": "s", "about": "", **suite}, Suite)
    try:
        request = request_for(
            msgspec.convert({"model": "m.gguf", **arm}, Arm),
            made_for,
            scenario_of(scenario),
            REGISTRY,
            Sampling(seed=7),
            **more,
        )
    except GlyphscopeError as error:
        yield f"= {error}".replace("\n", " ")
        return
    assert request.registry == REGISTRY.to_document()
    assert set(request.sources) in (set(), {tool.name for tool in REGISTRY.allowed})
    made = {**msgspec.to_builtins(request), "registry": {}, "sources": sorted(set(request.sources.values()))}
    for name, value in made.items():
        usual = PLAIN.get(name)
        if isinstance(value, dict) and isinstance(usual, dict):
            value = {key: each for key, each in value.items() if each != usual.get(key)}
        if value not in (usual, {}, []):
            yield f"= {name} {json.dumps(value)}"


def messages_after(said: list[str], arm: Any = EMPTY, scenario: Any = EMPTY) -> Iterator[str]:
    """The messages with which the next turn starts."""
    script = [{"tool": "search", "text": "found", "times": 0}]
    _, (events,) = sample_of(scenario_of({"script": script, **scenario}), *said, **arm)
    for message in history_after(run_state(events), events[0].request):
        yield f"= {message.role}: {message.content}"


def scenario_of(members: dict[str, Any]) -> Scenario:
    return msgspec.convert({"id": "one", "prompt": "Find x.", "expect": {}, **members}, Scenario)


def test_requests_and_the_turns_after_them_are_those_of_the_file():
    def found() -> Iterator[str]:
        for block in blocks_of(CASES):
            line = block.split("\n")[0]
            given = {} if line.startswith("# ") else json.loads(line)
            lines = messages_after if "said" in given else request_lines
            yield "\n".join((line, *(lines(**given) if given else ())))

    as_in_file(CASES, found())


def test_a_dispatched_call_has_no_outcome_without_a_script():
    dispatched = asked(expectation(call_of("search", query="x")), request={"dispatch": True})
    assert [call.ok for call in verdict(dispatched, SEARCH).calls] == [False]


# history


SCRIPT = (ScriptedResult(tool="search", text="found", times=0),)
TWO = ScenarioTurn(prompt="And y?", expect=expectation())


CHOSEN = json.dumps({"choice": "call_tool", "tool": "search", "question": None})
ASKED = json.dumps({"choice": "clarify", "tool": None, "question": "Which?"})
NONE = json.dumps({"choice": "none", "tool": None, "question": None})
RESULT = '{"ok":true,"result":"found"}'


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
