"""Hostile and damaged templates and model files: each ends in a result or an error in time, and can be stopped."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter

import pytest

from examples import rounds
from glyphscope.base.errors import ModelError, PromptError, Stopped
from glyphscope.events import Message, RunFinished, RunRequest
from glyphscope.models import TemplateSource, llama, open_model, render_template
from glyphscope.models.interface import Opening
from glyphscope.models.process import ModelProcess
from glyphscope.models.scripted import ScriptedModel
from glyphscope.processes import limited, stopped_by
from glyphscope.registry import default_registry
from glyphscope.runs import NonInteractive
from glyphscope.runs.strategies import cancellable, run
from hostile_files import BORDERS, LOOP, Mutants, read_sources
from tiny_gguf import encoder

pytestmark = pytest.mark.slow
USER = Message("user", "Hi")


def asked_with(template: str) -> RunRequest:
    return RunRequest(registry=default_registry().to_document(), prompt="Hi", system=template)


COUNTS = {
    "registries": 15, "schemas": 40, "projects": 15, "lessons": 15, "templates": 30, "suites": 100, "records": 40,
    "results": 12, "models": 8,
}  # fmt: skip
"""Mutants of each kind; `deep` tries 10,000, of results and models 1,000."""


@pytest.mark.parametrize("kind", BORDERS)
def test_a_mutant_ends_in_a_result_or_an_error_in_time(monkeypatch, request, kind):
    sources = []
    if kind == "templates":
        monkeypatch.setattr(limited, "SECONDS", 0.5)
        sources = read_sources([request.getfixturevalue("llama_data") / "templates"])
    mutants, outcomes = Mutants(kind, "tests", sources), Counter()
    for number in range(rounds(COUNTS[kind], 1_000 if kind in ("results", "models") else 10_000)):
        judge = mutants.judge(number)
        assert not judge.broken, (number, judge.broken)
        outcomes += judge.outcomes
    done = sum(count for outcome, count in outcomes.items() if outcome.endswith(": done"))
    assert 0 < done < outcomes.total(), f"all ended in the same way: {outcomes}"


def test_a_call_is_ended_by_stop_and_the_next_one_works():
    stop = threading.Event()
    timer = threading.Timer(0.5, stop.set)
    timer.start()
    start = time.monotonic()
    with stopped_by(stop.is_set), pytest.raises(Stopped):
        render_template(TemplateSource(LOOP), [USER])
    timer.join()
    assert time.monotonic() - start < limited.SECONDS / 2
    assert render_template(TemplateSource("{{ messages[0].content }}"), [USER])[0] == "Hi"


def test_an_endless_call_delays_no_other_thread():
    stop = threading.Event()

    def compute() -> None:
        with stopped_by(stop.is_set), pytest.raises(Stopped):
            render_template(TemplateSource(LOOP), [USER])

    threads = [threading.Thread(target=compute) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert render_template(TemplateSource("{{ messages[0].content }}"), [USER])[0] == "Hi"
    assert all(thread.is_alive() for thread in threads)
    stop.set()
    for thread in threads:
        thread.join()


def test_a_run_that_is_cancelled_while_its_prompt_is_rendered_ends_as_cancelled():
    interaction = NonInteractive({}, threading.Event())
    timer = threading.Timer(0.5, interaction.cancelled.set)
    timer.start()
    model, asked = ScriptedModel("x"), asked_with(LOOP)
    *_, last = cancellable(run(asked, model, interaction), model, interaction)
    timer.join()
    assert isinstance(last, RunFinished) and (last.reason, last.valid) == ("cancelled", False)


def test_what_the_function_raises_is_raised_here():
    with pytest.raises(PromptError) as caught:
        render_template(TemplateSource("{% if %}"), [USER])
    assert "is damaged" in caught.value.message and caught.value.where == "line 1" and caught.value.hint
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        limited.limited(None, divmod, 1, 0)


# -- loading ---------------------------------------------------------------------------------------------------------


class Hung(ModelProcess):
    """A process that stops in the middle of loading, as in an endless loop of llama.cpp."""

    def send(self, number, body):
        os.kill(self.pid, signal.SIGSTOP)
        super().send(number, body)


@pytest.fixture
def hung(monkeypatch, tmp_path):
    monkeypatch.setattr(llama, "next_process", Hung)
    path = tmp_path / "endless.gguf"
    path.write_bytes(encoder("bert"))
    return path


def test_loading_without_progress_ends_with_an_error(hung, monkeypatch):
    monkeypatch.setattr(llama, "LOADING_SECONDS", 0.3)
    with pytest.raises(ModelError) as caught:
        open_model(str(hung))
    assert "no progress" in caught.value.message and "endless.gguf" in caught.value.where
    assert "download it again" in caught.value.hint


def test_loading_is_ended_from_another_thread(hung):
    opening = Opening(lambda share: None)
    timer = threading.Timer(0.3, opening.cancel)
    timer.start()
    start = time.monotonic()
    with pytest.raises(ModelError, match="was stopped"):
        open_model(str(hung), progress=opening)
    timer.join()
    assert time.monotonic() - start < llama.LOADING_SECONDS / 2


def test_the_first_interrupt_ends_loading(hung):
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        open_model(str(hung))
    timer.join()
    assert time.monotonic() - start < llama.LOADING_SECONDS / 2
