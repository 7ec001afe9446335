"""The samples of a result as a table, CSV or Parquet, and as JUnit XML."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from xml.etree import ElementTree

import msgspec
import pytest

from glyphscope.base.errors import GlyphscopeError, RecordError
from glyphscope.evals.results import COLUMNS, Manifest, export_samples
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.sample import ModelCall, Sample, SampleFailure
from made_results import made_result

SAMPLE = Sample(
    id="a/s/one/1", arm="a", suite="s", scenario="one", trial=1, seed=7, text='=SUM("\ud800")', parsed=None,
    failures=(SampleFailure(reason="PARSE", code="SYNTAX", detail="no call"), SampleFailure(reason="MISSING_CALL")),
    calls=(ModelCall(tool="search", arguments={"query": "x"}),),
)  # fmt: skip


def exported(folder, ending, *samples):
    """Return the file with these samples of a result."""
    result = ResultFolder.create(folder, Manifest(), {})
    with result.writing() as writer:
        for each in samples:
            writer.add(each, [[]])
    (path,) = export_samples(result, folder / f"samples.{ending}").files
    return path


def test_a_row_has_the_verdict_and_the_first_failure_and_unknown_cells_are_empty(tmp_path):
    (row,) = csv.DictReader(io.StringIO(exported(tmp_path, "csv", SAMPLE).read_text()))
    assert tuple(row) == COLUMNS
    assert (row["reason"], row["code"], row["detail"]) == ("PARSE", "SYNTAX", "no call")
    assert row["parsed"] == "" and row["model"] == "" and row["valid"] == "False"
    assert row["calls"] == '[{"tool":"search","arguments":{"query":"x"},"ok":null}]'
    assert row["text"].startswith("'=SUM"), "a spreadsheet does not take it for a formula"


def test_parquet_without_pyarrow_is_rejected_with_the_package_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(GlyphscopeError, match="pyarrow") as refused:
        exported(tmp_path, "parquet", SAMPLE)
    assert "glyphscope[parquet]" in refused.value.hint


@pytest.mark.parametrize("samples", [[], [SAMPLE, msgspec.structs.replace(SAMPLE, trial=2, parsed=True)]])
def test_parquet_has_the_same_rows_with_types(tmp_path, samples):
    from pyarrow import parquet

    table = parquet.read_table(exported(tmp_path, "parquet", *samples))
    assert tuple(table.column_names) == COLUMNS and table.num_rows == len(samples)
    assert str(table.schema.field("parsed").type) == "bool"


def test_junit_has_a_test_case_for_each_sample_with_the_attributes_that_its_readers_need(tmp_path):
    right = msgspec.structs.replace(SAMPLE, scenario="two", ok=True, failures=(), total_ms=1500.0)
    odd = SampleFailure(reason="MODEL_FAILED", detail='<a> & "]]>" \0 \ufffe')
    failed = msgspec.structs.replace(SAMPLE, scenario="three", trial=2, text="", failures=(odd,))
    other = msgspec.structs.replace(right, arm="b")
    path = exported(tmp_path, "xml", SAMPLE, right, other, failed)
    root = ElementTree.parse(path).getroot()
    assert root.tag == "testsuites"
    suites = [
        tuple(each.get(name) for name in ("name", "tests", "failures", "errors", "time")) for each in root
    ]
    assert suites == [("s · a", "3", "1", "1", "1.500"), ("s · b", "1", "0", "0", "1.500")]
    wrong, fine, ended = root[0]
    assert [each.tag for each in root.iter() if each.tag not in ("testsuites", "testsuite")] == [
        "testcase", "failure", "testcase", "testcase", "error", "testcase",
    ]  # fmt: skip
    assert (wrong.get("classname"), wrong.get("name"), fine.get("time")) == ("s · a", "one", "1.500")
    assert wrong[0].get("type") == "PARSE" and wrong[0].text.splitlines()[1:] == [
        "An expected call is missing", '=SUM("\ufffd")'
    ]  # fmt: skip
    assert ended.get("name") == "three, trial 2" and '<a> & "]]>" ␀ ⟨U+FFFE⟩' in ended[0].get("message")


def test_the_format_of_a_table_follows_the_file_name(tmp_path):
    folder = ResultFolder.open(made_result(tmp_path))
    assert export_samples(folder, tmp_path / "a.CSV").files == (tmp_path / "a.CSV",)
    assert (tmp_path / "a.CSV").read_text().startswith("arm,")
    with pytest.raises(GlyphscopeError, match="Unknown format of samples") as unknown:
        export_samples(folder, tmp_path / "a.xlsx")
    assert all(ending in unknown.value.hint for ending in (".csv", ".parquet", ".eval", ".json", ".xml"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_export_whose_samples_cannot_be_read_leaves_the_old_file(tmp_path, ending):
    folder = ResultFolder.open(made_result(tmp_path))
    out = tmp_path / f"samples.{ending}"
    out.write_text("older")
    lines = [json.loads(line) for line in (folder.path / "samples.jsonl").read_text().splitlines()]
    lines[-1]["text"] = 7
    (folder.path / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(RecordError):
        export_samples(folder, out)
    assert out.read_text() == "older" and not list(tmp_path.glob(".*.tmp"))
