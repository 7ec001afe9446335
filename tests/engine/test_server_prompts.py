"""Prompts of endpoints as the server itself renders them, with its counts of their tokens."""

from __future__ import annotations

import re
import threading
import time

import pytest

from glyphscope.events import Message, PromptRendered, RunRequest
from glyphscope.models import RecordedModel
from glyphscope.registry import default_registry
from glyphscope.runs import run_state
from glyphscope.runs.recorded import RecordedInteraction
from glyphscope.runs.strategies import run
from scripted_endpoint import Answer, Hang, endpoint, remote, said

REGISTRY = default_registry().to_document()
CALL = '{action="search" query="AI"}'
ANSWER = said('{action="search" ', 'query="AI"}')


def request(**fields) -> RunRequest:
    return RunRequest(prompt="Search for AI", registry=REGISTRY, **fields)


WROTE = "<s>[sys]\nrules\n[user]\nSearch for AI é\n[bot]\n"


def in_pieces(text: str) -> list[str]:
    return re.findall(r"<s>|\w+|\W", text)


def llama_paths(prompt: str = WROTE) -> dict:
    pieces = [{"id": n, "piece": piece} for n, piece in enumerate(in_pieces(prompt))]
    return {"apply-template": {"prompt": prompt}, "tokenize": {"tokens": pieces}}


def letters(text: str) -> str:
    """As GPT-2's vocabularies write the bytes of a text."""
    return text.replace(" ", "Ġ").replace("\n", "Ċ").replace("é", "Ã©")


def prompt_of(events) -> PromptRendered:
    return next(event for event in events if isinstance(event, PromptRendered))


def test_the_prompt_is_that_of_the_server_with_the_tokens_of_its_parts():
    with endpoint(ANSWER, **llama_paths()) as server, remote(server, "?dialect=llama-server") as model:
        events = list(run(request(system="rules"), model))
        asked, counted_by = server.posted
    prompt = prompt_of(events)
    assert prompt.text == WROTE and "as llama-server renders it" in prompt.note
    assert asked.path == "/apply-template" and [each["role"] for each in asked.body["messages"]] == [
        "system",
        "user",
    ]
    assert counted_by.body["with_pieces"] is True and counted_by.body["content"] == WROTE
    assert prompt.tokens == len(in_pieces(WROTE)) == sum(part.tokens for part in prompt.parts)
    assert sum(prompt.lengths) == len(WROTE)
    assert {part.name for part in prompt.parts} == {"template", "system", "user"}
    again = list(run(request(system="rules"), RecordedModel(events), interaction=RecordedInteraction(events)))
    assert prompt_of(again).parts == prompt.parts and prompt_of(again).lengths == prompt.lengths


def test_a_server_that_reports_tokens_is_asked_for_their_text():
    strs = [letters(piece) for piece in in_pieces(WROTE)]
    paths = {"tokenize": {"count": len(strs), "tokens": [*range(len(strs))], "token_strs": strs}}
    with (
        endpoint(ANSWER, **paths, detokenize={"prompt": WROTE}) as server,
        remote(server, "?dialect=vllm") as model,
    ):
        prompt = prompt_of(run(request(thinking="on"), model))
        body = server.posted[0].body
    assert (prompt.text, prompt.tokens) == (WROTE, len(strs))
    assert body["chat_template_kwargs"] == {"enable_thinking": True} and body["add_generation_prompt"] is True
    assert "does not report its effect" not in prompt.note


def test_tokens_that_do_not_spell_the_prompt_are_not_counted():
    paths = llama_paths() | {"tokenize": {"tokens": [{"id": 1, "piece": "x"}]}}
    with endpoint(ANSWER, **paths) as server, remote(server, "?dialect=llama-server") as model:
        prompt = prompt_of(run(request(), model))
    assert (prompt.text, prompt.tokens, prompt.lengths) == (WROTE, 0, ())


@pytest.mark.parametrize(
    "paths",
    [
        {},
        {
            "apply-template": Answer(
                (b'{"error": {"message": "roles must alternate"}}',), 400, "application/json"
            )
        },
        {"apply-template": {"prompt": 3}},
        {"apply-template": Answer((b"<html>",), 200, "text/html")},
    ],
)
def test_a_server_that_renders_nothing_gets_the_messages_and_they_are_shown(paths):
    with endpoint(ANSWER, **paths) as server, remote(server, "?dialect=llama-server") as model:
        events = list(run(request(), model))
    assert prompt_of(events).text.startswith("[system]\n") and run_state(events).outcome == "valid"


def test_a_run_is_stopped_while_its_prompt_is_rendered():
    hanging = Answer((Hang,), kind="application/json")
    with endpoint(ANSWER, **{"apply-template": hanging}) as server, remote(server) as model:
        cancelled = threading.Event()
        stop = threading.Timer(0.2, lambda: (cancelled.set(), model.cancel()))
        stop.start()
        began = time.monotonic()
        model.render_chat((Message("user", "x"),))
        stop.join()
        assert time.monotonic() - began < 3 and cancelled.is_set()
