"""The table of a result's samples, and its file: the same figures, whatever was killed, cut or changed."""

from __future__ import annotations

import errno
import random

import msgspec
import pytest

from glyphscope.base.errors import RecordError, StorageError
from glyphscope.evals.results import (
    INDEX,
    Samples,
    SampleTable,
    by_scenario,
    changes_between,
    summarise,
    table_of,
)
from glyphscope.evals.results.folder import SAMPLES, ResultFolder
from glyphscope.evals.results.sample import Sample
from made_samples import MadeResult, made_arms

MADE = MadeResult(arms=made_arms()[:4], scenarios=6)


@pytest.fixture
def small_blocks(monkeypatch):
    """Tables are made, and figures are made of them, in many blocks."""
    monkeypatch.setattr(SampleTable, "BLOCK", 7)


@pytest.fixture(params=["", "small_blocks"])
def folder(request, tmp_path, monkeypatch):
    """A result whose table is written to a file from the first sample on."""
    if request.param:
        request.getfixturevalue(request.param)
    monkeypatch.setattr("glyphscope.evals.results.folder.INDEXED_FROM", 1)
    return ResultFolder.create(tmp_path, MADE.manifest, {})


def write(folder: ResultFolder, samples: list[Sample]) -> None:
    with open(folder.path / SAMPLES, "ab") as file:
        file.writelines(msgspec.json.encode(sample) + b"\n" for sample in samples)


def test_figures_that_are_made_in_blocks_are_the_same(request):
    samples = Samples.of(MADE.samples())

    def figures() -> list[object]:
        table = table_of(MADE.samples())
        copy = table_of(msgspec.structs.replace(each, ok=not each.ok) for each in MADE.samples())
        changes = changes_between((MADE.manifest, samples), (MADE.manifest, Samples(copy, samples.at)))
        whole = by_scenario(MADE.manifest, table)
        return [summarise(MADE.manifest, table), whole, table.rows.tolist(), changes.arms, *changes.changes]

    at_once = figures()
    request.getfixturevalue("small_blocks")
    assert figures() == at_once


def test_a_table_that_cannot_be_written_to_a_temporary_file_is_an_error(folder, monkeypatch):
    def full(*_args, **_named):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("glyphscope.evals.results.table.TemporaryFile", full)
    monkeypatch.setattr(SampleTable, "BLOCK", 7)
    write(folder, list(MADE.samples()))
    with pytest.raises(StorageError, match="The disk is full"):
        folder.table()


def test_a_sample_is_read_by_its_row(folder):
    samples = list(MADE.samples())
    random.Random(1).shuffle(samples)
    write(folder, samples)
    table = folder.table()
    by_id = {sample.id: sample for sample in samples}
    found = folder.samples_at(table.rows)
    assert len(found) == len(samples) and all(by_id[sample.id] == sample for sample in found)
    first = table.cells[0]
    assert {(each.arm, each.scenario) for each in folder.samples_at(table.of_cell(0))} == {
        (first.arm, first.scenario)
    }


def test_a_table_that_grew_in_parts_equals_one_that_was_read_at_once(folder):
    samples = list(MADE.samples())
    for start in range(0, len(samples), 50):
        write(folder, samples[start : start + 50])
        table = folder.table()
        assert (folder.path / INDEX).exists()
    assert summarise(MADE.manifest, table) == summarise(MADE.manifest, samples)
    assert by_scenario(MADE.manifest, table) == by_scenario(MADE.manifest, samples)


def test_a_sample_that_was_made_again_counts_by_its_last_line_also_after_the_file(folder):
    first, *others = MADE.samples()
    write(folder, [first, *others])
    folder.table()
    again = msgspec.structs.replace(first, ok=not first.ok)
    write(folder, [again])
    table = folder.table()
    assert len(table) == 1 + len(others)
    assert [each for each in folder.samples_at(table.rows) if each.id == first.id] == [again]


@pytest.mark.parametrize(
    "change",
    [lambda data: b"", lambda data: data[:20], lambda data: data[:-8], lambda data: b"{}\n" + data,
     lambda data: data.replace(b'"glyphscope_index":1', b'"glyphscope_index":9'), lambda data: data + b"more",
     lambda data: data.replace(b'"rows":', b'"rows":9')],
)  # fmt: skip
def test_a_damaged_or_newer_file_is_made_again(folder, change):
    samples = list(MADE.samples())
    write(folder, samples)
    folder.table()
    path = folder.path / INDEX
    path.write_bytes(change(path.read_bytes()))
    assert summarise(MADE.manifest, folder.table()) == summarise(MADE.manifest, samples)


def test_the_file_of_other_samples_is_made_again(folder):
    samples = list(MADE.samples())
    write(folder, samples)
    folder.table()
    lines = (folder.path / SAMPLES).read_bytes().splitlines(keepends=True)
    (folder.path / SAMPLES).write_bytes(b"".join(lines[1:]))
    assert len(folder.table()) == len(samples) - 1


def test_a_torn_line_is_not_in_the_table_and_a_damaged_one_is_named(folder):
    samples = list(MADE.samples())[:3]
    write(folder, samples)
    path = folder.path / SAMPLES
    with open(path, "ab") as file:
        file.write(b'{"id": "half')
    assert len(folder.table()) == 3
    with open(path, "ab") as file:
        file.write(b"\n")
    with pytest.raises(RecordError, match="Line 4 is damaged"):
        folder.table()


def test_samples_that_were_changed_after_their_table_was_made_are_reported(folder):
    write(folder, list(MADE.samples())[:3])
    table = folder.table()
    (folder.path / SAMPLES).write_bytes(b"x" * 5_000)
    with pytest.raises(RecordError, match="cannot be read"):
        folder.samples_at(table.rows)


def test_a_small_result_has_no_file_for_its_table(tmp_path):
    folder = ResultFolder.create(tmp_path, MADE.manifest, {})
    write(folder, list(MADE.samples()))
    folder.table()
    assert not (folder.path / INDEX).exists()
