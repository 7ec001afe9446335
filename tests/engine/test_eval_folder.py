"""The folder of a result: the effects of a kill, a full disk or a second process."""

from __future__ import annotations

import errno
import json
import os

import msgspec
import pytest

from glyphscope.errors import RecordError, StorageError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import sample_id
from glyphscope.evals.results.folder import (
    MANIFEST,
    SAMPLES,
    TABLES,
    ResultFolder,
    list_results,
    newest_of,
    run_name,
    safe_name,
)
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.sample import Sample

ARM = Arm(model="embedded").id


def sample(scenario: str, trial: int = 1, **more) -> Sample:
    id = sample_id(ARM, "s", scenario, trial)
    return Sample(id=id, arm=ARM, suite="s", scenario=scenario, trial=trial, seed=1, **more)


@pytest.fixture
def folder(tmp_path):
    return ResultFolder.create(tmp_path, Manifest(digest="d", planned=2), {"s": b"{}"})


def added(folder: ResultFolder, *samples: Sample) -> None:
    with folder.writing() as writer:
        for each in samples:
            writer.add(each, [[]])


def test_samples_come_back_in_order_with_their_records_in_place(folder):
    added(folder, sample("a"), sample("b"))
    again = ResultFolder.open(folder.path)
    assert [each.scenario for each in again.samples()] == ["a", "b"]
    assert all(again.record_path(each).is_file() for each in again.samples())
    assert again.suite("s") == b"{}"


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.jsonl", "runs/../../x.jsonl", ""])
def test_a_record_outside_of_the_folder_is_rejected(folder, path):
    with pytest.raises(RecordError, match="outside"):
        folder.record_path(sample("a", runs=(path,)))


@pytest.mark.parametrize("saved", [1, 17, -1])
def test_an_incomplete_last_line_is_ignored_and_cut_off_before_the_next_sample(folder, saved):
    added(folder, sample("a"), sample("b"))
    path = folder.path / SAMPLES
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:saved])
    assert [each.scenario for each in folder.samples()] == ["a"]
    added(folder, sample("b"))
    assert [each.scenario for each in folder.samples()] == ["a", "b"]


def test_a_sample_that_was_made_again_counts_once_by_its_last_line(folder):
    added(folder, sample("a"), sample("b"), sample("a", ok=True))
    assert [(each.scenario, each.ok) for each in folder.samples()] == [("a", True), ("b", False)]


def test_a_damaged_line_in_the_middle_is_named(folder):
    added(folder, sample("a"), sample("b"))
    path = folder.path / SAMPLES
    path.write_bytes(b"{}\n" + path.read_bytes())
    with pytest.raises(RecordError, match="Line 1 is damaged"):
        folder.samples()


def test_two_processes_do_not_write_to_one_result(folder):
    with folder.writing(), pytest.raises(StorageError, match="Another evaluation"), folder.writing():
        pass
    added(folder, sample("a"))


def test_a_full_disk_leaves_no_incomplete_line(folder, monkeypatch):
    added(folder, sample("a"))

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    with folder.writing() as writer:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="full"):
            writer.add(sample("b"), [])
        monkeypatch.undo()
        writer.add(sample("c"), [])
    assert [each.scenario for each in folder.samples()] == ["a", "c"]


def test_a_lone_surrogate_of_a_model_is_replaced_in_the_sample(folder):
    added(folder, sample("a", text="\ud800"))
    assert folder.samples()[0].text == "\ufffd"


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "Not an eval"), ("[]", "Not an eval"), ("{}", "Not an eval"), ('{"glyphscope_eval": 99}', "version 99"),
     ('{"glyphscope_eval": 1, "arms": 3}', "damaged"), ("[" * 100_000, "Not an eval")],
)  # fmt: skip
def test_a_folder_that_is_not_a_result_is_reported_and_listed_with_its_reason(tmp_path, text, said):
    path = tmp_path / "x"
    path.mkdir()
    (path / MANIFEST).write_text(text)
    with pytest.raises(RecordError, match=said):
        ResultFolder.open(path)
    assert said in list_results(tmp_path)[0].problem


def test_a_name_that_is_too_long_is_rejected(tmp_path):
    with pytest.raises((RecordError, StorageError), match="too long"):
        ResultFolder.open(tmp_path / ("a" * 300))


def test_a_pipe_in_the_folder_is_rejected(folder):
    for name in (SAMPLES, TABLES, "suites/s.json"):
        (folder.path / name).unlink(missing_ok=True)
        os.mkfifo(folder.path / name)
    for read in (folder.samples, folder.tables, lambda: folder.suite("s")):
        with pytest.raises(StorageError, match="not a file"):
            read()


def test_tables_that_are_not_utf_8_are_reported_as_damaged(folder):
    (folder.path / TABLES).write_bytes(b'[{"suite": "\xff"}]')
    with pytest.raises(RecordError, match="damaged"):
        folder.tables()


def test_the_newest_result_of_the_same_plan_is_found(tmp_path):
    ResultFolder.create(tmp_path, Manifest(digest="d"), {})
    second = ResultFolder.create(tmp_path, Manifest(digest="d"), {})
    ResultFolder.create(tmp_path, Manifest(digest="other"), {})
    assert newest_of(tmp_path, "d") == second.path
    assert newest_of(tmp_path, "none") is None
    assert newest_of(tmp_path / "missing", "d") is None


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "ü" * 300, "", ".", "con\n", "x" * 300])
def test_a_name_of_a_suite_stays_in_the_folder(name):
    safe = safe_name(name)
    assert safe and "/" not in safe and safe not in (".", "..") and len(safe) < 100
    assert safe_name(name) != safe_name(name + "!")
    record = run_name(msgspec.structs.replace(sample("a"), scenario=name))
    assert ".." not in record.split("/")


def test_the_manifest_is_indented_json(folder):
    text = (folder.path / MANIFEST).read_text()
    assert text.count("\n") > 5 and json.loads(text)["planned"] == 2
