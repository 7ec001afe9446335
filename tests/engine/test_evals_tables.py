"""The tables of the bundled suite, and the export files of a result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from glyphscope.base.errors import StorageError
from glyphscope.evals.results import (
    ScenarioSummary,
    SuiteTables,
    Summary,
    by_scenario,
    suite_tables,
    summarise,
)
from glyphscope.evals.results.folder import TABLES, ResultFolder
from glyphscope.evals.results.report import BY_SCENARIO, BY_STRATEGY, REPORT, SUMMARY, TABLE, write_summaries
from glyphscope.evals.suites.reading import load_suite, suite_registry
from glyphscope.evals.suites.suite import CheckRow
from made_samples import MadeResult

SUITE = load_suite("tool-calls")
FILES = {TABLES, SUMMARY, BY_SCENARIO, BY_STRATEGY, TABLE, REPORT}


def _summary(folder: Path) -> Summary:
    return msgspec.json.decode((folder / SUMMARY).read_bytes(), type=Summary)


def _tables() -> SuiteTables:
    return suite_tables(SUITE, suite_registry(SUITE, None), lambda text: (len(text) + 2) // 3, model="thirds")


def test_a_text_judged_otherwise_than_expected_does_not_fit() -> None:
    rows = (
        CheckRow(text='{action="search" query="x"}', tool_allowed=True, code="CONSTRAINT_MAX"),
        CheckRow(text='{action="search" query="x"}', tool_allowed=False),
    )
    suite = msgspec.structs.replace(SUITE, checks=rows)
    assert [row.fits for row in suite_tables(suite, suite_registry(suite, None)).checks] == [False, False]


def test_claims_that_are_all_true_are_confirmed() -> None:
    row = next(row for row in SUITE.sizes if row.id == "search")
    right = msgspec.structs.replace(SUITE, sizes=(msgspec.structs.replace(row, claimed={"json": 54}),))
    words = " ".join(suite_tables(right, suite_registry(right, None)).words)
    assert "does not match" not in words
    assert "All claimed sizes (1) are those of a text that the call is written as." in words


def test_without_a_model_no_tokens_are_counted() -> None:
    reported = suite_tables(SUITE, suite_registry(SUITE, None), model="nobody")
    assert {size.tokens for row in reported.sizes for size in row.sizes} == {None}
    assert "Tokens were not counted" in " ".join(reported.words)
    assert reported.model == ""


@pytest.mark.slow
def test_every_file_is_written_and_reads_back(tmp_path) -> None:
    made = MadeResult(scenarios=6, trials=2)
    folder = ResultFolder(tmp_path, made.manifest)
    folder.keep_tables([_tables()])
    reported = write_summaries(folder, made.samples(), [SUITE])
    assert {path.name for path in tmp_path.iterdir()} == FILES
    assert _summary(tmp_path) == reported == summarise(made.manifest, made.samples())
    scenarios = msgspec.json.decode((tmp_path / BY_SCENARIO).read_bytes(), type=ScenarioSummary)
    assert scenarios == by_scenario(made.manifest, made.samples())
    assert json.loads((tmp_path / BY_STRATEGY).read_bytes())["by"] == "strategy"
    assert b"{action=&#34;" in (tmp_path / REPORT).read_bytes()


@pytest.mark.slow
def test_a_report_that_is_made_again_without_a_model_keeps_the_counted_tokens(tmp_path) -> None:
    made = MadeResult(scenarios=3, trials=1)
    folder = ResultFolder(tmp_path, made.manifest)
    write_summaries(folder, made.samples(), [SUITE])
    assert b"Tokens were not counted" in (tmp_path / REPORT).read_bytes()
    other = msgspec.structs.replace(_tables(), model="another")
    folder.keep_tables([_tables(), other])
    write_summaries(folder, made.samples(), [SUITE])
    page = (tmp_path / REPORT).read_bytes()
    assert b"Tokens were not counted" not in page
    assert (page.count(b"<h3>Sizes, "), page.count(b"<h3>Allow list, ")) == (2, 1)


def test_a_name_that_is_not_utf_8_does_not_prevent_the_figures(tmp_path) -> None:
    made = MadeResult(scenarios=3, trials=1)
    odd = msgspec.structs.replace(
        made.manifest, missing={os.fsdecode(b"m\xff.gguf"): "There is no such file."}
    )
    write_summaries(ResultFolder(tmp_path, odd), made.samples())
    assert "could not be opened" in " ".join(_summary(tmp_path).notes)
    assert b"not available, or abandoned" in (tmp_path / REPORT).read_bytes()


def test_a_folder_that_cannot_be_written_is_reported(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    made = MadeResult(scenarios=1, trials=1)
    with pytest.raises(StorageError):
        write_summaries(ResultFolder(tmp_path / "file", made.manifest), made.samples())


FULL = """
import sys
from pathlib import Path
from made_samples import MadeResult
from glyphscope.base.errors import StorageError
from glyphscope.evals.results.report import *
from glyphscope.evals.results.folder import ResultFolder

disk, small, large = Path(sys.argv[1]), MadeResult(scenarios=1, trials=1), MadeResult(scenarios=60, trials=3)
write_summaries(ResultFolder(disk, small.manifest), small.samples())
before = {p.name: p.read_bytes() for p in disk.iterdir()}
with open(disk / "filler", "wb", buffering=0) as file:
    try:
        while True:
            file.write(b"x" * 1000)
    except OSError:
        pass
try:
    write_summaries(ResultFolder(disk, large.manifest), large.samples())
except StorageError as error:
    after = {p.name: p.read_bytes() for p in disk.iterdir() if p.name != "filler"}
    print(error, before == after)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs a separate file system")
def test_a_full_disk_is_reported_and_leaves_the_old_files(tmp_path, request) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f'mount -t tmpfs -o size=2m tmpfs "{disk}" && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a separate file system cannot be mounted here")
    support = str(request.config.rootpath / "tests" / "support")
    done = subprocess.run(
        [*command, sys.executable, "-c", FULL, str(disk)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": support},
    )  # fmt: skip
    assert "The disk is full." in done.stdout, done.stderr
    assert done.stdout.strip().endswith("True")
