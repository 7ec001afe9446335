"""Calls after free text: judged as without it, every place counted from the text's beginning."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import at_most
from glyphscope.events import NOTATIONS, CallReady, FieldOpened, RunFinished, RunRequest, Violation
from glyphscope.models.scripted import ScriptedModel
from glyphscope.notation import write_call
from glyphscope.registry import default_registry
from glyphscope.runs.strategies import run
from glyphscope.turns import Expected, TurnOptions, own_form
from glyphscope.validation import CallValidator

REGISTRY = default_registry()


def after_text(notation):
    return Expected(own_form(notation), TurnOptions(free_text=True)).validator(REGISTRY)


def judged(validator, pieces):
    events = [event for piece in pieces for event in validator.feed(piece, 0)]
    return events + validator.finish()


def moved(event, by):
    if isinstance(event, Violation):
        return msgspec.structs.replace(event, char=event.char + by)
    if isinstance(event, FieldOpened):
        return msgspec.structs.replace(event, start=event.start + by)
    return event


def narrated(events):
    return [event for event in events if isinstance(event, Violation | FieldOpened)]


@pytest.mark.parametrize("notation", NOTATIONS)
@at_most(300)
@given(
    text=st.text('{"action:= é\n', max_size=20),
    arguments=st.sampled_from(
        [{"query": "a"}, {"query": ""}, {"query": "a", "max_results": 500}, {"unknown": 1}]
    ),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    as_bytes=st.booleans(),
)
def test_a_call_after_text_is_validated_like_the_call_alone(notation, text, arguments, cuts, as_bytes):
    if {"glyph": "{action=", "json": '{"action":'}[notation] in text:
        return
    call = write_call("search", arguments, style=notation)
    whole = text + call
    data = whole.encode() if as_bytes else whole
    places = sorted({0, len(data), *(cut for cut in cuts if cut <= len(data))})
    pieces = [data[a:b] for a, b in pairwise(places)]
    after = after_text(notation)
    found = narrated(judged(after, pieces))
    alone = CallValidator(REGISTRY, notation, "flat")
    assert found == [moved(event, len(text)) for event in narrated(judged(alone, [call]))]
    assert after.valid == alone.valid
    assert [call.end for call in after.calls] == ([len(whole)] if alone.arguments is not None else [])


@pytest.mark.parametrize("text", ["", "I cannot do that.", '{"actio', "{", "{act é"])
def test_text_without_a_call_is_a_violation_at_its_end(text):
    validator = after_text("json")
    events = judged(validator, list(text))
    assert [(v.code, v.char) for v in events if isinstance(v, Violation)] == [("NO_TOOL_CALL", len(text))]


def test_a_run_with_free_text_ends_with_the_call_in_it():
    text = 'Let me look {that up}. {action="search" query="AI news"}'
    request = RunRequest(prompt="p", registry=REGISTRY.to_document(), constraint="off", free_text=True)
    events = list(run(request, ScriptedModel(text)))
    assert [event.tool for event in events if isinstance(event, CallReady)] == ["search"]
    assert isinstance(events[-1], RunFinished) and events[-1].valid
    strict = list(run(msgspec.structs.replace(request, free_text=False), ScriptedModel(text)))
    assert not strict[-1].valid
