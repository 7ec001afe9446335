"""Samples of the embedded model that are decoded in one batch: the same figures each time, wherever they are made."""

import json
import os
import signal
from contextlib import closing

import msgspec
import pytest

from eval_suite import plain, suite_file
from glyphscope.api import evaluate as evaluate_in_python
from glyphscope.base.errors import GlyphscopeError, RecordError
from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.running import SamplesPlace, evaluate, saved_plan
from glyphscope.evals.running.progress import Begun, Control, SampleBegun, SampleDone
from glyphscope.events import LoadOptions, RunStarted, Token
from glyphscope.models import embedded_path
from glyphscope.models.llama import LlamaModel
from glyphscope.store import NamedModels
from toolbox import default_tools

pytestmark = [pytest.mark.model, pytest.mark.slow]

LOOP = {
    "strategy": "loop",
    "loop": {"tool_use": "enforced", "failure_policy": "fatal", "max_turns": 2},
    "system": "You call the tool calculate, and give its result.",
    "max_tokens": 32,
}
SUITE = {
    "glyphscope_suite": 1,
    "name": "small",
    "about": "Single calls, and conversations with the demo tools.",
    "registry": default_tools("search", "calculate").to_document(),
    "request": {"max_tokens": 64},
    "scenarios": [
        {"id": "news", "prompt": "Search for AI news, 10 results.", "expect": {}},
        {"id": "sum", "prompt": "Calculate 1234 + 5678.", "expect": {}},
        {"id": "recipes", "prompt": "Search for llama recipes, give me 500 results.", "expect": {}},
        {"id": "places", "prompt": "Calculate 2 / 3 to 50 decimal places.", "expect": {}},
        {"id": "add", "prompt": "Calculate 2 + 3.", "expect": {}, "demo": True, "request": LOOP},
        {"id": "divide", "prompt": "Calculate 1 / 0.", "expect": {}, "demo": True, "request": LOOP},
    ],
}
MEMBERS = {"constraints": ["off", "mask"], "profiles": ["creative"], "first": 4}


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    path = tmp_path_factory.mktemp("suite") / "small.json"
    path.write_text(json.dumps(SUITE))
    return str(path)


@pytest.fixture(scope="module")
def matrix(suite):
    """Two groups of three samples and one of two, with texts of different lengths."""
    members = {name: tuple(value) if isinstance(value, list) else value for name, value in MEMBERS.items()}
    return Matrix(suites=(suite,), models=("embedded",), orders=(None,), sequences=3, **members)


def evaluated(matrix, out, *, resume=None, stop_after=None, each=lambda _event: None):
    """Make the samples; `stop_after` so many, the evaluation is stopped."""
    control, done, folder = Control(), 0, None
    workers = SamplesPlace(matrix.jobs).workers(
        NamedModels(usual=LoadOptions(context=1024)), matrix.sequences
    )
    with closing(evaluate(plan_of(matrix), out, workers=workers, resume=resume, control=control)) as progress:
        for event in progress:
            each(event)
            if isinstance(event, Begun):
                folder = event.folder
            if isinstance(event, SampleDone):
                done += 1
                if done == stop_after:
                    control.stop()
    return ResultFolder.open(folder)


def figures(folder):
    """The tokens of each sample's runs with all their figures, without times and the number of cached tokens."""
    found = {}
    for sample in folder.samples():
        found[sample.id] = [
            (token.id, token.text, token.logprob, token.probability, token.alternatives)
            for run in sample.runs
            for event in folder.record(run).events
            if isinstance(event, Token)
            for token in [event.step]
        ]
    return found


@pytest.fixture(scope="module")
def whole(matrix, tmp_path_factory):
    return evaluated(matrix, tmp_path_factory.mktemp("whole"))


def test_the_manifest_and_each_record_name_the_number_of_sequences(matrix, whole, tmp_path):
    assert json.loads((whole.path / "manifest.json").read_text())["sequences"] == 3
    started = next(
        event for event in whole.record(whole.samples()[0].runs[0]).events if isinstance(event, RunStarted)
    )
    assert started.model.load.sequences == 3
    one = msgspec.structs.replace(matrix, sequences=1)
    assert plan_of(one).digest != plan_of(matrix).digest
    folder = evaluated(msgspec.structs.replace(one, first=1), tmp_path)
    assert '"sequences"' not in (folder.path / "manifest.json").read_text()
    assert saved_plan(whole).matrix.sequences == 3 and saved_plan(folder).matrix.sequences == 1


def test_samples_are_the_same_again_with_several_jobs_and_after_a_stop(matrix, whole, tmp_path):
    jobs = evaluated(msgspec.structs.replace(matrix, jobs=2), tmp_path / "jobs")
    assert figures(jobs) == figures(whole) and plain(jobs.samples()) == plain(whole.samples())
    begun = []

    def remember(event):
        if isinstance(event, SampleBegun):
            begun.append(event.id)

    stopped = evaluated(matrix, tmp_path / "stopped", stop_after=4)
    there = {sample.id for sample in stopped.samples()}
    assert 4 <= len(there) < 8
    resumed = evaluated(matrix, tmp_path, resume=stopped.path, each=remember)
    assert not there & set(begun), "those that are decoded again with the others are not saved again"
    assert figures(resumed) == figures(whole) and plain(resumed.samples()) == plain(whole.samples())


def test_conversations_with_tools_between_their_texts_are_the_same_again(suite, tmp_path):
    matrix = Matrix(
        suites=(suite,), models=("embedded",), scenarios=("add", "divide"), orders=(None,), sequences=2
    )
    one, other = (evaluated(matrix, tmp_path / name) for name in ("one", "other"))
    assert figures(one) == figures(other)
    assert max(sample.model_turns for sample in one.samples()) > 1


@pytest.mark.usefixtures("unforked")
def test_a_process_that_is_killed_costs_another_try_of_its_samples_and_no_figure(
    matrix, whole, tmp_path, monkeypatch
):
    models = []

    class Killable(LlamaModel):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            models.append(self)

    monkeypatch.setattr("glyphscope.models.opening.LlamaModel", Killable)
    killed = []

    def kill(event):
        if isinstance(event, SampleDone) and len(killed) < 1:
            killed.append(models[0].pid)
            os.kill(models[0].pid, signal.SIGKILL)

    folder = evaluated(matrix, tmp_path, each=kill)
    assert killed and models[0].pid != killed[0]
    assert figures(folder) == figures(whole) and plain(folder.samples()) == plain(whole.samples())


def test_a_result_is_resumed_only_with_its_number_of_sequences(suite, matrix, whole, tmp_path):
    two = msgspec.structs.replace(matrix, sequences=2)
    with pytest.raises(RecordError, match=r"with the batch size 3, not 2.*Resume it with --sequences 3"):
        evaluated(two, tmp_path, resume=whole.path)
    with pytest.raises(RecordError, match="with the batch size 3, not 1"):
        evaluate_in_python(suite, "embedded", out=whole.path.parent, resume=True, progress=False, **MEMBERS)


@pytest.mark.parametrize("model", ["http://localhost:1/v1#m", "scripted:x", "recorded:run.jsonl"])
def test_models_without_sequences_are_an_error_before_anything_is_made(model, tmp_path):
    with pytest.raises(GlyphscopeError, match=r"(one sample at a time|its own batches).*Use"):
        plan_of(Matrix(suites=(suite_file(tmp_path),), models=(model,), sequences=2))
    assert embedded_path()
