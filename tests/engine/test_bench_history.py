"""The history of the bench: lines of runs, damaged or not, and commits beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from cli_command import command as glyphscope
from glyphscope.base.errors import StorageError
from glyphscope.events import LoadOptions
from glyphscope_benchmarks import command, history
from glyphscope_benchmarks.figures import Row, at_least, at_most
from glyphscope_benchmarks.history import Entry, Past, append, change, compare, read
from glyphscope_benchmarks.report import Machine, report

MACHINE = Machine(system="Linux", processor="a processor", cores=2, load=0.5)
TIME, SPEED = Row("time", "ms", "", at_most(5.0)), Row("speed", "ratio", "", at_least(2.0))


def run(
    commit: str, *times: float, machine: Machine = MACHINE, load: LoadOptions | None = None, day: int = 1
) -> Entry:
    figure = TIME.of(times)
    assert figure.measured is not None and figure.minimum is not None and figure.maximum is not None
    return Entry(
        commit=commit,
        date=f"2026-01-{day:02}T00:00:00+00:00",
        machine=machine,
        versions={},
        model="",
        load=load,
        figures=[
            Past(
                name="time",
                unit="ms",
                better="lower",
                minimum=figure.minimum,
                measured=figure.measured,
                maximum=figure.maximum,
                repeats=len(times),
            )
        ],
    )


def test_a_run_is_a_line_that_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "bench.jsonl"
    first, second = run("a", 1.0, 2.0), run("b", 3.0, 4.0)
    append(first, path)
    append(second, path)
    assert path.read_bytes().count(b"\n") == 2
    assert read(path) == ([first, second], [])


def test_a_run_after_a_line_that_was_cut_off_is_on_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"
    path.write_bytes(b'{"commit": "a", "da')
    append(run("b", 1.0), path)
    runs, (problem,) = read(path)
    assert runs == [run("b", 1.0)]
    assert "line 1" in problem and "ignored" in problem


@pytest.mark.parametrize("damaged", [b"\xff\xfe", b"[]", b"{}", b'{"commit": 3}', b"null", b"\x00"])
def test_a_damaged_line_is_named_and_the_others_are_used(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "bench.jsonl"
    append(run("a", 1.0), path)
    with path.open("ab") as file:
        file.write(b"\n" + damaged + b"\n")
    append(run("b", 2.0), path)
    runs, (problem,) = read(path)
    assert [each.commit for each in runs] == ["a", "b"]
    assert "line 3" in problem


def test_no_file_is_no_history(tmp_path: Path) -> None:
    assert read(tmp_path / "bench.jsonl") == ([], [])


def test_a_folder_in_the_files_place_is_an_error(tmp_path: Path) -> None:
    for work in (lambda: append(run("a", 1.0), tmp_path), lambda: read(tmp_path)):
        with pytest.raises(StorageError):
            work()


@pytest.mark.parametrize(
    ("before", "after", "better", "expected"),
    [
        ([1.0, 2.0], [2.0, 3.0], "lower", "not significant"),
        ([1.0, 2.0], [2.1, 3.0], "lower", "slower"),
        ([2.1, 3.0], [1.0, 2.0], "lower", "faster"),
        ([1.0, 2.0], [2.1, 3.0], "higher", "faster"),
        ([2.1, 3.0], [1.0, 2.0], "higher", "slower"),
        ([1.0, 4.0], [2.0, 3.0], "lower", "not significant"),
    ],
)
def test_a_change_is_significant_where_the_spreads_do_not_overlap(
    before: list[float], after: list[float], better: str, expected: str
) -> None:
    one, other = (
        msgspec.structs.replace(run("a", *times).figures[0], better=better) for times in (before, after)
    )
    assert change(one, other) == expected


def test_a_figure_that_one_commit_lacks_has_no_change() -> None:
    (figure,) = run("a", 1.0).figures
    assert change(None, figure) is None and change(figure, None) is None


def test_runs_of_a_commit_are_one_column_with_their_joint_spread(tmp_path: Path) -> None:
    found = compare([run("a", 1.0, 2.0), run("b", 1.0, 3.0), run("b", 2.0, 5.0, day=2)], [], tmp_path)
    before, after = found.commits
    assert (before.runs, after.runs, after.date[:10]) == (1, 2, "2026-01-02")
    figure = after.figures["time"]
    assert (figure.minimum, figure.measured, figure.maximum, figure.repeats) == (1.0, 2.75, 5.0, 4)
    assert found.changes == {"time": ["not significant"]}


def test_runs_of_uncommitted_changes_or_without_git_are_not_joined(tmp_path: Path) -> None:
    runs = [run("a+", 1.0), run("a+", 2.0, day=2), run("", 3.0), run("", 4.0, day=2)]
    assert [column.runs for column in compare(runs, [], tmp_path).commits] == [1, 1, 1, 1]


def test_only_runs_of_the_same_machine_and_options_are_compared(tmp_path: Path) -> None:
    other = msgspec.structs.replace(MACHINE, processor="another")
    busy = msgspec.structs.replace(MACHINE, load=9.0, system="Linux of next month")
    runs = [
        run("a", 1.0, machine=other),
        run("b", 1.0, load=LoadOptions(threads=1)),
        run("c", 1.0, machine=busy),
        run("d", 1.0),
    ]
    assert [column.commit for column in compare(runs, [], tmp_path).commits] == ["c", "d"]


def test_the_newest_commits_are_shown(tmp_path: Path) -> None:
    found = compare([run(str(number), 1.0) for number in range(9)], [], tmp_path)
    assert [column.commit for column in found.commits] == ["5", "6", "7", "8"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLYPHSCOPE_HOME", str(tmp_path))
    figures = [TIME.of([4.0, 1.0, 9.0]), SPEED.of([2.0]), TIME.missing("no model")]
    monkeypatch.setattr(command, "measure", lambda *_: iter(figures))
    monkeypatch.setattr(command, "_open", lambda *_: (None, "no model"))
    return tmp_path


def test_a_full_run_is_saved_and_a_quick_one_is_not(home: Path) -> None:
    assert glyphscope("bench", "--quick").exit_code == 0
    assert not (home / "bench.jsonl").exists()
    assert glyphscope("bench").exit_code == 0
    line = json.loads((home / "bench.jsonl").read_text(encoding="utf-8"))
    assert [figure["name"] for figure in line["figures"]] == ["time", "speed"]
    assert line["figures"][0] == {
        "name": "time",
        "unit": "ms",
        "better": "lower",
        "minimum": 1.0,
        "measured": 4.0,
        "maximum": 9.0,
        "repeats": 3,
    }
    assert line["machine"]["cores"] >= 1 and "python" in line["versions"] and line["date"].endswith("+00:00")


def test_a_run_that_cannot_be_saved_is_reported_and_succeeds(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no device that is always full")
    monkeypatch.setattr(history, "history_file", lambda: full)
    done = glyphscope("bench")
    assert done.exit_code == 0 and "4.00 ms" in done.stdout
    assert "not in the history" in done.stderr and "The disk is full." in done.stderr
    monkeypatch.setattr(history, "history_file", lambda: home / "bench.jsonl" / "file")
    (home / "bench.jsonl").touch()
    done = glyphscope("bench")
    assert done.exit_code == 0 and "not in the history" in done.stderr


def test_commits_are_shown_beside_each_other(home: Path) -> None:
    path = home / "bench.jsonl"
    for each in (run("a" * 40, 1.0, 2.0), run("b" * 40 + "+", 3.0, 4.0)):
        append(each, path)
    with path.open("ab") as file:
        file.write(b"damaged\n")
    done = glyphscope("bench", "--compare")
    assert done.exit_code == 0
    for text in ("aaaaaaaa", "bbbbbbbb+", "1.50 ms", "3.00–4.00", "slower", "load 0.5"):
        assert text in done.stdout
    assert "line 3" in done.stderr
    answer = json.loads(glyphscope("bench", "--compare", "--json").stdout)
    assert answer["changes"] == {"time": ["slower"]} and len(answer["problems"]) == 1


def test_a_comparison_without_runs_says_how_to_make_one(home: Path) -> None:
    done = glyphscope("bench", "--compare")
    assert done.exit_code == 0 and "make bench" in done.stdout
    append(run("a", 1.0), home / "bench.jsonl")
    assert "nothing to compare" in glyphscope("bench", "--compare").stdout


def test_a_run_knows_its_commit() -> None:
    found = report([], quick=False, seconds=1.0, machine=MACHINE, model=None)
    commit = history.entry(found).commit.removesuffix("+")
    assert commit == "" or (len(commit) == 40 and int(commit, 16) >= 0)
