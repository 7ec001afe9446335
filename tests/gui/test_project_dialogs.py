"""The questions about projects, answered by their buttons."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QMessageBox, QWidget

from glyphscope.registry import default_registry
from glyphscope.store import Journal, load_project, save_project
from glyphscope_gui.project import (
    ProjectController,
    PromptContext,
    PromptDocument,
    RegistryDocument,
    SettingsStore,
)
from glyphscope_gui.shell.project_dialogs import ProjectDialogs


@pytest.fixture
def controller(qapp, tmp_path):
    tools = RegistryDocument(default_registry())
    prompt = PromptDocument(PromptContext(default_registry()))
    settings = SettingsStore(tmp_path / "settings.json")
    controller = ProjectController(tools, prompt, settings, Journal(tmp_path / "journal"))
    yield controller
    controller.close()
    settings.close()


@pytest.fixture
def dialogs(controller, qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    return ProjectDialogs(controller, window)


def answer(dialogs, name, words):
    box = dialogs.parent().findChild(QMessageBox, name)
    assert box is not None, f"nothing was asked: {name}"
    next(b for b in box.buttons() if b.text().replace("&", "") == words).click()


def test_closing_with_unsaved_edits_asks_first(dialogs, controller, tmp_path):
    closed = []
    dialogs.before_leaving(lambda: closed.append("clean"))
    controller.prompt.set_user("new")
    dialogs.before_leaving(lambda: closed.append("cancelled"))
    answer(dialogs, "unsavedQuestion", "Cancel")
    assert closed == ["clean"]


@pytest.mark.parametrize(("words", "saved"), [("Save", "new"), ("Don’t save", "old")])
def test_an_answer_before_closing_saves_or_discards(dialogs, controller, tmp_path, words, saved):
    path = tmp_path / "p.glyphscope"
    controller.prompt.set_user("old")
    controller.save(path)
    controller.prompt.set_user("new")
    closed = []
    dialogs.before_leaving(lambda: closed.append(1))
    answer(dialogs, "unsavedQuestion", words)
    assert closed == [1]
    assert load_project(path).project.request.prompt == saved


@pytest.mark.parametrize(("words", "on_disk", "here"), [
    ("Overwrite with mine", "mine", "mine"),
    ("Reload from disk", "theirs", "theirs"),
    ("Cancel", "theirs", "mine"),
])  # fmt: skip
def test_an_answer_to_a_conflict_chooses_the_version(
    dialogs, controller, tmp_path, qtbot, words, on_disk, here
):
    path = tmp_path / "p.glyphscope"
    controller.prompt.set_user("theirs")
    theirs = controller.project()
    controller.prompt.set_user("old")
    controller.save(path)
    save_project(path, theirs)
    controller.prompt.set_user("mine")
    dialogs.save()
    answer(dialogs, "conflictQuestion", words)
    qtbot.waitUntil(lambda: controller.prompt.user == here)
    assert load_project(path).project.request.prompt == on_disk
