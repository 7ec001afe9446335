"""Judges and Python functions on the workers of a Dask cluster: the verdicts of a local evaluation."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("distributed")

from dask_models import Answering
from dask_process import Cluster, cluster
from eval_suite import folder_of, plain, suite_file
from glyphscope.evals.matrix.plan import Matrix, Plan, plan_of
from glyphscope.evals.running import Workers, evaluate
from glyphscope.evals.running.progress import Control, ModelMissing, Progress, SampleGrew, WorkerLeft
from glyphscope.store import NamedModels
from glyphscope_plugins.dask.workers import DaskWorkers

pytestmark = pytest.mark.slow  # processes that import Dask

SEARCH = '{action="search" query="green tea" max_results=3}'
PASS, FAIL = '{"reason":"It is about tea.","pass":true}', '{"reason":"It is not about tea.","pass":false}'
CHECKS = """
import time

def good(result):
    return result["calls"][0]["tool"] == "search"

def poor(result):
    return {"pass": False, "reason": "The query is too long."}

def raises(result):
    return result["nothing"]

def endless(result):
    open("WAITING", "w").close()
    time.sleep(60)
"""
UNREACHABLE = "http://127.0.0.1:9/v1#judge"


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """A cluster whose two workers stay."""
    with cluster("one", "two") as made:
        yield made


def suite_of(folder: Path, name: str, judge: str, *functions: str) -> str:
    """A suite of a scenario for each function, which is also judged."""
    (folder / "checks.py").write_text(CHECKS.replace("WAITING", str(folder / "waiting")))
    judged = {"extra_calls": True, "judge": [{"rubric": "The query is about tea."}]}
    scenarios = [
        {"id": each, "prompt": "Tea.", "expect": {"python": [{"function": f"checks.py:{each}"}], **judged}}
        for each in functions
    ]
    path = folder / f"{name}.json"
    document = {"glyphscope_suite": 1, "name": name, "about": "", "judge": judge, "scenarios": scenarios}
    path.write_text(json.dumps(document))
    return str(path)


def plan(*suites: str, **members) -> Plan:
    members = {"models": (f"scripted:{SEARCH}",), "constraints": ("off",), **members}
    return plan_of(Matrix(suites=suites, **members))


def events(asked: Plan, out: Path, workers: Workers | None, **more) -> list[Progress]:
    more = {"opener": NamedModels().open, "allow_python": True, **more}
    with closing(evaluate(asked, out, workers=workers, **more)) as progress:
        return list(progress)


def test_functions_and_judges_decide_as_in_this_process(tmp_path, shared):
    """Two suites, each with its own judge."""
    suites = (
        suite_of(tmp_path, "passed", f"scripted:{PASS}", "good", "poor", "raises"),
        suite_of(tmp_path, "failed", f"scripted:{FAIL}", "good"),
    )
    asked = plan(*suites)
    two = replace(asked, matrix=msgspec.structs.replace(asked.matrix, jobs=2))
    here = folder_of(events(asked, tmp_path / "one", None))
    reasons = {sample.id: [each.reason for each in sample.failures] for sample in here.samples()}
    assert sorted(reasons.values()) == sorted([[], ["PYTHON"], ["CHECK_FAILED"], ["JUDGE"]])
    reported = events(asked, tmp_path / "dask", DaskWorkers(shared.address, NamedModels().open))
    assert any(isinstance(each, SampleGrew) and each.judge for each in reported), (
        "its text is shown as it grows"
    )
    for there in (folder_of(events(two, tmp_path / "two", None)), folder_of(reported)):
        assert plain(there.samples()) == plain(here.samples())
        assert there.manifest.judges == here.manifest.judges
        for sample in there.samples():
            assert all(there.record(judged.run).events for judged in sample.judged)


def test_stopping_ends_the_functions_of_the_workers(tmp_path, shared):
    control = Control()

    def stop() -> None:
        while not (tmp_path / "waiting").exists():
            time.sleep(0.02)
        control.stop()

    stopping = threading.Thread(target=stop)
    stopping.start()
    asked = plan(suite_of(tmp_path, "endless", f"scripted:{PASS}", "endless"))
    began = time.monotonic()
    reported = events(
        asked, tmp_path / "out", DaskWorkers(shared.address, NamedModels().open), control=control
    )
    stopping.join()
    assert not folder_of(reported).samples() and time.monotonic() - began < 30


def test_a_judge_that_no_worker_can_reach_is_an_error_that_names_it(tmp_path, shared):
    asked = plan(suite_of(tmp_path, "judged", f"scripted:{PASS}", "good"), judge=UNREACHABLE)
    reported = events(asked, tmp_path / "out", DaskWorkers(shared.address, NamedModels().open))
    (missing,) = (each for each in reported if isinstance(each, ModelMissing))
    assert (
        missing.why.count(f"{UNREACHABLE}: The judge cannot be opened: The endpoint cannot be reached") == 2
    )
    assert folder_of(reported).manifest.missing and not folder_of(reported).samples()


def test_workers_without_the_judges_file_or_with_another_one_are_left_out(tmp_path):
    """The judge's file is not where the client looks; each worker looks among its downloaded models."""
    with cluster() as on:
        for name, content in (("one", "same"), ("two", None), ("three", "other")):
            file = tmp_path / name / "models" / "maker" / "judge" / "judge-Q4_K_M.gguf"
            file.parent.mkdir(parents=True)
            if content is not None:
                file.write_text(content)
            on.add_worker(name, home=tmp_path / name)
        on.wait_for(3)
        document = json.loads(Path(suite_file(tmp_path)).read_text())
        for scenario in document["scenarios"]:
            scenario["expect"]["judge"] = [{"rubric": "Anything."}]
        (tmp_path / "judged.json").write_text(json.dumps(document))
        asked = plan(
            str(tmp_path / "judged.json"),
            models=("scripted:answering",),
            judge="judge-Q4_K_M.gguf",
            trials=5,
        )
        reported = events(asked, tmp_path / "out", DaskWorkers(on.address, Answering(str(tmp_path))))
    left = "\n".join(each.why for each in reported if isinstance(each, WorkerLeft))
    assert left.count("judge-Q4_K_M.gguf") == len(left.splitlines()) == 2
    for why in ("The judge cannot be opened: There is no such file", "its SHA-256 is"):
        assert why in left
    assert len(folder_of(reported).samples()) == 20
