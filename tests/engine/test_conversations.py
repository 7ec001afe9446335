"""A system prompt and a conversation: read from OpenAI's list, sent, counted, continued from a run, exported."""

from __future__ import annotations

import json

import msgspec
import pytest

from cli_command import command
from glyphscope.base.errors import PromptError
from glyphscope.events import Message, RunRequest, ToolCall
from glyphscope.models.scripted import ScriptedModel
from glyphscope.prompting.costs import message_tokens
from glyphscope.prompting.message_list import (
    Conversation,
    parse_messages,
    read_calls,
    read_messages,
    result_problem,
    to_json,
    written_calls,
)
from glyphscope.prompting.messages import render_messages
from glyphscope.prompting.strategies import render_executor, render_router
from glyphscope.registry import ToolRegistry, default_registry
from glyphscope.runs import history_after, run_state
from glyphscope.runs.strategies import run
from glyphscope.runs.strategies.running import first_prompt
from glyphscope.store.records import read_record

CALL = '{action="search" query="AI news" max_results=10}'
SEARCH = {"type": "function", "id": "c1", "function": {"name": "search", "arguments": '{"query": "x"}'}}
LIST = [
    {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]},
    {"role": "user", "content": "Find x."},
    {"role": "assistant", "content": None, "tool_calls": [SEARCH], "reasoning_content": "Hm."},
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
    {"role": "user", "content": "And y?"},
]
TURNS = (
    Message("user", "Find x."),
    Message("assistant", "", (ToolCall("search", {"query": "x"}, "c1"),), "Hm."),
    Message("tool", "found", tool_call_id="c1"),
)


def asked(**members):
    return RunRequest(**{"prompt": "p", "registry": {}, "constraint": "off", **members})


def requested(*arguments, text=None):
    """Return the request of a run of the scripted model."""
    done = command(
        "run", "--json", "--model", f"scripted:{CALL}", "--constraint", "off", *arguments, text=text
    )
    assert done.exit_code == 0, done.stderr
    return msgspec.convert(json.loads(done.stdout.splitlines()[0])["request"], RunRequest)


def test_openais_list_is_a_system_prompt_the_turns_and_the_next_message():
    whole = Conversation("Be brief.", TURNS, "And y?")
    assert read_messages(LIST) == read_messages({"model": "m", "messages": LIST}) == whole
    assert read_messages(LIST[:-1]) == Conversation("Be brief.", TURNS, "")
    assert parse_messages(to_json((*TURNS, Message("user", "And y?")))).history[1].tool_calls == (
        ToolCall("search", {"query": "x"}, "c1"),
    )


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("{", "", "Not JSON"),
        ('"hello"', "", "Not a list of messages"),
        ('{"a": 1}', "", "Not a list of messages"),
        ("[1]", "#/0", "Not a message: 1"),
        ('[{"content": "x"}]', "#/0", "has no role"),
        ('[{"role": "bot", "content": "x"}]', "#/0", 'unknown role "bot"'),
        ('[{"role": ["user"], "content": "x"}]', "#/0", "unknown role"),
        ('[{"role": "user", "content": 1}]', "#/0/content", "must be text"),
        ('[{"role": "user", "content": [5]}]', "#/0/content", "must be text"),
        ('[{"role": "user", "tool_calls": [1]}]', "#/0/tool_calls", "Only an assistant message"),
        ('[{"role": "assistant", "tool_calls": [{}]}]', "#/0/tool_calls/0", "name of a tool"),
        (
            '[{"role": "assistant", "tool_calls": [{"name": "x", "arguments": "{"}]}]',
            "#/0/tool_calls/0",
            "Not JSON",
        ),
        ('[{"role": "tool", "content": "x"}]', "#/0", "A tool result without a call"),
        (
            '[{"role": "user", "content": "x"}, {"role": "tool", "content": "x"}]',
            "#/1",
            "A tool result without a call",
        ),
        ('["\\ud800"]', "", "Not JSON"),
    ],
)
def test_an_invalid_list_of_messages_is_rejected_with_its_place(text, where, said):
    with pytest.raises(PromptError) as refused:
        parse_messages(text, "f")
    assert said in refused.value.message
    assert refused.value.where == f"f{where}"


def test_a_tool_result_belongs_to_a_call_of_the_assistant_message_before_it():
    as_text = [Message("assistant", "{search}"), Message("tool", "1"), Message("tool", "2")]
    assert [result_problem(as_text, place) for place in range(3)] == ["", "", ""]
    assert "no call" in result_problem([TURNS[1], Message("tool", "x", tool_call_id="other")], 1)
    assert "has only 1" in result_problem([TURNS[1], TURNS[2], TURNS[2]], 2)


def test_calls_are_read_as_they_are_written():
    calls = (ToolCall("search", {"query": "ä\u2028"}, "c1"), ToolCall("read", {}))
    assert read_calls(written_calls(calls)) == calls
    assert read_calls(written_calls(())) == read_calls(" ") == ()


def test_the_system_prompt_is_plain_text_before_what_every_strategy_adds():
    registry, plain = default_registry(), "Use {{ braces }} and {% if %}."
    request = asked(system_prompt=f"  {plain}\n", notation="json")
    alone = ToolRegistry((registry.tools[0],))
    made = [
        render_messages(request, registry),
        render_router(request, registry),
        render_executor(request, alone),
    ]
    for messages in made:
        assert messages.messages[0].content.startswith(f"{plain}\n\n")
        assert messages.messages[0].role == "system"
    native = asked(system_prompt=plain, native="hermes", notation="json", shape="name-arguments")
    assert render_messages(native, registry).messages[0] == Message("system", plain)


def test_a_blank_system_prompt_is_not_sent():
    registry = default_registry()
    usual = render_messages(asked(), registry)
    assert render_messages(asked(system_prompt=" \n"), registry) == usual
    assert render_messages(asked(system_prompt=" ", system=""), registry).messages == (Message("user", "p"),)


def test_each_message_has_its_tokens_and_together_with_the_rest_they_are_the_prompt():
    request = asked(
        registry=default_registry().to_document(),
        system_prompt="a",
        history=(Message("user", "one two three"), Message("assistant", "four five six")),
        prompt="seven eight nine",
    )
    prompt = first_prompt(request, ScriptedModel(CALL))
    counts = message_tokens(prompt)
    assert set(counts) == {"system prompt", "message 1", "message 2", "user"}
    assert all(counts.values()) and sum(counts.values()) < prompt.tokens
    (part,) = [part for part in prompt.parts if part.of == "system prompt"]
    assert prompt.text[part.start : part.end].strip() == "a", "not the first a of the chat template"


def test_a_short_message_is_not_confused_with_the_markers_of_the_chat_template():
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>"
    )
    request = asked(registry=default_registry().to_document(), history=(Message("user", "a"),), prompt="art")
    prompt = first_prompt(request, ScriptedModel(CALL, template=template))
    places = [part for part in prompt.parts if part.name in ("history", "user")]
    assert [prompt.text[part.start - 5 : part.end] for part in places] == ["user\na", "user\nart"]


def test_a_request_without_a_system_prompt_is_read():
    document = msgspec.to_builtins(asked())
    del document["system_prompt"]
    assert msgspec.convert(document, RunRequest).system_prompt == ""


def test_a_run_is_continued_with_its_messages_its_answer_and_its_settings(tmp_path):
    path = tmp_path / "run.jsonl"
    requested(
        "--record", str(path), "--seed", "7", "--notation", "glyph", "--system", "Be brief.", "--max-tokens", "99",
        "first",
    )  # fmt: skip
    done = command("run", "--json", "--continue", str(path), "--record", str(tmp_path / "2.jsonl"), "second")
    assert done.exit_code == 0, done.stderr
    second = read_record(tmp_path / "2.jsonl").events[0].request
    assert (second.history, second.prompt) == (
        (Message("user", "first"), Message("assistant", CALL)),
        "second",
    )
    assert (second.sampling.seed, second.max_tokens, second.constraint) == (7, 99, "off")
    assert (second.system_prompt, second.model) == ("Be brief.", f"scripted:{CALL}")
    other = command(
        "run",
        "--json",
        "--continue",
        str(tmp_path / "2.jsonl"),
        "--seed",
        "8",
        "--system",
        "Now be long.",
        "third",
    )
    third = msgspec.convert(json.loads(other.stdout.splitlines()[0])["request"], RunRequest)
    assert [message.content for message in third.history] == ["first", CALL, "second", CALL]
    assert (third.sampling.seed, third.max_tokens, third.system_prompt) == (8, 99, "Now be long.")


def test_approvals_of_a_record_are_not_inherited(tmp_path):
    path = tmp_path / "run.jsonl"
    requested("--record", str(path), "--approve", "allow", "--dispatch", "first")
    done = command("run", "--json", "--continue", str(path), "second")
    assert json.loads(done.stdout.splitlines()[0])["request"]["approvals"] == []


def test_exports_include_the_conversation(tmp_path):
    path, source = tmp_path / "run.jsonl", tmp_path / "m.json"
    source.write_text(json.dumps(LIST))
    requested("--record", str(path), "--messages", str(source))
    messages = json.loads(command("export", str(path), "--to", "openai-messages").stdout)
    assert [message["role"] for message in messages] == [
        "system", "user", "assistant", "tool", "user", "assistant",
    ]  # fmt: skip
    assert messages[0]["content"].startswith("Be brief.\n\n")
    assert messages[2]["tool_calls"][0]["function"] == {"name": "search", "arguments": '{"query": "x"}'}
    assert messages[-1] == {"role": "assistant", "content": CALL}
    assert "And y?" in command("export", str(path), "--to", "curl").stdout
    assert command("export", str(path), "--to", "pytest").exit_code == 0
    assert command("replay", str(path), "--verify").exit_code == 0


TEMPLATE = """{% if tools %}[tools]{{ tools | tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>
{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}
<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</call>
{%- endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        (
            '<think>I look.</think>One moment.<call>{"name": "search", "arguments": {"query": "x"}}</call>',
            Message("assistant", "One moment.", (ToolCall("search", {"query": "x"}),), "I look."),
        ),
        ("<think>I know.</think>It is x.", Message("assistant", "It is x.", (), "I know.")),
    ],
)
def test_an_answer_in_the_models_own_form_is_continued_in_it(written, answer):
    request = asked(registry=default_registry().to_document(), native="auto", tool_choice="auto")
    model = ScriptedModel(written, template=TEMPLATE)
    state = run_state(run(request, model))
    history = history_after(state, request)
    assert history[0] == Message("user", "p")
    reported = msgspec.structs.replace(
        history[1], tool_calls=tuple(msgspec.structs.replace(c, id="") for c in history[1].tool_calls)
    )
    assert reported == answer
    again = first_prompt(msgspec.structs.replace(request, history=history, prompt="more"), model)
    assert f"<|assistant|>{written}<|end|><|user|>more" in again.text
