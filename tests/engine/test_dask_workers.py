"""Evaluations on a Dask cluster of real processes: the samples of a local one, whatever ends in the middle."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from dask_models import Answering
from dask_process import Cluster, cluster
from eval_suite import folder_of, plain, suite_file
from glyphscope.base.errors import GlyphscopeError, StorageError
from glyphscope.evals.matrix.plan import Matrix, Plan, plan_of
from glyphscope.evals.results.folder import ResultFolder, SampleWriter
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.running import evaluate
from glyphscope.evals.running.progress import (
    Control,
    EvaluationEnded,
    ModelMissing,
    Progress,
    SampleDone,
    SampleGrew,
    WorkerJoined,
    WorkerLeft,
)
from glyphscope_plugins.dask.workers import DaskWorkers

pytestmark = pytest.mark.slow  # processes that import Dask


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """A cluster whose two workers stay."""
    with cluster("one", "two") as made:
        yield made


def plan(folder: Path, **members) -> Plan:
    members = {"models": ("scripted:answering",), "constraints": ("off",), **members}
    return plan_of(Matrix(suites=(suite_file(folder),), **members))


def events(plan: Plan, out: Path, on: Cluster, opener: Answering, **more) -> list[Progress]:
    with closing(evaluate(plan, out, workers=DaskWorkers(on.address, opener), **more)) as progress:
        return list(progress)


def test_the_samples_of_two_workers_are_those_of_this_process(tmp_path, shared):
    opener = Answering(str(tmp_path))
    asked = plan(tmp_path, trials=10, savings=1.0)
    reported = events(asked, tmp_path / "dask", shared, opener)
    there = folder_of(reported)
    with closing(evaluate(asked, tmp_path / "local", opener=opener)) as progress:
        here = folder_of(list(progress))
    assert len(there.samples()) == 40 and plain(there.samples()) == plain(here.samples())
    assert there.manifest.finished and there.manifest.models == here.manifest.models
    joined = {each.address for each in reported if isinstance(each, WorkerJoined)}
    assert len(joined) == 2 and there.manifest.workers.keys() == joined
    assert there.manifest.workers[min(joined)].machine.cores == here.manifest.machine.cores
    assert any(isinstance(each, SampleGrew) and each.text for each in reported), (
        "texts are shown as they grow"
    )
    opened = (tmp_path / "opened").read_text().splitlines()
    assert sorted(opened) == [" 1", "one 2", "two 2"], "each opens its model once, and knows of the other"
    assert len(list(tmp_path.glob("closed-*"))) == 3
    for sample in there.samples():
        record, local = (folder.record(sample.runs[0]) for folder in (there, here))
        assert record.events[0].request == local.events[0].request
        assert [type(event) for event in record.events] == [type(event) for event in local.events]


def test_a_result_that_was_begun_here_is_resumed_on_a_cluster(tmp_path, shared):
    opener, asked = Answering(str(tmp_path)), plan(tmp_path, trials=2)
    with closing(evaluate(asked, tmp_path / "out", opener=opener)) as progress:
        next(each for each in progress if isinstance(each, SampleDone) and each.done == 3)
    (folder,) = (tmp_path / "out").iterdir()
    reported = events(asked, tmp_path / "out", shared, opener, resume=folder)
    assert sum(isinstance(each, SampleDone) for each in reported) == 5
    assert len(folder_of(reported).samples()) == 8


def test_a_sample_whose_worker_is_killed_is_made_by_another(tmp_path):
    with cluster("one", "two") as on:
        reported = events(
            plan(tmp_path, trials=3), tmp_path / "out", on, Answering(str(tmp_path), killing=("sum",))
        )
    (left,) = (each for each in reported if isinstance(each, WorkerLeft))
    assert "ended" in left.why
    samples = folder_of(reported).samples()
    assert len(samples) == 12 and all(sample.answered for sample in samples)


def test_a_sample_that_ends_two_workers_has_no_result_and_says_why(tmp_path):
    deadly = Answering(str(tmp_path), killing=("sum",), kills=2)
    with cluster("one", "two") as on:
        reported: list[Progress] = []
        workers = DaskWorkers(on.address, deadly)
        with closing(evaluate(plan(tmp_path), tmp_path / "out", workers=workers)) as progress:
            for event in progress:
                reported.append(event)
                if isinstance(event, WorkerLeft):
                    on.add_worker("other")  # joins in the middle
    samples = {sample.scenario: sample for sample in folder_of(reported).samples()}
    assert len(samples) == 4 and not samples["sum"].answered
    assert samples["sum"].failures[0].reason == "MODEL_FAILED"
    assert "worker was lost 2 times" in samples["sum"].failures[0].detail
    assert all(sample.answered for name, sample in samples.items() if name != "sum")


def test_a_worker_that_fails_repeatedly_is_left_out_and_the_others_continue(tmp_path, shared):
    opener = Answering(str(tmp_path), bad_workers=("one",))
    reported = events(plan(tmp_path, trials=6), tmp_path / "out", shared, opener)
    samples = folder_of(reported).samples()
    assert len(samples) == 24 and sum(not sample.answered for sample in samples) <= 6
    assert not any(isinstance(each, ModelMissing) for each in reported)
    for left in (each for each in reported if isinstance(each, WorkerLeft)):
        assert "5 times one after the other" in left.why


def test_a_worker_whose_disk_is_full_is_left_out_with_that_reason_and_its_samples_can_be_repeated(
    tmp_path, shared
):
    opener, asked = Answering(str(tmp_path), full_disks=("one",)), plan(tmp_path, trials=6)
    reported = events(asked, tmp_path / "out", shared, opener)
    folder = folder_of(reported)
    samples = folder.samples()
    failed = [sample for sample in samples if not sample.answered]
    assert len(samples) == 24 and len(failed) <= 6 and not folder.manifest.missing
    assert all("No space left on device" in sample.failures[0].detail for sample in failed)
    again = events(asked, tmp_path / "out", shared, Answering(str(tmp_path)), resume=folder.path, again=True)
    assert sum(isinstance(each, SampleDone) for each in again) == len(failed)
    assert all(sample.answered for sample in folder.samples())


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [("old", "glyphscope 0.0.9 (here"), ("bare", "No module named 'glyphscope_plugins'")],
)
def test_a_worker_with_another_version_or_without_glyphscope_is_left_out(tmp_path, behaviour, reason):
    with cluster() as on:
        worker = on.add_worker("other", behaviour)
        reported = events(plan(tmp_path), tmp_path / "out", on, Answering(str(tmp_path)))
        assert worker.poll() is None
    (left,) = (each for each in reported if isinstance(each, WorkerLeft))
    (missing,) = (each for each in reported if isinstance(each, ModelMissing))
    assert reason in left.why and reason in missing.why and left.address in missing.why
    assert folder_of(reported).manifest.missing == {missing.name: missing.why}


def test_stopping_cancels_the_samples_of_the_workers(tmp_path, shared):
    control = Control()
    opener = Answering(str(tmp_path), endless=("news", "sum", "site", "file"))

    def stop() -> None:
        while not (tmp_path / "waiting").exists():
            time.sleep(0.02)
        control.stop()

    stopping = threading.Thread(target=stop)
    stopping.start()
    reported = events(plan(tmp_path), tmp_path / "out", shared, opener, control=control)
    stopping.join()
    assert reported[-1] == EvaluationEnded(folder_of(reported).path, complete=False)
    assert not folder_of(reported).samples() and (tmp_path / "cancelled").exists()


def test_a_scheduler_that_ends_in_the_middle_loses_no_finished_sample(tmp_path):
    asked, opener = plan(tmp_path, trials=50), Answering(str(tmp_path))
    done = 0
    with cluster("one") as on:
        workers = DaskWorkers(on.address, opener)
        with (
            pytest.raises(GlyphscopeError, match="connection to the Dask scheduler was lost") as lost,
            closing(evaluate(asked, tmp_path / "out", workers=workers)) as progress,
        ):
            for event in progress:
                if isinstance(event, SampleDone):
                    done = event.done
                if done == 3:
                    os.kill(on.scheduler.pid, signal.SIGKILL)
    assert "Resume" in lost.value.hint
    (folder,) = (tmp_path / "out").iterdir()
    assert len(ResultFolder.open(folder).samples()) == done < 200
    with closing(evaluate(asked, tmp_path / "out", opener=opener, resume=folder)) as progress:
        assert len(folder_of(list(progress)).samples()) == 200


def test_without_a_scheduler_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope_plugins.dask.workers.CONNECT_SECONDS", 0.5)
    workers = DaskWorkers("127.0.0.1:9", Answering(str(tmp_path)))
    with pytest.raises(GlyphscopeError, match="No Dask scheduler answers"):
        list(evaluate(plan(tmp_path), tmp_path / "out", workers=workers))
    assert not (tmp_path / "out").exists()


def test_a_cluster_without_workers_is_reported_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope_plugins.dask.workers.WAIT_SECONDS", 0.1)
    with cluster() as on, pytest.raises(GlyphscopeError, match="no usable worker") as none:
        events(plan(tmp_path), tmp_path / "out", on, Answering(str(tmp_path)))
    assert "dask worker" in none.value.hint


def test_a_full_disk_ends_the_evaluation_and_the_workers_close_their_models(tmp_path, shared, monkeypatch):
    add, written = SampleWriter.add, []

    def add_two(self: SampleWriter, sample: Sample, runs) -> Sample:
        if len(written) == 2:
            raise StorageError("No space is left on the disk.")
        written.append(sample)
        return add(self, sample, runs)

    monkeypatch.setattr(SampleWriter, "add", add_two)
    with pytest.raises(StorageError):
        events(plan(tmp_path, trials=10), tmp_path / "out", shared, Answering(str(tmp_path)))
    (folder,) = (tmp_path / "out").iterdir()
    assert len(ResultFolder.open(folder).samples()) == 2
    assert len(list(tmp_path.glob("closed-*"))) == 2


def test_a_model_that_no_worker_has_leaves_out_its_arms_alone(tmp_path, shared):
    asked = plan(tmp_path, models=(str(tmp_path / "none.gguf"), "scripted:answering"))
    reported = events(asked, tmp_path / "out", shared, Answering(str(tmp_path)))
    (missing,) = (each for each in reported if isinstance(each, ModelMissing))
    assert "none.gguf" in missing.name and missing.why.count("There is no such file") == 2
    assert len(folder_of(reported).samples()) == 4


def test_a_file_that_differs_from_that_of_the_other_worker_is_left_out(tmp_path):
    """Neither file is where the client looks; each worker has one of that name among its downloaded models."""
    with cluster() as on:
        for name in ("one", "two"):
            file = tmp_path / name / "models" / "maker" / "tiny" / "tiny-Q4_K_M.gguf"
            file.parent.mkdir(parents=True)
            file.write_text(name)
            on.add_worker(name, home=tmp_path / name)
        asked = plan(tmp_path, models=("tiny-Q4_K_M.gguf",), trials=20)
        reported = events(asked, tmp_path / "out", on, Answering(str(tmp_path), endless=()))
    left = [each for each in reported if isinstance(each, WorkerLeft)]
    opened = len([each for each in reported if isinstance(each, WorkerJoined)])
    assert opened == 1 and len(folder_of(reported).samples()) == 80
    assert all("SHA-256" in each.why and "tiny-Q4_K_M.gguf" in each.why for each in left)


def test_a_models_relative_path_and_its_load_options_reach_the_workers(tmp_path, shared, monkeypatch):
    """They started in another folder; its options are found by the name that was given."""
    file = tmp_path / "tiny.gguf"
    file.write_text("tiny")
    monkeypatch.chdir(tmp_path)
    reported = events(
        plan(tmp_path, models=("tiny.gguf",)), tmp_path / "out", shared, Answering(str(tmp_path))
    )
    assert len(folder_of(reported).samples()) == 4
    assert {*(tmp_path / "names").read_text().splitlines()} == {f"tiny.gguf {file}"}
