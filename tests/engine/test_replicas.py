"""One model at several addresses: the workers that make the samples, and a replica that fails or is another model."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("httpx2")

from eval_suite import ANSWERS, suite_file
from glyphscope.base.errors import ModelError
from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.running import evaluate
from glyphscope.evals.running.progress import Begun, ModelMissing, Progress, WorkerJoined, WorkerLeft
from glyphscope.models.remote import RemoteModel, open_remote, read_address, replicas_of
from scripted_endpoint import SHORT, Answer, Endpoint, chunk, endpoint, said

DOWN = Answer((b"{}",), status=503, kind="application/json")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again at once."""
    monkeypatch.setattr("glyphscope.evals.running.local_workers.RETRY_SECONDS", 0.05)
    monkeypatch.setattr("glyphscope.evals.running.worker_pool.LOOK_SECONDS", 0.02)


def opened(name: str) -> RemoteModel:
    return open_remote(read_address(name), patience=SHORT._replace(attempts=1))


def progress(folder: Path, *addresses: str, trials: int = 5, jobs: int = 1) -> Iterator[Progress]:
    asked = plan_of(
        Matrix(
            suites=(suite_file(folder),),
            models=(",".join(addresses),),
            constraints=("off",),
            trials=trials,
            jobs=jobs,
        )
    )
    assert len(asked.arms) == 1
    return evaluate(asked, folder / "out", opener=opened)


def made(folder: Path, *addresses: str, **more: int) -> list[Progress]:
    with closing(progress(folder, *addresses, **more)) as reported:
        return list(reported)


def result(reported: list[Progress]) -> ResultFolder:
    return ResultFolder.open(next(each.folder for each in reported if isinstance(each, Begun)))


def of(reported: list[Progress], kind: type) -> list:
    return [each for each in reported if isinstance(each, kind)]


@pytest.fixture
def unused() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def test_all_replicas_make_samples_of_one_arm_and_are_in_the_manifest(tmp_path):
    with endpoint(said(ANSWERS["news"])) as one, endpoint(said(ANSWERS["news"])) as two:
        reported = made(tmp_path, one.url, two.url, jobs=4)
        folder = result(reported)
        assert len(one.asked) + len(two.asked) == 20 == len(folder.samples())
        assert one.asked and two.asked
        assert {each.address for each in of(reported, WorkerJoined)} == {one.url, two.url}
        assert len(of(reported, WorkerJoined)) == 2, "each once, whatever the number of its workers"
    (arm,) = folder.manifest.arms
    facts = {address: worker.models[arm.model].name for address, worker in folder.manifest.workers.items()}
    assert facts == {one.url: "tiny", two.url: "tiny"} and folder.manifest.models[arm.model].name == "tiny"


def test_a_replica_that_does_not_answer_is_reported_once_and_the_others_make_its_samples(tmp_path, unused):
    with endpoint(Answer((0.02, *said(ANSWERS["news"]).pieces))) as one:
        reported = made(tmp_path, one.url, unused)
        assert len(one.asked) == 20
    (left,) = of(reported, WorkerLeft)
    assert left.address == unused and not of(reported, ModelMissing)
    assert all(sample.answered for sample in result(reported).samples())


@pytest.mark.slow
def test_a_replica_that_fails_in_the_middle_is_used_again_when_it_answers(tmp_path):
    slow = Answer((0.05, chunk(ANSWERS["news"]), chunk(finish="stop"), b"data: [DONE]\n\n"))
    reported: list[Progress] = []
    with endpoint(slow) as one, endpoint(slow, slow, DOWN) as two:
        models = two.paths["/v1/models"]

        def change(server: Endpoint, *, works: bool) -> None:
            server.answers = [slow if works else DOWN]
            server.paths["/v1/models"] = models if works else DOWN

        back = 0
        for event in progress(tmp_path, one.url, two.url, trials=20):
            reported.append(event)
            if len(two.asked) == 2 and not back:
                change(two, works=False)
            if isinstance(event, WorkerLeft):
                assert event.address == two.url
                back = len(two.asked)
                change(two, works=True)
        assert len(two.asked) > back > 0
    assert [each.address for each in of(reported, WorkerJoined)].count(two.url) == 2
    samples = result(reported).samples()
    assert len(samples) == 80 and all(sample.answered for sample in samples)


def test_a_server_with_another_model_is_left_out(tmp_path):
    other = {"object": "list", "data": [{"id": "other", "object": "model", "owned_by": "llamacpp"}]}
    with endpoint(said(ANSWERS["news"])) as one, endpoint(said(ANSWERS["news"]), models=other) as two:
        reported = made(tmp_path, one.url, two.url)
        assert sorted([len(one.asked), len(two.asked)]) == [0, 20]
    (left,) = of(reported, WorkerLeft)
    assert "Not a replica of the same model: model" in left.why and not of(reported, ModelMissing)


def test_a_model_without_a_replica_that_answers_is_missing(tmp_path, unused):
    reported = made(tmp_path, unused, unused.replace("127.0.0.1", "localhost"))
    (missing,) = of(reported, ModelMissing)
    assert missing.why.count("/v1: ") == 2 and not result(reported).samples()


def test_the_replicas_of_a_name_have_its_models_name_and_only_an_evaluation_takes_them():
    name = "http://a:1/v1#owner/m,https://b/v1,HTTP://c/v1?dialect=vllm#n,http://a:1/v1#owner/m"
    assert replicas_of(name) == [
        "http://a:1/v1#owner/m",
        "https://b/v1#owner/m",
        "HTTP://c/v1?dialect=vllm#n",
    ]
    assert replicas_of("http://a/v1#one,two") == ["http://a/v1#one,two"]
    with pytest.raises(ModelError, match="can only be evaluated"):
        read_address(name)
