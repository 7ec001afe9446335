"""Tools that are not in the prompt of a conversation until a search finds them."""

from __future__ import annotations

import json
from time import process_time

import msgspec
import pytest

from cli_command import command
from glyphscope.base.errors import ContextOverflow
from glyphscope.cli.bundle import repeated
from glyphscope.events import (
    CallReady,
    PromptRendered,
    RunFailed,
    StageStarted,
    ToolResult,
    ToolsDeferred,
    ToolsSearched,
    Violation,
)
from glyphscope.explain.masked import stage_constraint
from glyphscope.registry import Tool, ToolRegistry, load_registry
from glyphscope.runs import NonInteractive, run_state
from glyphscope.runs.event_rows import describe
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.running import first_prompt
from glyphscope.store import first_difference
from glyphscope.store.exports import RecordedRun, export
from glyphscope.store.exports.run_page import run_data
from glyphscope.store.records import encode_record, parse_record
from talks import NONE, Clock, Talker, box, chosen, ended, limits, request_of, talk
from toolbox import of

FIND = '{action="search_tools" query="search the web"}'
SEARCH = '{action="search" query="x"}'
ALWAYS = {"defer_tools": 0.0}


def small(*turns, context=4096):
    """Return a model with a small context."""
    model = Talker(*turns)
    model.info = type(model.info)(
        **{n: getattr(model.info, n) for n in model.info.__struct_fields__} | {"context": context}
    )
    return model


def find(query):
    return f'{{action="search_tools" query={json.dumps(query)}}}'


def named(*names, description="Does things."):
    return ToolRegistry(tuple(Tool(name, description) for name in names))


def system(events):
    """Return the prompts."""
    return [event.text for event in of(PromptRendered, events)]


def test_a_page_of_the_run_says_how_many_tools_each_turn_offered():
    events = talk(FIND, SEARCH, "Done.", model=small(FIND, SEARCH, "Done."), **ALWAYS)
    page = run_data(RecordedRun(tuple(events)), run_state(events), reasons=False)
    assert page["allowed"] == 7 and [stage["allowed"] for stage in page["stages"][:2]] == [1, 3]


def test_tools_over_the_share_are_found_by_a_search_and_then_called():
    events = talk(FIND, SEARCH, "Done.", model=small(FIND, SEARCH, "Done."), **ALWAYS)
    (deferred,) = of(ToolsDeferred, events)
    assert (deferred.search, deferred.by, deferred.deferred, deferred.loaded) == (
        "search_tools",
        "bm25",
        7,
        (),
    )
    assert deferred.tokens > 100 and deferred.context == 4096
    (searched,) = of(ToolsSearched, events)
    assert searched.found[0] == "search" and "search" in searched.loaded
    assert json.loads(searched.sent)["result"]["tools"][0].startswith("search(query: ")
    first, second, _ = system(events)
    assert "search_tools(query" in first and "calculate(" not in first and "max_results" not in first
    assert "search_tools(query" in second and "max_results?" in second
    assert [call.tool for call in of(CallReady, events)] == ["search"], "a search is no call of the run"
    assert of(ToolResult, events)[0].ok and ended(events) == ("answered", True)


def test_tools_within_the_share_are_all_in_the_prompt():
    events = talk(SEARCH, "Done.", model=small(SEARCH, "Done."))
    assert not of(ToolsDeferred, events) and "max_results?" in system(events)[0]


def test_without_a_tool_search_nothing_is_deferred():
    events = talk("Done.", model=small("Done.", context=64), tool_search="off", **ALWAYS)
    assert not of(ToolsDeferred, events) and "max_results?" in system(events)[0]


def test_a_file_says_which_tools_are_deferred_and_which_are_not():
    tools = [
        {"name": "late", "input_schema": {"type": "object"}, "defer_loading": True},
        {"name": "usual", "input_schema": {"type": "object"}},
        {"name": "early", "input_schema": {"type": "object"}, "defer_loading": False},
    ]
    registry = load_registry(tools)
    (deferred,) = of(ToolsDeferred, talk("Done.", registry=registry))
    assert (deferred.loaded, deferred.deferred) == (("usual", "early"), 1)
    (deferred,) = of(ToolsDeferred, talk("Done.", registry=registry, model=small("Done."), **ALWAYS))
    assert (deferred.loaded, deferred.deferred) == (("early",), 2)


@pytest.mark.parametrize("constraint", ["mask", "gbnf"])
def test_the_grammar_of_a_turn_allows_the_loaded_tools_and_the_search_and_no_others(constraint):
    model = small(FIND, SEARCH, "Done.")
    talk(model=model, constraint=constraint, tool_use="enforced", max_found_tools=1, **ALWAYS)
    first, second, third = (request.grammar for request in model.requests)
    assert "search_tools" in first and "max_results" not in first
    assert "search_tools" in second and "max_results" in second and "calculate" not in second
    assert third is not None and "max_results" in third


def test_a_prompt_that_is_too_long_because_of_its_tools_says_that_they_can_be_searched_for():
    def overflow(request):
        raise ContextOverflow(24_000, 4_096)
        yield

    model = small("Done.")
    model.generate = overflow
    (failed,) = of(RunFailed, talk(model=model, tool_search="off"))
    assert failed.hint.startswith(
        "Let the model search for tools (tool_search, defer_tools), or shorten the prompt"
    )


def test_a_tool_that_is_not_loaded_cannot_be_called():
    events = talk(SEARCH, FIND, SEARCH, "Done.", model=small(SEARCH, FIND, SEARCH, "Done."), **ALWAYS)
    assert of(Violation, events)[0].code == "UNKNOWN_TOOL"
    assert [call.tool for call in of(CallReady, events)] == ["search"]


def test_a_search_is_not_the_required_call_and_needs_no_approval():
    events = talk(
        FIND, "Done.", SEARCH, model=small(FIND, "Done.", SEARCH), tool_use="enforced", approvals=(), **ALWAYS
    )
    titles = [event.title for event in of(StageStarted, events) if event.kind == "turn"]
    assert titles[:2] == ["Turn 1: a call", "Turn 2: a call"]
    assert of(ToolsSearched, events)[0].found and of(ToolResult, events)[0].fault == "denied"


def test_the_same_search_is_limited_like_any_call():
    events = talk(model=small(FIND), max_identical_calls=2, **ALWAYS)
    assert len(of(ToolsSearched, events)) == 2 and limits(events)[-1][0] == "max_identical_calls"


ROUTED = [find("look something up"), chosen("search"), SEARCH, "Done."]


@pytest.mark.parametrize(
    ("by", "turns"),
    [
        ("bm25", [FIND, SEARCH, "Done."]),
        ("names", [find("searches"), SEARCH, "Done."]),
        ("regex", [find("(?:search|brow)"), SEARCH, "Done."]),
        ("regex", [find("("), "Sorry."]),
        ("router", ROUTED),
        ("router", [find("hello"), NONE, "Hello."]),
    ],
)
def test_every_way_to_search_loads_the_tool_and_replays(by, turns):
    events = talk(model=small(*turns), tool_search=by, clock=Clock(), **ALWAYS)
    (searched,) = of(ToolsSearched, events)
    assert bool(searched.loaded) == (SEARCH in turns) == ("search" in searched.loaded)
    assert ended(events) == ("answered", True)
    record = parse_record(encode_record(events)).events
    assert first_difference(*repeated(record)) == ""


def test_names_are_searched_alone_and_words_also_in_descriptions():
    registry = load_registry(
        [
            {"name": "listInvoices", "description": "Bills.", "inputSchema": {"type": "object"}},
            {"name": "pay", "description": "Pay an invoice.", "inputSchema": {"type": "object"}},
            {"name": "walk", "description": "Walk the dog.", "inputSchema": {"type": "object"}},
        ]
    )
    found = {}
    for by in ("names", "bm25"):
        events = talk(registry=registry, model=small(find("invoice"), "Ok."), tool_search=by, **ALWAYS)
        found[by] = of(ToolsSearched, events)[0].found
    assert found == {"names": ("listInvoices",), "bm25": ("listInvoices", "pay")}


def test_the_router_of_many_tools_sees_the_best_names():
    registry = named("find_me", *(f"tool_{n}" for n in range(300)))
    model = small(find("find me"), chosen("find_me"), '{action="find_me"}', "Done.")
    events = talk(registry=registry, model=model, tool_search="router", **ALWAYS)
    prompt = system(events)[1]
    assert "find_me" in prompt and "tool_98" in prompt and "tool_299" not in prompt
    assert [call.tool for call in of(CallReady, events)] == ["find_me"]


def test_a_search_without_a_match_says_so_to_the_model():
    events = talk(model=small(find("zeppelin"), "Sorry."), **ALWAYS)
    (searched,) = of(ToolsSearched, events)
    assert (searched.found, searched.loaded) == ((), ())
    assert json.loads(searched.sent)["result"] == {
        "tools": [], "note": "No tool matches. Search with other words."
    }  # fmt: skip
    assert ended(events) == ("answered", True)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "Invalid regular expression"),
        ("(?=a)b", "cannot be searched for"),
        (r"(a)\1", "cannot be searched for"),
        ("(((a{1000}){1000}){1000})", "atoms"),
        ("(a+)+$", ""),
        ("^(a|b)*a(a|b){2000}$", ""),
        ("(x+x+)+y", ""),
    ],
)
def test_a_hostile_pattern_ends_in_time_with_its_reason(pattern, words):
    registry = named(*(f"{'a' * 150}_{n}" for n in range(200)), description="x" * 5_000)
    began = process_time()
    events = talk(registry=registry, model=small(find(pattern), "Ok."), tool_search="regex", **ALWAYS)
    assert process_time() - began < 20
    (searched,) = of(ToolsSearched, events)
    assert words in searched.problem and ended(events) == ("answered", True)
    if searched.problem:
        assert json.loads(searched.sent)["error"]["message"] == searched.problem


def test_a_tool_with_the_name_of_the_search_keeps_it():
    registry = named("search_tools", "search_tools_2", "walk")
    find_it = '{action="search_tools_3" query="search tools"}'
    events = talk(
        registry=registry,
        model=small(find_it, '{action="search_tools"}', "Done."),
        interaction=NonInteractive({"demo": box(search_tools=lambda: "theirs")}),
        **ALWAYS,
    )
    assert of(ToolsDeferred, events)[0].search == "search_tools_3"
    assert of(ToolResult, events)[0].structured == "theirs"


def test_found_tools_without_room_are_left_off_and_earlier_ones_make_room():
    long = "word " * 100
    registry = named("red_one", "red_two", "red_three", "blue_one", description=long)
    turns = [find("red"), find("blue"), "Done."]
    events = talk(registry=registry, model=small(*turns, context=600), **ALWAYS)
    red, blue = of(ToolsSearched, events)
    assert red.found == ("red_one", "red_two", "red_three") and red.loaded == ("red_one",)
    assert red.left_off == ("red_two", "red_three") and "2 more tools matched" in red.sent
    assert (blue.loaded, blue.unloaded) == (("blue_one",), ("red_one",))
    assert "No longer loaded: red_one." in blue.sent


def test_names_of_200_characters_are_found_and_called():
    name = "send_" + "x" * 195
    turns = [find("send"), f'{{action="{name}"}}', "Done."]
    events = talk(registry=named(name, "walk"), model=small(*turns), **ALWAYS)
    assert [call.tool for call in of(CallReady, events)] == [name]


def test_five_thousand_tools_are_deferred_and_searched_in_seconds():
    registry = named(
        *(f"tool_{n}" for n in range(4_999)), "send_letter", description="Does things with words."
    )
    turns = [find("send a letter"), '{action="send_letter"}', "Done."]
    began = process_time()
    events = talk(registry=registry, model=small(*turns))
    assert process_time() - began < 30
    (deferred,) = of(ToolsDeferred, events)
    assert deferred.deferred == 5_000 and of(ToolsSearched, events)[0].found == ("send_letter",)
    assert [call.tool for call in of(CallReady, events)] == ["send_letter"]


def test_the_run_says_what_was_deferred_found_and_loaded():
    turns = [FIND, SEARCH, "Done."]
    rows = {
        row.title: row
        for event in talk(model=small(*turns), max_found_tools=2, **ALWAYS)
        if (row := describe(event))
    }
    assert rows["Tools"].words.startswith("7 tools deferred to search_tools: all tools would take ")
    assert rows["Tool search"].words.startswith("“search the web” → search, ")
    assert rows["Tool search"].mark == "holds"


def test_each_stage_knows_the_tools_that_its_grammar_allowed():
    state = run_state(talk(model=small(FIND, SEARCH, "Done."), max_found_tools=1, **ALWAYS))
    loaded = [stage.place.loaded for stage in state.stages if stage.kind == "turn"]
    assert loaded == [(), ("search",), ("search",)]
    assert all(stage.place.deferred for stage in state.stages)


def test_a_search_that_finds_only_loaded_tools_is_not_offered_in_the_next_turn():
    model = small(FIND, FIND, SEARCH, FIND, "Done.")
    events = talk(model=model, constraint="mask", max_found_tools=1, max_turns=5, **ALWAYS)
    assert [event.known for event in of(ToolsSearched, events)] == [False, True, True]
    offers = ["search_tools" in request.grammar for request in model.requests]
    assert offers == [True, True, False, True, False]
    assert "All of them were loaded already: call one." in of(ToolsSearched, events)[1].sent
    turns = [stage.place.search for stage in run_state(events).stages if stage.kind == "turn"]
    assert turns == offers


def test_the_example_of_the_search_has_the_words_of_the_prompt():
    for by, example in (("bm25", "Find the weather in Oslo."), ("regex", "find|weather|oslo")):
        asked = request_of(tool_search=by, **ALWAYS)
        asked = msgspec.structs.replace(asked, prompt="Find the\nweather in Oslo.")
        events = list(run(asked, small("Ok."), NonInteractive()))
        assert f'{{action="search_tools" query="{example}"}}' in system(events)[0]


def test_the_first_prompt_is_known_before_the_run_with_the_cost_of_all_tools():
    for settings in (ALWAYS, {"defer_tools": 0.5}):
        model = small("Done.", context=2048)
        asked = request_of(**settings)
        prompt = first_prompt(asked, model)
        events = list(run(asked, model, NonInteractive()))
        assert prompt.text == system(events)[0]
    assert "The tools take " in prompt.note and "deferred to a search tool (defer_tools), " in prompt.note
    note = first_prompt(request_of(**ALWAYS), small("Done.", context=2048)).note
    assert note.startswith("7 tools deferred to search_tools: all tools would take ") and "take" in note


@pytest.mark.parametrize("to", ["gbnf", "lark"])
def test_the_exported_grammar_is_that_of_the_first_turn(to):
    events = talk(model=small("Done."), constraint="mask", **ALWAYS)
    text = export(RecordedRun(events), to)
    assert "search_tools" in text and "calculate" not in text


def test_the_prompt_command_shows_the_first_prompt_of_a_loop_with_its_costs():
    shown = command("prompt", "Hi", "--strategy", "loop", "--set", "defer_tools=0", "--model", "scripted:Hi")
    assert "search_tools(query" in shown.stdout
    assert "7 tools deferred to search_tools: all tools would take " in " ".join(shown.stdout.split())


def test_a_masked_token_of_a_later_turn_is_explained_by_the_loaded_tools():
    events = talk(model=small(FIND, SEARCH, "Done."), constraint="mask", max_found_tools=1, **ALWAYS)
    state = run_state(events)
    explained = []
    for stage in [stage for stage in state.stages if stage.kind == "turn"][:2]:
        made = stage_constraint(state.begun.request, state.registry, stage.place, {}).grammar()
        texts = str(made.rules)
        explained.append([name for name in ("search_tools", "max_results", "calculate") if name in texts])
    assert explained == [["search_tools"], ["search_tools", "max_results"]]
