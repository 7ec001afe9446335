"""Projects: saved content, unsaved changes, conflicts, and the questions about them."""

from __future__ import annotations

import errno
import json
import os

import msgspec
import pytest
from PySide6.QtWidgets import QWidget

from glyphscope.events import ApprovalRule, RunRequest
from glyphscope.prompting.written_bodies import write_body
from glyphscope.registry import Tool, ToolRegistry, default_registry
from glyphscope.store import Journal, Project, load_project, save_project
from glyphscope_gui.project import (
    ProjectController,
    PromptContext,
    PromptDocument,
    RegistryDocument,
    SettingsStore,
)
from glyphscope_gui.shell.project_dialogs import ProjectDialogs

PLAIN = RunRequest(prompt="x", registry=default_registry().to_document())


@pytest.fixture
def make(qapp, tmp_path):
    made = []

    def controller(name="a"):
        tools = RegistryDocument(default_registry())
        prompt = PromptDocument(PromptContext(default_registry()))
        settings = SettingsStore(tmp_path / f"settings_{name}.json")
        new = ProjectController(tools, prompt, settings, Journal(tmp_path / "journal"))
        new.settings, new.errors, new.conflicts = settings, [], []
        new.failed.connect(new.errors.append)
        new.conflicted.connect(new.conflicts.append)
        made.append(new)
        return new

    yield controller
    for old in made:
        old.close()
        old.settings.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "p.glyphscope"


@pytest.fixture
def controller(make):
    return make()


def prompt_in(path):
    return load_project(path).project.request.prompt


# -- edits and files -----------------------------------------------------------------------------------------------


def test_every_part_of_the_request_follows_an_edit(controller):
    controller.prompt.set_user("Search")
    controller.prompt.set_system("Be brief.")
    controller.tools.set_enabled("execute", False)
    controller.set_options(notation="json", shape="tool-args", constraint="off")
    request = controller.request
    assert (request.prompt, request.system, request.notation) == ("Search", "Be brief.", "json")
    assert [t["name"] for t in request.registry["tools"] if not t["enabled"]] == ["execute"]
    assert controller.prompt.context.shape == "tool-args"
    assert "execute" not in [t.name for t in controller.prompt.context.registry.allowed]


def test_an_edit_makes_a_project_dirty_and_undo_or_saving_makes_it_clean(controller, path, qtbot):
    reported = []
    controller.stateChanged.connect(lambda: reported.append(controller.is_dirty))
    assert not controller.is_dirty
    controller.tools.set_enabled("execute", False)
    qtbot.waitUntil(lambda: reported == [True])
    controller.tools.undo_stack.undo()
    qtbot.waitUntil(lambda: reported == [True, False])
    controller.prompt.set_user("x")
    assert controller.is_dirty
    assert controller.save(path) and not controller.is_dirty
    controller.set_options(notation="json")
    assert controller.is_dirty


def test_a_saved_project_opens_unchanged(make, path, qtbot):
    first, second = make("a"), make("b")
    first.prompt.set_user("Hello")
    first.tools.set_schema_text("search", '{"half": ')
    first.set_options(stop_on="never", sampling=msgspec.structs.replace(first.options.sampling, seed=9))
    assert first.save(path)
    second.open(path)
    qtbot.waitUntil(lambda: second.path == path)
    assert second.request == first.request and not second.is_dirty
    assert second.tools.schema_text("search") == '{"half": '
    assert second.settings.value.recent_projects == (str(path),)


@pytest.mark.parametrize(
    ("old", "new", "words"), [("{", "[", "damaged"), ('_project": 2', '_project": 99', "version 99")]
)
def test_a_project_that_cannot_be_read_leaves_the_open_one(controller, path, qtbot, old, new, words):
    save_project(path, Project(request=PLAIN))
    path.write_text(path.read_text().replace(old, new))
    controller.prompt.set_user("mine")
    controller.open(path)
    qtbot.waitUntil(lambda: bool(controller.errors))
    assert words in str(controller.errors[0])
    assert controller.prompt.user == "mine" and controller.path is None


def test_the_body_of_a_request_opens_as_a_project_that_is_saved_under_another_name(
    controller, tmp_path, qtbot
):
    path = tmp_path / "body.json"
    tools = [{"name": "ping", "input_schema": {"type": "object"}, "strict": True}]
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    body = {
        "system": "Be brief.",
        "messages": [*messages, {"role": "user", "content": "Ping"}],
        "tools": tools,
    }
    path.write_text(
        json.dumps({**body, "max_tokens": 77, "tool_choice": {"type": "any"}, "metadata": {"a": 1}})
    )
    with qtbot.waitSignal(controller.unusedFound) as found:
        controller.open(path)
    assert [each.what for each in found.args[0]] == ["metadata"]
    request = controller.request
    assert (request.system_prompt, request.prompt, request.max_tokens) == ("Be brief.", "Ping", 77)
    assert [message.content for message in request.history] == ["Hi", "Yes?"]
    assert controller.tools.registry.get("ping").strict is True
    assert controller.path is None and not controller.is_dirty
    controller.tools.replace_registry(ToolRegistry((Tool("pong"),)))
    written = write_body("messages", controller.request, (), controller.tools.registry, "m")
    assert written["metadata"] == {"a": 1}, "what is kept of the request is the project's"


def test_a_full_disk_leaves_the_old_file_and_the_edits(controller, path, monkeypatch):
    controller.prompt.set_user("old")
    controller.save(path)
    controller.prompt.set_user("new")

    def full(*_args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert not controller.save()
    assert controller.errors[0].message == "The disk is full."
    assert controller.is_dirty and controller.prompt.user == "new" and prompt_in(path) == "old"
    assert controller.save()


def test_approval_rules_of_a_file_do_not_allow_calls(controller, path, qtbot):
    deny = ApprovalRule(tool="execute", action="deny")
    rules = (ApprovalRule(action="allow"), deny)
    save_project(path, Project(request=msgspec.structs.replace(PLAIN, approvals=rules)))
    with qtbot.waitSignal(controller.permissionsDropped) as dropped:
        controller.open(path)
    assert dropped.args == [1]
    assert controller.options.approvals == (deny,)


def test_choosing_the_model_that_is_in_use_changes_nothing_in_the_project(controller, monkeypatch, tmp_path):
    monkeypatch.setattr("glyphscope.models.opening.embedded_path", lambda: tmp_path / "small.gguf")
    opened = []
    controller.modelChosen.connect(opened.append)
    for name in (controller.model, str(tmp_path / "small.gguf")):
        controller.choose_model(name)
        assert not controller.is_dirty and controller.options.model == ""
    assert opened == ["embedded", "embedded"]
    controller.choose_model("other.gguf")
    assert controller.is_dirty and controller.model == "other.gguf"


# -- the journal of unsaved edits ----------------------------------------------------------------------------------


def test_unsaved_edits_survive_a_crash(make, path, tmp_path, monkeypatch):
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
    assert second.prompt.user == "precious" and second.is_dirty
    assert second.tools.schema_text("search") == "{ half"
    assert second.leftovers() == []
    second.save(path)
    assert not second.is_dirty and not list((tmp_path / "journal").glob("*.json"))


def test_unsaved_edits_of_a_program_that_was_ended_from_outside_are_offered_again(make):
    ended = make("a")
    ended.prompt.set_user("precious")
    ended.keep_unsaved()
    ended.close()
    (leftover,) = make("b").leftovers()
    assert leftover.unsaved.project.request.prompt == "precious"


def test_edits_that_cannot_be_restored_are_left_in_the_journal(controller, tmp_path):
    dead = Journal(tmp_path / "journal")
    dead.write(Project(request=RunRequest(prompt="precious", registry={"glyphscope": 1, "tools": 5})))
    os.close(dead._lock)
    (leftover,) = controller.leftovers()
    controller.restore(leftover)
    assert len(controller.errors) == 1 and controller.leftovers() == [leftover]


def test_a_journal_that_cannot_be_written_is_reported_once(controller, tmp_path, qtbot):
    (tmp_path / "journal").write_text("in the way")
    for text in ("a", "b"):
        controller.prompt.set_user(text)
        controller._write_journal()
        qtbot.waitUntil(lambda: bool(controller.errors))
        controller.background.close()
    assert len(controller.errors) == 1


# -- questions -----------------------------------------------------------------------------------------------------


@pytest.fixture
def dialogs(controller, qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    return ProjectDialogs(controller, window)


@pytest.mark.parametrize(
    ("words", "closed", "saved"),
    [("Save", True, "new"), ("Don’t save", True, "old"), ("Cancel", False, "old")],
)
def test_an_answer_before_closing_saves_or_discards(
    dialogs, controller, screen_of, path, words, closed, saved
):
    controller.prompt.set_user("old")
    controller.save(path)
    left = []
    dialogs.before_leaving(lambda: left.append("clean"))
    controller.prompt.set_user("new")
    dialogs.before_leaving(lambda: left.append("edited"))
    screen_of(dialogs.parent()).dialog().press(words)
    assert left == ["clean", "edited"][: 1 + closed] and prompt_in(path) == saved


@pytest.mark.parametrize(
    ("words", "on_disk", "here"),
    [
        ("Overwrite with mine", "mine", "mine"),
        ("Reload from disk", "theirs", "theirs"),
        ("Cancel", "theirs", "mine"),
    ],
)
def test_an_answer_to_a_conflict_chooses_the_version(
    dialogs, controller, screen_of, path, qtbot, words, on_disk, here
):
    controller.prompt.set_user("old")
    controller.save(path)
    save_project(path, Project(request=msgspec.structs.replace(PLAIN, prompt="theirs")))
    controller.prompt.set_user("mine")
    dialogs.save()
    screen_of(dialogs.parent()).dialog().press(words)
    qtbot.waitUntil(lambda: controller.prompt.user == here)
    assert prompt_in(path) == on_disk


def test_a_file_changed_by_another_window_is_a_conflict(make, path, qtbot):
    first, second = make("a"), make("b")
    first.prompt.set_user("first")
    first.save(path)
    second.open(path)
    qtbot.waitUntil(lambda: second.path == path)
    second.prompt.set_user("second")
    assert second.save()
    first.prompt.set_user("first again")
    assert not first.save() and len(first.conflicts) == 1 and first.is_dirty
    assert prompt_in(path) == "second"
    assert first.save(overwrite=True) and prompt_in(path) == "first again"
    second.reload()
    qtbot.waitUntil(lambda: second.prompt.user == "first again")
