"""A prepared request: its registry is parsed once, and everything later uses the result."""

from __future__ import annotations

import pytest

from glyphscope.base.errors import RegistryError
from glyphscope.events import LoopSettings, PromptRendered, Relaxed, RunRequest
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import PreparedRequest, RunState, prepare, prepared, run_state
from glyphscope.runs.strategies import continue_aborted, instructions, run
from glyphscope.runs.strategies.running import first_prompt

GOOD = '{action="search" query="AI news" max_results=10}'
BAD = '{action="search" query="AI news" max_results=500}'
MAXIMUM = Relaxed("search", "/properties/max_results/maximum")


def request(**changes) -> RunRequest:
    document = default_registry().to_document()
    return RunRequest(**{"prompt": "x", "registry": document, "constraint": "off", "model": "s", **changes})


@pytest.fixture
def parsed(monkeypatch):
    """Record the parsed documents."""
    documents = []
    parse = prepared.parse_document

    def counted(document):
        documents.append(document)
        return parse(document)

    monkeypatch.setattr(prepared, "parse_document", counted)
    return documents


def test_a_prepared_request_runs_without_parsing_its_registry_again(parsed):
    ready = prepare(request(relaxed=(MAXIMUM,)))
    events = list(run(ready, ScriptedModel(BAD)))
    state = run_state(events, RunState(prepared=ready))
    assert state.outcome == "valid", "relaxed constraints are not enforced"
    assert state.whole_registry is ready.registry and state.registry == ready.enforced
    assert first_prompt(ready, ScriptedModel("")).text == state.prompt.text
    strict = ready.changed(relaxed=())
    aborted = list(run(strict, ScriptedModel(BAD)))
    rest = run_state(continue_aborted(strict, aborted, ScriptedModel(BAD.partition("500")[2])))
    assert run_state(aborted).aborted is not None and rest.finished is not None
    assert len(parsed) == 1


@pytest.mark.parametrize("text", [GOOD, BAD])
def test_a_prepared_request_has_the_events_of_the_plain_one(text):
    plain, ready = (
        [type(event) for event in run(each, ScriptedModel(text))] for each in (request(), prepare(request()))
    )
    assert plain == ready


def test_a_changed_request_is_parsed_again_only_for_another_registry(parsed):
    ready = prepare(request())
    assert ready.changed(prompt="y").registry is ready.registry
    assert ready.changed(registry=dict(ready.request.registry)).registry is ready.registry, "it is the same"
    assert len(parsed) == 1
    other = ready.changed(registry={"t": {"type": "object"}})
    assert [tool.name for tool in other.registry] == ["t"] and len(parsed) == 2
    with pytest.raises(RegistryError):
        ready.changed(registry={"t": 1})


def test_an_invalid_registry_fails_the_run_and_is_missing_in_its_state():
    broken = request(registry={"t": 1})
    with pytest.raises(RegistryError):
        prepare(broken)
    state = run_state(run(broken, ScriptedModel(GOOD)))
    assert state.outcome == "failed" and state.registry is None and state.whole_registry is None
    assert RunState().registry is None, "before the run has started"
    relaxed = run_state(run(request(relaxed=(Relaxed("search", "/no"),)), ScriptedModel(GOOD)))
    assert relaxed.outcome == "failed" and relaxed.registry is None and relaxed.whole_registry is not None


def test_a_state_parses_the_registry_of_a_record_once(parsed):
    events = list(run(request(), ScriptedModel(GOOD)))
    prepared._PARSED.clear()  # as in another process
    parsed.clear()
    state = run_state(events)
    assert state.registry is state.whole_registry is not None and state.registry is state.registry
    assert len(parsed) == 1
    assert isinstance(state.prepared, PreparedRequest) and state.prepared.request is state.started.request


def test_a_loop_is_described_by_its_allowed_tools():
    looped = request(strategy="loop", loop=LoopSettings(allow=("search",)))
    events = list(run(looped, ScriptedModel(turns=(GOOD, "Done."))))
    state = run_state(events)
    assert [tool.name for tool in state.registry.allowed] == ["search"]
    assert len(state.whole_registry.allowed) > 1
    (prompt, *_) = (event for event in events if isinstance(event, PromptRendered))
    asked = instructions(state.prepared, "glyph", "search")
    assert asked in prompt.text and "browse" not in asked
    assert "browse" not in instructions(state.prepared, "json", "search") != asked


@pytest.mark.parametrize("strategy", ["direct", "two-stage", "route-execute", "loop"])
def test_the_instructions_of_a_run_are_those_of_its_prompt(strategy):
    turns = (GOOD, "Done.")
    if strategy == "two-stage":
        turns = ("search", '{query="x"}')
    elif strategy == "route-execute":
        turns = ('{"choice":"call_tool","tool":"search","question":null}', GOOD)
    events = list(run(request(strategy=strategy), ScriptedModel(turns=turns)))
    prompts = [event.text for event in events if isinstance(event, PromptRendered)]
    asked = instructions(run_state(events).prepared or prepare(request(strategy=strategy)), "glyph", "search")
    assert any(asked in text for text in prompts)


def test_a_models_own_notation_has_no_added_instructions():
    assert instructions(prepare(request(native="hermes")), "json", "search") is None


EMPTY = {
    "name": "broken",
    "parameters": {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 5, "maximum": 3}},
        "required": ["n"],
    },
}
UNCALLABLE = {"glyphscope": 1, "tools": [EMPTY, *default_registry().to_document()["tools"]]}
NOTE = (
    "No call of this tool can be written, so the prompt does not offer it: broken (at /properties/n, these "
    "constraints contradict each other: minimum 5, maximum 3)."
)


@pytest.mark.parametrize("constraint", ["off", "mask", "gbnf"])
@pytest.mark.parametrize("strategy", ["direct", "two-stage", "route-execute", "loop"])
def test_a_tool_that_cannot_be_called_is_not_offered_and_the_run_notes_it(strategy, constraint):
    asked = request(registry=UNCALLABLE, strategy=strategy, constraint=constraint, stop_on="never")
    state = run_state(run(asked, ScriptedModel(GOOD)))
    assert state.notes.count(NOTE) == 1
    prompts = [stage.prompt.text for stage in state.stages if stage.prompt is not None]
    assert prompts and all("search" in text and "broken" not in text for text in prompts)


def test_the_priced_prompt_and_the_instructions_are_those_of_the_run_without_a_tool_that_cannot_be_called():
    asked = request(registry=UNCALLABLE)
    (rendered,) = (e for e in run(asked, ScriptedModel(GOOD)) if isinstance(e, PromptRendered))
    assert first_prompt(asked, ScriptedModel(GOOD)).text == rendered.text
    assert "broken" not in (instructions(prepare(asked), "glyph", "search") or "broken")


def test_a_tool_that_a_relaxed_constraint_makes_callable_is_offered():
    asked = request(registry=UNCALLABLE, relaxed=(Relaxed("broken", "/properties/n/maximum"),))
    state = run_state(run(asked, ScriptedModel('{action="broken" n=7}')))
    assert state.outcome == "valid" and not state.notes
    assert state.prompt is not None and "broken" in state.prompt.text


@pytest.mark.parametrize("strategy", ["direct", "two-stage", "route-execute", "loop"])
@pytest.mark.parametrize(
    "changes",
    [{"registry": {**UNCALLABLE, "tools": [EMPTY]}}, {"tool_choice": "broken"}],
    ids=["only", "chosen"],
)
def test_a_run_that_needs_a_call_of_a_tool_that_cannot_be_called_fails_with_the_reason(strategy, changes):
    loop = LoopSettings(tool_use="enforced")
    asked = request(**{"registry": UNCALLABLE, "strategy": strategy, "loop": loop, **changes})
    state = run_state(run(asked, ScriptedModel(GOOD)))
    assert state.failed is not None
    assert state.failed.message.startswith("broken: /properties/n: No call of this tool can be written")
