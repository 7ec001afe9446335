"""The recorded runs that come with the program: what they tell is what a run tells today."""

import json

import pytest

from glyphscope import resources
from glyphscope.calling import fold_events
from glyphscope.cli.replay import _comparable, rerun
from glyphscope.events import StageFinished, decode_event
from glyphscope.sessions import first_difference

RECORDS = resources.names("runs", ".jsonl")


def events(name):
    _header, *lines = resources.read_text(f"runs/{name}").splitlines()
    return [decode_event(line) for line in lines]


@pytest.mark.parametrize("name", RECORDS)
def test_a_bundled_record_tells_what_its_tokens_tell_today(name):
    recorded = events(name)
    assert first_difference(_comparable(recorded), _comparable(rerun(recorded))) == ""
    assert any(isinstance(event, StageFinished) for event in recorded)


@pytest.mark.parametrize("name", RECORDS)
def test_a_bundled_record_tells_no_place_of_the_machine_that_made_it(name):
    started = events(name)[0]
    assert (
        "/" not in started.model.path
        and json.loads(resources.read_text(f"runs/{name}").splitlines()[0])["sha256"]
    )


def test_what_an_abort_would_have_said_begins_as_it_did():
    aborted, whole = (fold_events(events(f"sources-{name}.jsonl")) for name in ("abort", "whole"))
    assert aborted.outcome == "aborted" and whole.text.startswith(aborted.text)
    assert len(whole.tokens) > len(aborted.tokens)
