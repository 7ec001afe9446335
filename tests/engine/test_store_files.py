"""Files are never half-written: full disks, killed processes, other windows, newer programs."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys

import msgspec
import pytest

from glyphscope.base.errors import RecordError, RegistryError, StorageError
from glyphscope.events import RunEvent, RunRequest
from glyphscope.registry import default_registry, parse_document
from glyphscope.store import (
    ChangedOnDisk,
    GrammarExample,
    GrammarWork,
    Project,
    RecordWriter,
    Settings,
    atomic_write,
    load_project,
    load_settings,
    places,
    replace_folder,
    save_project,
    save_settings,
)

REQUEST = RunRequest(
    prompt="Search for AI news", registry=default_registry().to_document(), system="Be brief — {{ x }}"
)
PROJECT = Project(request=REQUEST, notes="ein Gruß", drafts={"search": "{not yet"})


def fail(number: int):
    def failing(*_args, **_kwargs):
        raise OSError(number, os.strerror(number))

    return failing


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "new" / "a.txt"
    atomic_write(path, "one")
    atomic_write(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(path.parent) == ["a.txt"]


class FullDisk(io.FileIO):
    write = fail(errno.ENOSPC)


@pytest.mark.parametrize(
    ("call", "instead"),
    [("fdopen", FullDisk), ("fsync", fail(errno.ENOSPC)), ("replace", fail(errno.ENOSPC))],
)
def test_a_full_disk_leaves_the_old_file_and_no_temporary_one(tmp_path, monkeypatch, call, instead):
    path = tmp_path / "a.txt"
    path.write_text("old")
    monkeypatch.setattr(os, call, instead)
    with pytest.raises(StorageError, match="disk is full") as caught:
        atomic_write(path, "new")
    monkeypatch.undo()
    assert "still there" in caught.value.hint
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_is_replaced_as_a_whole_or_not_at_all(tmp_path):
    def cut_short():
        yield "two", b"2"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = tmp_path / "data"
    replace_folder(folder, [("one", b"1")])
    with pytest.raises(StorageError):
        replace_folder(folder, cut_short())
    assert [path.name for path in tmp_path.rglob("*")] == ["data", "one"]
    replace_folder(folder, [("three", b"3")])
    assert [path.name for path in tmp_path.rglob("*")] == ["data", "three"]
    replace_folder(folder, [])
    assert not list(tmp_path.iterdir())


def test_links_and_permissions_are_preserved(tmp_path):
    real = tmp_path / "real.txt"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(real)
    atomic_write(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_place_without_write_permission_is_named(tmp_path, monkeypatch, number):
    monkeypatch.setattr("tempfile.mkstemp", fail(number))
    with pytest.raises(StorageError, match="may not be written") as caught:
        atomic_write(tmp_path / "a.txt", "x")
    assert caught.value.where == str(tmp_path / "a.txt")


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(StorageError):
        atomic_write(tmp_path, "x")
    with pytest.raises(StorageError):
        load_project(tmp_path)


@pytest.mark.slow
def test_a_process_killed_while_it_writes_leaves_the_old_file_and_its_remains_are_removed(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    killed = (
        "import os, signal, sys; from pathlib import Path; from glyphscope.store.files import atomic_write\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "atomic_write(Path(sys.argv[1]), 'new')"
    )
    result = subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    assert result.returncode == -9
    assert path.read_text() == "old"
    assert len(os.listdir(tmp_path)) == 2
    atomic_write(path, "newer")
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_project_is_read_back_unchanged(tmp_path):
    path = tmp_path / "p.glyphscope"
    digest = save_project(path, PROJECT)
    assert load_project(path) == (PROJECT, digest, parse_document(PROJECT.request.registry), None)
    assert json.loads(path.read_text("utf-8"))["glyphscope_project"] == 2


def test_a_project_with_half_a_character_is_saved_and_read_back(tmp_path):
    path = tmp_path / "half.glyphscope"
    request = msgspec.structs.replace(PROJECT.request, prompt="\ud800", system="é \udfff")
    project = Project(request=request, notes="half \ud83d", drafts={"search": "\udc00"})
    save_project(path, project)
    assert load_project(path).project == project
    save_project(path, project, load_project(path).digest)


def test_two_windows_do_not_overwrite_each_others_project(tmp_path):
    path = tmp_path / "p.glyphscope"
    save_project(path, PROJECT)
    ours, theirs = load_project(path), load_project(path)
    theirs_now = msgspec.structs.replace(theirs.project, notes="theirs")
    save_project(path, theirs_now, theirs.digest)
    with pytest.raises(ChangedOnDisk) as caught:
        save_project(path, msgspec.structs.replace(ours.project, notes="ours"), ours.digest)
    assert "another name" in caught.value.hint
    assert load_project(path).project == theirs_now
    save_project(path, theirs_now, ours.digest)  # the same content is not a conflict
    save_project(path, ours.project)  # the user's decision
    assert load_project(path).project == ours.project


def test_a_project_deleted_meanwhile_is_written_again(tmp_path):
    path = tmp_path / "p.glyphscope"
    digest = save_project(path, PROJECT)
    path.unlink()
    save_project(path, PROJECT, digest)
    assert path.exists()


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", RecordError, "damaged"),
        ("{", RecordError, "damaged"),
        ("[]", RecordError, "Not a Glyphscope project"),
        ('{"a": 1}', RecordError, "Neither a Glyphscope project nor the body of a request"),
        ('{"contents": [], "tools": []}', RecordError, "to Gemini, of which only the tools are read"),
        ('{"glyphscope_project": 3}', RecordError, "newer Glyphscope"),
        ('{"glyphscope_project": 1, "request": {"prompt": 5, "registry": {}}}', RecordError, "prompt"),
        (
            '{"glyphscope_project": 1, "request": {"prompt": "", "registry": {"glyphscope": 1}}}',
            RegistryError,
            "has an error",
        ),
    ],
)
def test_an_invalid_project_is_reported_and_left_as_it_is(tmp_path, text, error, words):
    path = tmp_path / "p.glyphscope"
    path.write_text(text)
    with pytest.raises(error, match=words):
        load_project(path)
    assert path.read_text() == text


def test_an_older_project_is_migrated_step_by_step(tmp_path, monkeypatch):
    steps = {2: lambda d: {**d, "notes": d["notes"] + "+2"}, 3: lambda d: {**d, "notes": d["notes"] + "+3"}}
    path = tmp_path / "p.glyphscope"
    save_project(path, PROJECT)
    monkeypatch.setattr("glyphscope.store.project.VERSION", 4)
    monkeypatch.setattr("glyphscope.store.project._MIGRATIONS", steps)
    assert load_project(path).project.notes == PROJECT.notes + "+2+3"


def test_a_project_of_version_1_is_opened(tmp_path):
    path = tmp_path / "p.glyphscope"
    save_project(path, PROJECT)
    document = json.loads(path.read_text())
    del document["grammar"]
    path.write_text(json.dumps({**document, "glyphscope_project": 1}))
    assert load_project(path).project == PROJECT


def test_the_work_on_a_grammar_is_saved_in_the_project(tmp_path):
    examples = (GrammarExample("1"), GrammarExample("x", matches=False))
    work = GrammarWork(source="text", text='root ::= "1"', path="a.gbnf", use=True, examples=examples)
    path = tmp_path / "p.glyphscope"
    project = msgspec.structs.replace(PROJECT, grammar=work)
    save_project(path, project)
    assert load_project(path).project == project


def test_settings_are_read_back_with_unknown_members(tmp_path):
    path = tmp_path / "s.json"
    assert load_settings(path) == (Settings(), "")
    path.write_text('{"glyphscope_settings": 7, "theme": "dark", "context": "many", "from_the_future": [1]}')
    settings, notice = load_settings(path)
    assert (settings.theme, settings.context) == ("dark", 4096)
    assert "context" in notice
    save_settings(path, settings.with_recent_model("b").with_recent_model("a").with_recent_model("b"))
    document = json.loads(path.read_text())
    assert (document["from_the_future"], document["glyphscope_settings"]) == ([1], 7)
    assert load_settings(path).settings.recent_models == ("b", "a")


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00"])
def test_damaged_settings_are_renamed_and_the_defaults_used(tmp_path, text):
    path = tmp_path / "s.json"
    path.write_text(text)
    settings, notice = load_settings(path)
    assert settings == Settings()
    (aside,) = tmp_path.iterdir()
    assert aside.read_text() == text
    assert aside.name in notice


def test_one_variable_moves_all_places(tmp_path, monkeypatch):
    monkeypatch.setenv("GLYPHSCOPE_HOME", str(tmp_path / "home"))
    here = places()
    for path in (here.settings, here.history, here.journal, here.logs, here.models, here.cache):
        assert path.is_relative_to(tmp_path / "home")
    assert not (tmp_path / "home").exists()
    monkeypatch.setenv("GLYPHSCOPE_HOME", "~no-such-user/home")
    assert str(places().data) == "~no-such-user/home"
    monkeypatch.delenv("GLYPHSCOPE_HOME")
    assert "glyphscope" in str(places().settings)


@pytest.mark.slow
def test_no_save_is_lost_between_two_processes(tmp_path):
    path = tmp_path / "p.glyphscope"
    save_project(path, Project(request=REQUEST))
    counting = (
        "import sys, msgspec; from pathlib import Path; from glyphscope.store import *\n"
        "path = Path(sys.argv[1])\n"
        "for _ in range(15):\n"
        "    while True:\n"
        "        project, digest, *_ = load_project(path)\n"
        "        try:\n"
        "            save_project(path, msgspec.structs.replace(project, notes=project.notes + sys.argv[2]), digest)\n"
        "            break\n"
        "        except ChangedOnDisk:\n"
        "            pass\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", counting, str(path), name]) for name in "ab"]
    assert [process.wait(timeout=240) for process in both] == [0, 0]
    assert sorted(load_project(path).project.notes) == ["a"] * 15 + ["b"] * 15


@pytest.mark.parametrize(
    "save", [lambda path: atomic_write(path, b"x"), lambda path: RecordWriter(path).write(RunEvent())]
)
def test_a_pipe_or_device_is_not_replaced_by_a_file(tmp_path, save):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StorageError, match="not a file"):
        save(pipe)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
