"""The three states of thinking on their way from a request to a chat template, and templates without a switch."""

from __future__ import annotations

import json

import msgspec
import pytest

from cli_command import command
from glyphscope.base.errors import PromptError
from glyphscope.evals.suites import scenario_of_run
from glyphscope.events import (
    ChatOptions,
    LoopSettings,
    Message,
    PromptRendered,
    RepairSettings,
    RunRequest,
    RunStarted,
    decode_event,
    encode_event,
)
from glyphscope.models import RecordedModel
from glyphscope.models.remote import DIALECTS
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import branch_request
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.request import generate_request
from glyphscope.runs.strategies.running import first_prompt
from glyphscope.store import Project, RecordWriter, load_project, save_project
from glyphscope.store.bundle import write_bundle
from glyphscope.store.exports import RecordedRun, export
from glyphscope.store.records import encode_record, read_record
from scripted_endpoint import Answer, endpoint, remote, said

SWITCH = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
    "{% if enable_thinking is not defined %}{% elif enable_thinking %}<think>\n{% else %}<think></think>{% endif %}"
)
WITH_TOOLS = "{% if tools %}{{ tools | tojson }}{% endif %}" + SWITCH
NO_SWITCH = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
ENDS = {"auto": "<assistant>", "on": "<think>\n", "off": "<think></think>"}
CALL = '{action="search" query="AI"}'
REGISTRY = default_registry().to_document()


def request(**fields) -> RunRequest:
    return RunRequest(**{"prompt": "Search for AI", "registry": REGISTRY, "constraint": "off", **fields})


def prompts(reported) -> list[PromptRendered]:
    return [event for event in reported if isinstance(event, PromptRendered)]


# -- the template ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["direct", "two-stage", "route-execute", "loop"])
def test_every_stage_of_a_strategy_has_the_same_thinking_state(strategy):
    """A stage that asks again too, so that no run mixes two states."""
    for state, end in ENDS.items():
        model = ScriptedModel("no call", template=SWITCH)
        fields = {"strategy": strategy, "thinking": state, "stop_on": "never"}
        fields |= {
            "repair": RepairSettings(attempts=1),
            "loop": LoopSettings(max_turns=2, tool_use="enforced"),
        }
        rendered = prompts(run(request(**fields), model))
        assert len(rendered) >= 2
        for prompt in rendered:
            begun = next((part.start for part in prompt.parts if part.name == "begun"), len(prompt.text))
            assert prompt.text[:begun].endswith(end), (state, prompt.text[-80:])
            assert prompt.note == ""


def test_the_template_of_tools_has_the_thinking_state_too():
    model = ScriptedModel(template=WITH_TOOLS)
    tools = ({"type": "function", "function": {"name": "f", "parameters": {}}},)
    rendered = {
        state: model.render_chat([Message("user", "Hi")], tools, ChatOptions(thinking=state))
        for state in ENDS
    }
    assert all(rendered[state].text.endswith(end) for state, end in ENDS.items())
    assert {prompt.added for prompt in rendered.values()} == {json.dumps(list(tools))}


@pytest.mark.parametrize("name", ["enable_thinking", "thinking", "thinking_mode"])
def test_a_template_that_reads_a_switch_is_recognized(name):
    assert ScriptedModel(template=f"{{% if {name} is defined %}}{{% endif %}}").info.reads_thinking is True
    assert ScriptedModel(template=f"{{{{ messages[0].{name} }}}} {name}").info.reads_thinking is False
    assert ScriptedModel().info.reads_thinking is False


@pytest.mark.parametrize(("template", "why"), [(NO_SWITCH, "has no switch"), (None, "no chat template")])
def test_a_switch_without_an_effect_is_noted(template, why):
    model = ScriptedModel(CALL, template=template)
    (plain,), (off,) = (prompts(run(request(thinking=state), model)) for state in ("auto", "off"))
    assert plain.text == off.text and plain.note == ""
    assert "Thinking was set to off" in off.note and why in off.note


# -- the request and its records -------------------------------------------------------------------------------------


def test_the_default_state_is_not_in_a_record():
    """So that an older record is written again unchanged, byte for byte."""
    reported = list(run(request(), ScriptedModel(CALL)))
    started = json.loads(encode_event(reported[0]))
    assert "thinking" not in started["request"] and "order" not in started["request"]
    members = json.loads(msgspec.json.encode(reported[0]))
    usual = members["request"].keys() - started["request"].keys()
    early = {name: members["request"].pop(name) for name in usual}
    for part in ("loop", "router"):
        for name in members["request"][part].keys() - started["request"][part].keys():
            del members["request"][part][name]
    of_model = {name: members["model"].pop(name) for name in ("reads_thinking", "reads_effort", "load")}
    assert early["thinking"] == "auto" and not early["form"] and of_model["reads_thinking"] is False
    before = msgspec.json.encode(members)
    old = decode_event(before)
    assert isinstance(old, RunStarted) and old.request.thinking == "auto" and old.model.reads_thinking is None
    assert encode_event(old) == before
    assert encode_event(msgspec.structs.replace(old, versions={"half": "\ud800"}))


def test_a_requested_state_is_in_every_file(tmp_path):
    model = ScriptedModel(CALL, template=SWITCH)
    path = tmp_path / "run.jsonl"
    with RecordWriter(path) as writer:
        for event in run(request(thinking="off"), model):
            writer.write(event)
    record = read_record(path)
    assert encode_record(record.events) == path.read_bytes()
    started = record.events[0]
    assert isinstance(started, RunStarted)
    assert (started.request.thinking, started.model.reads_thinking) == ("off", True)
    assert RecordedModel(record.events).info.reads_thinking is True
    save_project(tmp_path / "p.glyphscope", Project(request=started.request))
    assert load_project(tmp_path / "p.glyphscope").project.request.thinking == "off"
    write_bundle(tmp_path / "run.glyphrun", record.events)
    assert command("replay", "--verify", tmp_path / "run.glyphrun").exit_code == 0
    assert branch_request(record.events, 2, text="x").thinking == "off"
    assert scenario_of_run(record.events, "one").request == {"strategy": "direct", "thinking": "off"}


def test_a_recorded_model_repeats_itself_in_every_state():
    reported = list(run(request(thinking="on"), ScriptedModel(CALL, template=SWITCH)))
    model = RecordedModel(reported)
    for state in ("off", "on", "auto"):
        (prompt,) = prompts(run(request(thinking=state), model))
        assert prompt.text.endswith(ENDS["on"])
        assert prompt.note == ""


def test_a_request_for_a_generation_has_its_thinking_state():
    assert generate_request(request(thinking="on"), default_registry(), "p").chat.thinking == "on"


# -- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_line_accepts_a_state(tmp_path, monkeypatch):
    class Switched(ScriptedModel):
        def __init__(self, **script):
            super().__init__(**script, template=SWITCH)

    monkeypatch.setattr("glyphscope.models.opening.ScriptedModel", Switched)
    for state, end in ENDS.items():
        asked = ["--json", "-m", f"scripted:{CALL}", "--thinking", state, "Hi"]
        lines = command("run", *asked).stdout.splitlines()
        (rendered,) = prompts(map(decode_event, lines))
        assert rendered.text.endswith(end)
        assert json.loads(command("prompt", *asked).stdout)["text"].endswith(end)
    save_project(tmp_path / "p.glyphscope", Project(request=request(thinking="off")))
    project = ["prompt", "--json", "-m", "scripted:", "--project", str(tmp_path / "p.glyphscope")]
    for options, end in (((), ENDS["off"]), (("--thinking", "auto"), ENDS["auto"])):
        assert json.loads(command(*project, *options).stdout)["text"].endswith(end)
    assert command("run", "--thinking", "maybe", "Hi").exit_code == 2


# -- endpoints -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS)
def test_an_endpoint_is_sent_the_state_where_it_has_a_field_for_it(name):
    has_field = name not in ("openai", "llama-cpp-python")
    for state, sent in (
        ("auto", None),
        ("on", {"enable_thinking": True}),
        ("off", {"enable_thinking": False}),
    ):
        with endpoint(said(CALL)) as server, remote(server, f"?dialect={name}") as model:
            assert model.info.reads_thinking is (None if has_field else False)
            (prompt,) = prompts(run(request(thinking=state), model))
            assert server.asked[-1].body.get("chat_template_kwargs") == (sent if has_field else None)
            assert ("hinking" in prompt.note) == (state != "auto")
            assert first_prompt(request(thinking=state), model).note in prompt.note
            assert ("no field" in prompt.note) == (state != "auto" and not has_field)


def test_an_endpoint_that_rejects_the_field_is_reported_with_a_hint():
    words = json.dumps({"error": {"message": "Unrecognized request argument: chat_template_kwargs"}})
    with endpoint(Answer([words.encode()], 400, "application/json")) as server, remote(server) as model:
        failed = list(run(request(thinking="off"), model))[-1]
    assert failed.code == "PROMPT_FAILED" and "chat_template_kwargs" in failed.message
    assert "--thinking auto" in failed.hint


def test_the_curl_line_sends_the_state():
    reported = tuple(run(request(thinking="off"), ScriptedModel(CALL, template=SWITCH)))
    assert '"chat_template_kwargs": {"enable_thinking": false}' in export(RecordedRun(reported, "r"), "curl")
    with pytest.raises(PromptError):
        model = ScriptedModel(template="{{ raise_exception('no') }}")
        model.render_chat([Message("user", "x")], (), ChatOptions(thinking="on"))
