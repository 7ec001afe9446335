"""The tree of branches in the history: found again, named, kept together, and migrated from an older file."""

from __future__ import annotations

import sqlite3
import zlib

import msgspec
import pytest

from glyphscope.base.errors import RecordError
from glyphscope.events import BranchPoint, ModelInfo, RunRequest, RunStarted, Sampling, Token, TokenStep
from glyphscope.registry import default_registry
from glyphscope.runs import branch_tree
from glyphscope.store import History
from glyphscope.store.records import encode_record
from made_runs import finished

REQUEST = RunRequest(prompt="Search for AI news", registry=default_registry().to_document())


def run_of(run, parent="", minute=0, text="{"):
    point = BranchPoint(parent, 3) if parent else None
    started = RunStarted(
        run=run,
        request=msgspec.structs.replace(REQUEST, branch_of=point),
        model=ModelInfo(name="smol"),
        versions={},
        time=f"2026-01-01T00:{minute:02}:00Z",
    )
    step = TokenStep(index=0, id=1, data=text.encode(), text=text)
    return [started, Token(run=run, step=step, start=0, end=len(text)), finished(run=run)]


@pytest.fixture
def history(tmp_path):
    return History(tmp_path / "h.sqlite")


def ids(kin):
    return sorted(one.row.id for one in kin)


def test_a_tree_is_found_from_each_of_its_runs(history):
    for events in (
        run_of("a"), run_of("b", "a", 1), run_of("c", "b", 2), run_of("d", "a", 3), run_of("x"), run_of("y", "x", 4),
    ):  # fmt: skip
        history.add(events)
    for run in "abcd":
        assert ids(history.family(run)) == ["a", "b", "c", "d"], run
    assert ids(history.family("y")) == ["x", "y"]
    (root,) = branch_tree([one.started] for one in history.family("c"))
    assert [child.run for child in root.children] == ["b", "d"]


def test_branches_of_a_deleted_run_are_one_family(history):
    for events in (run_of("b", "gone"), run_of("c", "gone", 1), run_of("d", "c", 2)):
        history.add(events)
    assert ids(history.family("gone")) == ids(history.family("d")) == ["b", "c", "d"]
    assert history.family("unknown") == []


def test_runs_that_name_each_other_as_parents_end(history):
    history.add(run_of("a", "b"))
    history.add(run_of("b", "a"))
    history.add(run_of("c", "c"))
    assert ids(history.family("a")) == ["a", "b"]
    assert ids(history.family("c")) == ["c"]


def test_a_name_and_a_note_are_saved_and_found(history):
    history.add(run_of("a"))
    history.describe("a", name="The limit")
    history.describe("a", note="asks for 500")
    history.pin("a")
    history.add(run_of("a", text="{}"))
    (kin,) = history.family("a")
    assert (kin.row.name, kin.row.note, kin.row.pinned, kin.answer) == (
        "The limit", "asks for 500", True, "{}",
    )  # fmt: skip
    assert [row.id for row in history.rows("limit 500")] == ["a"]


def test_tags_and_scores_are_saved_once_in_order_and_found(history):
    for run, minute in (("a", 0), ("b", 1), ("c", 2)):
        history.add(run_of(run, minute=minute))
    history.describe("a", tags=["#Slow, bug", "slow"], score=4)
    history.describe("b", tags=["slower"], score=2)
    history.add(run_of("a", text="{}"))
    row = history.find("a")
    assert (row.tags, row.score, history.find("c").tags, history.find("c").score) == (
        ("slow", "bug"),
        4,
        (),
        0,
    )
    for search, found in (
        ("#slow", "a"), ("#SLOW #bug", "a"), ("slow", "ba"), ("score>=3", "a"), ("score:2", "b"), ("score<4", "b"),
        ("score=0", "c"), ("#slo", ""), ("score>=4 #slower", ""), ("score>=x", ""),
    ):  # fmt: skip
        assert "".join(row.id for row in history.rows(search)) == found, search
    history.describe("a", tags=[], score=0)
    assert (history.find("a").tags, history.find("a").score) == ((), 0)
    with pytest.raises(ValueError):
        history.describe("a", score=6)


def test_a_run_is_found_by_a_unique_prefix_of_its_id(history):
    for run in ("abc", "abd", "ab"):
        history.add(run_of(run))
    assert (history.find("abc").id, history.find("ab").id) == ("abc", "ab")
    for run in ("a", "x", "", "%"):
        with pytest.raises(RecordError):
            history.find(run)


def test_a_history_of_version_2_is_upgraded_with_its_names(history):
    history.add(run_of("a"))
    history.describe("a", name="kept", note="too", tags=["x"], score=1)
    with sqlite3.connect(history.path) as base:
        for column in ("tags", "score", "sampling"):
            base.execute(f"ALTER TABLE runs DROP COLUMN {column}")
        base.execute("PRAGMA user_version = 2")
    base.close()
    (row,) = History(history.path).rows()
    assert (row.name, row.note, row.tags, row.score) == ("kept", "too", (), 0)
    history.describe("a", tags=["new"])
    assert history.find("a").tags == ("new",) and history.events("a") == tuple(run_of("a"))


def test_an_older_history_takes_the_sampling_of_its_runs_from_their_records(history):
    sampling = Sampling(temperature=0.9, seed=2**70)
    for run in ("a", "b"):
        started, *rest = run_of(run)
        request = msgspec.structs.replace(started.request, sampling=sampling)
        history.add([msgspec.structs.replace(started, request=request), *rest])
    with sqlite3.connect(history.path) as base:
        base.execute("ALTER TABLE runs DROP COLUMN sampling")
        base.execute("UPDATE runs SET record = ? WHERE id = 'b'", (b"\x00garbage",))
        base.execute("PRAGMA user_version = 3")
    base.close()
    older = History(history.path)
    assert (older.find("a").sampling, older.find("b").sampling) == (sampling, None)
    older.add(run_of("c"))
    assert older.find("c").sampling == Sampling()


def test_described_runs_and_parents_of_branches_are_not_pruned(history):
    history.add(run_of("root"))
    history.add(run_of("old", minute=1))
    history.add(run_of("named", minute=2))
    history.describe("named", tags=["keep"])
    history.add(run_of("branch", "root", 3))
    history.prune(1)
    assert sorted(row.id for row in history.rows()) == ["branch", "named", "root"]
    history.delete("branch")
    history.add(run_of("new", minute=4))
    history.prune(1)
    assert sorted(row.id for row in history.rows()) == ["named", "new"]


def test_a_damaged_record_leaves_its_family(history):
    history.add(run_of("a"))
    history.add(run_of("b", "a", 1))
    with sqlite3.connect(history.path) as base:
        base.execute("UPDATE runs SET record = ? WHERE id = 'a'", (b"\x00garbage",))
    base.close()
    assert ids(history.family("b")) == ["b"]


def test_a_history_of_the_previous_version_is_upgraded_with_its_runs(tmp_path):
    path, events = tmp_path / "h.sqlite", run_of("a")
    base = sqlite3.connect(path)
    base.executescript(
        "CREATE TABLE runs (id TEXT PRIMARY KEY, time TEXT NOT NULL, title TEXT NOT NULL, model TEXT NOT NULL,"
        "notation TEXT NOT NULL, shape TEXT NOT NULL, kind TEXT NOT NULL, outcome TEXT NOT NULL, tool TEXT NOT NULL,"
        "tokens INTEGER NOT NULL, pinned INTEGER NOT NULL DEFAULT 0, record BLOB NOT NULL);"
        "CREATE INDEX runs_by_time ON runs (pinned DESC, time DESC); PRAGMA user_version = 1;"
    )
    base.execute(
        "INSERT INTO runs VALUES ('a', '2026', 'ask', 'smol', 'glyph', 'flat', 'mask', 'valid', '', 1, 1, ?)",
        (zlib.compress(encode_record(events)),),
    )
    base.commit()
    base.close()
    one, other = History(path), History(path)
    assert [(row.id, row.pinned, row.name) for row in one.rows()] == [("a", True, "")]
    other.add(run_of("b", "a", 1))
    assert ids(one.family("a")) == ["a", "b"]
    assert one.events("a") == tuple(events)
