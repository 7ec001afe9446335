"""Reading ahead: the prompt of a run, evaluated before it, whatever the strategy."""

from __future__ import annotations

from collections.abc import Generator

import msgspec
import pytest

from glyphscope.events import RunRequest
from glyphscope.models.interface import Cancelled, GenerateRequest, Output, PromptProgress, PromptReady
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import default_registry
from glyphscope.runs.strategies import read_ahead

CHUNK = 64
REQUEST = RunRequest(prompt="Search for AI news", registry=default_registry().to_document())


class LocalModel(ScriptedModel):
    """Evaluates a prompt in chunks, and counts the tokens that it was asked for after it."""

    def __init__(self, kind: str = "llama.cpp") -> None:
        super().__init__('{action="search" query="AI news"}')
        self.info = msgspec.structs.replace(self.info, kind=kind)
        self.evaluated = self.steps = self.closed = 0

    def generate(self, request: GenerateRequest) -> Generator[Output, None, None]:
        total = self.count_tokens(request.prompt)
        try:
            for done in range(0, total, CHUNK):
                self.evaluated = done
                yield PromptProgress(done, total, float(done))
            self.evaluated = total
            yield PromptReady(total, 0, 1.0)
            self.steps += 1
            yield Cancelled()
        finally:
            self.closed += 1


@pytest.mark.parametrize("strategy", ["direct", "two-stage", "route-execute", "loop"])
def test_the_first_prompt_of_every_strategy_is_evaluated_and_no_token_is_decoded(strategy):
    model = LocalModel()
    read = read_ahead(msgspec.structs.replace(REQUEST, strategy=strategy), model)
    assert read.complete and not read.failed
    assert model.evaluated == read.tokens > CHUNK
    assert model.steps == 0 and model.closed == 1


def test_it_stops_after_the_chunk_in_which_something_else_needs_the_model():
    model = LocalModel()
    read = read_ahead(REQUEST, model, lambda: model.evaluated >= 2 * CHUNK)
    assert not read.complete and not read.failed and read.events and read.stopped
    assert model.evaluated == 2 * CHUNK and model.closed == 1


def test_it_is_stopped_even_if_it_is_cancelled_before_anything_was_evaluated():
    model = LocalModel()
    model.generate = lambda _request: (output for output in [Cancelled()])
    read = read_ahead(REQUEST, model, lambda: True)
    assert not read.events and read.stopped and not read.failed


def test_only_a_model_with_a_memory_of_its_own_is_asked():
    model = LocalModel("endpoint")
    assert read_ahead(REQUEST, model).events == ()
    assert model.evaluated == model.closed == 0


def test_an_error_of_the_request_is_left_to_the_run():
    read = read_ahead(msgspec.structs.replace(REQUEST, registry={"tools": 1}), LocalModel())
    assert read.failed and not read.complete and read.tokens == 0
