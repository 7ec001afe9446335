"""Bodies of requests to Chat Completions, Responses and Messages, opened as projects."""

from __future__ import annotations

import json
from functools import reduce

import msgspec
import pytest

from cli_command import command
from glyphscope.base.errors import GlyphscopeError, PromptError, RegistryError
from glyphscope.events import Message, RunRequest, Sampling, ToolCall
from glyphscope.prompting.request_bodies import APIS, api_of, read_body
from glyphscope.prompting.written_bodies import WRITTEN, write_body
from glyphscope.registry import ToolRegistry
from glyphscope.store import load_project

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PNG = "data:image/png;base64," + "A" * 4000
CALL = ToolCall("weather", {"city": "Bern"}, "c1")
TALK = (
    Message("user", "Weather?"),
    Message("assistant", "Looking", (CALL,), "A tool."),
    Message("tool", "sun", tool_call_id="c1"),
)
CHAT = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "Looking",
            "reasoning_content": "A tool.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"Bern"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "sun"}]},
        {"role": "user", "content": "And Rom?"},
    ],
    "tools": [{"type": "function", "function": {"name": "weather", "parameters": CITY, "strict": True}}],
    "tool_choice": "required",
    "temperature": 0.5,
    "top_p": 0.9,
    "max_completion_tokens": 300,
    "parallel_tool_calls": False,
    "stop": "END",
    "seed": 7,
    "reasoning_effort": "low",
}
RESPONSES = {
    "model": "m",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "A tool."}]},
        {
            "type": "message",
            "role": "assistant",
            "id": "m1",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Looking", "annotations": []}],
        },
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Bern"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "sun"},
        {"role": "user", "content": "And Rom?"},
    ],
    "tools": [{"type": "function", "name": "weather", "parameters": CITY, "strict": True}],
    "tool_choice": "required",
    "temperature": 0.5,
    "top_p": 0.9,
    "max_output_tokens": 300,
    "parallel_tool_calls": False,
    "reasoning": {"effort": "low"},
}
MESSAGES = {
    "model": "m",
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "A tool."},
                {"type": "text", "text": "Looking"},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bern"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "sun"},
                {"type": "text", "text": "And Rom?"},
            ],
        },
    ],
    "tools": [{"name": "weather", "input_schema": CITY, "strict": True}],
    "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    "temperature": 0.5,
    "top_p": 0.9,
    "max_tokens": 300,
    "stop_sequences": ["END"],
    "output_config": {"effort": "low"},
}
SCRIPTED = 'scripted:{action="weather" city="Rom"}'
SAMPLED = {"temperature", "top_k", "top_p"}
BODIES = {"chat": CHAT, "responses": RESPONSES, "messages": MESSAGES}


def why(body) -> dict[str, str]:
    return {each.what: each.why for each in read_body(body).unused}


@pytest.mark.parametrize("api", APIS)
def test_the_same_conversation_is_read_from_every_api(api):
    opened = read_body(BODIES[api])
    request = opened.request
    assert (opened.api, opened.model) == (api, "m")
    assert request.system_prompt == "Be brief." and request.history == TALK and request.prompt == "And Rom?"
    assert [(tool.name, tool.strict) for tool in opened.registry] == [("weather", True)]
    assert (request.tool_choice, request.most_calls, request.max_tokens) == ("required", 1, 300)
    assert (request.sampling.temperature, request.sampling.top_p) == (0.5, 0.9)
    assert request.reasoning_effort == "low"
    assert {each.what for each in opened.unused} == {"model"}, "all else of it is used"


@pytest.mark.parametrize(
    ("body", "choice", "allowed"),
    [
        (
            {**CHAT, "tool_choice": {"type": "function", "function": {"name": "weather"}}},
            "weather",
            {"weather", "ping"},
        ),
        (
            {
                **CHAT,
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {
                        "mode": "auto",
                        "tools": [{"type": "function", "function": {"name": "ping"}}],
                    },
                },
            },
            "auto",
            {"ping"},
        ),
        (
            {
                **RESPONSES,
                "tool_choice": {
                    "type": "allowed_tools",
                    "mode": "required",
                    "tools": [{"type": "function", "name": "ping"}],
                },
            },
            "required",
            {"ping"},
        ),
        ({**RESPONSES, "tool_choice": {"type": "custom", "name": "ping"}}, "ping", {"weather", "ping"}),
        ({**MESSAGES, "tool_choice": {"type": "tool", "name": "ping"}}, "ping", {"weather", "ping"}),
        ({**MESSAGES, "tool_choice": {"type": "none"}}, "none", {"weather", "ping"}),
        ({key: value for key, value in CHAT.items() if key != "tool_choice"}, "auto", {"weather", "ping"}),
    ],
)
def test_every_tool_choice_has_its_meaning(body, choice, allowed):
    tool = body["tools"][0]
    ping = (
        {**tool, "function": {"name": "ping"}}
        if "function" in tool
        else {**{key: value for key, value in tool.items() if key != "parameters"}, "name": "ping"}
    )
    opened = read_body({**body, "tools": [tool, ping]})
    assert opened.request.tool_choice == choice
    assert {tool.name for tool in opened.registry.allowed} == allowed


def test_images_are_replaced_by_a_text_that_says_so_and_listed():
    parts = (
        ("chat", {"type": "image_url", "image_url": {"url": PNG}}),
        ("responses", {"type": "input_image", "image_url": PNG}),
        (
            "messages",
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4000}},
        ),
    )
    for api, part in parts:
        key = "input" if api == "responses" else "messages"
        body = {**BODIES[api], key: [{"role": "user", "content": [{"type": "text", "text": "See "}, part]}]}
        assert (
            read_body(body).request.prompt == "See [image, image/png, 3 kB: left out, as only text is read]"
        )
        assert "a text in its place says so" in why(body)["image in a message"]


TEXTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({"messages": [{"role": "user", "content": TEXTS}]}, ("/messages/0/content",)),
        (
            {"system": TEXTS, "max_tokens": 1, "messages": [{"role": "user", "content": TEXTS}]},
            ("/system", "/messages/0/content"),
        ),
        ({"input": [{"role": "user", "content": TEXTS}]}, ("/input/0/content",)),
        ({"messages": [{"role": "user", "content": TEXTS[:1]}]}, ()),
    ],
)
def test_joined_texts_of_a_message_are_listed_with_their_places(body, places):
    notes = [
        each.places for each in read_body(body).unused if each.what == "division of a message into texts"
    ]
    assert notes == ([places] if places else [])


@pytest.mark.parametrize("kind", [[], {}, 1, None])
def test_a_part_whose_type_is_not_a_text_is_a_body_of_chat_completions(kind):
    assert api_of({"messages": [{"role": "user", "content": [{"type": kind, "text": "x"}]}]}) == "chat"


def test_items_of_the_provider_are_left_out_and_listed():
    search = {"type": "web_search_call", "id": "ws", "status": "completed"}
    body = {**RESPONSES, "input": [search, *RESPONSES["input"]], "previous_response_id": "r", "store": True}
    found = why(body)
    assert "left out" in found["web_search_call"] and "at the provider" in found["previous_response_id"]
    assert found["store"] == "not used."
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = why(
        {
            **MESSAGES,
            "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [block]}],
        }
    )
    assert "left out" in found["server_tool_use"]


def test_custom_calls_and_calls_in_a_namespace_keep_their_names():
    tools = [
        {"type": "custom", "name": "calc"},
        {
            "type": "namespace",
            "name": "crm",
            "description": "",
            "tools": [{"type": "custom", "name": "find"}],
        },
    ]
    items = [
        {"type": "custom_tool_call", "call_id": "a", "name": "calc", "input": "1+1"},
        {"type": "custom_tool_call", "call_id": "b", "name": "find", "namespace": "crm", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "2"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "y"}]},
    ]
    opened = read_body({"input": items, "tools": tools})
    calls = opened.request.history[0].tool_calls
    assert [(call.name, call.arguments) for call in calls] == [
        ("calc", {"input": "1+1"}),
        ("crm.find", {"input": "x"}),
    ]
    assert [message.content for message in opened.request.history[1:]] == ["2", "y"]


def test_a_body_without_tools_asks_for_text_or_for_its_schema():
    assert read_body({"input": "Hello"}).request.prompt == "Hello"
    assert read_body({"input": "Hello"}).request.tool_choice == "none"
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": CITY}}
    answer = read_body(
        {"messages": [{"role": "user", "content": "x"}], "response_format": form}
    ).request.answer
    assert (answer.kind, json.loads(answer.text)) == ("schema", CITY)
    assert "no other schema" in why({**CHAT, "response_format": form})["response_format"]


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("temperature", 99, "must be from 0 to 10"),
        ("temperature", "hot", "not a number"),
        ("max_completion_tokens", 1.5, "not a number"),
        ("stop", [1], "not a list of texts"),
        ("stop", "", "at least one character"),
        ("tool_choice", {"type": "web_search"}, "runs at the provider"),
        ("tool_choice", 5, "unknown"),
        ("logit_bias", {"5": 1}, "another model"),
        ("n", 3, "one answer"),
    ],
)
def test_a_member_without_effect_is_listed_with_its_reason(key, value, reason):
    assert reason in why({**CHAT, key: value})[key]


@pytest.mark.parametrize(
    ("body", "error", "place"),
    [
        ({"messages": [{"role": "user", "content": 5}]}, PromptError, "#/messages/0/content"),
        ({"messages": ["x"]}, PromptError, "#/messages/0"),
        (
            {"input": [{"type": "function_call_output", "call_id": "x", "output": ""}]},
            PromptError,
            "#/input/0",
        ),
        (
            {"input": [{"type": "function_call", "name": "x", "arguments": "{"}]},
            PromptError,
            "#/input/0/tool_calls/0",
        ),
        ({**CHAT, "tools": [{"type": "function", "function": {"name": 5}}]}, RegistryError, "#/tools"),
        ({"input": 5}, PromptError, ""),
        ({"input": [5]}, PromptError, ""),
        ([], PromptError, ""),
        ({"a": 1}, PromptError, ""),
        (
            {"input": "x", "metadata": reduce(lambda inner, _: [inner], range(300), 1)},
            PromptError,
            "#/metadata/0/0",
        ),
    ],
)
def test_an_error_in_a_body_has_its_place(body, error, place):
    with pytest.raises(error) as caught:
        read_body(body, "body.json")
    assert place in caught.value.where and caught.value.where.startswith("body.json")


@pytest.mark.parametrize("api", ["chat", "messages"])
def test_a_body_without_messages_is_an_error(api):
    with pytest.raises(PromptError, match="cannot be read"):
        read_body({"model": "m"}, api=api)


def test_hostile_values_end_in_an_error_or_a_note():
    values = (None, 5, "x", [], {}, [5], {"type": 5}, {"type": "function"}, True, [[]], {"a": {}})
    for api, body in BODIES.items():
        for key in {*APIS[api].members, *APIS[api].used}:
            for value in values:
                try:
                    read_body({**body, key: value}, "x", api)
                except GlyphscopeError:
                    continue


def test_api_of_knows_each_body_and_nothing_else():
    assert {api_of(body) for body in BODIES.values()} == set(APIS)
    messages = [{"role": "user", "content": "x"}]
    assert api_of({"messages": messages, "thread": {"type": "create"}}) == "messages"
    assert api_of({"messages": messages, "temperature": 0}) == "chat"
    assert not api_of({"tools": []}) and not api_of([]) and not api_of({"glyphscope_project": 2})


def test_a_body_is_a_project_and_runs(tmp_path):
    path = tmp_path / "body.json"
    path.write_text(json.dumps(MESSAGES).replace('"text":', '"text": "twice", "text":', 1))
    with pytest.raises(PromptError, match="#/system/0/text: Duplicate key"):
        load_project(path)
    path.write_text(json.dumps(MESSAGES))
    stored = load_project(path)
    assert stored.opened is not None and not stored.digest
    assert stored.project.request.history == TALK
    result = command("run", "--project", path, "--model", SCRIPTED, "--json")
    started = json.loads(result.stdout.splitlines()[0])
    assert started["request"]["max_tokens"] == 300 and started["request"]["reasoning_effort"] == "low"
    assert started["request"]["sampling"]["temperature"] == 0.5
    assert "model (/model)" in result.stderr
    result = command("run", "Hello", "--project", path, "--model", SCRIPTED, "--json", "--max-tokens", "9")
    started = json.loads(result.stdout.splitlines()[0])
    assert (started["request"]["prompt"], started["request"]["max_tokens"]) == ("Hello", 9)


def test_a_named_notation_is_that_of_the_prompt_in_place_of_the_project_s(tmp_path):
    path = tmp_path / "body.json"
    path.write_text(json.dumps(BODIES["chat"]))
    given = ("prompt", "--project", path, "--model", SCRIPTED)
    own, named = command(*given).stdout, command(*given, "--notation", "json", "--shape", "tool-args").stdout
    assert '{action="weather" city="Paris"}' in own
    assert '{"tool":"weather","args":{"city":"Paris"}}' in named and '{action="' not in named


@pytest.mark.parametrize("api", WRITTEN)
@pytest.mark.parametrize("source", BODIES)
def test_a_request_is_written_for_every_api_and_read_back_equal(source, api):
    opened = read_body({**BODIES[source], "tools": [*BODIES[source]["tools"]]})
    request = opened.request
    messages = (Message("system", request.system_prompt), *request.history, Message("user", request.prompt))
    body = json.loads(json.dumps(write_body(api, request, messages, opened.registry, "m")))
    again = read_body(body, api=api)
    assert api_of(body) == api
    without = [msgspec.structs.replace(message, reasoning="") for message in again.request.history]
    assert without == [msgspec.structs.replace(m, reasoning="", name="") for m in request.history] or all(
        a.content == b.content and a.tool_calls == b.tool_calls
        for a, b in zip(without, request.history, strict=True)
    )
    for name in ("prompt", "system_prompt", "tool_choice", "most_calls", "max_tokens", "reasoning_effort"):
        assert getattr(again.request, name) == getattr(request, name), name
    assert again.registry == opened.registry
    sampling = again.request.sampling
    assert (sampling.temperature, sampling.top_p) == (0.5, 0.9) or (api == "messages" and source != api)


@pytest.mark.parametrize("api", WRITTEN)
def test_choices_schemas_and_custom_calls_are_written_as_the_api_has_them(api):
    tools = [
        {"type": "custom", "name": "calc"},
        {
            "type": "namespace",
            "name": "crm",
            "description": "",
            "tools": [{"type": "function", "name": "find", "parameters": CITY}],
        },
    ]
    items = [
        {"type": "custom_tool_call", "call_id": "a", "name": "calc", "input": "1+1"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "2"},
        {"type": "function_call", "call_id": "b", "name": "find", "namespace": "crm", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "y"},
    ]
    given = {"input": items, "tools": tools, "tool_choice": {"type": "custom", "name": "calc"}}
    opened = read_body(given)
    body = write_body(api, opened.request, opened.request.history, opened.registry, "m")
    if api == "responses":
        assert (body["input"], body["tools"], body["tool_choice"]) == (items, tools, given["tool_choice"])
    assert "1+1" in json.dumps(body) and read_body(body, api=api).request.tool_choice == "calc"
    schema = read_body(
        {"input": "x", "text": {"format": {"type": "json_schema", "name": "a", "schema": CITY}}}
    )
    asked = msgspec.structs.replace(schema.request, extra_body={"service_tier": "flex"})
    body = write_body(api, asked, (Message("user", "x"),), schema.registry, "m")
    assert read_body(body, api=api).request.answer == schema.request.answer
    assert body["service_tier"] == "flex"


def test_members_that_are_not_used_are_in_the_request_to_the_same_api_again_also_after_a_run(tmp_path):
    path, record = tmp_path / "body.json", tmp_path / "run.jsonl"
    more = {"metadata": {"user_id": "u"}, "service_tier": "auto", "stream": True}
    path.write_text(json.dumps({**MESSAGES, **more}))
    command("run", "--project", path, "--model", SCRIPTED, "--record", record)
    again = json.loads(command("export", record, "--to", "messages-request").stdout)
    assert again.items() >= more.items() and again["model"] != "m"
    assert not more.keys() & json.loads(command("export", record, "--to", "chat-request").stdout).keys()


@pytest.mark.parametrize("api", WRITTEN)
def test_a_recorded_run_is_exported_as_a_request_that_opens_again(api, tmp_path):
    record = tmp_path / "run.jsonl"
    command(
        "run",
        "Search for AI news",
        "--model",
        'scripted:{action="search" query="AI news"}',
        "--record",
        record,
    )
    exported = command("export", record, "--to", f"{api}-request")
    assert exported.exit_code == 0, exported.stderr
    opened = read_body(json.loads(exported.stdout), api=api)
    assert opened.request.prompt == "Search for AI news" and len(opened.registry) == 7
    assert opened.request.tool_choice == "required" and "GLYPH" not in opened.request.system_prompt


@pytest.mark.parametrize(
    ("api", "left"),
    [
        ("chat", "top-k 3, the texts to choose from"),
        ("responses", "seed 5, top-k 3, 2 stop texts, the texts to choose from"),
        ("messages", "temperature 0.5, seed 5, top-k 3, top-p 0.9, the texts to choose from"),
    ],
)
def test_an_export_says_which_settings_the_api_has_no_member_for(api, left, tmp_path):
    record = tmp_path / "run.jsonl"
    options = [
        "--temperature",
        "0.5",
        "--seed",
        "5",
        "--top-k",
        "3",
        "--top-p",
        "0.9",
        "--stop",
        "X",
        "--stop",
        "Y",
    ]
    command(
        "run", "--model", "scripted:no", "--answer", "choice:yes|no", *options, "--record", record, "Wet?"
    )
    done = command("export", record, "--to", f"{api}-request")
    assert f"no member for it: {left}." in done.stderr.replace("\n", " "), done.stderr
    command("run", "--model", "scripted:no", "--record", record, "Wet?")
    assert "no member" not in command("export", record, "--to", f"{api}-request").stderr


def test_credentials_in_a_body_are_listed_and_not_stored():
    server = {
        "type": "mcp",
        "server_label": "git",
        "server_url": "https://x.test",
        "authorization": "Bearer hunter2",
    }
    headers = {
        "type": "function",
        "name": "fetch",
        "parameters": {"type": "object", "properties": {"headers": {}}},
    }
    body = {
        "model": "m", "input": "Hello", "tools": [{**server, "headers": {"X-Key": "hunter2"}}, headers],
        "mcp_servers": [{"url": "https://x.test", "authorization_token": "hunter2"}],
    }  # fmt: skip
    opened = read_body(body)
    assert "hunter2" not in json.dumps(msgspec.to_builtins(opened.request)) + json.dumps(
        opened.registry.to_document()
    )
    named = {each.what for each in opened.unused if "credential" in each.why}
    assert named == {"authorization", "headers", "authorization_token"}
    assert "headers" in opened.registry.tools[0].parameters["properties"], "an argument of a tool is none"
    assert "https://x.test" in json.dumps(opened.registry.to_document())


def test_what_only_the_provider_runs_comes_back_equal_without_its_keys():
    server = {"type": "mcp", "server_label": "s", "server_url": "https://x.test"}
    later = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [server | {"authorization": "hunter2"}],
    }
    body = {
        "model": "m",
        "input": [{"role": "user", "content": "a"}, later, {"role": "user", "content": "b"}],
        "tools": [
            {"type": "function", "name": "t", "parameters": CITY},
            {"type": "programmatic_tool_calling"},
        ],
        "tool_choice": {"type": "programmatic_tool_calling"},
    }
    opened = read_body(body)
    assert {"additional_tools", "authorization", "tool_choice"} <= {each.what for each in opened.unused}
    messages = (*opened.request.history, Message("user", opened.request.prompt))
    written = write_body("responses", opened.request, messages, opened.registry, "m")
    assert written == {**body, "input": [body["input"][0], {**later, "tools": [server]}, body["input"][2]]}


def test_messages_get_no_temperature_under_thinking_and_more_tokens_than_the_budget():
    request = RunRequest(prompt="x", registry={}, thinking="on", max_tokens=500)
    body = write_body("messages", request, (Message("user", "x"),), ToolRegistry(), "m")
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 1024} and body["max_tokens"] == 1524
    assert not SAMPLED & body.keys()


def test_messages_get_the_sampling_that_their_body_had_and_none_otherwise():
    warm = RunRequest(prompt="x", registry={}, sampling=Sampling(temperature=0.5, top_k=7, top_p=0.9))
    assert not SAMPLED & write_body("messages", warm, (Message("user", "x"),), ToolRegistry(), "m").keys()
    opened = read_body(
        {"model": "m", "system": "s", "messages": [{"role": "user", "content": "x"}], "temperature": 0.2}
    )
    colder = msgspec.structs.replace(opened.request, sampling=Sampling(temperature=0.1, top_k=7))
    body = write_body("messages", colder, opened.request.history, opened.registry, "m")
    assert body["temperature"] == 0.1 and "top_k" not in body


def test_reasoning_of_earlier_answers_is_in_the_request_to_chat_completions():
    answered = Message("assistant", "Yes.", reasoning="Hm.")
    messages = (Message("user", "x"), answered, Message("user", "y"))
    request = RunRequest(prompt="y", registry={})
    made = {api: write_body(api, request, messages, ToolRegistry(), "m") for api in WRITTEN}
    assert made["chat"]["messages"][1]["reasoning_content"] == "Hm."
    assert "Hm." not in json.dumps([made["responses"], made["messages"]])
