"""Another chat template than the model's own: from a file, or one of several in a model's file."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from cli_command import command
from glyphscope.base.errors import PromptError
from glyphscope.events import ChatOptions, Message, PromptRendered, RunFailed, RunRequest, RunStarted
from glyphscope.models import RecordedModel, open_model
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import branch_request, run_state
from glyphscope.runs.strategies import run
from glyphscope.store import Project, load_project, save_project
from scripted_endpoint import endpoint, remote, said
from untrained_models import several_templates

CALL = '{action="search" query="AI"}'
NATIVE = '<tool_call>\n{"name": "search", "arguments": {"query": "AI"}}\n</tool_call>'
REGISTRY = default_registry().to_document()
BARE = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}[answer]"
SWITCH = BARE + "{% if enable_thinking is defined and enable_thinking %}<think>{% endif %}"
USER = Message("user", "Hi")


def request(**fields) -> RunRequest:
    return RunRequest(**{"prompt": "Search for AI", "registry": REGISTRY, "constraint": "off", **fields})


def prompt_of(events) -> PromptRendered:
    return next(event for event in events if isinstance(event, PromptRendered))


def failed(events) -> RunFailed:
    return next(event for event in events if isinstance(event, RunFailed))


@pytest.mark.parametrize("own", [None, "{% for m in messages %}own {{ m.content }}{% endfor %}"])
def test_the_chosen_template_replaces_the_models_own_in_every_stage(own):
    model = ScriptedModel(CALL, template=own)
    for strategy in ("direct", "two-stage"):
        events = list(run(request(strategy=strategy, chat_template=BARE), model))
        texts = [event.text for event in events if isinstance(event, PromptRendered)]
        assert texts and all("[user] Search for AI[answer]" in text for text in texts)
    assert "[answer]" not in prompt_of(run(request(), model)).text


def test_the_form_and_the_switch_follow_the_chosen_template(llama_data: Path):
    hermes = (llama_data / "templates" / "NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja").read_text()
    model = ScriptedModel(NATIVE, template=BARE)
    events = list(run(request(native="auto", notation="json", chat_template=hermes), model))
    started = events[0]
    assert isinstance(started, RunStarted) and started.request.native == "template"
    assert started.request.form["calls"] and run_state(events).stages[-1].calls[0].tool == "search"
    assert "native notation" in failed(run(request(native="auto", notation="json"), model)).message
    on = ChatOptions(thinking="on", chat_template=SWITCH)
    assert model.render_chat([USER], (), on).note == "" and model.render_chat([USER], (), on).text.endswith(
        "<think>"
    )


def test_a_chosen_template_is_in_projects_records_and_branches(tmp_path):
    events = list(run(request(chat_template=BARE), ScriptedModel(CALL)))
    assert prompt_of(run(request(), RecordedModel(events))).text == prompt_of(events).text
    assert branch_request(events, 2, text="x").chat_template == BARE
    save_project(tmp_path / "p.glyphscope", Project(request=request(chat_template=BARE)))
    assert load_project(tmp_path / "p.glyphscope").project.request.chat_template == BARE


def test_commands_take_a_template_from_a_file(tmp_path):
    path = tmp_path / "bare.jinja"
    path.write_text(BARE)
    asked = ("--chat-template", str(path), "Hi")
    shown = json.loads(command("prompt", "--json", "-m", "scripted:", *asked).stdout)
    assert shown["text"].endswith("[user] Hi[answer]")
    lines = command(
        "run", "--json", "--constraint", "off", "-m", f"scripted:{CALL}", *asked
    ).stdout.splitlines()
    assert json.loads(lines[0])["request"]["chat_template"] == BARE


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{% if %}", "is damaged"),
        ("# A page of notes", "not a chat template"),
        ("{{ tools }}", "not a chat template"),
        ("", "is empty"),
        (b"\xff\xfe\x00", "UTF-8"),
        (None, "no such file"),
    ],
)
def test_a_file_that_is_not_a_template_is_rejected_with_its_name(tmp_path, content, why):
    path = tmp_path / "notes.jinja"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = command("run", "-m", "scripted:", "--chat-template", str(path), "Hi")
    assert done.exit_code == 2 and "notes.jinja" in done.stderr
    assert why.lower() in done.stderr.lower()


def test_a_template_that_raises_for_one_shape_only_ends_that_run_with_its_words():
    body = (
        BARE
        + "{% if messages[0].role == 'system' %}{{ raise_exception('no system message here') }}{% endif %}"
    )
    model = ScriptedModel(CALL)
    assert model.render_chat([USER], (), ChatOptions(chat_template=body)).text.endswith("[answer]")
    merged = prompt_of(run(request(chat_template=body), model))  # the instructions go into the user's message
    assert "takes no system message" in merged.note
    always = BARE + "{{ raise_exception('never') }}"
    assert "never" in failed(run(request(chat_template=always), model)).message


def test_an_endpoint_keeps_its_own_template():
    with endpoint(said(CALL)) as server, remote(server) as model:
        found = failed(run(request(chat_template=BARE), model))
        assert found.code == "PROMPT_FAILED" and "endpoint applies its own" in found.message


# -- several templates in one file -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_named_templates_of_a_model_are_chosen_by_their_name(llama_data: Path, tmp_path: Path):
    several = several_templates(llama_data, tmp_path, BARE)
    tools = ({"type": "function", "function": {"name": "f", "parameters": {}}},)
    with closing(open_model(str(several))) as model:
        assert model.render_chat([USER]).text.startswith("plain [user]")
        assert model.render_chat([USER], tools).text.startswith("tools 1 [user]")
        assert model.render_chat([USER], (), ChatOptions(chat_template="rag")).text.startswith("rag [user]")
        assert model.render_chat([USER], (), ChatOptions(chat_template=BARE)).text == "[user] Hi[answer]"
        with pytest.raises(PromptError, match="no chat template of the name 'rga'") as error:
            model.render_chat([USER], (), ChatOptions(chat_template="rga"))
        assert "rag" in error.value.hint and "tool_use" in error.value.hint


def test_inspecting_a_model_names_its_other_templates(llama_data: Path, tmp_path: Path):
    several = several_templates(llama_data, tmp_path, BARE)
    shown = command("models", "inspect", "--turns", "1", str(several)).stdout
    assert "other chat templates: tool_use, rag" in shown
    named = json.loads(
        command("models", "inspect", "--json", "--turns", "1", "--name", "rag", str(several)).stdout
    )
    assert any(text.startswith("rag ") for text in named["renderings"].values())
    wrong = command("models", "inspect", "--name", "rga", str(several))
    assert wrong.exit_code == 2 and "rga" in wrong.stderr
