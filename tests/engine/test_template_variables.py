"""The variables of chat templates: which there are, what each value changes, and how a request sets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_command import command
from glyphscope.api import Model
from glyphscope.base.errors import PromptError
from glyphscope.events import (
    ChatOptions,
    Message,
    PromptRendered,
    RunFailed,
    RunRequest,
    encode_event,
    pairs_line,
    read_pairs,
    read_pairs_line,
    written_pairs,
)
from glyphscope.lessons.run_settings import request_of
from glyphscope.models import ChatTemplate, TemplateSource
from glyphscope.models.remote import DIALECTS
from glyphscope.models.scripted import ScriptedModel
from glyphscope.models.template_variables import CONVERSATIONS, TemplateVariable, find_variables, variables_of
from glyphscope.registry import default_registry
from glyphscope.runs.strategies import run
from scripted_endpoint import Answer, endpoint, remote, said

EFFORT = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% set effort = reasoning_effort | default('medium') %}effort {{ effort }}"
)
REGISTRY = default_registry().to_document()
CALL = '{action="search" query="AI"}'
USER = Message("user", "Hi")


MESSAGES = "{% for m in messages %}{{ m.content }}{% endfor %}"


def found(body: str) -> dict[str, TemplateVariable]:
    return {each.name: each for each in variables_of(TemplateSource(MESSAGES + body))}


def prompt_of(template: str, **options) -> PromptRendered:
    request = RunRequest(prompt="Hi", registry=REGISTRY, constraint="off", **options)
    events = list(run(request, ScriptedModel(CALL, template=template)))
    return next(event for event in events if isinstance(event, PromptRendered))


# -- which there are -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "values", "default"),
    [
        ("{% if flag %}x{% endif %}", "switch", [True, False], ()),
        ("{% if not flag is defined %}{% set flag = 1 > 0 %}{% endif %}{{ flag }}", "text", ["any text"], ()),
        ("{% set flag = flag | default(false) %}{% if flag %}x{% endif %}", "switch", [True, False], (False,)),
        ("{% if flag == 'a' %}x{% elif flag in ['b', 'c'] %}y{% endif %}", "choice", ["a", "b", "c"], ()),
        ("{% set f = flag if flag is defined else 'b' %}{{ 'x' if f == 'a' else f }}", "choice", ["a", "b"], ("b",)),
        ("{% if flag is defined and flag <= 3 %}x{% endif %}", "number", [3, 512], ()),
        ("{% if flag == -1 %}x{% endif %}", "number", [-1, 512], ()),
        ("{{ flag | default('text') }}", "text", ["text", "any text"], ("text",)),
        ("{% for each in flag %}{{ each.title }}{% endfor %}", "list", [[{"title": "any text"}]], ()),
        ("{% if 'a' in (flag or []) %}x{% endif %}", "list", [["a"]], ()),
        ("{% if flag %}{{ flag.key }}{% endif %}", "object", [{"key": "any text"}], ()),
        ("{% if flag %}{{ flag | length }}{% endif %}", "list", [["any text"]], ()),
        ("{% for t in tools %}{% set n = t.function.name %}{{ flag[n] if n in (flag or {}) }}{% endfor %}", "object",
         [{"text": "any text", "zqtool1": "any text", "zqtool2": "any text"}], ()),
    ],
)  # fmt: skip
def test_the_values_of_a_variable_are_those_that_the_template_uses(body, kind, values, default):
    (variable,) = found(body).values()
    assert (variable.name, variable.kind, variable.default) == ("flag", kind, default)
    assert [each.value for each in variable.values] == values
    assert variable.changes


@pytest.mark.parametrize(
    "body",
    [
        "{% set x = 1 %}{{ x }}",
        "{% if tools %}{% set x = 1 %}{% endif %}{% for m in messages %}{% set x = 2 %}{{ x }}{% endfor %}",
        "{% macro f(x) %}{{ x }}{% endmacro %}{{ f(1) }}",
        "{% for x in messages %}{{ x.role }}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% set ns.x = 2 %}{{ ns.x }}",
        "{% if tools %}{% set x %}text{% endset %}{{ x }}{% endif %}",
        "{{ bos_token }}{{ tools }}{% if add_generation_prompt %}x{% endif %}{{ strftime_now('%Y') }}",
    ],
)
def test_names_that_the_template_or_every_prompt_sets_are_no_variables(body):
    assert found(body) == {}


def test_a_value_that_changes_nothing_and_one_that_is_rejected_say_so():
    body = "{% if flag == 'a' %}{% elif flag == 'b' %}{{ raise_exception('not b') }}{% endif %}"
    (variable,) = found(body).values()
    nothing, rejected = variable.values
    assert not variable.changes and not nothing.error and "not b" in rejected.error


@pytest.mark.parametrize(
    ("body", "where", "in_runs"),
    [
        ("{% for p in messages[-1].content if p.type == 'image' %}{{ flag }}{% endfor %}",
         "an image and a video (in no run)", False),
        ("{{ '</s>' if not add_generation_prompt and not flag }}", "an answer at the end (in no run)", False),
        ("{% if other == 'a' %}{{ 'x' if flag }}y{% endif %}", "a question, with other=a", True),
        ("{% if other and flag %}x{% endif %}", "a question, with other=true", True),
        ("{{ 'x' if '<think>' in messages[1].content and flag }}",
         "earlier answers with reasoning in their text", True),
    ],
)  # fmt: skip
def test_a_change_says_what_it_needs_beside_a_question(body, where, in_runs):
    template = TemplateSource("{% for m in messages %}{{ m.role }}{% endfor %}" + body)
    flag = next(each for each in variables_of(template) if each.name == "flag")
    tried = next(each for each in flag.values if each.changes)
    assert (tried.where, tried.in_runs) == (where, in_runs)


@pytest.mark.slow
def test_the_variables_of_every_template_change_its_prompts_as_they_say(llama_data: Path):
    """Each value is rendered again, in the conversation that it names."""
    reads_effort, without_effect, counted = [], [], 0
    talks = {talk.title: talk for talk in CONVERSATIONS}
    for path in sorted((llama_data / "templates").glob("*.jinja")):
        template = TemplateSource(path.read_text(encoding="utf-8"), eos="</s>")
        variables = find_variables(template)
        if "reasoning_effort" in {each.name for each in variables}:
            reads_effort.append(path.stem)
        for variable in variables:
            counted += 1
            without_effect += [] if variable.changes else [(path.stem, variable.name)]
            for tried in variable.values:
                if not tried.changes:
                    continue
                title, _, state = tried.conversation.partition(", thinking ")
                thinking = {"on": True, "off": False}.get(state)
                chat = ChatTemplate(template.source, eos="</s>")
                before, after = (
                    talks[title].text(chat, thinking, tried.beside | given_vars)
                    for given_vars in ({}, {variable.name: tried.value})
                )
                assert before != after, (path.stem, variable.name, tried)
                assert tried.before.rstrip("…") in before and tried.after.rstrip("…") in after
    assert reads_effort == [
        "Cohere2MoE", "deepseek-ai-DeepSeek-V4-Flash-0731", "deepseek-ai-DeepSeek-V4", "openai-gpt-oss-120b",
        "tencent-Hy3", "upstage-Solar-Open-100B",
    ]  # fmt: skip
    # it decides where the first system message is written, and both places are the same
    assert without_effect == [("Cohere2MoE", "convert_first_system_msg")]
    assert counted > 90


# -- how a request sets them -----------------------------------------------------------------------------------------


def test_a_variable_and_the_effort_of_a_request_are_in_its_prompt():
    assert prompt_of(EFFORT).text.endswith("effort medium")
    assert prompt_of(EFFORT, reasoning_effort="high").text.endswith("effort high")
    given_both = prompt_of(EFFORT, reasoning_effort="high", template_vars={"reasoning_effort": "low"})
    assert given_both.text.endswith("effort low") and given_both.note == ""


@pytest.mark.parametrize("name", ["reasoning_effort", "thinking_effort", "reasoning_strength"])
def test_the_effort_is_set_under_the_name_that_the_template_reads(name):
    model = ScriptedModel(template=EFFORT.replace("reasoning_effort", name))
    assert model.info.reads_effort is True
    assert model.render_chat([USER], (), ChatOptions(reasoning_effort="low")).text.endswith("effort low")
    assert ScriptedModel(template="{{ messages }}").info.reads_effort is False


@pytest.mark.parametrize(
    ("body", "options", "words"),
    [
        ("", {"template_vars": {"other": 1}}, "does not read the variable other"),
        ("", {"reasoning_effort": "low"}, "has no variable for it"),
        ("{% if x %}{% endif %}", {"template_vars": {"x": "no"}}, 'x is "no", but it is a switch'),
        ("{% if x == 'a' %}{% endif %}", {"template_vars": {"x": "b"}}, "compared with a only"),
        ("{% if x in ['a', 'b'] %}{% endif %}", {"template_vars": {"x": 1}}, "x is 1, but it is a text"),
        ("{% if (x or 0) < 3 %}{% endif %}", {"template_vars": {"x": True}}, "but it is a number"),
        ("{{ thinking_effort in ['a', 'b'] }}", {"reasoning_effort": "low"}, "but it is one of a, b"),
    ],
)  # fmt: skip
def test_a_value_without_an_effect_is_a_note(body, options, words):
    prompt = prompt_of(MESSAGES + body, **options)
    assert words in prompt.note


def test_a_value_that_the_template_rejects_is_an_error_with_its_name():
    model = ScriptedModel(template="{{ messages }}{{ 'effort ' + reasoning_effort }}")
    with pytest.raises(PromptError, match="with reasoning_effort = 5"):
        model.render_chat([USER], (), ChatOptions(template_vars={"reasoning_effort": 5}))


@pytest.mark.parametrize(
    ("name", "why"), [("messages", "set by the prompt"), ("a b", "not the name"), ("", "not the")]
)
def test_a_name_that_cannot_be_set_is_a_problem_before_the_run(name, why):
    request = RunRequest(prompt="Hi", registry=REGISTRY, constraint="off", template_vars={name: 1})
    (failed,) = (event for event in run(request, ScriptedModel(CALL)) if isinstance(event, RunFailed))
    assert why in failed.message and failed.code == "PROMPT_FAILED"


def test_the_form_of_a_run_follows_the_variables():
    """A switch that is given as a variable closes the reasoning, as the setting for thinking does."""
    body = (
        "{% for m in messages %}<{{ m.role }}>"
        "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}</s>{% endfor %}"
        "{% if add_generation_prompt %}<assistant><think>"
        "{% if enable_thinking is defined and not enable_thinking %}</think>{% endif %}{% endif %}"
    )
    model = ScriptedModel("x", template=body)
    usual = model.turn_form().reasoning.prompt
    closed = model.turn_form(ChatOptions(template_vars={"enable_thinking": False})).reasoning.prompt
    assert (usual["undefined"], closed["undefined"]) == ("opens", "closes")


def test_a_request_without_them_is_recorded_as_before():
    started = next(iter(run(RunRequest(prompt="Hi", registry=REGISTRY), ScriptedModel(CALL))))
    members = json.loads(encode_event(started))["request"].keys()
    assert not {"reasoning_effort", "template_vars", "chat_template"} & members


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(), lambda inner: st.lists(inner, max_size=2)
), max_size=3))  # fmt: skip
def test_values_by_name_are_read_as_they_were_written(values):
    assert read_pairs(written_pairs(values)) == values == read_pairs_line(pairs_line(values))


# -- surfaces --------------------------------------------------------------------------------------------------------


def test_commands_set_and_list_variables(tmp_path):
    path = tmp_path / "effort.jinja"
    path.write_text(EFFORT)
    asked = ["prompt", "--json", "-m", "scripted:", "--chat-template", str(path), "Hi"]
    for options, end in (
        ((), "medium"),
        (("--reasoning-effort", "high"), "high"),
        (("--template-var", "reasoning_effort=low"), "low"),
    ):
        assert json.loads(command(*asked, *options).stdout)["text"].endswith(f"effort {end}")
    lines = command(
        "run", "--json", *asked[2:], "--constraint", "off", "--template-var", "reasoning_effort=1e3"
    ).stdout
    assert json.loads(lines.splitlines()[0])["request"]["template_vars"] == {"reasoning_effort": 1000.0}
    listed = json.loads(command("models", "inspect", "--json", "--turns", "1", str(path)).stdout)["variables"]
    assert [(each["name"], each["default"]) for each in listed] == [("reasoning_effort", ["medium"])]
    assert command("run", "--template-var", "x", "Hi").exit_code == 2


FORM = (
    "{{ tools }}{% for m in messages %}<{{ m.role }}>"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}"
    "</call>{% endfor %}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant><think>{% if quick %}</think>{% endif %}{% endif %}"
)


def test_every_command_that_derives_a_form_takes_variables(tmp_path):
    path = tmp_path / "form.jinja"
    path.write_text(FORM)
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"text": "A thought.</think>Answer.</s>"}')
    checked = ("check", "--template", str(path), "--lines", str(lines))
    for value, strict in (("false", True), ("true", False)):
        answer = json.loads(command(*checked, "--template-var", f"quick={value}").stdout)
        assert answer["strict"] is strict
    for asked in (checked, ("models", "inspect", str(path), "--turns", "1"), ("template", "lint", str(path)),
                  ("template", "compare", str(path), str(path)),
                  ("template", "response", str(path), "--export", "--turns", "1")):  # fmt: skip
        shown = command(*asked, "--template-var", "quick=maybe")
        assert 'variable quick is "maybe", but it is a switch' in shown.stderr, asked
    form = tmp_path / "form.json"
    form.write_text("{}")
    assert command("check", "--template-var", "x=1", str(lines)).exit_code == 2
    stated = command("check", "--template", str(form), "--lines", str(lines), "--template-var", "x=1")
    assert stated.exit_code == 2 and "only a chat template reads" in stated.stderr


def test_an_evaluation_varies_the_variables_and_the_effort(tmp_path):
    suite = tmp_path / "one.json"
    suite.write_text(json.dumps({"glyphscope_suite": 1, "name": "one", "about": "One.", "scenarios": [
        {"id": "a", "prompt": "Search for AI", "expect": {}}
    ]}))  # fmt: skip
    asked = ["eval", "run", str(suite), "--out", str(tmp_path), "-m", f"scripted:{CALL}", "--json"]
    asked += [
        "--template-var",
        "none",
        "x=1;y=a",
        "--reasoning-effort",
        "auto",
        "high",
        "--constraint",
        "off",
    ]
    arms = {
        arm["arm"].partition("default")[2] for arm in json.loads(command(*asked).stdout)["summary"]["arms"]
    }
    assert arms == {"", ".effort-high", ".vars-x-1-y-a", ".effort-high.vars-x-1-y-a"}
    wrong = command(*asked[:8], "--template-var", "x")
    assert wrong.exit_code == 2 and "'x' is not NAME=VALUE" in wrong.stderr


def test_lessons_and_python_set_them():
    options = {"reasoning_effort": "high", "template_vars": {"x": 1}, "chat_template": EFFORT}
    lesson, problems = request_of({"prompt": "Hi", **options}, None)
    assert not problems and lesson is not None and lesson.chat == ChatOptions(**options)
    made = Model(ScriptedModel(CALL)).run("Hi", constraint="off", **options)
    assert next(each for each in made if isinstance(each, PromptRendered)).text.endswith("effort high")


def test_an_endpoint_that_rejects_an_effort_is_reported_with_a_hint():
    words = json.dumps({"error": {"message": "Unsupported value: 'reasoning_effort' does not support 'max'"}})
    with endpoint(Answer([words.encode()], 400, "application/json")) as server, remote(server) as model:
        request = RunRequest(prompt="Hi", registry=REGISTRY, constraint="off", reasoning_effort="max")
        failed = list(run(request, model))[-1]
    assert "does not support" in failed.message and "another one" in failed.hint


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS)
def test_an_endpoint_is_sent_the_variables_where_it_has_a_field_for_them(name):
    variables = name not in ("openai", "llama-cpp-python")
    with endpoint(said(CALL)) as server, remote(server, f"?dialect={name}") as model:
        options = {"reasoning_effort": "high", "template_vars": {"x": 1}}
        events = list(run(RunRequest(prompt="Hi", registry=REGISTRY, constraint="off", **options), model))
        body = server.asked[-1].body
        effort = {"llama-cpp-python": None, "llama-server": None}.get(name, "high")
        assert body.get("reasoning_effort") == effort
        sent = {"x": 1} | ({"reasoning_effort": "high"} if name == "llama-server" else {})
        assert body.get("chat_template_kwargs") == (sent if variables else None)
        (note,) = (event.note for event in events if isinstance(event, PromptRendered))
        assert ("no field for the variable x" in note) == (not variables)
