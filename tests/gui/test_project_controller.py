"""Projects: saved content, unsaved changes, and conflicts."""

from __future__ import annotations

import errno
import os

import msgspec
import pytest

from glyphscope.events import ApprovalRule, RunRequest
from glyphscope.registry import default_registry
from glyphscope.store import Journal, Project, load_project, save_project
from glyphscope_gui.project import (
    ProjectController,
    PromptContext,
    PromptDocument,
    RegistryDocument,
    SettingsStore,
)


@pytest.fixture
def make(qapp, tmp_path):
    made = []

    def controller(name="a"):
        tools = RegistryDocument(default_registry())
        prompt = PromptDocument(PromptContext(default_registry()))
        settings = SettingsStore(tmp_path / f"settings_{name}.json")
        new = ProjectController(tools, prompt, settings, Journal(tmp_path / "journal"))
        new.settings = settings
        made.append(new)
        return new

    yield controller
    for old in made:
        old.close()
        old.settings.close()


def errors_of(controller):
    seen = []
    controller.failed.connect(seen.append)
    return seen


def test_every_part_of_the_request_follows_an_edit(make):
    controller = make()
    controller.prompt.set_user("Search")
    controller.prompt.set_system("Be brief.")
    controller.tools.set_enabled("execute", False)
    controller.set_options(notation="json", shape="tool-args", constraint="off")
    request = controller.request
    assert (request.prompt, request.system, request.notation) == ("Search", "Be brief.", "json")
    assert [t["name"] for t in request.registry["tools"] if not t["enabled"]] == ["execute"]
    assert controller.prompt.context.shape == "tool-args"
    assert "execute" not in [t.name for t in controller.prompt.context.registry.allowed]


def test_an_edit_makes_a_project_dirty_and_undo_makes_it_clean(make, tmp_path):
    controller = make()
    assert not controller.is_dirty
    controller.tools.set_enabled("execute", False)
    assert controller.is_dirty
    controller.tools.undo_stack.undo()
    assert not controller.is_dirty
    controller.prompt.set_user("x")
    assert controller.is_dirty
    assert controller.save(tmp_path / "p.glyphscope")
    assert not controller.is_dirty
    controller.set_options(notation="json")
    assert controller.is_dirty


def test_the_dirty_marker_changes_after_the_edit(make, qtbot):
    controller = make()
    reported = []
    controller.stateChanged.connect(lambda: reported.append(controller.is_dirty))
    controller.tools.set_enabled("execute", False)
    qtbot.waitUntil(lambda: reported == [True])
    controller.tools.undo_stack.undo()
    qtbot.waitUntil(lambda: reported == [True, False])


def test_a_saved_project_opens_unchanged(make, tmp_path, qtbot):
    first, second = make("a"), make("b")
    path = tmp_path / "p.glyphscope"
    first.prompt.set_user("Hello")
    first.tools.set_schema_text("search", '{"half": ')
    first.set_options(stop_on="never", sampling=msgspec.structs.replace(first.options.sampling, seed=9))
    assert first.save(path)
    second.open(path)
    qtbot.waitUntil(lambda: second.path == path)
    assert second.request == first.request
    assert second.tools.schema_text("search") == '{"half": '
    assert not second.is_dirty
    assert second.settings.value.recent_projects == (str(path),)


def test_a_damaged_project_leaves_the_open_one(make, tmp_path, qtbot):
    controller = make()
    errors = errors_of(controller)
    controller.prompt.set_user("mine")
    path = tmp_path / "p.glyphscope"
    path.write_text("{")
    controller.open(path)
    qtbot.waitUntil(lambda: bool(errors))
    assert "damaged" in errors[0].message
    assert controller.prompt.user == "mine"
    assert controller.path is None


def test_a_file_changed_by_another_window_is_a_conflict(make, tmp_path, qtbot):
    first, second = make("a"), make("b")
    path = tmp_path / "p.glyphscope"
    first.prompt.set_user("first")
    first.save(path)
    second.open(path)
    qtbot.waitUntil(lambda: second.path == path)
    second.prompt.set_user("second")
    assert second.save()
    conflicts = []
    first.conflicted.connect(conflicts.append)
    first.prompt.set_user("first again")
    assert not first.save()
    assert len(conflicts) == 1 and first.is_dirty
    assert load_project(path).project.request.prompt == "second"
    assert first.save(overwrite=True)
    assert load_project(path).project.request.prompt == "first again"
    second.reload()
    qtbot.waitUntil(lambda: second.prompt.user == "first again")


def test_a_full_disk_leaves_the_old_file_and_the_edits(make, tmp_path, monkeypatch):
    controller = make()
    errors = errors_of(controller)
    path = tmp_path / "p.glyphscope"
    controller.prompt.set_user("old")
    controller.save(path)
    controller.prompt.set_user("new")

    def full(*_args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert not controller.save()
    assert errors[0].message == "The disk is full."
    assert controller.is_dirty and controller.prompt.user == "new"
    assert load_project(path).project.request.prompt == "old"
    assert controller.save()


def test_unsaved_edits_survive_a_crash(make, tmp_path, qtbot, monkeypatch):
    monkeypatch.setattr("glyphscope_gui.project.project_controller.JOURNAL_DELAY_MS", 5)
    first = make("a")
    first.prompt.set_user("precious")
    first.tools.set_schema_text("search", "{ half")
    first._write_journal()
    first.background.wait("journal")
    os.close(first._journal._lock)  # as the system does when the process dies
    first._journal._lock = None
    second = make("b")
    (leftover,) = second.leftovers()
    second.restore(leftover)
    assert second.prompt.user == "precious"
    assert second.tools.schema_text("search") == "{ half"
    assert second.is_dirty
    assert second.leftovers() == []
    second.save(tmp_path / "p.glyphscope")
    assert not second.is_dirty
    assert not list((tmp_path / "journal").glob("*.json"))


def test_unsaved_edits_of_a_program_that_was_ended_from_outside_are_offered_again(make):
    ended = make("a")
    ended.prompt.set_user("precious")
    ended.keep_unsaved()
    ended.close()
    (leftover,) = make("b").leftovers()
    assert leftover.unsaved.project.request.prompt == "precious"


def test_edits_that_cannot_be_restored_are_left_in_the_journal(make, tmp_path):
    broken = Project(request=RunRequest(prompt="precious", registry={"glyphscope": 1, "tools": 5}))
    dead = Journal(tmp_path / "journal")
    dead.write(broken)
    os.close(dead._lock)
    controller = make()
    errors = errors_of(controller)
    (leftover,) = controller.leftovers()
    controller.restore(leftover)
    assert len(errors) == 1
    assert controller.leftovers() == [leftover]


def test_a_saved_project_leaves_no_journal(make, tmp_path, qtbot):
    controller = make()
    controller.prompt.set_user("x")
    controller._write_journal()
    controller.save(tmp_path / "p.glyphscope")
    qtbot.wait(20)
    assert not list((tmp_path / "journal").glob("*"))


def test_a_journal_that_cannot_be_written_is_reported_once(make, tmp_path, qtbot):
    (tmp_path / "journal").write_text("in the way")
    controller = make()
    errors = errors_of(controller)
    for text in ("a", "b"):
        controller.prompt.set_user(text)
        controller._write_journal()
        qtbot.waitUntil(lambda: bool(errors))
        controller.background.close()
    assert len(errors) == 1


def test_a_project_of_a_newer_version_is_rejected(make, tmp_path, qtbot):
    controller = make()
    errors = errors_of(controller)
    path = tmp_path / "p.glyphscope"
    save_project(path, Project(request=RunRequest(prompt="x", registry=default_registry().to_document())))
    path.write_text(path.read_text().replace('"glyphscope_project": 2', '"glyphscope_project": 99'))
    controller.open(path)
    qtbot.waitUntil(lambda: bool(errors))
    assert controller.prompt.user == ""


def test_approval_rules_of_a_file_do_not_allow_calls(make, tmp_path, qtbot):
    deny = ApprovalRule(tool="execute", action="deny")
    rules = (ApprovalRule(action="allow"), deny)
    request = RunRequest(prompt="x", registry=default_registry().to_document(), approvals=rules)
    path = tmp_path / "foreign.glyphscope"
    save_project(path, Project(request=request))
    controller = make()
    with qtbot.waitSignal(controller.permissionsDropped) as dropped:
        controller.open(path)
    assert dropped.args == [1]
    assert controller.options.approvals == (deny,)


def test_choosing_the_model_that_is_in_use_changes_nothing_in_the_project(make, monkeypatch, tmp_path):
    monkeypatch.setattr("glyphscope.models.opening.embedded_path", lambda: tmp_path / "small.gguf")
    controller, opened = make(), []
    controller.modelChosen.connect(opened.append)
    for name in (controller.model, str(tmp_path / "small.gguf")):
        controller.choose_model(name)
        assert not controller.is_dirty and controller.options.model == ""
    assert opened == ["embedded", "embedded"]
    controller.choose_model("other.gguf")
    assert controller.is_dirty and controller.model == "other.gguf"
