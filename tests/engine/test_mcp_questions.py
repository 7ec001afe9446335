"""Requests of servers to the user: answered by the user only, bounded, and closed with their call."""

import json
import threading
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.models.scripted import ScriptedModel
from glyphscope.runs.strategies import answer_sampling
from glyphscope.tools.mcp import MAX_QUESTION_BYTES, Answer, McpServer, Question
from mcp_servers import call, scripted

FORM = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 3}}, "required": ["a"]}
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


@contextmanager
def answered(answer, *behaviour):
    """A server whose requests get that answer at once; None leaves them open."""
    seen = []

    def asked(server):
        for question in server.questions:
            if question not in seen:
                seen.append(question)
                if answer is not None:
                    threading.Timer(0.01, question.answer, [answer]).start()

    server = McpServer(scripted(*behaviour), asked=asked, start_seconds=20)
    try:
        server.open()
        yield server, seen
    finally:
        server.close()


def elicit(server, schema=FORM, seconds=20.0, **params):
    members = {"message": "How many?", "requestedSchema": schema, **params}
    outcome = call(server, "elicit", {"method": "elicitation/create", "params": members}, seconds)
    return json.loads(outcome.content[0].text) if outcome.ok else outcome


def test_a_form_is_answered_by_the_host():
    with answered(Answer(action="accept", content={"a": 2})) as (server, seen):
        assert elicit(server) == {"action": "accept", "content": {"a": 2}}
        (question,) = seen
        assert (question.kind, question.message, question.findings) == ("form", "How many?", ())
        assert question.form.parameters["required"] == ["a"] and server.questions == ()
        assert not question.is_open and not question.answer(Answer(action="decline"))
        sent = [entry for entry in server.log.entries if entry.id == "mine"]
        assert [entry.direction for entry in sent] == ["received", "sent"]


def test_a_task_since_2026_asks_for_input_and_gets_each_answer_once():
    with answered(Answer(action="accept", content={"a": "b"}), "modern", "tasks=input_required") as (
        server,
        seen,
    ):
        found = call(server, "task")
        assert (len(seen), seen[0].message) == (1, "Which?")
        answers = "{'k': {'action': 'accept', 'content': {'a': 'b'}}}"
        assert (
            found.content[0].text == f"long: ['tools/call', 'tasks/get', {answers}, 'tasks/get', 'tasks/get']"
        )


def test_a_form_whose_schema_cannot_be_used_is_reported_and_declined():
    with answered(Answer(action="decline")) as (server, seen):
        nested = {"type": "object", "properties": {"o": {"type": "object", "properties": {}}}}
        assert elicit(server, nested) == {"action": "decline"}
        assert "not allow" in seen[0].findings[0] and seen[0].form is not None
        remote = {"type": "object", "properties": {"a": {"$ref": "https://x.test/s"}}}
        assert elicit(server, remote) == {"action": "decline"}
        assert seen[1].form is None and seen[1].problem


def test_an_invalid_or_too_large_request_is_rejected():
    with answered(None) as (server, seen):
        assert "error" in elicit(server, "no schema")
        assert "1 MB" in elicit(server, message="x" * MAX_QUESTION_BYTES)["error"]
        assert seen == [] and call(server, "echo", {"text": "x"}).ok


@pytest.mark.slow
def test_a_call_does_not_time_out_while_its_request_waits_and_cancels_it_when_stopped():
    with answered(None) as (server, seen):
        threading.Timer(0.6, lambda: seen[0].answer(Answer(action="cancel"))).start()
        assert elicit(server, seconds=0.4) == {"action": "cancel"}
        cancel = threading.Event()
        threading.Timer(0.3, cancel.set).start()
        arguments = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": FORM}}
        assert server.call("elicit", arguments, seconds=20, cancel=cancel).fault == "cancelled"
        server.close()
        assert server.questions == () and not seen[1].is_open


def test_a_server_of_the_newest_protocol_requests_input_in_its_result():
    with answered(Answer(action="accept", content={"a": "b"}), "modern") as (server, _seen):
        outcome = call(server, "more", {"ask": True})
        assert json.loads(outcome.content[0].text) == [
            {"k": {"action": "accept", "content": {"a": "b"}}},
            "s",
        ]
        endless = call(server, "more", {"endless": True})
        assert endless.fault == "protocol" and "10 times" in endless.message


def sampling(**params):
    expected = {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}],
        "maxTokens": 9,
        **params,
    }
    return Question(number=1, server="s", kind="sampling", params=expected, deliver=lambda _a: None).sampling


def test_a_model_answers_a_request_for_sampling_within_its_limits():
    model = ScriptedModel("one two STOP three", template=TEMPLATE)
    found = answer_sampling(
        model, sampling(stopSequences=["STOP"], systemPrompt="Be brief."), threading.Event()
    )
    assert (found.text, found.stop_reason, found.model) == ("one two ", "stopSequence", "scripted")
    with pytest.raises(ModelError, match="No model"):
        answer_sampling(None, sampling(), threading.Event())
    image = {"role": "user", "content": {"type": "image", "data": "AAE=", "mimeType": "image/png"}}
    with pytest.raises(GlyphscopeError, match="images"):
        answer_sampling(model, sampling(messages=[image]), threading.Event())
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(ModelError, match="stopped"):
        answer_sampling(model, sampling(), stopped)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "enum", "items", "pattern"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@pytest.mark.slow
@at_most(60)
@given(VALUES)
def test_any_requested_schema_is_a_form_or_a_problem(schema):
    question = Question(
        number=1, server="s", kind="form", params={"requestedSchema": schema}, deliver=lambda _a: None
    )
    assert (question.form is None) == bool(question.problem)
    assert isinstance(question.findings, tuple)
