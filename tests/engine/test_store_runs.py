"""Records, history and journal: a run and the user's edits survive crashes, other windows and damaged files."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from glyphscope.base.errors import RecordError, StorageError
from glyphscope.events import (
    Aborted,
    CallReady,
    ModelInfo,
    PromptEvaluated,
    PromptRendered,
    RunFailed,
    RunRequest,
    RunStarted,
    SegmentClosed,
    SegmentOpened,
    Token,
    TokenStep,
    ToolKnown,
    encode_event,
)
from glyphscope.prompting.messages import render_messages
from glyphscope.registry import default_registry, load_registry
from glyphscope.store import (
    History,
    Journal,
    Project,
    RecordWriter,
    first_difference,
    load_project,
    save_project,
)
from glyphscope.store.records import encode_record, read_record, strip_times
from made_runs import finished

REQUEST = RunRequest(prompt="Search for\n AI news", registry=default_registry().to_document())


def run_of(run: str = "r1", time: str = "2026-01-01T00:00:00Z", t: float = 0.0, **request) -> list:
    asked = msgspec.structs.replace(REQUEST, **request)
    step = TokenStep(index=0, id=7, data=b"\xf0\x9f", text="", logprob=-0.5 + t * 1e-9, mask_ms=t)
    return [
        RunStarted(
            run=run, request=asked, model=ModelInfo(name="smol", sha256="ab"), versions={"x": "1"}, time=time
        ),
        PromptRendered(run=run, t=t, text="p", tokens=3, cached=int(t)),
        PromptEvaluated(run=run, t=t, done=3, total=3, ms=t),
        Token(run=run, t=t, step=step, start=0, end=0),
        ToolKnown(run=run, t=t, name="search", allowed=True, char=9),
        CallReady(run=run, t=t, tool="search", arguments={"query": "AI"}, text="{}"),
        finished(run=run, t=t, tokens=9, forced=2, prompt_ms=t, first_token_ms=t, total_ms=t),
    ]


def record(path, events):
    with RecordWriter(path) as writer:
        for event in events:
            writer.write(event)


def test_a_record_is_read_back_unchanged(tmp_path):
    path = tmp_path / "run.jsonl"
    record(path, run_of())
    header, events, torn = read_record(path)
    assert list(events) == run_of()
    assert not torn
    assert (header.model, header.sha256, header.seed) == ("smol", "ab", 1)
    assert header.registry == default_registry().digest
    assert os.listdir(tmp_path) == ["run.jsonl"]


def test_a_run_that_is_killed_leaves_the_older_record_and_a_readable_part(tmp_path):
    path = tmp_path / "run.jsonl"
    record(path, run_of("old"))
    writer = RecordWriter(path)
    for event in run_of("new")[:3]:
        writer.write(event)
    part = tmp_path / "run.jsonl.part"
    copy = tmp_path / "killed.jsonl"
    copy.write_bytes(part.read_bytes()[:-9])
    _, events, torn = read_record(copy)
    assert torn
    assert list(events) == run_of("new")[:2]
    assert read_record(path).events[0].run == "old"
    writer.close()
    assert read_record(path).events[0].run == "new"


def test_a_damaged_line_in_the_middle_is_reported_with_its_number(tmp_path):
    path = tmp_path / "run.jsonl"
    record(path, run_of())
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:20] + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(RecordError, match="Line 4 is damaged"):
        read_record(path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"hello\n", "Not a Glyphscope record"),
        (encode_event(run_of()[0]) + b"\n", "Not a Glyphscope record"),
        (b'{"glyphscope_record": 2}\n', "newer Glyphscope"),
        (b'{"glyphscope_record": 1, "seed": "x"}\n', "Line 1"),
        (b"\xff\xfe\x00", "Not a Glyphscope record"),
    ],
)
def test_a_file_that_is_not_a_record_is_rejected(tmp_path, data, words):
    path = tmp_path / "run.jsonl"
    path.write_bytes(data)
    with pytest.raises(RecordError, match=words):
        read_record(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_disk_that_fills_up_while_recording_is_reported(tmp_path):
    writer = RecordWriter(tmp_path / "run.jsonl")
    writer.part = Path("/dev/full")
    with pytest.raises(StorageError, match="disk is full"):
        writer.write(run_of()[0])
    with pytest.raises(StorageError):
        writer.close()


def test_without_times_two_runs_are_compared():
    one, other = run_of("a", "x", 1.0), run_of("b", "y", 2.0)
    assert strip_times(one[2]) is None
    assert first_difference(one, other, tolerance=1e-6) == ""
    assert "/step/logprob" in first_difference(one, other)
    assert "one more" in first_difference(one, one[:-1])
    other[4] = msgspec.structs.replace(other[4], name="browse")
    assert "'search', is 'browse'" in first_difference(one, other, tolerance=1e-6)


def test_a_record_without_the_part_of_a_call_after_reasoning_is_the_same_run():
    reasoning = [SegmentOpened(kind="reasoning", start=0), SegmentClosed(kind="reasoning", start=0, end=4)]
    call = [SegmentOpened(kind="call", start=12), SegmentClosed(kind="call", start=12, end=30)]
    assert first_difference(reasoning, [*reasoning, *call]) == ""
    assert "one more" in first_difference([*reasoning, *call], reasoning)


def test_a_lone_surrogate_is_replaced_in_the_record_and_the_history(tmp_path):
    half = "AI \ud83d news"
    events = run_of(prompt=half)
    events[0] = msgspec.structs.replace(events[0], model=ModelInfo(name=half))
    record(tmp_path / "r.jsonl", events)
    assert read_record(tmp_path / "r.jsonl").header.model == "AI \ufffd news"
    assert encode_record(events) == (tmp_path / "r.jsonl").read_bytes()
    history = History(tmp_path / "h.sqlite")
    history.add(events)
    history.describe("r1", name=half, note=half)
    (row,) = history.rows(half)
    assert row.title == row.name == "AI \ufffd news"
    assert row.model == "AI ⟨U+D83D⟩ news"


@pytest.mark.parametrize("search", ["AI " * 3000, "x" * 200_000])
def test_any_pasted_text_can_be_searched(tmp_path, search):
    history = History(tmp_path / "h.sqlite")
    history.add(run_of())
    assert len(history.rows(search)) == search.startswith("AI")


def test_the_history_lists_finds_pins_and_deletes(tmp_path):
    history = History(tmp_path / "data" / "h.sqlite3")
    assert history.rows() == []
    history.add(run_of("a", "2026-01-01"))
    history.add(run_of("b", "2026-01-02", prompt="100% of_it", notation="json"))
    history.add(run_of("c", "2026-01-03"))
    assert [row.id for row in history.rows()] == ["c", "b", "a"]
    row = history.rows("ai NEWS search")[0]
    assert (row.title, row.tool, row.outcome, row.tokens) == ("Search for AI news", "search", "valid", 9)
    assert [row.id for row in history.rows("0% f_i")] == ["b"]
    assert history.rows("%") == history.rows("100%")
    history.describe("c", note="Öffnungszeiten in ÅRHUS")
    assert [row.id for row in history.rows("öffnung århus")] == ["c"]
    assert history.rows("offnung") == []
    history.pin("a")
    assert [row.id for row in history.rows()] == ["a", "c", "b"]
    assert list(history.events("a")) == run_of("a", "2026-01-01")
    history.prune(keep=1)
    assert [row.id for row in history.rows()] == ["a", "c"]
    history.delete("a", "c")
    with pytest.raises(RecordError, match="no longer"):
        history.events("a")


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        ([], "unfinished"),
        ([RunFailed(code="MODEL_FAILED", message="")], "failed MODEL_FAILED"),
        (
            [
                Aborted(code="UNKNOWN_TOOL", message="", path="", char=1, token=1, tokens_decoded=1),
                finished("aborted", valid=False),
            ],
            "aborted UNKNOWN_TOOL",
        ),
        ([finished("length", valid=False)], "length"),
    ],
)
def test_the_history_records_how_a_run_ended(tmp_path, last, outcome):
    assert History(tmp_path / "h.sqlite3").add([run_of()[0], *last]).outcome == outcome


@pytest.mark.parametrize(
    "damage", [b"no database at all, only text " * 200, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_damaged_history_is_renamed_and_a_new_one_started(tmp_path, damage):
    path = tmp_path / "h.sqlite3"
    path.write_bytes(damage)
    history = History(path)
    assert history.rows() == []
    assert "damaged" in history.take_notice()
    assert history.take_notice() == ""
    history.add(run_of())
    assert len(history.rows()) == 1
    (aside,) = tmp_path.glob("*.damaged-*")
    assert aside.read_bytes() == damage


def test_a_history_damaged_in_its_middle_is_reported_and_then_usable(tmp_path):
    path = tmp_path / "h.sqlite3"
    history = History(path)
    for number in range(40):
        history.add(run_of(f"r{number}", prompt="x" * 150))
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StorageError, match="damaged"):
        history.rows("x")
    history.add(run_of())
    assert len(history.rows()) == 1
    assert list(tmp_path.glob("*.damaged-*"))


def test_a_locked_history_is_reported_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("glyphscope.store.history._WAIT_SECONDS", 0.05)
    history = History(tmp_path / "h.sqlite3")
    history.add(run_of("a"))
    other = sqlite3.connect(history.path)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match="locked") as caught:
        history.add(run_of("b"))
    assert "Another window" in caught.value.hint
    other.rollback()
    other.close()
    history.add(run_of("b"))
    assert len(history.rows()) == 2


def test_a_history_of_a_newer_version_is_left_as_it_is(tmp_path):
    path = tmp_path / "h.sqlite3"
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version = 99")
    base.commit()
    base.close()
    with pytest.raises(RecordError, match="newer Glyphscope"):
        History(path).rows()
    assert os.listdir(tmp_path) == ["h.sqlite3"]


@pytest.mark.slow
def test_two_processes_write_one_history(tmp_path):
    path = tmp_path / "h.sqlite3"
    writing = (
        "import sys; from pathlib import Path; from glyphscope.store import History\n"
        "from glyphscope.events import *\n"
        "for i in range(20):\n"
        "    History(Path(sys.argv[1])).add([RunStarted(run=f'{sys.argv[2]}{i}', request=RunRequest(prompt='p', "
        "registry={'glyphscope': 1, 'tools': []}), model=ModelInfo(name='m'), versions={}, time='t')])\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", writing, str(path), name]) for name in "ab"]
    assert [process.wait(timeout=240) for process in both] == [0, 0]
    assert len(History(path).rows()) == 40


@pytest.mark.slow
def test_only_the_unsaved_edits_of_a_dead_process_are_offered(tmp_path):
    folder = tmp_path / "journal"
    saved = tmp_path / "p.glyphscope"
    digest = save_project(saved, Project(request=REQUEST))
    dying = (
        "import os, sys; from pathlib import Path; from glyphscope.store import *\n"
        "p = load_project(Path(sys.argv[2]))\n"
        "edited = Project(request=p.project.request, notes='edited')\n"
        "Journal(Path(sys.argv[1])).write(edited, Path(sys.argv[2]), p.digest)\n"
        "os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", dying, str(folder), str(saved)], check=False)
    living = Journal(folder)
    living.write(Project(request=REQUEST))
    ours = Journal(folder)
    (leftover,) = ours.leftovers()
    assert leftover.unsaved.project.notes == "edited"
    assert (leftover.unsaved.path, leftover.unsaved.digest) == (str(saved), digest)
    assert not leftover.unsaved.changed_since
    save_project(saved, Project(request=REQUEST, notes="meanwhile"))
    assert leftover.unsaved.changed_since
    ours.discard(leftover)
    assert ours.leftovers() == []
    living.clear()
    assert os.listdir(folder) == []


def test_a_damaged_journal_is_renamed_and_ignored(tmp_path):
    (tmp_path / "1-a.json").write_text('{"glyphscope_journal": 1, "proj')
    assert Journal(tmp_path).leftovers() == []
    assert [name.partition(".damaged")[0] for name in os.listdir(tmp_path)] == ["1-a.json"]
    assert Journal(tmp_path / "none").leftovers() == []


def test_a_full_disk_leaves_the_last_journal(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    journal.write(Project(request=REQUEST, notes="one"))
    before = journal.file.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="disk is full"):
        journal.write(Project(request=REQUEST, notes="two"))
    monkeypatch.undo()
    assert journal.file.read_bytes() == before
    journal.clear()


def test_the_deepest_registry_that_loads_works_in_prompt_project_record_and_history(tmp_path):
    schema: dict = {"type": "string"}
    for _ in range(256):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    registry = load_registry({"deep": schema})
    request = RunRequest(prompt="p", registry=registry.to_document())
    assert "deep(a: " in render_messages(request, registry).messages[0].content
    save_project(tmp_path / "p", Project(request=request))
    assert load_project(tmp_path / "p").project.request == request
    history = History(tmp_path / "h.sqlite3")
    events = [msgspec.structs.replace(run_of()[0], request=request)]
    assert list(history.events(history.add(events).id)) == events
