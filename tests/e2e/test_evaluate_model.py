"""An evaluation of the embedded model: the content of its folder, and samples that do not depend on earlier runs."""

import json
from collections import Counter
from contextlib import closing

import pytest

from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import publish
from glyphscope.evals.running import evaluate
from glyphscope.evals.running.progress import Begun
from glyphscope.events import PromptRendered
from glyphscope.runs import run_state
from glyphscope.store.records import read_record

pytestmark = [pytest.mark.model, pytest.mark.slow]

MATRIX = Matrix(
    suites=("tool-calls",),
    models=("embedded",),
    notations=("glyph", "json"),
    constraints=("off", "mask"),
    scenarios=("search-news", "write-hello"),
)


def evaluated(matrix, out):
    with closing(evaluate(plan_of(matrix), out)) as progress:
        folders = [event.folder for event in progress if isinstance(event, Begun)]
    return ResultFolder.open(folders[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return evaluated(MATRIX, tmp_path_factory.mktemp("eval"))


def test_under_the_mask_every_complete_text_parses(folder):
    samples = [json.loads(line) for line in (folder.path / "samples.jsonl").read_text().splitlines()]
    assert Counter(sample["arm"] for sample in samples).keys() == {arm.id for arm in folder.manifest.arms}
    masked = [s for s in samples if ".mask." in s["arm"] and not s.get("control")]
    assert masked and all(sample["parsed"] is not False for sample in masked)
    assert any(sample["valid"] for sample in masked)
    unenforced = [s for s in samples if ".off." in s["arm"] and not s.get("control")]
    assert any(sample["parsed"] is False for sample in unenforced), "the effect of the mask"


def test_the_report_names_its_model_and_its_methods(folder):
    summary = publish(folder.path)
    assert [arm.arm for arm in summary.arms] == [arm.id for arm in folder.manifest.arms]
    page = (folder.path / "report.html").read_text()
    model = folder.manifest.models["embedded"]
    assert model.sha256[:12] in page and model.quantisation in page and "Newcombe" in page
    assert len(folder.tables()[0].sizes) == 5 and all(
        each.sizes[0].tokens for each in folder.tables()[0].sizes
    )


def test_a_sample_counts_the_tokens_of_its_record(folder):
    for sample in folder.samples():
        state = run_state(folder.record(sample.runs[0]).events)
        assert sample.decoded == sum(len(stage.tokens) for stage in state.stages)
        assert sample.outcome == state.outcome
        assert state.started is not None and state.started.request.repeatable


def test_two_models_at_once_and_another_order_give_the_same_samples(folder, tmp_path):
    again = evaluated(
        Matrix(
            suites=MATRIX.suites,
            models=MATRIX.models,
            notations=("json", "glyph"),
            constraints=("mask",),
            scenarios=("search-news", "write-hello"),
            jobs=2,
        ),
        tmp_path,
    )
    before = {sample.id: sample for sample in folder.samples()}
    assert len(again.samples()) == 4
    for sample in again.samples():
        assert (sample.text, sample.decoded, sample.failures) == (
            before[sample.id].text,
            before[sample.id].decoded,
            before[sample.id].failures,
        )


def test_a_prompt_is_evaluated_once_for_all_arms_and_its_tools_once_for_all_scenarios(tmp_path):
    matrix = Matrix(
        suites=("starter",),
        models=("embedded",),
        constraints=("off", "mask"),
        scenarios=("search-*",),
        first=2,
    )
    prompts = [
        next(event for event in read_record(path).events if isinstance(event, PromptRendered))
        for path in made(evaluated(matrix, tmp_path))
    ]
    new = [prompt.tokens - prompt.cached for prompt in prompts]
    assert new[0] == prompts[0].tokens and new[1] == new[3] == 1, "the last token, for its logits"
    assert new[2] < 32, "only the user's message"


def made(folder):
    """The records in the order in which the samples were made."""
    return [folder.path / sample.runs[0] for sample in folder.samples()]


def test_the_starter_suite_shows_the_effect_of_the_mask(tmp_path):
    matrix = Matrix(
        suites=("starter",), models=("embedded",), constraints=("off", "mask"), orders=(None,), first=4
    )
    valid = Counter(s.arm.split(".")[3] for s in evaluated(matrix, tmp_path).samples() if s.valid)
    assert valid["mask"] == 4 and valid["off"] <= 2
