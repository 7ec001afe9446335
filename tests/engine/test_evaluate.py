"""Whole evaluations with scripted models: each sample once, despite any interruption."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from itertools import cycle, groupby
from pathlib import Path

import msgspec
import pytest

from cli_command import command
from eval_suite import ANSWERS, SUITE, AnsweringModel, plain, suite_file
from glyphscope.base.errors import ModelDied, ModelError, RecordError, StorageError
from glyphscope.evals.matrix.plan import Matrix, Plan, Planned, plan_of
from glyphscope.evals.results import summarise
from glyphscope.evals.results.folder import MANIFEST, SAMPLES, ResultFolder
from glyphscope.evals.running import SampleQueue, evaluate
from glyphscope.evals.running.progress import (
    Begun,
    Control,
    EvaluationEnded,
    ModelMissing,
    ModelOpened,
    Progress,
    SampleBegun,
    SampleDone,
)
from glyphscope.models.scripted import ScriptedModel


def plan(folder: Path, **members) -> Plan:
    members = {"models": ("one",), **members}
    return plan_of(Matrix(suites=(suite_file(folder),), constraints=("off",), **members))


def opener(name: str) -> AnsweringModel:
    return AnsweringModel(name)


def events(plan: Plan, out: Path, **more) -> list[Progress]:
    with closing(evaluate(plan, out, **{"opener": opener, **more})) as progress:
        return list(progress)


def result(reported: list[Progress]) -> ResultFolder:
    return ResultFolder.open(next(each.folder for each in reported if isinstance(each, Begun)))


def test_every_sample_has_its_verdict_and_its_record(tmp_path):
    reported = events(plan(tmp_path, trials=2), tmp_path / "out")
    folder = result(reported)
    samples = folder.samples()
    assert len(samples) == 8 and folder.manifest.finished
    by_id = {sample.scenario: sample for sample in samples if sample.trial == 1}
    assert by_id["news"].ok and by_id["news"].right_arguments
    assert by_id["sum"].failures[0].reason == "WRONG_ARGUMENTS" and by_id["sum"].right_tool
    assert by_id["site"].stopped_code == "CONSTRAINT_PATTERN"
    assert by_id["site"].stopped_at == len('{action="browse" url="')
    assert by_id["file"].parsed is False
    for sample in samples:
        record = folder.record(sample.runs[0])
        assert record.header.seed == sample.seed
    assert [type(each) for each in reported[-1:]] == [EvaluationEnded]
    assert reported[-1].complete


def test_a_resumed_result_repeats_nothing_and_equals_an_uninterrupted_one(tmp_path):
    whole = result(events(plan(tmp_path), tmp_path / "whole"))
    stopped = plan(tmp_path)
    with closing(evaluate(stopped, tmp_path / "cut", opener=opener)) as progress:
        for event in progress:
            if isinstance(event, SampleDone) and event.done == 2:
                break
    folder = next((tmp_path / "cut").iterdir())
    (folder / SAMPLES).write_bytes((folder / SAMPLES).read_bytes() + b'{"id": "torn')
    again = events(stopped, tmp_path / "cut", resume=folder)
    assert again[0].done == 2
    assert sum(isinstance(event, SampleBegun) for event in again) == 2
    assert plain(ResultFolder.open(folder).samples()) == plain(whole.samples())


def test_a_result_is_resumed_only_under_its_own_plan(tmp_path):
    folder = result(events(plan(tmp_path), tmp_path / "out"))
    with pytest.raises(RecordError, match="another matrix"):
        events(plan(tmp_path, trials=2), tmp_path / "out", resume=folder.path)


def test_resuming_a_result_that_is_being_made_leaves_it_unchanged(tmp_path):
    folder = result(events(plan(tmp_path), tmp_path / "out"))
    before = (folder.path / MANIFEST).read_bytes()
    with folder.writing(), pytest.raises(StorageError, match="Another evaluation"):
        events(plan(tmp_path, jobs=2), tmp_path / "out", resume=folder.path)
    assert (folder.path / MANIFEST).read_bytes() == before


@pytest.mark.slow
def test_several_jobs_make_the_same_samples(tmp_path):
    one = result(events(plan(tmp_path, trials=3), tmp_path / "one"))
    many = result(events(plan(tmp_path, trials=3, jobs=4), tmp_path / "many"))
    assert plain(one.samples()) == plain(many.samples())


def test_each_job_makes_the_samples_of_its_prompts_and_none_waits_while_others_are_left():
    matrix = Matrix(suites=("starter",), models=("m",), constraints=("off", "mask"), trials=2, first=12)
    samples = list(plan_of(matrix).samples())

    def handed_out(workers: list[int]) -> dict[int, list[Planned]]:
        """The samples by worker, where they ask in this order, again and again."""
        waiting, taken = SampleQueue(samples, 3), {worker: [] for worker in workers}
        asking = cycle(workers)
        while group := waiting.next(worker := next(asking)):
            taken[worker] += group
        return taken

    alone = handed_out([0])
    assert alone[0] == samples, "of one worker, in the order of the plan"
    for taken in (handed_out([0, 1, 2]), handed_out([0, 0, 0, 0, 0, 0, 0, 1, 2])):
        assert sorted(sample.id for made in taken.values() for sample in made) == sorted(
            sample.id for sample in samples
        )
        prompts = [
            key for made in taken.values() for key, _ in groupby(made, key=lambda sample: sample.scenario.id)
        ]
        assert len(prompts) <= 12 + 3, "a prompt is evaluated twice only at the end"
    equal = handed_out([0, 1, 2])
    assert {len(made) for made in equal.values()} == {16}


def test_the_last_samples_of_a_prompt_are_made_by_all_jobs():
    matrix = Matrix(suites=("starter",), models=("m",), trials=8, first=1)
    waiting = SampleQueue(plan_of(matrix).samples(), 2)
    made = [(worker, sample.trial) for worker in (0, 1) * 4 for sample in waiting.next(worker)]
    assert [trial for worker, trial in made if worker == 0] == [1, 2, 3, 4]
    assert [trial for worker, trial in made if worker == 1] == [8, 7, 6, 5]
    assert not waiting.next(0) and not waiting.next(1)


def test_a_model_that_cannot_be_opened_affects_only_its_own_arms(tmp_path):
    def open_some(name: str) -> AnsweringModel:
        if name == "bad":
            raise ModelError("There is no such file.", where="bad")
        return AnsweringModel(name)

    reported = events(plan(tmp_path, models=("a", "bad", "c")), tmp_path / "out", opener=open_some)
    (missing,) = (each for each in reported if isinstance(each, ModelMissing))
    folder = result(reported)
    assert missing.name == "bad" and "no such file" in folder.manifest.missing["bad"]
    assert {sample.arm.split(".")[0] for sample in folder.samples()} == {"a", "c"}
    healed = events(plan(tmp_path, models=("a", "bad", "c")), tmp_path / "out", resume=folder.path)
    assert sum(isinstance(each, SampleDone) for each in healed) == 4
    assert not result(healed).manifest.missing


def test_a_failed_run_is_a_sample_that_can_be_repeated(tmp_path):
    asked = plan(tmp_path)
    reported = events(asked, tmp_path / "out", opener=lambda name: AnsweringModel(name, deadly=("sum",)))
    folder = result(reported)
    (failed,) = (sample for sample in folder.samples() if not sample.answered)
    assert failed.scenario == "sum" and failed.failures[0].reason == "MODEL_FAILED"
    assert not any(isinstance(e, SampleBegun) for e in events(asked, tmp_path, resume=folder.path))
    events(asked, tmp_path, resume=folder.path, again=True)
    assert {sample.scenario for sample in folder.samples() if sample.answered} == {*ANSWERS}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sample_that_fails_because_of_the_stop_is_not_saved_and_resuming_makes_it(tmp_path, jobs):
    control = Control()

    class Ending(AnsweringModel):
        def generate(self, request):
            if len(self.asked) == 1:  # in the middle of the second one
                control.stop()
                raise ModelDied("The model's process was ended by SIGKILL.", stderr="")
            yield from super().generate(request)

    asked = plan(tmp_path, jobs=jobs)
    reported = events(asked, tmp_path / "out", opener=Ending, control=control)
    folder = result(reported)
    assert all(sample.answered for sample in folder.samples())
    assert not folder.manifest.missing and not folder.manifest.finished
    events(asked, tmp_path, resume=folder.path)
    assert {sample.scenario for sample in folder.samples()} == {*ANSWERS}


def test_a_loading_that_is_stopped_does_not_make_its_model_a_missing_one(tmp_path):
    control = Control()

    def stopped(name: str) -> AnsweringModel:
        control.stop()
        raise ModelError("Loading the model was stopped.")

    folder = result(events(plan(tmp_path), tmp_path / "out", opener=stopped, control=control))
    assert not folder.manifest.missing


@pytest.mark.parametrize("ended", ["was ended by SIGKILL", "was ended by SIGTERM"])
def test_resuming_makes_samples_again_whose_process_was_ended_from_outside(tmp_path, ended):
    class Dying(AnsweringModel):
        def generate(self, request):
            for _ in super().generate(request):
                raise ModelDied(f"The model's process {ended}.", stderr="some line")

    asked = plan(tmp_path, scenarios=("sum", "site"))
    folder = result(events(asked, tmp_path / "out", opener=Dying))
    assert folder.ended_in_the_middle(folder.table()) == len(folder.samples()) == 2
    events(asked, tmp_path, resume=folder.path)
    assert folder.ended_in_the_middle(folder.table()) == 0
    assert all(sample.answered for sample in folder.samples())


@pytest.mark.slow
def test_a_model_that_fails_repeatedly_is_abandoned_and_the_others_continue(tmp_path):
    def open_some(name: str) -> AnsweringModel:
        return AnsweringModel(name, deadly=("*",) if name == "bad" else ())

    reported = events(plan(tmp_path, models=("bad", "good"), trials=3), tmp_path / "out", opener=open_some)
    made = [each.sample.arm.split(".")[0] for each in reported if isinstance(each, SampleDone)]
    assert made.count("bad") == 5 and made.count("good") == 12
    assert "5 times" in result(reported).manifest.missing["bad"]


def test_answers_of_other_jobs_are_saved_when_a_model_is_abandoned(tmp_path):
    failed, answered = threading.Event(), threading.Event()

    class Failing(AnsweringModel):
        def generate(self, request):
            if len(self.asked) == 5:
                failed.set()
                assert answered.wait(60)
            yield from super().generate(request)

    class Answering(AnsweringModel):
        def generate(self, request):
            assert failed.wait(60)
            if len(self.asked) == 5:
                answered.set()
            yield from super().generate(request)

    models = iter([Failing("one", deadly=("*",)), Answering("one")])
    asked = plan(tmp_path, trials=3, jobs=2)
    with closing(evaluate(asked, tmp_path / "out", opener=lambda name: next(models))) as progress:
        reported = [next(each for each in progress if isinstance(each, SampleBegun))]
        for job in [each for each in threading.enumerate() if each.name.startswith("evaluation")]:
            job.join(60)  # all their results are queued
        reported += progress
    samples = ResultFolder.open(reported[-1].folder).samples()
    assert [sum(sample.answered is each for sample in samples) for each in (True, False)] == [6, 5]
    assert any(isinstance(each, ModelMissing) for each in reported)


@pytest.mark.slow
def test_pausing_waits_between_samples_and_stopping_saves_the_finished_ones(tmp_path):
    control = Control()
    control.pause()
    reported: list[Progress] = []

    def run() -> None:
        reported.extend(events(plan(tmp_path), tmp_path / "out", control=control))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(0.3)
    assert thread.is_alive() and not any(isinstance(each, SampleBegun) for each in reported)
    control.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert reported[-1] == EvaluationEnded(reported[0].folder, complete=False)
    assert not result(reported).manifest.finished


def test_a_paused_evaluation_can_be_closed(tmp_path):
    control = Control()
    with closing(
        evaluate(plan(tmp_path, trials=9), tmp_path / "out", opener=opener, control=control)
    ) as progress:
        begun = next(each for each in progress if isinstance(each, SampleBegun))
        control.pause()
    assert begun and not any(each.name.startswith("evaluation") for each in threading.enumerate())


def test_models_are_always_closed(tmp_path):
    opened: list[AnsweringModel] = []

    def opening(name: str) -> AnsweringModel:
        opened.append(AnsweringModel(name))
        return opened[-1]

    with closing(evaluate(plan(tmp_path, jobs=3), tmp_path / "out", opener=opening)) as progress:
        next(progress)
        next(progress)
    assert len(opened) == 3 and all(model.closed for model in opened)


def test_a_folder_that_cannot_be_created_is_reported_before_a_model_is_opened(tmp_path):
    (tmp_path / "file").write_text("")

    def never(name: str) -> AnsweringModel:
        raise AssertionError("opened")

    with pytest.raises(StorageError):
        events(plan(tmp_path), tmp_path / "file" / "out", opener=never)


def test_the_saving_of_an_abort_is_measured_by_continuing_it(tmp_path):
    folder = result(events(plan(tmp_path, savings=1.0), tmp_path / "out"))
    stopped = [sample for sample in folder.samples() if sample.stopped_at is not None]
    assert {sample.scenario for sample in stopped} == {"site", "file"}
    assert all(sample.saved and sample.saved > 0 for sample in stopped)
    assert all(sample.saved is None for sample in folder.samples() if sample.stopped_at is None)


def test_wrong_calls_with_a_value_of_the_prompts_example_are_a_figure_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setitem(ANSWERS, "sum", '{action="calculate" expression="15 * 230 / 100"}')
    folder = result(events(plan(tmp_path), tmp_path / "out"))
    assert {each.scenario: each.copied_values for each in folder.samples()} == {
        "news": 0, "sum": 1, "site": 0, "file": 0,
    }  # fmt: skip
    (arm,) = summarise(folder.manifest, folder.samples()).arms
    assert (arm.tools.valid_wrong.correct, arm.tools.copied.correct, arm.tools.copied.n) == (1, 1, 4)
    older = [msgspec.structs.replace(sample, copied_values=None) for sample in folder.samples()]
    assert summarise(folder.manifest, older).arms[0].tools.copied.n == 0, "it is not known"


class SecondThoughts(AnsweringModel):
    """Gives another answer to a repair, or in a second turn."""

    def generate(self, request):
        again = "QUESTION file" in request.prompt or "CONSTRAINT_PATTERN" in request.prompt
        yield from ScriptedModel(ANSWERS["news"] if again else ANSWERS["site"]).generate(request)


@pytest.mark.parametrize("repair", [0, 1])
def test_no_saving_is_measured_where_the_stopped_text_was_replaced(tmp_path, repair):
    turns = [] if repair else [{"prompt": "QUESTION file", "expect": {}}]
    suite = tmp_path / "small.json"
    suite.write_text(json.dumps({**SUITE, "scenarios": [{**SUITE["scenarios"][2], "turns": turns}]}))
    asked = plan_of(
        Matrix(suites=(str(suite),), models=("one",), constraints=("off",), savings=1.0, repairs=(repair,))
    )
    (sample,) = result(events(asked, tmp_path / "out", opener=SecondThoughts)).samples()
    assert sample.stopped_at is not None and sample.calls[0].tool == "search"
    assert sample.saved is None


def test_a_model_that_cannot_count_tokens_only_leaves_the_tables_without_them(tmp_path):
    class Countless(AnsweringModel):
        def count_tokens(self, text: str) -> int:
            if not text or "QUESTION" not in text:
                raise ModelError("It does not tell.")
            return super().count_tokens(text)

        def render_chat(self, messages, tools=()):
            return ScriptedModel().render_chat(messages, tools)

    suite = tmp_path / "small.json"
    suite.write_text(
        json.dumps({**SUITE, "sizes": [{"id": "a", "tool": "search", "arguments": {"query": "x"}}]})
    )
    asked = plan_of(Matrix(suites=(str(suite),), models=("one",), constraints=("off",)))
    folder = result(events(asked, tmp_path / "out", opener=Countless))
    assert len(folder.samples()) == 4
    assert folder.tables()[0].sizes[0].sizes[0].tokens is None


def test_a_folder_contains_its_suites_and_its_provenance(tmp_path):
    folder = result(events(plan(tmp_path), tmp_path / "out"))
    manifest = json.loads((folder.path / "manifest.json").read_text())
    assert manifest["models"]["one"]["name"] == "one"
    assert manifest["machine"]["cores"] and manifest["versions"]["glyphscope"]
    assert next(iter(manifest["profiles"].values()))["temperature"] == 0.8
    assert json.loads(folder.suite("small"))["name"] == "small"


def test_records_in_segments_are_those_in_files_and_survive_stopping_and_resuming(tmp_path, monkeypatch):
    files = result(events(plan(tmp_path), tmp_path / "files"))
    monkeypatch.setattr("glyphscope.evals.running.evaluation.MAX_FILES", 1)
    with closing(evaluate(plan(tmp_path), tmp_path / "out", opener=AnsweringModel)) as progress:
        next(each for each in progress if isinstance(each, SampleDone) and each.done == 2)
    (path,) = (tmp_path / "out").iterdir()
    folder = result(events(plan(tmp_path), tmp_path / "out", resume=path))
    assert not (path / "runs").exists() and len(list((path / "records").iterdir())) == 2
    assert folder.manifest.glyphscope_eval == 2 and files.manifest.glyphscope_eval == 1
    there = {sample.id: sample for sample in files.samples()}
    assert len(folder.samples()) == len(there)
    for sample in folder.samples():
        kinds = [
            [type(event) for event in each.record(of.runs[0]).events]
            for each, of in ((folder, sample), (files, there[sample.id]))
        ]
        assert kinds[0] == kinds[1]


def test_all_problems_of_a_request_are_reported_before_the_first_sample(tmp_path):
    request = {
        "strategy": "loop",
        "max_tokens": 2_000_000,
        "loop": {"max_turns": 20_000, "allow": [], "tool_use": "enforced"},
    }
    path = tmp_path / "rejected.json"
    path.write_text(json.dumps({**SUITE, "request": request}))
    rejected = plan_of(Matrix(suites=(str(path),), models=("one", "two"), notations=("glyph", "native")))
    reported = events(rejected, tmp_path / "out")
    opened = next(place for place, each in enumerate(reported) if isinstance(each, ModelOpened))
    assert not any(isinstance(each, SampleBegun | SampleDone) for each in reported[:opened])
    problems = reported[opened].problems
    shown = "\n".join(problems)
    for words in (*(three := ("Max tokens is", "Turns is", "no tool may be called")), "native notation"):
        assert words in shown
    samples = result(reported).samples()
    assert {sample.failures[0].reason for sample in samples} == {"BAD_REQUEST"}
    for words in three:
        assert words in samples[0].failures[0].detail
    model = ["--model", "scripted:x", "--out", str(tmp_path / "printed")]
    printed = " ".join(command("eval", path, *model).stderr.split())
    first = printed.index("1/4")
    assert all(0 < printed.find(words) < first for words in three), "before the first sample"
