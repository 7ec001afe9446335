"""read_file and write_file: only the scratch folder is read or written, whatever the path."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo_calls import call, refused, said
from examples import at_most
from glyphscope.base.errors import ToolError
from glyphscope.tools.demo import DemoTools

MAX_FILE_BYTES = 1_000_000


def test_a_written_file_is_read_back(demo: DemoTools, tmp_path: Path) -> None:
    assert said(demo, "write_file", path="notes/today.txt", content="Grüße\n") == (
        "Wrote notes/today.txt: it has 8 bytes."
    )
    call(demo, "write_file", path="./notes//today.txt", content="more", mode="append")
    assert said(demo, "read_file", path="notes/today.txt") == "Grüße\nmore"
    assert base64.b64decode(said(demo, "read_file", path="notes/today.txt", encoding="base64")) == (
        "Grüße\nmore".encode()
    )
    binary = call(demo, "read_file", path="notes/today.txt", encoding="binary").content[1]
    assert (binary.kind, binary.data, binary.size) == ("resource", "Grüße\nmore".encode(), 12)
    call(demo, "write_file", path="notes/today.txt", content="new")
    assert (tmp_path / "scratch/notes/today.txt").read_text() == "new"
    assert [(file.path, file.bytes) for file in demo.scratch.files()] == [("notes/today.txt", 3)]


@pytest.mark.parametrize(
    "path",
    [
        "../outside.txt", "a/../../outside.txt", "..", "/etc/passwd", "//etc/passwd", "~/x", "C:\\x", "..\\x",
        "link/outside.txt", "link", "chain/x",
    ],
)  # fmt: skip
def test_a_path_out_of_the_scratch_folder_is_rejected(demo: DemoTools, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "outside.txt").write_text("secret")
    (tmp_path / "outside.txt").write_text("secret")
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch/link").symlink_to(outside)
    (tmp_path / "scratch/chain").symlink_to("link")
    assert "outside the scratch folder" in refused(demo, "read_file", path=path)
    assert "outside the scratch folder" in refused(demo, "write_file", path=path, content="x")
    assert sorted(p.name for p in outside.iterdir()) == ["outside.txt"]
    assert (tmp_path / "outside.txt").read_text() == (outside / "outside.txt").read_text() == "secret"


def test_a_link_to_a_file_outside_is_not_written_through(demo: DemoTools, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "scratch/soft").symlink_to(tmp_path / "secret")
    (tmp_path / "scratch/nowhere").symlink_to(tmp_path / "new")
    os.link(tmp_path / "secret", tmp_path / "scratch/hard")
    refused(demo, "write_file", path="soft", content="x")
    refused(demo, "write_file", path="nowhere", content="x")
    call(demo, "write_file", path="hard", content="x", mode="append")
    assert (tmp_path / "secret").read_text() == "secret"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("a\x00b", "control character"),
        ("a\nb", "control character"),
        ("\ud800", "control character"),
        ("x" * 201, "too long"),
        ("/".join("a" * 9), "9 levels"),
        ("x" * 10_000_000, "10,000,000 characters"),
        (".", "scratch folder"),
        ("ring", "ring"),
        ("folder", "is a folder"),
        ("pipe", ""),
        ("file/below", ""),
    ],
    ids=lambda text: text[:20],
)
def test_an_invalid_path_is_rejected(demo: DemoTools, tmp_path: Path, path: str, words: str) -> None:
    folder = tmp_path / "scratch"
    (folder / "folder").mkdir(parents=True)
    (folder / "file").write_text("x")
    (folder / "ring").symlink_to("ring")
    os.mkfifo(folder / "pipe")
    assert words in refused(demo, "read_file", path=path)
    if path != "pipe":
        assert words in refused(demo, "write_file", path=path, content="x")


def test_a_missing_file_is_reported_with_the_existing_ones(demo: DemoTools) -> None:
    assert "empty" in refused(demo, "read_file", path="a.txt")
    call(demo, "write_file", path="b.txt", content="x")
    assert (
        refused(demo, "read_file", path="a.txt") == 'There is no file "a.txt". The scratch folder has b.txt.'
    )


def test_files_and_the_folder_have_a_size_limit(demo: DemoTools, tmp_path: Path) -> None:
    large = "x" * MAX_FILE_BYTES
    assert call(demo, "write_file", path="a", content=large).ok
    assert "at most 1,000,000" in refused(demo, "write_file", path="a", content="x", mode="append")
    assert "at most 1,000,000" in refused(demo, "write_file", path="b", content=large + "x")
    (tmp_path / "scratch/c").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    assert "at most 1,000,000" in refused(demo, "read_file", path="c")
    for number in range(30):
        last = call(demo, "write_file", path=f"file{number}", content=large)
    assert "full" in last.message
    assert sum(file.bytes for file in demo.scratch.files()) <= 20_000_000


def test_bytes_that_are_not_text_are_rejected(demo: DemoTools, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch/x").write_bytes(b"a\xff")
    assert "byte 1 is 0xFF" in refused(demo, "read_file", path="x")
    assert "not valid Unicode" in refused(demo, "write_file", path="y", content="a\ud800")


def test_a_temporary_folder_is_removed_and_a_given_one_stays(tmp_path: Path) -> None:
    own, given = DemoTools().scratch, DemoTools(tmp_path / "given").scratch
    assert own.folder is None
    for scratch in (own, given):
        scratch.write("a", b"x")
    folder = own.folder
    assert folder is not None and folder.is_dir()
    for scratch in (own, given, own, given):
        scratch.close()
    assert not folder.exists() and (tmp_path / "given/a").exists()


@at_most(300)
@given(st.text(alphabet="ab./\\~: \x00é", max_size=12))
def test_any_path_is_written_inside_the_folder_or_rejected(path: str) -> None:
    scratch = DemoTools().scratch
    try:
        scratch.write(path, b"x")
        assert scratch.folder is not None
        assert [file.bytes for file in scratch.files()] == [1]
        assert scratch.read(path) == b"x"
    except ToolError:
        assert scratch.files() == ()
    finally:
        scratch.close()
