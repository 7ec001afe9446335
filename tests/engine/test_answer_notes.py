"""Notes on a valid answer: values copied from the prompt's example or the schema, and repeated words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glyphscope.base import resources
from glyphscope.events import Message, RunRequest, ToolCall
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import parse_document
from glyphscope.runs import end_of, run_state
from glyphscope.runs.answer_notes import answer_notes, copied_values, repeated_signs, repetition
from glyphscope.runs.strategies import run
from glyphscope.store.exports import RecordedRun
from glyphscope.store.exports.run_page import run_data
from glyphscope.store.records import parse_record

TOOLS = parse_document(
    [
        {
            "name": "ticket_update",
            "description": "Update a ticket.",
            "parameters": {
                "type": "object",
                "required": ["id"],
                "properties": {
                    "id": {"type": "integer", "minimum": 1},
                    "priority": {"type": "string", "default": "low"},
                    "status": {"const": "open"},
                },
            },
        }
    ]
)


def state_of(prompt, answer, **changes):
    request = RunRequest(prompt=prompt, registry=TOOLS.to_document(), constraint="off", **changes)
    events = list(run(request, ScriptedModel(answer)))
    return events, run_state(events)


def test_a_value_of_the_example_that_is_not_in_the_request_is_noted():
    answer = '{action="ticket_update" id=1042 priority="low" status="open"}'
    events, state = state_of("Close ticket 4711", answer)
    assert [(each.name, each.source) for each in copied_values(state, state.present)] == [
        ("id", "example"),
        ("priority", "default"),
    ]
    assert answer_notes(state) == (
        "id=1042 is the example’s value, and is not in the request.",
        'priority="low" is the schema’s default, and is not in the request.',
    )
    assert end_of(state).status == "holds", "it is a note, not a violation"
    assert run_data(RecordedRun(events), state, reasons=False)["hint"].startswith(
        "id=1042 is the example’s value"
    )


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Close ticket 4711", '{action="ticket_update" id=4711}'),
        ("Close ticket 1042, with LOW priority", '{action="ticket_update" id=1042 priority="low"}'),
    ],
)
def test_a_value_of_the_request_is_not_a_copy(prompt, answer):
    assert answer_notes(state_of(prompt, answer)[1]) == ()


def test_a_value_of_an_input_example_is_a_copy_too():
    tool = replace(TOOLS.tools[0], input_examples=({"id": 17},))
    registry = TOOLS.with_tool(tool).to_document()
    request = RunRequest(prompt="Close ticket 4711", registry=registry, constraint="off")
    state = run_state(list(run(request, ScriptedModel('{action="ticket_update" id=17 status="open"}'))))
    assert [each.words() for each in copied_values(state, state.present)] == ["the example’s value"]


def test_a_prompt_without_the_example_has_nothing_to_copy_it_from():
    assert (
        answer_notes(state_of("Close 4711", '{action="ticket_update" id=1042}', system="No examples.")[1])
        == ()
    )


def test_a_value_of_an_earlier_result_is_not_a_copy():
    events = parse_record(resources.read_bytes("runs/verbs-loop.jsonl")).events
    state = run_state(events)
    last = next(stage for stage in reversed(state.stages) if stage.calls)
    (call,) = last.calls
    assert call.arguments == {"english_form": "ate"} and copied_values(state, last) == ()
    first = next(stage for stage in state.stages if stage.calls)
    assert [each.value for each in copied_values(state, first)] == ["ate"], "nothing had named it yet"


def test_a_value_of_an_earlier_result_in_the_conversation_is_not_a_copy():
    answer = '{action="ticket_update" id=1042}'
    call = ToolCall(id="call-1", name="ticket_find", arguments={})
    history = (
        Message(role="user", content="Which tickets are open?"),
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content='{"open": [1042]}', tool_call_id="call-1", name="ticket_find"),
    )
    assert answer_notes(state_of("Close it", answer, history=history)[1]) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("This is a refund of 10 dollars. " * 70, ("This is a refund of 10 dollars.", 70)),
        ('{action="x" body="' + "again " * 30, ("again", 29)),
        ("One two three four five six seven eight nine ten eleven twelve thirteen.", None),
        ("no no no", None),
        ("", None),
    ],
)
def test_repeated_words_are_found(text, found):
    again = repetition(text)
    assert again == found if found is None or "body" not in text else again[0] == "again" and again[1] >= 28


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hello anaan" + "jimbojanoiim" * 40, ("jimbojanoiim", 40)),
        ('{"id": "' + "0" * 300 + '"}', ("0", 300)),
        ("| --- |\n" + "-" * 300, None),
        ("https://example.com/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z", None),
        ("", None),
    ],
)
def test_repeated_signs_of_one_word_are_found(text, found):
    assert repetition(text) is None and repeated_signs(text) == found


def test_a_long_text_is_searched_quickly_and_its_repetition_said():
    state = state_of("Write", "This is a refund of 10 dollars " * 400, stop_on="never", max_tokens=9000)[1]
    (note,) = answer_notes(state)
    assert "a refund of 10 dollars" in note and int(note.split()[-2]) >= 399
