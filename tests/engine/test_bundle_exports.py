"""Exports of a run: the tests pass and notice a change, and the command line makes the same request."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundled import BAD, GOOD, HERMES, REGISTRY, REQUESTS, TEXTS, execute, pytest_text, run_of, written
from cli_command import command
from examples import at_most
from glyphscope.base import resources
from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import (
    ApprovalRule,
    CallReady,
    LoopSettings,
    Message,
    RepairSettings,
    RunRequest,
    Sampling,
    StageFinished,
    ToolContent,
    ToolResult,
    Violation,
    decode_event,
    encode_event,
)
from glyphscope.grammar import MaskReader, match_text
from glyphscope.grammar.gbnf import load_gbnf
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs import branch_request
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.constraints import call_constraint
from glyphscope.store import pack
from glyphscope.store.bundle import make_bundle, parse_bundle, redacted, write_bundle
from glyphscope.store.exports import EXPORTS, RecordedRun, export
from small_templates import SMALL
from talks import SEARCH, Talker, talk

LONG_PROMPT = 100_000
"""Characters that do not fit into an argument of a command."""
TOOL_CALL = '<tool_call>\n{"name": "search", "arguments": {"query": "x"}}\n</tool_call>'

CAMEL = {
    "glyphscope": 1,
    "tools": [
        {"name": "findIt", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}},
    ],
}


def again(request, *turns):
    """Return the events of a run of the request, as in a record."""
    return [decode_event(encode_event(event)) for event in run(request, ScriptedModel(turns=turns))]


def exported(events, form):
    return export(RecordedRun(events), form)


# a pytest file


def test_a_valid_call_is_exported_with_its_tool_and_arguments():
    text = pytest_text(run_of(GOOD, constraint="mask"))
    assert execute(text) == ["test_the_registry_is_the_runs", "test_call"]
    assert "found == []" in text and "recorded('search', arguments)" in text


def test_an_abort_is_exported_with_its_code_character_and_place():
    text = pytest_text(run_of(BAD + " and so on"))
    char = BAD.index("500") + 2
    assert f"found == [('CONSTRAINT_MAX', {char}, '/max_results')]" in text and ", ended=False)" in text
    execute(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'"maximum": 100', '"maximum": 9'),
        (r"AI news", "AI olds"),
        (r'"max_results": 10}', '"max_results": 10.0}'),
        (r"found == \[\]", "found == [('SYNTAX', 3, '')]"),
        (r"is True", "is False"),
    ],
)
def test_an_edit_of_the_registry_the_text_or_the_verdict_fails_the_exported_tests(old, new):
    text = pytest_text(run_of(GOOD, constraint="mask"))
    changed, count = re.subn(old, new, text, count=1)
    assert count == 1
    with pytest.raises(AssertionError):
        execute(changed)


def test_a_registry_that_rejects_the_call_fails_its_exported_test():
    text = pytest_text(run_of(GOOD, constraint="mask")).replace('"maximum": 100', '"maximum": 9')
    names: dict = {}
    exec(text, names)
    with pytest.raises(AssertionError):
        names["test_call"]()


@pytest.mark.slow
@at_most(300)
@given(TEXTS, REQUESTS)
def test_the_exported_tests_of_any_run_pass(turn, request):
    events = run_of(turn, **request)
    try:
        text = pytest_text(events)
    except GlyphscopeError as error:
        assert "No text of this run can be judged separately" in error.message
        return
    assert execute(text)


@pytest.mark.parametrize(
    ("turns", "request_of", "tests"),
    [
        (('"search"', '{query="x"}'), {"strategy": "two-stage"}, ["name", "arguments", "arguments_made_whole"]),
        (('"search"', '{query=5}'), {"strategy": "two-stage"}, ["name", "arguments"]),
        (('"nothing"',), {"strategy": "two-stage"}, ["name"]),
        ((BAD, GOOD), {"repair": RepairSettings(attempts=1)}, ["call", "repair"]),
        ((f"```\n{GOOD}\n```",), {"stop_on": "never"}, ["call", "call_made_whole"]),
        ((f"Well: {GOOD}",), {"free_text": True}, ["call"]),
        (
            ('{"choice":"call_tool","tool":"search","question":null}', GOOD),
            {"strategy": "route-execute"},
            ["executor"],
        ),
        (
            ('{"choice":"call_tool","tool":"browse","question":null}', GOOD),
            {"strategy": "route-execute"},
            ["executor"],
        ),
        (("none", '{"choice":"none","tool":null,"question":null}', GOOD),
         {"strategy": "route-execute", "repair": RepairSettings(attempts=1)}, []),
    ],
)  # fmt: skip
def test_each_stage_that_wrote_a_call_is_an_exported_test(turns, request_of, tests):
    events = run_of(*turns, **request_of)
    if not tests:
        with pytest.raises(GlyphscopeError, match="not a call"):
            pytest_text(events)
        return
    names = ["test_the_registry_is_the_runs", *(f"test_{test}" for test in tests)]
    assert execute(pytest_text(events)) == names


def test_the_calls_of_a_conversation_are_tests_and_the_rest_is_listed():
    text = pytest_text(talk(SEARCH, '{action="browse" url="ftp://a"}', "Done."))
    assert len(execute(text)) == 2 and "# Not judged here: turn-2" in text


def test_a_call_of_a_renamed_tool_is_not_exported_as_a_test():
    loop = LoopSettings(transforms=("snake-case-names",))
    events = run_of('{action="find_it" q="x"}', "Done.", strategy="loop", registry=CAMEL, loop=loop)
    call = next(event for event in events if isinstance(event, CallReady))
    assert (call.tool, call.text) == ("findIt", '{action="find_it" q="x"}')
    with pytest.raises(GlyphscopeError, match="transforms changed"):
        pytest_text(events)


class AtOnce(ScriptedModel):
    """Sends all its tokens in one batch, as a model does with forced ones."""

    def generate(self, request):
        first, *steps = super().generate(request)
        yield first
        yield tuple(step for batch in steps for step in batch)


def test_text_decoded_after_an_abort_is_not_judged():
    request = RunRequest(prompt="p", registry=REGISTRY, constraint="off")
    late = BAD.replace("}", ' nonsense="x" query=5}')
    for said in (BAD, late):
        events = list(run(request, AtOnce(said)))
        assert len([event for event in events if isinstance(event, Violation)]) == 1
        assert execute(pytest_text(events))


def test_a_call_in_the_models_own_notation_is_judged_with_its_markers():
    for constraint, said in (
        ("off", "Well. " + TOOL_CALL),
        ("mask", TOOL_CALL.removeprefix("<tool_call>\n")),
    ):
        events = run_of(said, native="hermes", constraint=constraint, template=HERMES)
        assert events[-1].valid, events[-1]
        assert "native='hermes'" in pytest_text(events) and len(execute(pytest_text(events))) == 2


@pytest.mark.slow
@at_most(300)
@given(TEXTS, TEXTS, REQUESTS, st.integers(0, 12), st.text(max_size=6))
def test_the_exported_tests_of_any_branch_pass(turn, then, request, token, typed):
    events = run_of(turn, **{**request, "strategy": "direct"})
    try:
        asked = branch_request(events, token, text=typed)
    except GlyphscopeError:
        return
    branch = again(asked, then)
    if any(isinstance(event, StageFinished) for event in branch):
        assert execute(pytest_text(branch))
    found = parse_bundle(pack(make_bundle(branch).files))
    assert list(found.record.events) == branch


def test_a_branch_is_judged_with_its_written_text():
    events = run_of(GOOD, constraint="mask")
    branch = again(branch_request(events, 8, text='" max_results=500}', constraint="off"), "")
    text = pytest_text(branch)
    assert "'CONSTRAINT_MAX'" in text and execute(text) == ["test_the_registry_is_the_runs", "test_call"]


@pytest.mark.parametrize("name", resources.names("runs", ".jsonl"))
def test_the_bundled_runs_pass_as_tests(name):
    events = [decode_event(line) for line in resources.read_text(f"runs/{name}").splitlines()[1:]]
    if name.startswith("native-"):  # conversations in a model's native form: a replay verifies them
        with pytest.raises(GlyphscopeError, match="depends on the conversation"):
            pytest_text(events)
        return
    assert len(execute(pytest_text(events))) >= 2


def test_hostile_texts_and_schemas_are_exported_unchanged():
    odd = "it's '''\\' \" \u2028\u202e \x00 😀 \\"
    tool = {"name": "t", "description": odd, "parameters": nested(150)}
    document = {"glyphscope": 1, "tools": [tool]}
    call = json.dumps({"action": "t", "a": {"note": odd}})
    events = run_of(call, registry=document, notation="json")
    assert events[-1].valid, events[-3:]
    assert execute(pytest_text(events))


def nested(depth):
    schema: dict = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"note": {"type": "string"}, "a": schema}}
    return {"type": "object", "properties": {"a": schema}}


def test_a_run_without_text_is_not_exported_as_a_test():
    events = run_of(GOOD, registry={"glyphscope": 1, "tools": []}, constraint="mask")
    assert events[-1].code == "CONSTRAINT_FAILED"
    with pytest.raises(GlyphscopeError, match="No text of this run"):
        pytest_text(events)


@pytest.mark.slow
def test_the_exported_file_passes_under_pytest_and_fails_after_tampering(tmp_path):
    record = written(tmp_path / "run.jsonl", run_of(GOOD, constraint="mask"))
    file = tmp_path / "test_run.py"
    assert command("export", str(record), "--to", "pytest", "-o", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    tampered = {
        "test_registry.py": ('"maximum": 100', '"maximum": 9', 2),
        "test_text.py": ('"AI news" max', '"AI olds" max', 1),
    }
    for name, (old, new, _) in tampered.items():
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new), encoding="utf-8")
    without = ("-p", "no:cacheprovider", "-p", "no:asyncio")  # the latter warns where it is not configured
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", *without, "-W", "error", tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    found = {name: done.stdout.count(f"FAILED {name}::") for name in tampered}
    assert found == {name: failed for name, (_, _, failed) in tampered.items()}, done.stdout
    assert done.stdout.count("PASSED test_run.py::") == 2 and "FAILED test_run.py::" not in done.stdout


# a curl line


def body_of(line):
    words = shlex.split(line)
    assert words[:3] == ["curl", "-sS", "http://localhost:8080/v1/chat/completions"]
    assert words[3:6] == ["-H", "Content-Type: application/json", "-d"] and len(words) == 7
    return json.loads(words[6])


def test_the_curl_line_has_the_messages_grammar_and_sampling_of_the_run():
    odd = 'it\'s "$HOME" `id` !x \\ \n 😀'
    sampling = Sampling(seed=7, temperature=0.5, top_k=3, top_p=0.5, min_p=0.1, repeat_penalty=1.2)
    history = (Message("user", "before"), Message("assistant", "yes"))
    events = run_of(GOOD, prompt=odd, constraint="mask", sampling=sampling, history=history, max_tokens=9)
    body = body_of(exported(events, "curl"))
    request = RunRequest(prompt="", registry={}, constraint="gbnf")
    assert body["grammar"] == call_constraint(request, default_registry()).text
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["messages"][-1]["content"] == odd and "search" in body["messages"][0]["content"]
    assert {name: body[name] for name in ("seed", "temperature", "top_k", "top_p", "min_p", "repeat_penalty")} == {
        "seed": 7, "temperature": 0.5, "top_k": 3, "top_p": 0.5, "min_p": 0.1, "repeat_penalty": 1.2,
    }  # fmt: skip
    assert body["max_tokens"] == 9 and "stream" not in body and "timings_per_token" not in body


def test_a_run_in_the_models_own_notation_sends_tools_and_no_grammar():
    events = run_of(TOOL_CALL, native="hermes", constraint="mask", template=HERMES)
    body = body_of(exported(events, "curl"))
    assert body["tool_choice"] == "required" and "grammar" not in body
    assert body["tools"][0]["function"]["name"] == "search"
    assert body["messages"][-1]["role"] == "user"


def test_a_branch_continues_its_written_text_without_a_constraint():
    events = run_of(GOOD, constraint="mask")
    body = body_of(exported(again(branch_request(events, 4, text="x", constraint="off"), ""), "curl"))
    assert body["messages"][-1]["role"] == "assistant" and body["messages"][-1]["content"].endswith("x")
    with pytest.raises(GlyphscopeError, match="from the first token"):
        exported(again(branch_request(events, 4), ""), "curl")


def test_a_body_too_long_for_an_argument_is_a_heredoc():
    line = exported(run_of(GOOD, prompt="x" * LONG_PROMPT), "curl")
    first, body, end = line.splitlines()
    assert first.endswith("--data-binary @- <<'BODY'") and end == "BODY"
    assert len(json.loads(body)["messages"][-1]["content"]) == LONG_PROMPT


def test_a_shell_passes_the_body_unchanged(tmp_path):
    line = exported(run_of(GOOD, prompt='it\'s $HOME `id` \\ "x" !!', constraint="mask"), "curl")
    done = subprocess.run(
        ["sh", "-c", 'curl() { printf "%s" "$6"; }\n' + line], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == body_of(line)


# grammars

CALLS_IN_TAGS = next(iter(SMALL.values())).replace("tools | tojson", "(tools or []) | tojson")


@pytest.mark.parametrize(
    "request_of",
    [
        {},
        {"notation": "json", "shape": "tool-args"},
        {"free_text": True},
        {"grammar": 'root ::= "{" [^}]* "}"'},
        {"native": "hermes"},
        {"native": "template"},
        {"native": "template", "tool_choice": "none", "constrain_from": "call"},
        {"strategy": "loop"},
        {"strategy": "loop", "native": "template"},
        {"strategy": "loop", "loop": LoopSettings(tool_use="enforced")},
        {"strategy": "loop", "loop": LoopSettings(parallel_tool_calls=True, deny=("browse",))},
        {"strategy": "loop", "free_text": True, "loop": LoopSettings(tool_use="enforced")},
        {"strategy": "loop", "registry": CAMEL, "loop": LoopSettings(transforms=("snake-case-names",))},
    ],
)
@pytest.mark.parametrize(("constraint", "form"), [("mask", "lark"), ("gbnf", "gbnf")])
def test_the_exported_grammar_is_the_one_sent_to_the_model(request_of, constraint, form):
    model = Talker(GOOD, template=CALLS_IN_TAGS if request_of.get("native") == "template" else HERMES)
    members = {"prompt": "p", "registry": REGISTRY, "constraint": constraint, **request_of}
    events = list(run(RunRequest(**members), model))
    assert exported(events, form) == model.requests[0].grammar


def test_both_grammars_accept_the_runs_text_and_reject_an_invalid_one():
    events = run_of(GOOD, constraint="mask")
    gbnf, lark = load_gbnf(exported(events, "gbnf")), MaskReader(lark=exported(events, "lark"))
    assert match_text(gbnf, GOOD).accepted and lark.accepts(GOOD)
    assert not match_text(gbnf, BAD).accepted and not lark.accepts(BAD)


def test_a_bundle_exports_its_own_file_and_a_record_a_new_one(tmp_path):
    events = run_of(GOOD, constraint="mask")
    write_bundle(tmp_path / "x.glyphrun", events)
    record = written(tmp_path / "run.jsonl", events)
    for form in ("gbnf", "lark", "json-schema", "openai-tools", "pytest", "curl"):
        packed = command("export", str(tmp_path / "x.glyphrun"), "--to", form)
        assert packed.exit_code == 0 and packed.stdout == command("export", str(record), "--to", form).stdout


def test_a_form_that_the_run_does_not_have_is_reported_with_the_reason(tmp_path):
    events = run_of(GOOD, native="openai", template=HERMES)
    write_bundle(tmp_path / "x.glyphrun", events)
    record = written(tmp_path / "run.jsonl", events)
    for file in (tmp_path / "x.glyphrun", record):
        done = command("export", str(file), "--to", "gbnf", "-o", str(tmp_path / "out"))
        assert done.exit_code == 2 and "endpoint's own" in done.stderr and not (tmp_path / "out").exists()
    assert command("export", str(record), "--to", "nothing").exit_code == 2
    looped = written(tmp_path / "loop.jsonl", run_of("x", strategy="loop", loop=LoopSettings(max_turns=1)))
    assert "is one request" in command("export", str(looped), "--to", "curl").stderr


# parts of a run


LONG_RESULT = ToolResult(
    call="1",
    tool="search",
    source="demo",
    ok=True,
    content=(ToolContent(text="x" * 50_000),),
    sent="cut",
    t=1.0,
)


def test_the_results_of_tools_are_exported_complete():
    (result,) = json.loads(exported((*run_of(GOOD), LONG_RESULT), "results"))
    assert result["content"][0]["text"] == "x" * 50_000 and result["told"] == "cut" and "t" not in result


def test_no_form_has_a_servers_command_line_an_address_or_the_home_folder(tmp_path):
    call = '{"tool": "search", "args": {"query": "AI news"}}'  # in JSON, which all forms can have
    events = run_of(call, constraint="mask", notation="json", shape="tool-args")
    started = events[0]
    secret = ApprovalRule(tool="search", action="allow", identity="server --key hunter2")
    home = str(Path.home() / "models" / "m.gguf")
    request = msgspec.structs.replace(started.request, approvals=(secret,), model=home)
    model = msgspec.structs.replace(started.model, name=home, path=home)
    events[0] = msgspec.structs.replace(started, request=request, model=model)
    events.append(LONG_RESULT)
    for form in EXPORTS:
        text = exported(tuple(redacted(events)), form)
        assert "hunter2" not in text and str(Path.home()) not in text, form


def test_the_constraint_of_a_run_is_exported_as_the_member_of_a_request():
    run = RecordedRun(run_of(GOOD, notation="json", shape="tool-args"))
    schema = json.loads(export(run, "json-schema"))
    assert json.loads(export(run, "response-format"))["response_format"]["json_schema"]["schema"] == schema
    assert json.loads(export(run, "structured-outputs")) == {"structured_outputs": {"json": schema}}
    assert json.loads(export(run, "structural-tag"))["format"]["triggers"] == ['{"tool": "']
    glyph = RecordedRun(run_of(GOOD))
    assert json.loads(export(glyph, "structured-outputs"))["structured_outputs"]["grammar"] == export(
        glyph, "gbnf"
    )
    for form in ("response-format", "structural-tag"):
        with pytest.raises(GlyphscopeError, match="JSON only"):
            export(glyph, form)
