"""A name, then that tool's arguments: each part judged at its place in the call, and the call of both as a whole."""

import itertools
import json
from functools import partial

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.events import (
    BEGUN,
    NOTATIONS,
    SHAPES,
    Aborted,
    CallReady,
    FieldClosed,
    PromptRendered,
    RunFailed,
    RunRequest,
    StageFinished,
    StageStarted,
    ToolKnown,
    Violation,
    decode_event,
    encode_event,
)
from glyphscope.grammar import match_text, to_lark
from glyphscope.grammar.gbnf import emit_gbnf
from glyphscope.grammar.tree import with_suffix
from glyphscope.models import RecordedModel
from glyphscope.models.scripted import ScriptedModel
from glyphscope.notation import shape_keys, write_call
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.strategies import continue_aborted, run
from glyphscope.store import first_difference
from glyphscope.turns import Expected, after_name, before_arguments, build_turn_grammar, own_form, whole_call
from talks import Talker
from toolbox import of

REGISTRY = default_registry()
DOCUMENT = REGISTRY.to_document()
ARGUMENTS = {"query": "AI news", "max_results": 10}
WRITTEN = {"glyph": '{query="AI news" max_results=10}', "json": '{"query":"AI news","max_results":10}'}


request = partial(RunRequest, prompt="Search", registry=DOCUMENT, strategy="two-stage", constraint="off")


def run_stages(model, **changes):
    return list(run(request(**changes), model))


@pytest.mark.parametrize(("notation", "shape"), list(itertools.product(NOTATIONS, SHAPES)))
def test_both_stages_make_the_call_of_the_direct_strategy(notation, shape):
    model = Talker('"search"', WRITTEN[notation])
    events = run_stages(model, notation=notation, shape=shape)
    assert [(e.stage, e.kind) for e in of(StageStarted, events)] == [
        ("name", "name"),
        ("arguments", "arguments"),
    ]
    (call,) = of(CallReady, events)
    assert (call.tool, call.arguments) == ("search", ARGUMENTS)
    assert call.text == write_call("search", ARGUMENTS, style=notation, shape=shape)
    assert (events[-1].reason, events[-1].valid) == ("complete", True)
    assert not of(Violation, events)


@pytest.mark.parametrize(("notation", "shape"), list(itertools.product(NOTATIONS, SHAPES)))
def test_the_second_prompt_continues_the_first(notation, shape):
    model = Talker('"search"', WRITTEN[notation])
    first, second = of(PromptRendered, run_stages(model, notation=notation, shape=shape))
    assert second.text.startswith(first.text) and second.text[len(first.text) :].startswith('"search"')
    assert [request.prompt for request in model.requests] == [first.text, second.text]
    for prompt in (first, second):
        begun = prompt.parts[-1]
        assert (begun.name, prompt.text[begun.start : begun.end][0]) == (BEGUN, "{")
        assert prompt.tokens == sum(part.tokens for part in prompt.parts)


def test_paths_are_those_of_the_shape_and_places_those_of_the_stage():
    for shape, path in (
        ("flat", "/query"),
        ("tool-args", "/args/query"),
        ("name-arguments", "/arguments/query"),
    ):
        events = run_stages(Talker('"search"', WRITTEN["json"]), notation="json", shape=shape)
        closed = {e.path: e for e in of(FieldClosed, events) if e.stage == "arguments"}
        assert WRITTEN["json"][closed[path].start : closed[path].end] == '"AI news"'
        assert ("/arguments" in closed) == (shape == "name-arguments")
        (known,) = of(ToolKnown, events)
        assert (known.stage, known.name, known.char) == ("name", "search", 7)


@pytest.mark.parametrize(
    ("script", "tool"),
    [
        (['"search', '","arguments":{"query"'], "search"),  # the token that ends the name continues the call
        (['"', "search", '"}'], "search"),
        ([' "search"'], "search"),
        (['"sea\\u0072ch"'], "search"),
    ],
)
def test_text_after_the_name_in_its_token_is_ignored(script, tool):
    model = Talker(script, WRITTEN["json"])
    events = run_stages(model, notation="json", shape="name-arguments")
    assert of(CallReady, events)[0].tool == tool
    assert model.requests[1].prompt.endswith('{"name":"search","arguments":')


@pytest.mark.parametrize(
    "script",
    [
        [WRITTEN["json"][:-1], "}}"],  # the token that ends the arguments ends the call
        [WRITTEN["json"], "}"],
        [WRITTEN["json"][:-1], "}}\n"],
        [" ", WRITTEN["json"]],
    ],
)
def test_the_models_own_last_brace_is_in_the_call_once(script):
    events = run_stages(Talker('"search"', script), notation="json", shape="name-arguments")
    (call,) = of(CallReady, events)
    assert json.loads(call.text) == {"name": "search", "arguments": ARGUMENTS}


def test_an_unknown_name_stops_at_the_deciding_character():
    for stop_on in ("error", "unknown-tool"):
        events = run_stages(Talker(['"se', "nd_mon", 'ey"']), notation="json", stop_on=stop_on)
        (aborted,) = of(Aborted, events)
        assert (aborted.code, aborted.stage, aborted.char, aborted.token) == ("UNKNOWN_TOOL", "name", 6, 1)
        assert events[-1].reason == "aborted" and not events[-1].valid
        assert [e.kind for e in of(StageStarted, events)] == ["name"]


def test_nothing_follows_an_unknown_name_even_when_nothing_stops_the_run():
    events = run_stages(Talker('"rm_rf"'), notation="json", stop_on="never")
    assert (events[-1].reason, events[-1].valid) == ("complete", False)
    assert [e.kind for e in of(StageStarted, events)] == ["name"]
    ended = run_stages(Talker('"sear'), notation="json", stop_on="never")
    assert ended[-1].reason == "end-of-text" and of(Violation, ended)[-1].code == "TRUNCATED"


def test_arguments_stop_at_the_character_after_which_no_valid_call_can_exist():
    events = run_stages(Talker('"search"', ['{"query":"x",', '"max_results":', "50", "0}"]), notation="json")
    (aborted,) = of(Aborted, events)
    assert (aborted.stage, aborted.code, aborted.path) == ("arguments", "CONSTRAINT_MAX", "/max_results")
    text = run_state(events).text
    assert text[: aborted.char + 1] == '{"query":"x","max_results":500'


def test_unknown_and_missing_arguments_are_violations_of_the_chosen_tool():
    unknown = run_stages(Talker('"search"', ['{"expression":"1"}']), notation="json")
    assert of(Aborted, unknown)[0].code == "UNKNOWN_ARGUMENT"
    missing = run_stages(Talker('"search"', ["{}"]), notation="json")
    assert of(Aborted, missing)[0].code == "MISSING_REQUIRED"
    no_object = run_stages(Talker('"search"', ['"AI news"']), notation="json", shape="flat")
    assert of(Aborted, no_object)[0].code == "TYPE_MISMATCH"


def test_both_stages_share_the_token_limit():
    model = Talker('"search"', WRITTEN["json"])
    run_stages(model, notation="json", max_tokens=8)
    named = model.requests[0].max_tokens - model.requests[1].max_tokens
    assert (model.requests[0].max_tokens, named) == (8, model.count_tokens('"search"'))
    short = run_stages(Talker('"search"'), notation="json", max_tokens=named)
    assert (short[-1].reason, short[-1].valid) == ("length", False)


def test_each_stage_has_its_cost_and_the_run_the_sum():
    events = run_stages(Talker('"search"', WRITTEN["json"]), notation="json")
    stages = of(StageFinished, events)
    assert [stage.stage for stage in stages] == ["name", "arguments"]
    assert events[-1].tokens == sum(stage.tokens for stage in stages)


@pytest.mark.parametrize("stop_on", ["error", "never"])
def test_a_record_replays_repeatedly_without_a_model(stop_on):
    asked = request(notation="json", shape="tool-args", stop_on=stop_on)
    scripts = ('"search"', '{"query":"x","max_results":500}}')
    events = [decode_event(encode_event(event)) for event in run(asked, Talker(*scripts))]
    recorded = RecordedModel(events)
    for _ in range(2):
        again = list(run(asked, recorded))
        plain = [
            msgspec.structs.replace(e, model=events[0].model) if i == 0 else e for i, e in enumerate(again)
        ]
        assert first_difference(events, plain) == ""


def test_an_aborted_call_in_two_stages_cannot_be_continued():
    aborted = run_stages(Talker(['"x']), notation="json")
    reported = list(continue_aborted(request(notation="json"), aborted, ScriptedModel("")))
    assert isinstance(reported[-1], RunFailed) and "two-stage" in reported[-1].message


@pytest.mark.parametrize(("notation", "shape"), list(itertools.product(NOTATIONS, SHAPES)))
def test_each_stages_grammar_has_the_part_and_its_end(notation, shape):
    model = Talker('"search"', WRITTEN[notation])
    run_stages(model, notation=notation, shape=shape, constraint="gbnf")
    names, arguments = (request.grammar for request in model.requests)
    after = after_name(notation, shape)
    assert after.strip(' ,"=:') == (shape_keys(shape).args_key or "arguments")
    for text, part, more in ((names, "name", after), (arguments, "arguments", "}")):
        form = own_form(notation, shape, part, tool="search" if part == "arguments" else "")
        grammar = with_suffix(build_turn_grammar(form, REGISTRY), more)
        assert text == emit_gbnf(grammar).text
        inside = '"search"' if part == "name" else WRITTEN[notation]
        assert match_text(grammar, inside + more).accepted and not match_text(grammar, inside).accepted
        assert to_lark(grammar)


@at_most(300)
@given(st.data())
def test_any_chunking_of_the_arguments_gives_the_same_verdicts(data):
    text = data.draw(
        st.sampled_from([WRITTEN["json"] + "}", '{"query":"x","max_results":500}', '{"query":1}', "{}"])
    )
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(text) - 1)))))
    pieces = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]

    def verdicts(parts):
        form = own_form("json", "flat", "arguments", tool="search")
        validator = Expected(form).validator(REGISTRY)
        events = [event for part in parts for event in validator.feed(part, 0)] + validator.finish()
        shown = [e for e in events if isinstance(e, Violation | FieldClosed)]
        return shown, validator.valid, validator.complete, validator.calls

    assert verdicts(pieces) == verdicts([text])


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_call_without_arguments_is_written_as_the_shape_writes_it(notation):
    for shape in SHAPES:
        text, start = whole_call(notation, shape, "ping", "{}")
        assert text == write_call("ping", {}, style=notation, shape=shape)
        assert text[start:].endswith("}") and before_arguments(notation, shape, "ping")
