"""Bodies of requests, written in the tests' files from the documentation of their APIs, and written again."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from time import process_time

import msgspec
import pytest

from cli_command import command
from glyphscope.base.errors import GlyphscopeError, StorageError
from glyphscope.events import Message, RunRequest, ToolCall
from glyphscope.prompting.message_list import images_in
from glyphscope.prompting.messages import render_messages
from glyphscope.prompting.request_bodies import read_body
from glyphscope.prompting.written_bodies import WRITTEN, write_body
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.store import Project, load_project, save_project

FILES = {path.stem: path for path in sorted((Path(__file__).parent / "request_bodies").glob("*.json"))}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SCRIPTED = 'scripted:{action="ping"}'


def written(api: str, request: RunRequest, registry: ToolRegistry | None = None):
    """The body of a run with that request."""
    registry = parse_document(request.registry) if registry is None else registry
    asked = msgspec.structs.replace(request, native="openai", strategy="direct")
    return write_body(api, request, render_messages(asked, registry).messages, registry, "m")


@pytest.mark.parametrize("api", FILES)
def test_a_body_is_written_again_as_it_was_also_of_a_saved_project_and_its_run(api, tmp_path):
    body = json.loads(FILES[api].read_text())
    opened = load_project(FILES[api])
    assert opened.opened.api == api
    again = written(api, opened.project.request)
    assert {**again, "model": body["model"]} == body
    save_project(tmp_path / "x.glyphscope", Project(request=opened.project.request))
    record = tmp_path / "run.jsonl"
    ran = command("run", "--project", tmp_path / "x.glyphscope", "--model", SCRIPTED, "--record", record)
    assert record.exists(), ran.stderr
    exported = json.loads(command("export", record, "--to", f"{api}-request").stdout)
    assert {**exported, "model": body["model"]} == body


@pytest.mark.parametrize("api", FILES)
def test_everything_of_a_body_that_a_run_does_not_use_is_listed(api):
    """Each removed member was used, is listed, or says nothing: it is null, empty, false, an id or a status."""
    body = json.loads(FILES[api].read_text())
    opened = read_body(deepcopy(body))
    listed = {place for each in opened.unused for place in each.places}
    silent = ("id", "status", "type", "is_error")

    def left_out(value, place):
        if isinstance(value, dict | list) and value:
            for step in list(value) if isinstance(value, dict) else range(len(value)):
                inner, at = value[step], f"{place}/{step}"
                if at in listed or inner in (None, [], {}) or inner is False or step in silent:
                    continue
                if isinstance(inner, dict | list):
                    yield from left_out(inner, at)
                elif not (place.startswith("/tools") or used(value, step)):
                    yield at

    def used(holder, step):
        kept = holder[step]
        holder[step] = (not kept) if isinstance(kept, bool) else 3 if isinstance(kept, int) else f"{kept}2"
        try:
            changed = read_body(deepcopy(body))
        except GlyphscopeError:
            return True
        finally:
            holder[step] = kept
        return changed.request != opened.request or changed.unused != opened.unused

    assert list(left_out(body, "")) == []


@pytest.mark.parametrize("api", FILES)
def test_of_a_changed_conversation_the_other_messages_are_as_they_were(api):
    body = json.loads(FILES[api].read_text())
    opened = read_body(deepcopy(body))
    key = "input" if api == "responses" else "messages"
    more = (Message("assistant", "It rains."),)
    request = msgspec.structs.replace(
        opened.request, prompt="Other", history=(*opened.request.history, Message("user", "And Rom?"), *more)
    )
    before, after = body[key], written(api, request)[key]
    assert before[:2] == after[:2]
    assert "It rains." in json.dumps(after) and "Other" in json.dumps(after)
    first = msgspec.structs.replace(opened.request.history[0], content="Changed")
    changed = msgspec.structs.replace(opened.request, history=(first, *opened.request.history[1:]))
    after = written(api, changed)[key]
    same = [item for item in before if item in after]
    assert "Changed" in json.dumps(after) and len(same) == len(before) - 1


@pytest.mark.parametrize(
    "choice",
    [{"mode": "auto", "tools": [{"type": "function", "name": "b"}]}, {"mode": "required", "tools": []}],
)
def test_allowed_tools_are_written_as_they_were_while_the_same_tools_are_allowed(choice):
    tools = [{"type": "function", "name": name, "parameters": CITY, "strict": True} for name in "ab"]
    body = {"input": "x", "tools": tools, "tool_choice": {"type": "allowed_tools", **choice}}
    chat = {
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "function", "function": {"name": name}} for name in "ab"],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {
            "mode": "auto", "tools": [{"type": "function", "function": {"name": "b"}}]
        }},
    }  # fmt: skip
    for api, given in (("responses", body), ("chat", chat)):
        opened = read_body(deepcopy(given))
        again = written(api, opened.request, opened.registry)
        if opened.registry.allowed:
            assert (again["tools"], again["tool_choice"]) == (given["tools"], given["tool_choice"])
        only = replace(opened.registry, tools=(replace(opened.registry.tools[0], enabled=True),))
        assert written(api, opened.request, only).get("tool_choice", "auto") in ("auto", "required")


OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "3"}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "3"}]}


@pytest.mark.parametrize(
    ("body", "reason", "place"),
    [
        ({"input": [OUTPUT], "previous_response_id": "r"}, "its call is at the provider.", "/input/0"),
        ({"input": [OUTPUT, {"role": "user", "content": "x"}], "conversation": "c"}, "its call is at the provider.",
         "/input/0"),
        ({"input": [{"role": "user", "content": "x"}, {"type": "local_shell_call", "call_id": "c"}, OUTPUT]},
         "its call is a local_shell_call, which is left out.", "/input/2"),
        ({"messages": [RESULT], "max_tokens": 5, "thread": {"type": "continue", "previous_message_id": "m"}},
         "its call is at the provider.", "/messages/0/content/0"),
    ],
)  # fmt: skip
def test_a_result_of_a_call_that_is_not_a_message_is_left_out_and_written_again(body, reason, place):
    """As the SDKs send it that continue a conversation at the provider."""
    opened = read_body({"model": "m", **deepcopy(body)})
    (note,) = (each for each in opened.unused if place in each.places)
    assert note.why == reason and not any(message.role == "tool" for message in opened.request.history)
    assert written(opened.api, opened.request) == {"model": "m", **body}
    without = {key: value for key, value in body.items() if key in ("input", "messages", "max_tokens")}
    if "previous_response_id" in body or "thread" in body:
        with pytest.raises(GlyphscopeError, match="without a call"):
            read_body({"model": "m", **without}, api=opened.api)


def _item(name: str) -> dict[str, object]:
    """An item of Responses: a capital letter is a call, `=` and one its result, `+` an assistant's text."""
    if name[0] == "=":
        return {"type": "function_call_output", "call_id": name[1:], "output": f"result {name[1:]}"}
    if name.isupper():
        return {"type": "function_call", "call_id": name, "name": "weather", "arguments": '{"city": "Rom"}'}
    return {"role": "assistant" if name[0] == "+" else "user", "content": name.strip("+")}


@pytest.mark.parametrize(
    ("given", "read", "moved"),
    [
        ("u A B v =A", "u AB =A v", [4]),
        ("u A B v =A =B w", "u AB =A =B v w", [4, 5]),
        ("u A B v =B =A", "u AB =B =A v", [4, 5]),
        ("u A B =A +t =B v", "u AB =A =B +t v", [5]),
        ("u A v B w =A =B x", "u A =A v B =B w x", [5, 6]),
        ("u A v B w =B =A x", "u A =A v B =B w x", [5, 6]),
        ("u A v B =A C =B =C x", "u A =A v B =B C =C x", [4, 6]),
        ("u A B =B =A v", "u AB =B =A v", []),
    ],
)
def test_a_result_that_comes_later_than_its_call_is_read_behind_it_and_written_where_it_was(
    given, read, moved
):
    items = [_item(name) for name in given.split()]
    opened = read_body({"model": "m", "input": deepcopy(items)})
    request = opened.request
    messages = [*request.history, *([Message("user", request.prompt)] if request.prompt else [])]
    names = [
        f"={message.tool_call_id}" if message.role == "tool"
        else "".join(call.id for call in message.tool_calls) or ("+" * (message.role == "assistant") + message.content)
        for message in messages
    ]  # fmt: skip
    assert " ".join(names) == read
    noted = [place for each in opened.unused if "later than its call" in each.why for place in each.places]
    assert noted == [f"/input/{number}" for number in moved]
    assert written("responses", request)["input"] == items
    chat = written("chat", request)["messages"]
    assert [each.role for each in read_body({"model": "m", "messages": chat}).request.history] == [
        each.role for each in request.history
    ]
    shorter = msgspec.structs.replace(request, history=request.history[:-1], prompt="Other")
    read_body(
        {"model": "m", **written("responses", shorter)}
    )  # also with fewer messages, it is a conversation


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("chat", {"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 5}),
        ("chat", {"model": "m", "messages": [{"role": "user", "content": "x"}], "temperature": 0.7}),
        ("responses", {"model": "m", "input": [{"role": "user", "content": "x"}], "temperature": 0.7}),
        ("chat", {"model": "m", "messages": [{"role": "user", "content": "x"}], "temperature": 0.0, "seed": 3}),
        ("responses", {"model": "m", "input": [{"role": "user", "content": "x"}]}),
        ("messages", {"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 5, "system": "s"}),
        ("messages", {"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 5,
                      "tools": [{"name": "a", "input_schema": CITY}]}),
    ],
)  # fmt: skip
def test_defaults_that_a_body_did_not_have_are_not_written_into_it(api, body):
    opened = read_body(deepcopy(body), api=api)
    assert written(api, opened.request) == body
    warm = msgspec.structs.replace(
        opened.request, sampling=msgspec.structs.replace(opened.request.sampling, temperature=0.7)
    )
    assert written(api, warm).get("temperature") == (None if api == "messages" else 0.7), "rejected there"


def test_documents_and_found_texts_are_read_and_blocks_of_the_provider_left_out():
    blocks = [
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "Note. "},
            "title": "T",
        },
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "Part. "}]}},
        {
            "type": "search_result",
            "source": "https://e.org",
            "title": "S",
            "content": [{"type": "text", "text": "Found."}],
        },
    ]
    answer = [
        {"type": "compaction", "content": "Summary"},
        {"type": "mcp_tool_use", "id": "m", "name": "n", "input": {}},
        {"type": "text", "text": "Yes"},
    ]
    talk = [
        {"role": "user", "content": blocks},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": "?"},
    ]
    opened = read_body({"system": "s", "messages": talk})
    assert [message.content for message in opened.request.history] == ["Note. Part. Found.", "Yes"]
    assert {"title of a document", "compaction", "mcp_tool_use"} <= {each.what for each in opened.unused}
    assert written("messages", opened.request)["messages"] == talk


@pytest.mark.parametrize("api", WRITTEN)
@pytest.mark.parametrize("source", FILES)
def test_images_are_in_the_requests_to_other_apis(source, api):
    opened = load_project(FILES[source]).project.request
    body = written(api, opened)
    again = read_body(deepcopy(body), api=api)
    images = [url for _, url in images_in(json.loads(FILES[source].read_text()))]
    found = [url for _, url in images_in(body)]
    assert found == (images[:1] if api == "chat" and source == "messages" else images) and images
    assert [message.content for message in again.request.history] == [
        message.content for message in opened.history
    ]


def test_a_signature_is_written_only_with_the_thinking_that_it_signs():
    opened = load_project(FILES["messages"]).project.request
    assert "EqQBCgIYAhIM" in json.dumps(written("messages", opened))
    other = msgspec.structs.replace(opened.history[1], reasoning="Another thought.")
    changed = msgspec.structs.replace(opened, history=(opened.history[0], other, *opened.history[2:]))
    assert "EqQBCgIYAhIM" not in json.dumps(written("messages", changed))
    assert "EqQBCgIYAhIM" not in json.dumps([written(api, opened) for api in ("chat", "responses")])


def test_a_long_text_is_in_a_project_once():
    words = "a long text " * 1000
    block = {"type": "text", "text": words, "cache_control": {"type": "ephemeral"}}
    talk = [{"role": "user", "content": [block, {"type": "text", "text": "and more"}]}]
    opened = read_body({"messages": talk, "max_tokens": 9, "system": "x"})
    assert len(json.dumps(opened.registry.kept)) < 1000
    assert written("messages", opened.request)["messages"] == talk


def test_a_damaged_part_of_a_message_is_replaced_by_its_text():
    opened = read_body(json.loads(FILES["messages"].read_text()))
    for damaged in (5, [5], [{"of": 5}], [{"of": "", "items": 5}]):
        kept = {**opened.registry.kept, "request": {"api": "messages", "messages": damaged, "rest": 5}}
        body = written("messages", opened.request, replace(opened.registry, kept=kept))
        assert "And Rom?" in json.dumps(body["messages"])
    units = opened.registry.kept["request"]["messages"]
    for items in (5, [], ["x"], [{"role": "user", "content": {"$text": ["content", 0]}}]):
        kept = {
            **opened.registry.kept,
            "request": {"api": "messages", "messages": [{**each, "items": items} for each in units]},
        }
        assert written("messages", opened.request, replace(opened.registry, kept=kept))["messages"]


def test_an_empty_result_is_in_the_prompt_and_in_requests():
    call = ToolCall("weather", {"city": "Bern"}, "c1")
    history = (
        Message("user", "x"),
        Message("assistant", "", (call,)),
        Message("tool", "", tool_call_id="c1"),
    )
    request = msgspec.structs.replace(
        RunRequest(prompt="x", registry=ToolRegistry().to_document()), history=history
    )
    assert [message.role for message in render_messages(request, ToolRegistry()).messages][-2:] == [
        "tool",
        "user",
    ]
    for api in WRITTEN:
        assert json.dumps(written(api, request)).count('"c1"') == 2


@pytest.mark.parametrize(
    ("api", "given", "settings"),
    [
        ("chat", {"reasoning_effort": "xhigh"}, ("auto", "xhigh", None)),
        ("chat", {"thinking": {"type": "disabled"}}, ("off", "auto", None)),
        ("chat", {"reasoning": {"exclude": True}, "reasoning_effort": "low"}, ("auto", "low", None)),
        ("chat", {"chat_template_kwargs": {"a": 1}}, ("auto", "auto", None)),
        ("responses", {"reasoning": {"effort": "none", "summary": "auto"}}, ("auto", "none", None)),
        ("responses", {"reasoning": {"summary": "detailed"}}, ("auto", "auto", None)),
        ("messages", {"thinking": {"type": "adaptive", "display": "omitted"}}, ("auto", "auto", None)),
        ("messages", {"thinking": {"type": "disabled"}}, ("off", "auto", None)),
        ("messages", {"thinking": {"type": "enabled", "budget_tokens": 1024}}, ("on", "auto", 1024)),
        ("messages", {"output_config": {"effort": "xhigh", "task_budget": {"total": 5}}}, ("auto", "xhigh", None)),
    ],
)  # fmt: skip
def test_settings_of_reasoning_are_those_of_a_run_and_written_as_they_were(api, given, settings):
    most = {"responses": "max_output_tokens"}.get(api, "max_tokens")
    body = {
        most: 2000,
        ("input" if api == "responses" else "messages"): [{"role": "user", "content": "x"}],
        **given,
    }
    opened = read_body(body, api=api)
    request = opened.request
    assert (request.thinking, request.reasoning_effort, request.reasoning_budget) == settings
    assert written(api, request, opened.registry).items() >= given.items()


def test_settings_of_reasoning_have_the_names_of_each_api():
    request = RunRequest(
        prompt="x", registry={}, thinking="off", reasoning_effort="high", template_vars={"a": 1}
    )
    made = {api: written(api, request, ToolRegistry()) for api in WRITTEN}
    assert made["chat"]["chat_template_kwargs"] == {"enable_thinking": False, "a": 1}
    assert made["chat"]["reasoning_effort"] == "high" and made["responses"]["reasoning"] == {"effort": "high"}
    assert (made["messages"]["thinking"], made["messages"]["output_config"]) == (
        {"type": "disabled"},
        {"effort": "high"},
    )
    off = msgspec.structs.replace(request, reasoning_effort="auto")
    assert written("responses", off, ToolRegistry())["reasoning"] == {"effort": "none"}


def test_a_schema_is_written_with_its_name():
    form = {"type": "json_schema", "name": "city", "strict": False, "schema": CITY, "description": "A city"}
    body = {"input": "x", "text": {"format": form, "verbosity": "low"}}
    opened = read_body(body)
    assert written("responses", opened.request)["text"] == body["text"]
    asked = {
        "type": "json_schema",
        "json_schema": {key: value for key, value in form.items() if key != "type"},
    }
    body = {"messages": [{"role": "user", "content": "x"}], "response_format": asked}
    assert written("chat", read_body(body).request)["response_format"] == asked
    free = msgspec.structs.replace(opened.request, answer=RunRequest(prompt="", registry={}).answer)
    assert "format" not in written("responses", free)["text"]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["text", "image"])
def test_a_body_of_50_mb_is_opened_saved_and_written_again(part, tmp_path):
    size = 50_000_000
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * size}}
    text = {"type": "text", "text": "word " * (size // 5), "cache_control": {"type": "ephemeral"}}
    talk = [{"role": "user", "content": [image if part == "image" else text]}]
    talk += [{"role": "assistant", "content": "Yes"}, {"role": "user", "content": "Ping"}]
    body = {
        "messages": talk,
        "max_tokens": 9,
        "system": "s",
        "tools": [{"name": "ping", "input_schema": CITY}],
    }
    (tmp_path / "body.json").write_text(json.dumps(body))
    began = process_time()
    opened = load_project(tmp_path / "body.json")
    save_project(tmp_path / "x.glyphscope", opened.project)
    assert (tmp_path / "x.glyphscope").stat().st_size < size + 100_000
    assert written("messages", load_project(tmp_path / "x.glyphscope").project.request) == {
        **body,
        "model": "m",
    }
    assert process_time() - began < 60


def test_a_project_that_is_too_large_to_be_opened_again_is_not_saved(tmp_path, monkeypatch):
    project, path = load_project(FILES["chat"]).project, tmp_path / "x.glyphscope"
    save_project(path, project)
    before = path.read_bytes()
    monkeypatch.setattr("glyphscope.store.project.MAX_BYTES", 3_000)
    with pytest.raises(StorageError, match="a project has at most 3 kB"):
        save_project(path, project)
    assert path.read_bytes() == before
