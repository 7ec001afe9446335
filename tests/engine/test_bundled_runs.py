"""The bundled recorded runs: their events are those of a run today."""

import json

import pytest

from glyphscope.base import resources
from glyphscope.cli.bundle import repeated
from glyphscope.events import FinalAnswer, SegmentOpened, StageFinished, ToolResult, decode_event
from glyphscope.runs import run_state
from glyphscope.store import first_difference
from untrained_models import maker

RECORDS = resources.names("runs", ".jsonl")


def events(name):
    _header, *lines = resources.read_text(f"runs/{name}").splitlines()
    return [decode_event(line) for line in lines]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n.startswith("native-") else []) for n in RECORDS]
)
def test_a_bundled_record_equals_a_new_run_of_its_tokens(name):
    recorded = events(name)
    assert first_difference(*repeated(recorded)) == ""
    assert any(isinstance(event, StageFinished) for event in recorded)


@pytest.mark.parametrize("name", RECORDS)
def test_a_bundled_record_names_no_machine(name):
    started = events(name)[0]
    assert (
        "/" not in started.model.path
        and json.loads(resources.read_text(f"runs/{name}").splitlines()[0])["sha256"]
    )


def test_the_continuation_of_an_abort_begins_with_its_text():
    aborted, whole = (run_state(events(f"sources-{name}.jsonl")) for name in ("abort", "whole"))
    assert aborted.outcome == "aborted" and whole.text.startswith(aborted.text)
    assert len(whole.tokens) > len(aborted.tokens)


@pytest.mark.parametrize("name", ["tags", "channels"])
def test_a_recorded_native_turn_has_reasoning_two_calls_their_results_and_an_answer(name):
    recorded = events(f"native-{name}.jsonl")
    assert recorded[0].model.name.startswith("SmolLM2-135M with ") and recorded[0].request.form
    opened = [event.kind for event in recorded if isinstance(event, SegmentOpened)]
    assert opened.count("reasoning") >= 2 and opened.count("call") == 2
    assert [event.ok for event in recorded if isinstance(event, ToolResult)] == [True, True]
    (answer,) = (event.text for event in recorded if isinstance(event, FinalAnswer))
    assert answer.endswith(".") and "<" not in answer and recorded[-1].reason == "answered"


def test_a_model_file_with_another_template_keeps_its_tokens_and_weights():
    name = maker.gguf({"tokenizer.ggml.tokens": ["a", "b"]}, {})
    tokens = dict(maker.metadata(name))["tokenizer.ggml.tokens"]
    weights = {"x": maker.Tensor((32,), maker.F32, bytes(range(128))), "y": maker.Tensor((3, 2))}
    model = maker.gguf({"general.name": "old", "tokenizer.ggml.tokens": tokens, "n": 7}, weights)
    made = maker.retemplated(model, name="new name", template="{{ messages }}")
    before, after = dict(maker.metadata(model)), dict(maker.metadata(made))
    assert {key for key in after if before.get(key) != after[key]} == {
        "general.name",
        "tokenizer.chat_template",
    }
    assert made == maker.gguf(after, weights)
