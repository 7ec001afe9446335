"""The folder of a result: the effects of a kill, a full disk or a second process."""

from __future__ import annotations

import errno
import gzip
import json
import os
from contextlib import suppress

import msgspec
import pytest

from glyphscope.base.errors import RecordError, StorageError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.matrix.plan import sample_id
from glyphscope.evals.results import Manifest, segments
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
from glyphscope.evals.results.report import write_summaries
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.segments import read_place
from glyphscope.store import RecordWriter
from made_results import GOOD, events_of

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
    assert all(again.has_record(each.runs[0]) for each in again.samples())
    assert again.suite("s") == b"{}"


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.jsonl", "runs/../../x.jsonl", ""])
def test_a_record_outside_of_the_folder_is_rejected(folder, path):
    with pytest.raises(RecordError, match="outside"):
        folder.record(path)


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
    assert [(each.scenario, each.ok) for each in folder.samples()] == [("b", False), ("a", True)]


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


def test_a_folder_of_results_names_one_of_them(folder):
    with pytest.raises(RecordError) as caught:
        ResultFolder.open(folder.path.parent)
    assert str(folder.path) in caught.value.hint


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


# -- records in segments -----------------------------------------------------------------------------------------


@pytest.fixture
def large(tmp_path):
    return ResultFolder.create(tmp_path, Manifest(glyphscope_eval=2, digest="d", planned=5_000), {})


def recorded(folder: ResultFolder, *scenarios: str) -> list[Sample]:
    with folder.writing() as writer:
        return [writer.add(sample(name), [events_of(GOOD, prompt=name)]) for name in scenarios]


def prompt_of(folder: ResultFolder, sample: Sample) -> str:
    return folder.record(sample.runs[0]).events[0].request.prompt


def test_records_of_a_large_result_are_in_segments_and_read_by_their_place(large):
    made = [*recorded(large, "a", "b"), *recorded(large, "c")]
    assert list(large.samples()) == made
    assert [prompt_of(large, each) for each in made] == ["a", "b", "c"]
    segments = sorted((large.path / "records").iterdir())
    assert [path.name for path in segments] == ["00001.jsonl.gz", "00002.jsonl.gz"], "one for each process"
    lines = gzip.decompress(segments[0].read_bytes()).splitlines()
    assert sum(b"glyphscope_record" in line for line in lines) == 2, "`zcat` reads all records of a segment"


def test_a_full_segment_is_followed_by_another_one(large, monkeypatch):
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 1)
    made = recorded(large, "a", "b", "c")
    assert len({read_place(each.runs[0]).file for each in made}) == 3
    assert [prompt_of(large, each) for each in made] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("change", "said"),
    [(lambda data: data[:-1], "truncated"), (lambda data: b"x" + data[1:], "damaged"),
     (lambda data: data[:-6] + b"\0" + data[-5:], "damaged"), (lambda data: b"", "truncated"),
     (lambda data: gzip.compress(b"{}\n" * 9)[: len(data)].ljust(len(data), b"\0"), "does not end there"),
     (lambda data: None, "no such file")],
)  # fmt: skip
def test_a_truncated_damaged_or_foreign_record_is_reported_and_the_samples_stay(large, change, said):
    first, second = recorded(large, "a", "b")
    place = read_place(second.runs[0])
    path = large.path / place.file
    data = path.read_bytes()
    changed = change(data[place.start :])
    path.unlink() if changed is None else path.write_bytes(data[: place.start] + changed)
    with pytest.raises((RecordError, StorageError), match=said) as raised:
        large.record(second.runs[0])
    assert place.file in raised.value.where
    assert list(large.samples()) == [first, second]
    if changed is not None:
        assert prompt_of(large, first) == "a", "the other records are read"


def test_a_record_of_a_newer_version_is_reported(large):
    newer = b'{"glyphscope_record": 99}\n'
    place = segments.SegmentWriter(large.path).add(newer)
    with pytest.raises(RecordError, match="99"):
        large.record(str(place))


def test_what_a_killed_process_left_in_a_segment_is_neither_read_nor_overwritten(large):
    (before,) = recorded(large, "a")
    with open(large.path / read_place(before.runs[0]).file, "ab") as file:
        file.write(b"\x1f\x8b half a record")
    (after,) = recorded(large, "b")
    assert [prompt_of(large, each) for each in (before, after)] == ["a", "b"]


def test_a_full_disk_leaves_no_incomplete_record(large, monkeypatch):
    write = os.write

    def full(file, data):
        write(file, data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    with large.writing() as writer:
        first = writer.add(sample("a"), [events_of(GOOD)])
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(StorageError, match="full"):
            writer.add(sample("b"), [events_of(GOOD)])
        monkeypatch.undo()
        third = writer.add(sample("c"), [events_of(GOOD, prompt="c")])
    first_place, third_place = (read_place(each.runs[0]) for each in (first, third))
    assert third_place.start == first_place.length
    assert list(large.samples()) == [first, third] and prompt_of(large, third) == "c"


def test_a_result_of_an_earlier_version_keeps_a_file_for_each_record(folder):
    (made,) = recorded(folder, "a")
    assert (folder.path / made.runs[0]).is_file() and prompt_of(folder, made) == "a"
    assert not (folder.path / "records").exists()


@pytest.mark.parametrize(
    "text", ["records/../00001.jsonl.gz#0+1", "records/1.jsonl.gz#0+1", "runs/a.jsonl", "#0+1"]
)
def test_a_text_that_is_not_a_place_in_a_segment_is_a_path(text):
    assert read_place(text) is None


# links


@pytest.mark.parametrize("planned", [2, 5000])
@pytest.mark.parametrize(
    "name",
    ["manifest.json", "samples.jsonl", "tables.json", "summary.json", "summary.csv", "by_scenario.json", "report.html",
     "samples.index", "runs", "records", "report", "report.new"],
)  # fmt: skip
def test_a_link_in_a_result_is_not_followed_by_what_writes_into_it(tmp_path, monkeypatch, name, planned):
    monkeypatch.setattr("glyphscope.evals.results.folder.INDEXED_FROM", 1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine\n")
    folder = ResultFolder.create(tmp_path / "results", Manifest(digest="d", planned=planned), {})
    added(folder, sample("a"))
    (folder.path / name).unlink(missing_ok=True) if "." in name else None
    if (folder.path / name).is_dir():
        (folder.path / name).rename(tmp_path / "moved")
    target = elsewhere if "." not in name or name.endswith(".new") else elsewhere / "file"
    (folder.path / name).symlink_to(target)
    for write in (
        lambda: folder.keep(folder.manifest),
        lambda: folder.keep_tables([]),
        lambda: added(folder, sample("b")),
        folder.table,
        lambda: write_summaries(folder, folder.samples()),
    ):
        with suppress(StorageError, RecordError):
            write()
    assert [each.name for each in elsewhere.iterdir()] == ["file"]
    assert (elsewhere / "file").read_text() == "mine\n"


def test_a_link_is_named_with_its_remedy(folder, tmp_path):
    (folder.path / "summary.csv").symlink_to(tmp_path / "mine")
    with pytest.raises(StorageError, match="This is a link") as error:
        write_summaries(folder, folder.samples())
    assert error.value.where.endswith("summary.csv") and "Remove the link" in error.value.hint


def test_a_file_with_another_name_is_not_written_in_place(folder, tmp_path):
    (tmp_path / "mine").write_text("mine")
    os.link(tmp_path / "mine", folder.path / "summary.csv")
    write_summaries(folder, folder.samples())  # which replaces files
    for path in (folder.path / "samples.jsonl", tmp_path / "run.jsonl.part"):
        path.unlink(missing_ok=True)
        os.link(tmp_path / "mine", path)
    with (
        pytest.raises(StorageError, match=r"names \(hard links\).* in another place") as error,
        folder.writing(),
    ):
        pass
    assert error.value.where.endswith("samples.jsonl") and error.value.hint == "Put a copy in its place."
    with pytest.raises(StorageError, match="hard links"), RecordWriter(tmp_path / "run.jsonl") as writer:
        writer.write(events_of(GOOD)[0])
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_record_behind_a_link_is_not_read(folder, tmp_path):
    (tmp_path / "secret.jsonl").write_text("secret")
    (folder.path / "runs").mkdir()
    (folder.path / "runs" / "a.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(StorageError, match="outside of the folder"):
        folder.record_bytes("runs/a.jsonl")


def test_the_folder_of_a_result_itself_may_be_a_link(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder.path)
    added(ResultFolder.open(tmp_path / "link"), sample("a"))
    assert len(folder.samples()) == 1
